"""`lessons config`: print the settings in effect and the origin of each setting."""

from __future__ import annotations

import json
from typing import Annotated

from typer import Option

from lessons_kb.cli.options import open_brain
from lessons_kb.cli.output import options, print_json, print_table
from lessons_kb.config import flat_settings
from lessons_kb.on_demand import CARD_KEYS, load
from lessons_kb.store.brain_settings import read_settings
from lessons_kb.store.card_files import read_template


def config(
    all_: Annotated[
        bool,
        Option("--all", help="Print every key with its default and meaning."),
    ] = False,
    schema: Annotated[
        bool, Option("--schema", help="Print the JSON Schema of a card's header.")
    ] = False,
) -> None:
    """Print the settings in effect and the origin of each.

    Example: lessons config --all
    """
    if schema:
        print_json(load(CARD_KEYS).build_schema())
        return
    if all_ and not options().json:
        print(read_template("all-settings.toml").rstrip("\n"))
        return
    settings, origins = read_settings(open_brain(for_one="printed").members[0].root)
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
