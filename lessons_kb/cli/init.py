"""`lessons init`: make a brain."""

from __future__ import annotations

import contextlib
import shlex
import sys
from typing import Annotated

import typer

from lessons_kb.cli.init_and_trust import Folder, say_goes_by_path
from lessons_kb.cli.options import options, print_json, say
from lessons_kb.text.escape_controls import visible
from lessons_kb.text.plurals import counted


def init(
    folder: Folder = ".",
    user: Annotated[
        bool, typer.Option("--user", help="Create your user brain, used in every project.")
    ] = False,
) -> None:
    """Create a brain: card folders, lessons.toml and a cache.

    Example: lessons init docs/brain
    """
    from lessons_kb.brain.init import count_cards, make_brain
    from lessons_kb.store.locate import user_brain
    from lessons_kb.store.trust import is_trusted

    root, made = make_brain(user_brain() if user else folder, confirm=_confirm)
    trusted = is_trusted(root)
    if options().json:
        print_json({"brain": root, "made": made, "trusted": trusted})
    elif made:
        print(f"{visible(root)}: created {', '.join(made)}")
    else:
        print(f"{visible(root)} is already a brain; nothing changed")
    if not trusted:
        cards = counted(count_cards(root), "card")
        say(
            f"{cards} found that are not trusted yet; read them, then run "
            f"`lessons trust {shlex.quote(root)}`"
        )
    say_goes_by_path(root)
    if made and trusted and not user and not options().json:
        _offer_mining(root)


def _offer_mining(root: str) -> None:
    """Offer to look for lessons in the past of the project; without a terminal, hint at it."""
    from lessons_kb.brain.brain import Brain
    from lessons_kb.brain.mine import tell_past

    with contextlib.closing(Brain.open(root)) as brain:
        past = tell_past(brain.directory)
        if not past:
            return
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            say(f"found {past}; `lessons mine` looks for lessons there")
        elif typer.confirm(f"Found {past}: look for lessons?", default=True):
            from lessons_kb.cli.mine import run_mine

            run_mine(brain, all_projects=False, drafts=0)


def _confirm(root: str, count: int) -> bool:
    """Ask whether what lies in a folder already may speak; nobody to ask means no."""
    if options().json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    cards = counted(count, "card")
    return typer.confirm(f"{visible(root)} already holds {cards}. Let your agents read them?")
