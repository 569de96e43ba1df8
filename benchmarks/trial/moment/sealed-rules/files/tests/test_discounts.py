import unittest

from tillrules.discounts import discount


class Discounts(unittest.TestCase):
    def test_member(self):
        self.assertEqual(discount("member", 1000), 950)

    def test_staff(self):
        self.assertEqual(discount("staff", 1000), 800)
