"""Orders for the carrier."""

import json
from pathlib import Path

OUTBOX = Path(__file__).parent.parent / "spool" / "orders.jsonl"


def place(parcel: str, weight: float) -> str:
    """Place an order for a parcel, and return its number."""
    OUTBOX.parent.mkdir(exist_ok=True)
    number = f"O-{parcel}"
    with OUTBOX.open("a") as file:
        file.write(json.dumps({"number": number, "weight": weight}) + "\n")
    return number
