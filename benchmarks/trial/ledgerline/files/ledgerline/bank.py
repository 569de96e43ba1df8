"""Statements of the bank: ``date;amount;purpose`` a line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from ledgerline.money import parse_amount


@dataclass(frozen=True)
class Transfer:
    on: date
    amount: int
    purpose: str
    """What the payer wrote, 140 characters at most."""


class StatementError(ValueError):
    """A line of a statement cannot be read."""


def read_statement(text: str) -> Iterator[Transfer]:
    """Yield the transfers of a statement."""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = line.split(";", 2)
        if len(parts) != 3:
            raise StatementError(f"line {number}: {line!r}")
        on, amount, purpose = parts
        yield Transfer(date.fromisoformat(on), parse_amount(amount), purpose)


def total(transfers: list[Transfer]) -> int:
    return sum(one.amount for one in transfers)
