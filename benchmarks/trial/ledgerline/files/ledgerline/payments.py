"""Payments, and the ledger of what moved."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from datetime import date

from ledgerline.gateway import Gateway
from ledgerline.invoices import InvoiceBook


@dataclass(frozen=True)
class Entry:
    """A line of the ledger: money in is positive."""

    on: date
    account: str
    amount: int
    text: str


@dataclass
class Payment:
    id: str
    invoice: str
    amount: int
    on: date
    reference: str
    refunded: int = 0


class PaymentError(ValueError):
    """What was asked of a payment makes no sense."""


class PaymentService:
    """Takes money for invoices and books it."""

    def __init__(self, book: InvoiceBook, gateway: Gateway) -> None:
        self.book = book
        self.gateway = gateway
        self.payments: dict[str, Payment] = {}
        self.ledger: list[Entry] = []
        self._numbers = itertools.count(1)

    def pay(self, number: str, token: str, today: date) -> Payment:
        """Take what is open of an invoice."""
        invoice = self.book.get(number)
        if invoice.is_paid:
            raise PaymentError(f"{number} is paid")
        amount = invoice.open
        reference = self.gateway.capture(token, amount)
        payment = Payment(f"pay-{next(self._numbers)}", number, amount, today, reference)
        self.payments[payment.id] = payment
        invoice.paid += amount
        self.ledger.append(Entry(today, "payments", amount, f"{number} {payment.id}"))
        return payment

    def balance(self, account: str) -> int:
        return sum(entry.amount for entry in self.ledger if entry.account == account)

    def of_month(self, year: int, month: int) -> list[Entry]:
        """Return the ledger of a month, as the accountant closes it."""
        return [e for e in self.ledger if (e.on.year, e.on.month) == (year, month)]
