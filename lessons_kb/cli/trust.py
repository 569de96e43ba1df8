"""`lessons trust`: trust a brain, or stop trusting it."""

from __future__ import annotations

from typing import Annotated

import typer

from lessons_kb.cli.init_and_trust import Folder, say_goes_by_path
from lessons_kb.cli.options import options, print_json
from lessons_kb.text.escape_controls import visible


def trust(
    folder: Folder = ".",
    revoke: Annotated[bool, typer.Option("--revoke", help="Revoke trust.")] = False,
) -> None:
    """Allow the cards of a brain to reach your agents.

    A brain in a cloned repository is silent until you trust it. Read its cards first: they are
    put in front of your agents.

    Example: lessons trust docs/brain
    """
    from lessons_kb.brain.init import trust_brain

    root = trust_brain(folder, revoke=revoke)
    if options().json:
        print_json({"brain": root, "trusted": not revoke})
    else:
        print(f"{visible(root)} is {'no longer' if revoke else 'now'} trusted")
    if not revoke:
        say_goes_by_path(root)
