"""Discounts of customers."""

import tomllib
from pathlib import Path

RULES = Path(__file__).parent.parent / "rules" / "discounts.toml"


def discount(kind: str, cents: int) -> int:
    """Return the price in cents after the discount of a kind of customer."""
    percent = tomllib.loads(RULES.read_text())["percent"][kind]
    return round(cents * (100 - percent) / 100)
