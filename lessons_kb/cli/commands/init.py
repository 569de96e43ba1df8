"""`lessons init`: make a folder a brain."""

from __future__ import annotations

import contextlib
import os
from typing import Annotated

import typer
from typer import Argument, Option

from lessons_kb.brain.brains import Brains
from lessons_kb.brain.discovery import look
from lessons_kb.brain.make_brain import count_files, make_brain
from lessons_kb.cli.commands.mine import run_mine
from lessons_kb.cli.connected import list_connected
from lessons_kb.cli.output import is_interactive, options, print_answer, say
from lessons_kb.cli.path_trust import say_goes_by_path
from lessons_kb.errors import InputError
from lessons_kb.mining.mine_project import count_solutions, tell_past
from lessons_kb.store.brain_settings import read_settings
from lessons_kb.store.locations import CONFIG_NAME, user_brain
from lessons_kb.store.repositories import find_below, is_brain
from lessons_kb.store.trust import is_trusted
from lessons_kb.text.sanitize import counted, shell_word, visible


def init(
    folder: Annotated[
        str | None, Argument(metavar="DIR", help="Folder of the brain; default: this one.")
    ] = None,
    user: Annotated[
        bool, Option("--user", help="Create your user brain, for all projects.")
    ] = False,
) -> None:
    """Create a brain: lessons.toml, a cache and folders for cards.

    In a folder that is not empty, Markdown files that are not cards are not read (`notes = false`
    in lessons.toml).

    Example: lessons init docs/brain
    """
    named = [name for name in (folder, *options().brains) if name is not None]
    if len({os.path.realpath(name) for name in named}) > 1:
        raise InputError(f"init makes one brain, not {' and '.join(named)}; name one folder")
    if not user and not named:
        _check_no_brain_below()
    chosen = user_brain() if user else next(iter(named), ".")
    root, created = make_brain(chosen, confirm=_confirm)
    trusted = is_trusted(root)
    result = (
        f": created {', '.join(created)}" if created else " is already a brain; nothing changed"
    )
    existing, others = count_files(root)
    data = {"brain": root, "made": created, "trusted": trusted}
    data |= {"cards": existing, "other_files": others}
    print_answer(data, f"{visible(root)}{result}")
    if not trusted:
        cards = counted(existing, "card")
        command = f"lessons trust {shell_word(root)}"
        say(f"{cards} found, not trusted yet; review, then run `{command}`")
    say_goes_by_path(root)
    if not created or not trusted or options().json:
        return
    if existing:
        say(f"{counted(existing, 'card')} found and in use; `lessons list` shows them")
    if others and not read_settings(root)[0].notes:
        files = counted(others, "other Markdown file")
        say(f"{files} found and left out; `notes = true` in {CONFIG_NAME} makes them searchable")
    if not user and _offer_mining(root, has_cards=bool(existing)):
        return
    found = look(os.curdir)
    is_nearest = next(iter(found.trusted), "") == root and not found.peers
    option = "" if is_nearest or user else f" --brain {shell_word(os.path.relpath(root))}"
    steps = [] if existing else [f'`lessons{option} add "what went wrong"` writes the first card']
    if not list_connected():
        steps.append("`lessons setup` connects your agents")
    say(f"next: {'; '.join(steps) or '`lessons` shows the state'}")


def _check_no_brain_below() -> None:
    """Raise InputError if this folder is no brain but contains one, which it would surround."""
    here = os.path.realpath(os.curdir)
    below = [] if is_brain(here) else find_below(here)
    if below:
        brain = visible(os.path.relpath(below[0], here))
        raise InputError(
            f"there is a brain here, {brain}; for another one, name its folder: "
            "`lessons init docs/brain`, or `lessons init .` for all of this folder"
        )


def _offer_mining(root: str, *, has_cards: bool) -> bool:
    """Offer to search the history of the project for lessons, or print a hint without a terminal.

    Files of lessons that are no cards of the brain yet are named first. Returns whether the user
    accepted.
    """
    with contextlib.closing(Brains.open(root)) as brains:
        past = tell_past(brains.directory)
        solutions = 0 if has_cards else count_solutions(brains.directory)
        if solutions:
            files = counted(solutions, "file")
            say(f"found docs/solutions ({files}); `lessons import --all` makes cards of them")
        if past and not is_interactive():
            say(f"found {past}; `lessons mine` looks for lessons there")
        elif past and typer.confirm(f"Found {past}: look for lessons?", default=True):
            run_mine(brains, all_projects=False)
            return True
    return False


def _confirm(root: str, count: int) -> bool:
    """Ask whether agents may read the cards that a folder already contains. The default is no."""
    if options().json or not is_interactive():
        return False
    cards = counted(count, "card")
    return typer.confirm(f"{visible(root)} already contains {cards}. Let your agents read them?")
