import unittest
from datetime import date

from ledgerline.bank import StatementError, read_statement, total
from ledgerline.invoices import InvoiceBook
from ledgerline.money import format_amount, parse_amount
from ledgerline.payments import PaymentError, PaymentService
from ledgerline.receipts import Receipt, ReceiptRoll
from tests.kit import FakeGateway, make_invoice


class PaymentTest(unittest.TestCase):
    def setUp(self):
        self.book = InvoiceBook()
        self.book.add(make_invoice())
        self.service = PaymentService(self.book, FakeGateway())

    def test_an_invoice_is_paid_once(self):
        payment = self.service.pay("2026-0001", "tok", date(2026, 1, 12))
        self.assertEqual((payment.amount, self.service.balance("payments")), (1000, 1000))
        with self.assertRaises(PaymentError):
            self.service.pay("2026-0001", "tok", date(2026, 1, 12))
        self.assertEqual(len(self.service.of_month(2026, 1)), 1)

    def test_amounts(self):
        self.assertEqual(parse_amount("12,50"), 1250)
        self.assertEqual(format_amount(123450), "1.234,50")

    def test_statements(self):
        found = list(read_statement("# bank\n2026-01-12;10,00;C-123456 thanks\n"))
        self.assertEqual(total(found), 1000)
        with self.assertRaises(StatementError):
            list(read_statement("what"))

    def test_receipts(self):
        roll = ReceiptRoll()
        roll.receipts.append(Receipt("K-0001", date(2026, 1, 2), 500))
        self.assertEqual(roll.total(date(2026, 1, 2)), 500)
