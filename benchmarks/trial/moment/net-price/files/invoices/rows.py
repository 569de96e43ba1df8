"""Rows of a supplier's file."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal


@dataclass
class Row:
    """The prices of an article."""

    sku: str
    net: Decimal
    gross: Decimal
    base: Decimal


def read_rows(lines: Iterable[str]) -> list[Row]:
    """Parse a supplier's file."""
    return [
        Row(row["sku"], Decimal(row["net"]), Decimal(row["gross"]), Decimal(row["base"]))
        for row in csv.DictReader(lines)
    ]
