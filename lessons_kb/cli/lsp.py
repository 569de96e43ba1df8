"""`lessons lsp`: start the language server."""

from __future__ import annotations

import os
from importlib.util import find_spec

from lessons_kb.cli.options import options
from lessons_kb.errors import InputError
from lessons_kb.process.installation import install_command


def lsp() -> None:
    """Serve lessons to an editor, over standard input and output.

    Cards are checked while they are written, and the mistakes that their `detect` patterns
    describe are marked in source code. See docs/editors.md for the settings of each editor.
    Example: lessons lsp
    """
    if find_spec("pygls") is None:
        raise InputError(f"the language server needs pygls; run `{install_command('lsp')}` first")
    from lessons_kb.brain.open_brains import Workspace
    from lessons_kb.service.lsp.server import build_server, serve

    workspace = Workspace(os.getcwd(), roots=options().brains, watched=False)
    try:
        serve(build_server(workspace))
    finally:
        workspace.close()
