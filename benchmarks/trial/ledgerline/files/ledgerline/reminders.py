"""Who owes us something, and what we write."""

from __future__ import annotations

from datetime import date

from ledgerline.invoices import Invoice
from ledgerline.money import format_amount

TEXT = """\
Dear {customer},

our invoice {number} of {on} over {amount} EUR was due on {due}. Perhaps it slipped your mind?
"""


def days_overdue(invoice: Invoice, today: date) -> int:
    """Return for how many days an invoice is overdue, 0 if it is not or is paid."""
    return 0 if invoice.is_paid else max((today - invoice.due).days, 0)


def write_reminder(invoice: Invoice) -> str:
    """Return the letter."""
    return TEXT.format(
        customer=invoice.customer,
        number=invoice.number,
        on=invoice.on,
        due=invoice.due,
        amount=format_amount(invoice.open),
    )
