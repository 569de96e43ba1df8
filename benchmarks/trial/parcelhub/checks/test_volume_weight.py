import unittest

from parcelhub.rates import volume_weight
from tests.kit import make_parcel


class Check(unittest.TestCase):
    def test_weight(self):
        self.assertEqual(volume_weight(make_parcel(length_cm=50, width_cm=40, height_cm=30)), 12000)
        self.assertEqual(volume_weight(make_parcel(length_cm=11, width_cm=11, height_cm=11)), 267)
        self.assertEqual(volume_weight(make_parcel(length_cm=50, width_cm=40)), 0)
