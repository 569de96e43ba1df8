import unittest

from till.cart import Cart


class Carts(unittest.TestCase):
    def test_total(self):
        self.assertEqual(Cart("Ada", [250, 125]).total(), 375)
