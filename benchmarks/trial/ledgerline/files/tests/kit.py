"""Stand-ins for tests."""

from datetime import date

from ledgerline.gateway import GatewayError
from ledgerline.invoices import Invoice, Line


class FakeGateway:
    def __init__(self, refuse=False):
        self.refuse = refuse
        self.calls = []

    def capture(self, token, amount):
        return self._call("capture", token, amount)

    def refund(self, reference, amount):
        return self._call("refund", reference, amount)

    def _call(self, what, name, amount):
        if self.refuse:
            raise GatewayError(what)
        self.calls.append((what, name, amount))
        return f"ref-{len(self.calls)}"


def make_invoice(number="2026-0001", *prices, customer="Byron KG", on=date(2026, 1, 10)):
    lines = [Line(f"thing {n}", 1, price) for n, price in enumerate(prices or (1000,), 1)]
    return Invoice(number, customer, on, date(2026, 1, 31), lines)
