"""Invoices, credit notes and the book that holds them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

VAT = Decimal("0.19")


@dataclass
class Line:
    text: str
    quantity: int
    price: int
    """Of one piece, net."""

    @property
    def net(self) -> int:
        return self.quantity * self.price


@dataclass
class Invoice:
    number: str
    customer: str
    on: date
    due: date
    lines: list[Line] = field(default_factory=list)
    paid: int = 0

    @property
    def net(self) -> int:
        return sum(line.net for line in self.lines)

    @property
    def open(self) -> int:
        """What is still owed."""
        return max(self.net - self.paid, 0)

    @property
    def is_paid(self) -> bool:
        return self.open == 0


@dataclass
class CreditNote:
    """Money that a customer gets back for an invoice."""

    number: str
    invoice: str
    on: date
    amount: int


class DuplicateNumber(ValueError):
    """A number was given twice."""


class InvoiceBook:
    """All invoices, by number."""

    def __init__(self) -> None:
        self._invoices: dict[str, Invoice] = {}

    def __iter__(self) -> Iterator[Invoice]:
        return iter(self._invoices.values())

    def __len__(self) -> int:
        return len(self._invoices)

    def add(self, invoice: Invoice) -> None:
        if invoice.number in self._invoices:
            raise DuplicateNumber(invoice.number)
        self._invoices[invoice.number] = invoice

    def get(self, number: str) -> Invoice:
        return self._invoices[number]

    def of_customer(self, customer: str) -> list[Invoice]:
        found = [one for one in self if one.customer == customer]
        return sorted(found, key=lambda one: one.on)
