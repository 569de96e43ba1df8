import unittest

from parcelhub.models import Address
from parcelhub.rates import bulk_price
from tests.kit import make_parcel


class Check(unittest.TestCase):
    def test_price(self):
        self.assertEqual(bulk_price(make_parcel(weight_g=300)), 240)
        self.assertEqual(bulk_price(make_parcel(weight_g=3000)), 320)
        self.assertEqual(bulk_price(make_parcel(weight_g=3500)), 360)

    def test_abroad(self):
        to = Address("Ada", "Rue 1", "75001", "Paris", "FR")
        self.assertEqual(bulk_price(make_parcel(weight_g=300, recipient=to)), 840)

    def test_convention(self):
        self.assertEqual(bulk_price(make_parcel(weight_g=3040)), 320)
        self.assertEqual(bulk_price(make_parcel(weight_g=3050)), 320)
        self.assertEqual(bulk_price(make_parcel(weight_g=3060)), 360)
