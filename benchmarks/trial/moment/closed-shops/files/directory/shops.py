"""Shops of the town."""

import json
from pathlib import Path

DATA = Path(__file__).parent.parent / "data" / "shops.json"
Shop = dict[str, str]


def read_shops() -> list[Shop]:
    """Return all shops."""
    shops: list[Shop] = json.loads(DATA.read_text())
    return shops


def find_shop(shops: list[Shop], name: str) -> Shop | None:
    """Return the shop with a name, or None."""
    return next((shop for shop in shops if shop["name"] == name), None)
