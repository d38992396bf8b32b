"""Where an import goes, and when the one that is there will do; ``«0»`` marks where the name is needed."""

from __future__ import annotations

import pytest

from jaxpert.fixing.imports import ensure_import
from jaxpert.syntax.units import SourceFile
from jaxpert.text.edits import apply_edits
from jaxpert.text.lines import split_lines
from tests.fixing.marked import SURROUNDINGS, unmarked

JAX = "import jax"
JNP = "import jax.numpy as jnp"
PARTIAL = "from functools import partial"

REUSED = [
    (JAX, "import os, jax\nx = «0»\n", "jax"),
    (JAX, "import jax as j\nx = «0»\n", "j"),
    (JAX, "import jax.numpy\nx = «0»\n", "jax"),
    (JNP, "from jax import numpy as np\nx = «0»\n", "np"),
    (JNP, "def f():\n    «0»\nimport jax.numpy as np\n", "np"),
    (PARTIAL, "from functools import partial as P\nx = «0»\n", "P"),
    (PARTIAL, "import functools\nx = «0»\n", "functools.partial"),
    (PARTIAL, "import functools as ft\nx = «0»\n", "ft.partial"),
    (PARTIAL, "def f():\n    from functools import partial as q\n    return «0»\n", "q"),
    (PARTIAL, "from functools import partial\nclass A:\n    def partial(self): «0»\n", "partial"),
    ("from jax.ad_checkpoint import checkpoint_name", "import jax.ad_checkpoint as c\n«0»\n", "c.checkpoint_name"),
]

ADDED = [
    # next to imports of the same package
    (JAX, "import os\nimport jax.numpy as jnp\nx = «0»\n", "import os\nimport jax\nimport jax.numpy as jnp\nx = 0\n"),
    (JNP, "import os\nos.x = 1\nimport jax\n«0»\n", "import os\nos.x = 1\nimport jax\nimport jax.numpy as jnp\n0\n"),
    # in the first block of imports, after its kin
    (PARTIAL, "import os\nimport jax\nx = «0»\n", "import os\nfrom functools import partial\nimport jax\nx = 0\n"),
    (PARTIAL, "# c\nimport jax\nx = «0»\n", "# c\nfrom functools import partial\n\nimport jax\nx = 0\n"),
    (JAX, "import os  # c\n\n\ndef f(): «0»\n", "import os  # c\n\nimport jax\n\n\ndef f(): 0\n"),
    (JAX, "import os; x = (\n1)\n«0»\n", "import os; x = (\n1)\n\nimport jax\n0\n"),
    (JAX, "from . import a\nfrom .b import (\n    c,\n)\n«0»\n",
     "from . import a\nfrom .b import (\n    c,\n)\nimport jax\n0\n"),
    # behind docstring and __future__
    (JAX, '"""Doc.\n"""\n\nx = «0»\n', '"""Doc.\n"""\n\nimport jax\n\nx = 0\n'),
    (JAX, "'''d'''\nfrom __future__ import annotations\nx = «0»\n",
     "'''d'''\nfrom __future__ import annotations\n\nimport jax\nx = 0\n"),
    (PARTIAL, "from __future__ import annotations\nimport jax\nx = «0»\n",
     "from __future__ import annotations\nfrom functools import partial\n\nimport jax\nx = 0\n"),
    # before the first statement, its comment included, but below the comments that head the file
    (JAX, "x = «0»\n", "import jax\n\nx = 0\n"),
    (JAX, "#!python\n# -*- coding: utf-8 -*-\nx = «0»\n", "#!python\n# -*- coding: utf-8 -*-\nimport jax\n\nx = 0\n"),
    (JAX, "# head\n\n# about f\n@d\ndef f(): «0»\n", "# head\n\nimport jax\n\n# about f\n@d\ndef f(): 0\n"),
    # never into a branch
    (JAX, "import os\nif TYPE_CHECKING:\n    import jax\ndef f(): «0»\n",
     "import os\n\nimport jax\nif TYPE_CHECKING:\n    import jax\ndef f(): 0\n"),
    (PARTIAL, "def g():\n    from functools import partial\ndef f(): «0»\n",
     "from functools import partial\n\ndef g():\n    from functools import partial\ndef f(): 0\n"),
    # code of the module does not see what is imported below it
    (JAX, "import os\nx = «0»\nimport jax\n", "import os\n\nimport jax\nx = 0\nimport jax\n"),
]  # fmt: skip

REFUSED = [
    (PARTIAL, "partial = 1\nx = «0»\n"),
    (PARTIAL, "def f(partial): return «0»\n"),
    (PARTIAL, "p = lambda partial: [«0»]\n"),
    (JAX, "try:\n    import jax\nexcept ImportError:\n    jax = None\nx = «0»\n"),
    (JAX, "from .vendored import jax\nx = «0»\n"),
    (PARTIAL, "def broken(:\nx = «0»\n"),
    (PARTIAL, "«0»\n"),
    (PARTIAL, "'''d'''; x = «0»\n"),
    ("import", "x = «0»\n"),
    ("x = 1", "x = «0»\n"),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "marked", "name"), REUSED)
def test_an_import_is_reused(statement: str, marked: str, name: str) -> None:
    text, use = unmarked(marked)
    assert ensure_import(split_lines(text), statement, use.start) == (name, ())


@pytest.mark.parametrize("surroundings", ["alone", "windows", "old mac", "byte order mark"])
@pytest.mark.parametrize(("statement", "before", "after"), ADDED)
def test_an_import_is_added(statement: str, before: str, after: str, surroundings: str) -> None:
    around = SURROUNDINGS[surroundings]
    text, use = unmarked(around(before))
    imported = ensure_import(split_lines(text), statement, use.start)
    assert imported is not None
    assert imported.name == statement.split()[-1]
    assert apply_edits(text, imported.edits) == around(after)
    assert ensure_import(split_lines(text), statement, use.start, SourceFile(text)) == imported


@pytest.mark.parametrize(("statement", "marked"), REFUSED)
def test_a_name_that_is_taken_or_has_no_place_is_refused(statement: str, marked: str) -> None:
    text, use = unmarked(marked)
    assert ensure_import(split_lines(text), statement, use.start) is None
    assert ensure_import(split_lines(text), statement, use.start, SourceFile(text)) is None


def test_an_import_is_reused_in_a_broken_file() -> None:
    text, use = unmarked("import jax\n\n\ndef broken(:\n    pass\n\n\ndef f():\n    return «0»\n")
    assert ensure_import(split_lines(text), JAX, use.start) == ("jax", ())
