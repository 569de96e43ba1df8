import unittest
from datetime import date

from ledgerline.gateway import GatewayError
from ledgerline.invoices import InvoiceBook
from ledgerline.payments import PaymentError, PaymentService
from tests.kit import FakeGateway, make_invoice

PAID, TODAY = date(2026, 1, 12), date(2026, 2, 20)


class Check(unittest.TestCase):
    def setUp(self):
        book = InvoiceBook()
        book.add(make_invoice())
        self.gateway = FakeGateway()
        self.service = PaymentService(book, self.gateway)
        self.payment = self.service.pay("2026-0001", "tok", PAID)

    def test_refund(self):
        entry = self.service.refund("pay-1", 400, TODAY)
        self.assertEqual((entry.account, entry.amount), ("payments", -400))
        self.assertEqual(self.payment.refunded, 400)
        self.assertEqual(self.gateway.calls[-1], ("refund", self.payment.reference, 400))
        self.assertEqual(self.service.balance("payments"), 600)
        with self.assertRaises(PaymentError):
            self.service.refund("pay-1", 601, TODAY)
        self.service.refund("pay-1", 600, TODAY)

    def test_a_refusal_leaves_no_trace(self):
        self.gateway.refuse = True
        with self.assertRaises(GatewayError):
            self.service.refund("pay-1", 400, TODAY)
        self.assertEqual((self.payment.refunded, self.service.balance("payments")), (0, 1000))

    def test_convention(self):
        entry = self.service.refund("pay-1", 400, TODAY)
        self.assertEqual(entry.on, PAID)
        self.assertIs(self.service.ledger[-1], entry)
