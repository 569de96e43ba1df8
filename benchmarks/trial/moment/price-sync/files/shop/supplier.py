"""The supplier's feed of prices."""

import json
from datetime import datetime
from pathlib import Path

DATA = Path(__file__).parent.parent / "data"


def fetch_prices() -> dict[str, int]:
    """Fetch the current prices in cents."""
    with (DATA / "fetches.txt").open("a") as file:
        file.write(f"{datetime.now():%H:%M} prices\n")
    prices: dict[str, int] = json.loads((DATA / "feed" / "prices.json").read_text())
    return prices
