"""``jax_remat3`` and ``jax_enable_x64`` set by code."""

import pytest

from jaxpert.project.switches import Switches, switches_of_source, switches_of_text
from jaxpert.syntax.units import SourceFile
from jaxpert.text.lines import range_at

SET = {
    'import jax\njax.config.update("jax_remat3", True)': Switches(True, None),
    'from jax import config\nconfig.update("jax_enable_x64", True)\n': Switches(None, True),
    'jax.config.update("jax_enable_x64", False)': Switches(None, False),
    "jax.config.jax_enable_x64 = 1": Switches(None, True),
    'os.environ["JAX_ENABLE_X64"] = "1"; environ["JAX_REMAT3"] = "false"': Switches(False, True),
    'os.environ.setdefault("JAX_ENABLE_X64", "True")': Switches(None, True),
    'def main():\n  with x:\n    jax.config.update("jax_enable_x64", True)': Switches(None, True),
    'if __name__ == "__main__":\n  jax.config.update("jax_remat3", True)': Switches(True, None),
    'class C:\n  def setUp(self):\n    jax.config.update("jax_remat3", True)': Switches(True, None),
    'try:\n  jax.config.update("jax_remat3", True)\nexcept E: pass': Switches(True, None),
    # not certain
    'if args.x64:\n  jax.config.update("jax_enable_x64", True)': Switches(),
    'for x in y:\n  jax.config.update("jax_enable_x64", True)': Switches(),
    'jax.config.update("jax_enable_x64", x)': Switches(),
    'jax.config.update("jax_enable_x64", True)\njax.config.update("jax_enable_x64", False)': Switches(),
    'os.environ["JAX_ENABLE_X64"] = x': Switches(),
    # something else
    '# jax.config.update("jax_enable_x64", True)': Switches(),
    's = """\njax.config.update("jax_enable_x64", True)\n"""': Switches(),
    'jax.config.update("enable_x64", True)': Switches(),
    'd.update("jax_enable_x64", True)': Switches(),
    'os.environ["jax_enable_x64"] = "1"': Switches(),
    'jax.config.update("jax_enable_x64", True': Switches(),
}


@pytest.mark.parametrize("text", SET)
def test_set(text: str) -> None:
    assert switches_of_text(text) == SET[text]
    assert switches_of_source(SourceFile(text)) == SET[text]


def test_kept_while_the_buffer_is_broken() -> None:
    source = SourceFile('x = 1\njax.config.update("jax_enable_x64", True)\n')
    source.edit(range_at(0, 4, 0, 5), "(")
    assert switches_of_source(source).x64 is True


def test_over() -> None:
    assert Switches(None, False).over(Switches(True, True)) == Switches(True, False)
