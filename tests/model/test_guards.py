"""Which code does not run on the JAX at hand, and which expects to fail."""

from __future__ import annotations

import ast

import pytest

from jaxpert.model import guards
from jaxpert.model.file_model import FileModel
from jaxpert.syntax.scopes import CallSite
from tests.model.models import model_of


def call_of(model: FileModel, name: str) -> CallSite:
    return next(
        call
        for tree in model.source.trees()
        for call in tree.calls
        if isinstance(call.node.func, ast.Name) and call.node.func.id == name
    )


VERSION_CHECKS = [
    # test, JAX version, whether code under it may run
    ("jax.__version_info__ >= (0, 7, 0)", "0.6.2", False),
    ("jax.__version_info__ >= (0, 7, 0)", "0.7.2", True),
    ("jax.__version_info__ < (0, 7)", "0.6.2", True),
    ("(0, 7) <= jax.__version_info__", "0.6.2", False),
    ("version.parse(jax.__version__) >= version.parse('0.10')", "0.9.2", False),
    ("Version(jax.__version__) > Version('0.9.2')", "0.10.2", True),
    ("jax.__version__ >= '0.5'", "0.4.38", False),
    ("not jax.__version_info__ >= (0, 7, 0)", "0.7.2", False),
    ("jax.__version_info__ >= (0, 5) and jax.__version_info__ < (0, 6)", "0.7.2", False),
    ("jax.__version_info__ < (0, 5) or jax.__version_info__ > (0, 6)", "0.7.2", True),
    ("hasattr(jax, 'tree_multimap')", "0.10.2", False),
    ("hasattr(jax, 'checkpoint')", "0.10.2", True),
    ("NEW", "0.6.2", False),
    ("NEW", "0.7.2", True),
    ("jax.__version__.startswith(unknown)", "0.7.2", False),  # undecidable: neither arm is reported
    ("config.use_remat", "0.7.2", True),  # not about the version
    ("NUMBERS < (0, 7)", "0.6.2", True),
    ("NUMBERS < (0, 7)", "0.7.2", False),
    ("NUMBERS == (0, 7)", "0.7.2", True),
    ("tuple(int(part) for part in jax.__version__.split('.')) < (0, 7, 2)", "0.7.1", True),
    ("tuple(int(part) for part in jax.__version__.split('.')[:3] if part.isdigit()) < (0, 7, 2)", "0.7.2", False),
    ("[int(part) for part in jax.__version__.split('.')[:2]] >= [0, 7]", "0.6.2", False),
    ("int(jax.__version__.split('.')[1]) < 9", "0.8.3", True),
    ("int(jax.__version__.split('.')[1]) < 9", "0.10.2", False),
    ("minor < 9", "0.8.3", True),
    ("(major, minor) < (0, 9)", "0.10.2", False),
    ("jax.__version__.startswith('0.4.')", "0.4.38", True),
    ("jax.__version__.startswith('0.4.')", "0.7.2", False),
    ("Version(jax.__version__).release < (0, 9)", "0.10.2", False),
    ("Version(metadata.version('jax')) < Version('0.9')", "0.8.3", True),
    ("Version(metadata.version('jax')) < Version('0.9')", "0.10.2", False),
    ("Version(metadata.version('flax')) < Version('0.9')", "0.10.2", True),  # of something else
    ("jax.__version_info__[1] < 9", "0.10.2", False),
    ("jax.__version_info__[:2] >= (0, 9)", "0.10.2", True),
    ("parsed(jax.__version__) < (0, 9)", "0.8.3", False),  # undecidable
    ("PARSED < (0, 9)", "0.8.3", False),  # undecidable
    ("PARSED >= (0, 9)", "0.10.2", False),
    ("is_old()", "0.8.3", False),
    ("NUMBERS < unknown", "0.8.3", False),
    ("config.numbers < unknown", "0.8.3", True),
]


@pytest.mark.parametrize(("test", "jax", "runs"), VERSION_CHECKS)
def test_code_under_a_version_check(test: str, jax: str, runs: bool) -> None:
    source = f"""\
import jax
from packaging import version
from packaging.version import Version

from importlib import metadata

NEW = jax.__version_info__ >= (0, 7, 0)
NUMBERS = tuple(map(int, jax.__version__.split(".")[:2]))
major, minor, *_ = [int(part) for part in jax.__version__.split(".")]


def parsed(text):
    return tuple(int(part) for part in text.split("."))


def is_old():
    return PARSED < (0, 9)


PARSED = parsed(jax.__version__)


def f(config, unknown):
    if {test}:
        here()
"""
    model = model_of(source, jax=jax)
    assert model.is_dead(call_of(model, "here").block) is not runs


def test_the_other_arm_of_a_version_check() -> None:
    model = model_of("import jax\nif jax.__version_info__ >= (0, 7):\n    a()\nelse:\n    b()\n", jax="0.8.3")
    assert not model.is_dead(call_of(model, "a").block)
    assert model.is_dead(call_of(model, "b").block)


