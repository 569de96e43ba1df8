"""Files for Bookwise, the accountant's program: ``kind;number;date;cents``."""

from __future__ import annotations

from collections.abc import Iterable

from ledgerline.invoices import CreditNote, Invoice

INVOICE = "R"


def export_bookwise(invoices: Iterable[Invoice], notes: Iterable[CreditNote] = ()) -> str:
    """Return the file of some invoices; credit notes are not written yet."""
    rows = [(INVOICE, one.number, one.on.isoformat(), str(one.net)) for one in invoices]
    return "".join(";".join(row) + "\n" for row in rows)


def export_customers(invoices: Iterable[Invoice]) -> str:
    """Return the customers of some invoices, each once, one a line."""
    return "".join(f"{name}\n" for name in sorted({one.customer for one in invoices}))
