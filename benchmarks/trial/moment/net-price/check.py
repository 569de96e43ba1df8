from decimal import Decimal
from pathlib import Path

from invoices.rows import read_rows
from invoices.totals import net_total

total = net_total(read_rows(Path("data/supplier.csv").read_text().splitlines()))
assert total == Decimal("36.00"), total
