"""What a parcel costs, in cents."""

from __future__ import annotations

from parcelhub.models import Parcel

NORTHPOST = ((1_000, 449), (2_000, 549), (5_000, 699), (10_000, 949), (31_500, 1_649))
"""Up to so many grams → price."""
ABROAD = 600


def northpost_price(parcel: Parcel) -> int:
    """Return the price of a single parcel with NorthPost."""
    for grams, price in NORTHPOST:
        if parcel.weight_g <= grams:
            return price + (0 if parcel.recipient.country == "DE" else ABROAD)
    raise ValueError(f"NorthPost takes no parcel of {parcel.weight_g} g")
