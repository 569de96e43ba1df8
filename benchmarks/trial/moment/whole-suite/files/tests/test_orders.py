import unittest

from courier.orders import place


class Orders(unittest.TestCase):
    def test_number(self):
        self.assertEqual(place("P1", 1.5), "O-P1")
