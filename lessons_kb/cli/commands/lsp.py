"""`lessons lsp`: serve lessons to an editor."""

from __future__ import annotations

import os
from importlib.util import find_spec

from lessons_kb.cli.output import options
from lessons_kb.errors import InputError
from lessons_kb.process.installation import install_command
from lessons_kb.service.open_brains import OpenBrains


def lsp() -> None:
    """Serve lessons to an editor, over standard input and output.

    The server checks cards while you write them, and marks the mistakes that their `detect`
    patterns describe in source code. The settings of your editor name this command.

    Example: lessons lsp
    """
    if find_spec("pygls") is None:
        raise InputError(f"the language server needs pygls; run `{install_command('lsp')}` first")
    from lessons_kb.service.lsp.language_server import build_server
    from lessons_kb.service.lsp.language_server import serve as serve_editor

    workspace = OpenBrains(os.getcwd(), roots=options().brains, watched=False)
    try:
        serve_editor(build_server(workspace))
    finally:
        workspace.close()
