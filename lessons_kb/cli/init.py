"""`lessons init`, `lessons trust` and `lessons config`: make a brain, and let it speak."""

from __future__ import annotations

import contextlib
import json
import os

import typer

from lessons_kb.brain.discovery import count_cards, look, make_brain, trust_brain
from lessons_kb.cards.keys import build_schema
from lessons_kb.cli.mine import run_mine
from lessons_kb.cli.options import open_brain
from lessons_kb.cli.output import (
    is_interactive,
    options,
    print_answer,
    print_json,
    print_table,
    say,
)
from lessons_kb.config import flat_settings
from lessons_kb.errors import InputError
from lessons_kb.library import Library
from lessons_kb.mining.mine_project import tell_past
from lessons_kb.store.brain_settings import read_settings
from lessons_kb.store.locations import user_brain, user_settings_path
from lessons_kb.store.trust import goes_by_path, is_trusted
from lessons_kb.text.sanitize import counted, shell_word, visible


def _say_goes_by_path(root: str) -> None:
    """Say so where the trust in a brain goes by its path."""
    if goes_by_path(root):
        say(f"{root} is read-only: trust is tied to its path and applies to any folder there")


def init(folder: str | None = None, user: bool = False) -> None:
    """Create a brain: lessons.toml, a cache and folders for cards.

    A project that has cards gets no folders.

    Example: lessons init docs/brain

    DIR     Folder of the brain; default: this one.
    --user  Create your user brain, used in every project.
    """
    named = [name for name in (folder, *options().brains) if name is not None]
    if len({os.path.realpath(name) for name in named}) > 1:
        raise InputError(f"init makes one brain, not {' and '.join(named)}; name one folder")
    chosen = user_brain() if user else next(iter(named), ".")
    root, made = make_brain(chosen, confirm=_confirm)
    trusted = is_trusted(root)
    told = f": created {', '.join(made)}" if made else " is already a brain; nothing changed"
    print_answer({"brain": root, "made": made, "trusted": trusted}, f"{visible(root)}{told}")
    if not trusted:
        cards = counted(count_cards(root), "card")
        say(f"{cards} found, not trusted yet; review, then run `lessons trust {shell_word(root)}`")
    _say_goes_by_path(root)
    if not made or not trusted or options().json:
        return
    known = count_cards(root)
    if known:
        say(f"{counted(known, 'card')} found and in use; `lessons list` shows them")
    if not user and _offer_mining(root):
        return
    nearest = next(iter(look(os.curdir).trusted), "") == root
    option = "" if nearest or user else f" --brain {shell_word(os.path.relpath(root))}"
    first = "" if known else f'`lessons{option} add "what went wrong"` writes the first card; '
    say(f"next: {first}`lessons setup` connects your agents")
    say(
        "to measure what lessons prevent, later: `[effect] withhold = 0.1` in "
        f"{visible(user_settings_path())}"
    )


def _offer_mining(root: str) -> bool:
    """Offer to look for lessons in the past of the project; without a terminal, hint at it.

    Returns whether that was the next step.
    """
    with contextlib.closing(Library.open(root)) as brains:
        past = tell_past(brains.directory)
        if past and not is_interactive():
            say(f"found {past}; `lessons mine` looks for lessons there")
        elif past and typer.confirm(f"Found {past}: look for lessons?", default=True):
            run_mine(brains, all_projects=False, drafts=0)
            return True
    return False


def _confirm(root: str, count: int) -> bool:
    """Ask whether what lies in a folder already may speak; nobody to ask means no."""
    if options().json or not is_interactive():
        return False
    cards = counted(count, "card")
    return typer.confirm(f"{visible(root)} already holds {cards}. Let your agents read them?")


def trust(folder: str = ".", revoke: bool = False) -> None:
    """Allow the cards of a brain to reach your agents.

    A brain in a cloned repository is silent until you trust it. Read its cards first: they are
    put in front of your agents.

    Example: lessons trust docs/brain

    DIR       Folder of the brain.
    --revoke  Revoke trust.
    """
    root = trust_brain(folder, revoke=revoke)
    line = f"{visible(root)} is {'no longer' if revoke else 'now'} trusted"
    print_answer({"brain": root, "trusted": not revoke}, line)
    if not revoke:
        _say_goes_by_path(root)


def config(schema: bool = False) -> None:
    """Print the settings in effect and the origin of each.

    Example: lessons config --json

    --schema  Print the JSON Schema of a card's header instead.
    """
    if schema:
        print_json(build_schema())
        return
    settings, origins = read_settings(open_brain().members[0].root)
    rows = [
        (key, value, origins.get(key, "default")) for key, value in flat_settings(settings).items()
    ]
    if options().json:
        print_json({key: {"value": value, "origin": origin} for key, value, origin in rows})
    else:
        table = [
            (key, json.dumps(value, ensure_ascii=False), origin) for key, value, origin in rows
        ]
        print_table(("key", "value", "origin"), table)
