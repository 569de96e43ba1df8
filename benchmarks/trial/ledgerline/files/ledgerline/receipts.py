"""Receipts of the counter: paid at once, in cash."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from ledgerline.money import format_amount


@dataclass(frozen=True)
class Receipt:
    number: str
    on: date
    amount: int


class ReceiptRoll:
    """The receipts in the order in which they were printed."""

    def __init__(self) -> None:
        self.receipts: list[Receipt] = []

    def print_line(self, receipt: Receipt) -> str:
        return f"{receipt.number}  {receipt.on}  {format_amount(receipt.amount):>12}"

    def total(self, on: date) -> int:
        return sum(one.amount for one in self.receipts if one.on == on)
