import unittest

from ledgerline.bank import find_customer


class Check(unittest.TestCase):
    def test_found(self):
        self.assertEqual(find_customer("C-123456 thanks"), "C-123456")
        self.assertEqual(find_customer("inv 7, C-123456"), "C-123456")
        self.assertIsNone(find_customer("thank you"))
        self.assertIsNone(find_customer("C-12 3456"))

    def test_convention(self):
        text = "payment for the order, C-123456 and many thanks for all of it"
        wrapped = f"{text[:27]} {text[27:54]} {text[54:]}"
        self.assertNotIn("C-123456", wrapped)
        self.assertEqual(find_customer(wrapped), "C-123456")
        text = "this is for our last order of the winter, see C-654321, thank you"
        wrapped = f"{text[:27]} {text[27:54]} {text[54:]}"
        self.assertEqual(find_customer(wrapped), "C-654321")
        text = "we have paid this already, and now it is paid twice C-654321"
        wrapped = f"{text[:27]} {text[27:54]} {text[54:]}"
        self.assertNotIn("C-654321", wrapped)
        self.assertEqual(find_customer(wrapped), "C-654321")