@pytest.mark.parametrize(
    ("imported", "jax", "handler_runs"),
    [
        ("from jax.ad_checkpoint import remat", "0.9.2", False),
        ("from jax.ad_checkpoint import remat", "0.10.2", True),
        ("from somewhere import thing", "0.10.2", True),
    ],
)
def test_import_fallbacks(imported: str, jax: str, handler_runs: bool) -> None:
    model = model_of(f"try:\n    {imported}\n    a()\nexcept ImportError:\n    b()\n", jax=jax)
    assert model.is_dead(call_of(model, "b").block) is not handler_runs


@pytest.mark.parametrize(
    ("decorator", "runs"),
    [
        ("@pytest.mark.skipif(jax.__version_info__ < (0, 9), reason='old')", False),
        ("@pytest.mark.skipif(jax.__version_info__ > (0, 9), reason='new')", True),
        ("@unittest.skipUnless(jax.__version_info__ > (0, 9), 'old')", False),
        ("@pytest.mark.slow(1)", True),
    ],
)
def test_skipped_tests(decorator: str, runs: bool) -> None:
    model = model_of(f"import jax, pytest, unittest\n\n{decorator}\ndef test():\n    here()\n", jax="0.7.2")
    assert model.is_dead(call_of(model, "here").block) is not runs


@pytest.mark.parametrize(
    ("guard", "reached"),
    [
        ("if jax.__version_info__ < (0, 9):\n        return", False),
        ("if jax.__version_info__ < (0, 9):\n        raise RuntimeError", False),
        ("if jax.__version_info__ < (0, 9):\n        pytest.skip('old')", False),
        ("if jax.__version_info__ < (0, 9):\n        pass", True),
        ("if jax.__version_info__ > (0, 9):\n        return", True),
        ("raise unittest.SkipTest('broken')", False),
        ("pytest.skip('broken')", False),
        ("if fast:\n        raise RuntimeError", True),
    ],
)
def test_leaving_early(guard: str, reached: bool) -> None:
    model = model_of(f"import jax, pytest\n\ndef f():\n    {guard}\n    here()\n", jax="0.7.2")
    site = call_of(model, "here")
    assert guards.leaves_before(model, site.statement, site.block) is not reached


def expects(model: FileModel, *exceptions: str) -> bool:
    site = call_of(model, "here")
    return guards.expects_failure(model, site.statement, site.block, exceptions)


EXPECTATIONS = [
    ("with pytest.raises(TypeError):\n        here()", True),
    ("with pytest.raises((ValueError, TypeError), match='x'):\n        here()", True),
    ("with pytest.raises(Exception):\n        here()", True),
    ("with pytest.raises(KeyError):\n        here()", False),
    ("with self.assertRaisesRegex(TypeError, 'x'):\n        here()", True),
    ("with contextlib.suppress(TypeError):\n        here()", True),
    ("try:\n        here()\n    except TypeError:\n        pass", True),
    ("try:\n        here()\n    except Exception as e:\n        pass", True),
    ("try:\n        here()\n    except (KeyError, OSError):\n        pass", False),
    ("try:\n        here()\n    except:\n        pass", True),
    ("try:\n        pass\n    except TypeError:\n        here()", False),
    ("here()\n    with pytest.raises(TypeError):\n        other()", True),
    ("g = here()\n    try:\n        g(1)\n    except TypeError:\n        pass", True),
    ("g = here()\n    h = wrap(g)\n    try:\n        h(1)\n    except TypeError:\n        pass", True),
    ("g = here()\n    try:\n        other(1)\n    except TypeError:\n        pass", False),
    ("here()", False),
    ("with open('x'):\n        here()", False),
]


@pytest.mark.parametrize(("body", "expected"), EXPECTATIONS)
def test_code_that_expects_the_failure(body: str, expected: bool) -> None:
    model = model_of(f"import pytest, contextlib\n\ndef test(self):\n    {body}\n")
    assert expects(model, "TypeError") is expected


def test_a_script_that_catches_what_it_provokes() -> None:
    model = model_of("g = here()\ntry:\n    g(1)\nexcept TypeError as error:\n    print(error)\n")
    assert expects(model, "TypeError")
    assert not expects(model, "ValueError")


def test_nothing_is_expected_of_a_silent_fault() -> None:
    model = model_of("import pytest\n\ndef test():\n    with pytest.raises(TypeError):\n        here()\n")
    assert not expects(model)


@pytest.mark.parametrize("asks", ["from compat import IS_OLD as old\nif old:", "import compat\nif compat.IS_OLD:"])
def test_a_version_check_of_another_file_leaves_doubt(asks: str) -> None:
    compat = "import jax\n\nIS_OLD = parsed(jax.__version__) < (0, 9)\nIS_NICE = 3\n"
    model = model_of(f"{asks}\n    here()\n", {"compat": compat})
    assert model.is_dead(call_of(model, "here").block)
    other = model_of(f"{asks.replace('OLD', 'NICE')}\n    here()\n", {"compat": compat})
    assert not other.is_dead(call_of(other, "here").block)
