import unittest

from courier.tariffs import price


class Tariffs(unittest.TestCase):
    def test_steps(self):
        self.assertEqual([price(1), price(4), price(9)], [490, 690, 990])

    def test_a_whole_step(self):
        self.assertEqual(price(5), 690)
