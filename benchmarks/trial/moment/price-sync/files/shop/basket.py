"""Baskets of customers."""

import json
from pathlib import Path

PRICES = Path(__file__).parent.parent / "data" / "prices.json"


def total(basket: dict[str, int]) -> int:
    """Return the price of a basket (article and count) in cents."""
    prices = json.loads(PRICES.read_text())
    return sum(prices[article] * count for article, count in basket.items())
