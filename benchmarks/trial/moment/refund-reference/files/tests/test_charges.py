import unittest
from datetime import date

from kiosk.charges import charge_reference


class Charges(unittest.TestCase):
    def test_reference(self):
        self.assertEqual(charge_reference(42, date(2026, 3, 1)), "CH-00042-20260301")
