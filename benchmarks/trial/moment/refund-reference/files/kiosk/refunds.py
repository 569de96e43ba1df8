"""Refunds of a kiosk."""

from dataclasses import dataclass


@dataclass
class Refund:
    """Money that goes back to a customer."""

    order: int
    cents: int


def total(refunds: list[Refund]) -> int:
    """Return the sum of some refunds in cents."""
    return sum(refund.cents for refund in refunds)
