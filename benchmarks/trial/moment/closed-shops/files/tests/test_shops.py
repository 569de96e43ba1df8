import unittest

from directory.shops import find_shop, read_shops


class Shops(unittest.TestCase):
    def test_find(self):
        self.assertEqual(find_shop(read_shops(), "Bakery")["street"], "Mill Lane")
