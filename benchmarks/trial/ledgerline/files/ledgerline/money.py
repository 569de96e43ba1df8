"""Whole cents."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal


def round_cents(amount: Decimal) -> int:
    """Return an amount of cents as a whole number, rounded commercially."""
    return int(amount.quantize(Decimal(1), rounding=ROUND_HALF_UP))


def format_amount(cents: int) -> str:
    """Return ``1.234,50`` as customers read it."""
    sign = "-" if cents < 0 else ""
    whole, rest = divmod(abs(cents), 100)
    return f"{sign}{whole:,}".replace(",", ".") + f",{rest:02d}"


def parse_amount(text: str) -> int:
    """Return the cents of ``1.234,50``."""
    cleaned = text.strip().replace(",", ".")
    return round_cents(Decimal(cleaned) * 100)
