"""Commands on a brain as a whole: init trust config."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated

import typer

from lessons_kb.cli.options import open_brain, options, print_json, print_table, say
from lessons_kb.text.counted import counted
from lessons_kb.text.visible import visible

Folder = Annotated[str, typer.Argument(metavar="DIR", help="Folder of the brain.")]


def register(app: typer.Typer) -> None:
    """Add this noun's commands."""
    for command in (init, trust, config):
        app.command(command.__name__)(command)


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
    _say_goes_by_path(root)


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
    _say_goes_by_path(root)


def config() -> None:
    """Print the settings in effect and the origin of each.

    Example: lessons config --json
    """
    from lessons_kb.config import flat_settings
    from lessons_kb.store.settings import read_settings

    settings, origins = read_settings(open_brain().layers[0].root)
    flat = flat_settings(settings)
    if options().json:
        print_json({k: {"value": v, "origin": origins.get(k, "default")} for k, v in flat.items()})
        return
    rows = [(key, _toml(value), origins.get(key, "default")) for key, value in flat.items()]
    print_table(("key", "value", "origin"), rows)


def _confirm(root: str, count: int) -> bool:
    """Ask whether what lies in a folder already may speak; nobody to ask means no."""
    if options().json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    cards = counted(count, "card")
    return typer.confirm(f"{visible(root)} already holds {cards}. Let your agents read them?")


def _say_goes_by_path(root: str) -> None:
    from lessons_kb.store.trust import goes_by_path

    if goes_by_path(root):
        say(f"{root} is read-only: trust is tied to its path and applies to any folder there")


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)
