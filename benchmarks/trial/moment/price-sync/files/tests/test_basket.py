import unittest

from shop.basket import total


class Basket(unittest.TestCase):
    def test_nothing(self):
        self.assertEqual(total({}), 0)
