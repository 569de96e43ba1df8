"""`lessons config`: show the settings and where each comes from."""

from __future__ import annotations

from lessons_kb.cli.options import open_brain, options, print_json, print_table


def config() -> None:
    """Print the settings in effect and the origin of each.

    Example: lessons config --json
    """
    from lessons_kb.config import flat_settings
    from lessons_kb.store.brain_settings import read_settings

    settings, origins = read_settings(open_brain().layers[0].root)
    flat = flat_settings(settings)
    if options().json:
        print_json({k: {"value": v, "origin": origins.get(k, "default")} for k, v in flat.items()})
        return
    rows = [(key, _toml(value), origins.get(key, "default")) for key, value in flat.items()]
    print_table(("key", "value", "origin"), rows)


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)
