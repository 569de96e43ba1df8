"""The price of a parcel."""

STEPS = ((2, 490), (5, 690), (10, 990))
"""Pairs of the heaviest weight in kg and the price in cents."""


def price(weight: float) -> int:
    """Return the price of a parcel in cents."""
    for heaviest, cents in STEPS:
        if weight < heaviest:
            return cents
    raise ValueError("too heavy")
