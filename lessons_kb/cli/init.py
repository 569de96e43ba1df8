"""`lessons init`: make a brain."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Annotated

import typer

from lessons_kb.cli.init_and_trust import say_goes_by_path
from lessons_kb.cli.line_wrapping import print_wrapped
from lessons_kb.cli.options import options, print_json, say
from lessons_kb.errors import InputError
from lessons_kb.text.escape_controls import shell_word, visible
from lessons_kb.text.plurals import counted


def init(
    folder: Annotated[
        str | None, typer.Argument(metavar="DIR", help="Folder of the brain; default: this one.")
    ] = None,
    user: Annotated[
        bool, typer.Option("--user", help="Create your user brain, used in every project.")
    ] = False,
) -> None:
    """Create a brain: lessons.toml, a cache and folders for cards.

    A project that has cards gets no folders.

    Example: lessons init docs/brain
    """
    from lessons_kb.brain.init import count_cards, make_brain
    from lessons_kb.store.locate import user_brain
    from lessons_kb.store.trust import is_trusted

    root, made = make_brain(user_brain() if user else _choose(folder), confirm=_confirm)
    trusted = is_trusted(root)
    if options().json:
        print_json({"brain": root, "made": made, "trusted": trusted})
    elif made:
        print_wrapped(f"{visible(root)}: created {', '.join(made)}", hang=2)
    else:
        print_wrapped(f"{visible(root)} is already a brain; nothing changed", hang=2)
    if not trusted:
        cards = counted(count_cards(root), "card")
        say(f"{cards} found, not trusted yet; review, then run `lessons trust {shell_word(root)}`")
    say_goes_by_path(root)
    if made and trusted and not options().json:
        known = count_cards(root)
        if known:
            say(f"{counted(known, 'card')} found and in use; `lessons list` shows them")
        if user or not _offer_mining(root):
            first = "" if known else f"`{_command(root, user=user)}` writes the first card; "
            say(f"next: {first}`lessons install --all` connects your agents")


def _command(root: str, *, user: bool) -> str:
    """Return how a card is added to a new brain from here."""
    from lessons_kb.brain.discovery import look

    nearest = next(iter(look(os.curdir).trusted), "") == root
    named = "" if nearest or user else f" --brain {shell_word(os.path.relpath(root))}"
    return f'lessons{named} add "what went wrong"'


def _choose(folder: str | None) -> str:
    """Return the folder that is named, as an argument or as --brain, else the working directory."""
    named = [name for name in (folder, *options().brains) if name is not None]
    if len({os.path.realpath(name) for name in named}) > 1:
        raise InputError(f"init makes one brain, not {' and '.join(named)}; name one folder")
    return named[0] if named else "."


def _offer_mining(root: str) -> bool:
    """Offer to look for lessons in the past of the project; without a terminal, hint at it.

    Returns whether that was the next step.
    """
    from lessons_kb.brain.brain import Brain
    from lessons_kb.brain.mining.mine import tell_past

    with contextlib.closing(Brain.open(root)) as brain:
        past = tell_past(brain.directory)
        if not past:
            return False
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            say(f"found {past}; `lessons mine` looks for lessons there")
            return False
        if not typer.confirm(f"Found {past}: look for lessons?", default=True):
            return False
        from lessons_kb.cli.mine import run_mine

        run_mine(brain, all_projects=False, drafts=0)
        return True


def _confirm(root: str, count: int) -> bool:
    """Ask whether what lies in a folder already may speak; nobody to ask means no."""
    if options().json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    cards = counted(count, "card")
    return typer.confirm(f"{visible(root)} already holds {cards}. Let your agents read them?")
