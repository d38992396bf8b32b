"""Settings for the whole test run."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis

# A rule that crashes is one log line for users; here it must fail the test.
os.environ["JAXPERT_CRASH"] = "1"
os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Nothing that one test finds shall be known to another, or to the user's editor.
os.environ["JAXPERT_CACHE"] = "off"
# `PYTHONPATH=server` shall also hold for processes that tests start elsewhere.
if folders := os.environ.get("PYTHONPATH"):
    os.environ["PYTHONPATH"] = os.pathsep.join(str(Path(folder).resolve()) for folder in folders.split(os.pathsep))

_bounded = {"deadline": None, "max_examples": 120, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("local", **_bounded)
hypothesis.settings.register_profile("ci", **_bounded, derandomize=True, print_blob=True)
hypothesis.settings.register_profile("thorough", **{**_bounded, "max_examples": 5_000})
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "local"))
