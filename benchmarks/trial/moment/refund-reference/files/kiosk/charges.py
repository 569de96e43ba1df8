"""Charges of a kiosk."""

from datetime import date


def charge_reference(order: int, day: date) -> str:
    """Return the reference that the bank prints on the statement of a charge."""
    return f"CH-{order:05}-{day:%Y%m%d}"
