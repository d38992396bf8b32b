"""How jaxpert is set up in each editor: one file an editor, in the language of its configuration."""

from __future__ import annotations

import json
import os
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from string import Template

from jaxpert import __version__
from jaxpert.records import dataclass


@dataclass(frozen=True, slots=True)
class Editor:
    """An editor that jaxpert can be set up in.

    Attributes:
        name: what to call it on the command line.
        title: what its users call it, with the versions that the snippet is for.
        place: where its snippet goes.
        file: the snippet, beside this module.
        aliases: other names that are understood.
    """

    name: str
    title: str
    place: str
    file: str
    aliases: tuple[str, ...] = ()


EDITORS = (
    Editor("vscode", "VS Code", "terminal", "vscode.sh", ("code", "vs-code", "codium", "cursor")),
    Editor("neovim", "Neovim 0.8 and newer", "~/.config/nvim/init.lua", "neovim.lua", ("nvim",)),
    Editor("emacs", "Emacs 28 and newer, eglot", "~/.emacs.d/init.el", "emacs.el", ("eglot",)),
    Editor(
        "jupyterlab",
        "JupyterLab 4, jupyterlab-lsp",
        "~/.jupyter/jupyter_server_config.py",
        "jupyterlab.py.txt",
        ("jupyter",),
    ),
    Editor("helix", "Helix 23.10 and newer", "~/.config/helix/languages.toml", "helix.toml", ("hx",)),
    Editor("vim", "Vim 8 and newer, ALE", "~/.vimrc", "vim.vim", ("ale",)),
    Editor("sublime", "Sublime Text 4, LSP", "LSP.sublime-settings", "sublime.json", ("sublime-text", "subl")),
    Editor("zed", "Zed", "~/.config/zed/settings.json", "zed.json"),
    Editor("kate", "Kate", "User Server Settings", "kate.json"),
    Editor("kakoune", "Kakoune, kakoune-lsp 18 and newer", "~/.config/kak/kakrc", "kakoune.kak", ("kak",)),
)


def editor_named(name: str) -> Editor | None:
    """The editor of this name or alias, in any case."""
    wanted = name.lower()
    return next((editor for editor in EDITORS if wanted == editor.name or wanted in editor.aliases), None)


def server_command() -> tuple[str, ...]:
    """The words that start the server of this installation from elsewhere: ``jaxpert lsp`` if that finds it."""
    if {"archive-v0", "environments-v2"} & set(Path(sys.prefix).parts):  # uvx made this environment, and may drop it
        return ("uvx", "jaxpert", "lsp")
    if shutil.which("jaxpert"):
        return ("jaxpert", "lsp")
    schemes = (sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user"))
    folders = os.pathsep.join(sysconfig.get_path("scripts", scheme) for scheme in schemes)
    if installed := shutil.which("jaxpert", path=folders):
        return (installed, "lsp")
    # Without the option, a `jaxpert.py` in the user's project would be run.
    safely = ("-P",) if sys.version_info >= (3, 11) else ()
    return (sys.executable, *safely, "-m", "jaxpert", "lsp")


def snippet(editor: Editor, command: Sequence[str]) -> str:
    """What goes into the configuration of ``editor`` so that it starts the server by ``command``."""
    # Strings in JSON's form are strings in Lua, Lisp, TOML, Vim script, and Python as well.
    quoted = [json.dumps(word, ensure_ascii=False) for word in command]
    note = _note(command)
    text = files(__name__).joinpath(editor.file).read_text(encoding="utf-8")
    return Template(text).substitute(
        version=__version__,
        note=note,
        escaped_note=json.dumps(note, ensure_ascii=False)[1:-1],
        program=quoted[0],
        arguments_with_commas=", ".join(quoted[1:]),
        words_with_commas=", ".join(quoted),
        words_with_spaces=" ".join(quoted),
        plain_arguments=" ".join(command[1:]),
    )


def _note(command: Sequence[str]) -> str:
    """What somebody should know whose editor does not find the server."""
    if found := shutil.which(command[0]):
        if not Path(command[0]).is_absolute():
            return f"If `{command[0]}` is not found there, write the whole path: {found}"
        itself = "is not on the PATH, so this is " + ("where it is" if command[1] == "lsp" else "its Python")
        return f"`jaxpert` {itself}."
    return f"`{command[0]}` has to be on the PATH that the editor sees."
