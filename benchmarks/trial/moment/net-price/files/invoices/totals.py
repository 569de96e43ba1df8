"""Totals of an invoice."""

from decimal import Decimal

from invoices.rows import Row


def gross_total(rows: list[Row]) -> Decimal:
    """Return the sum of the gross prices."""
    return sum((row.gross for row in rows), Decimal(0))
