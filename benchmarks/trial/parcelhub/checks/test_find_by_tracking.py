import unittest

from parcelhub.store import ParcelNotFound, ParcelStore
from tests.kit import make_parcel


class Check(unittest.TestCase):
    def setUp(self):
        self.store = ParcelStore()
        self.store.add(make_parcel("P1", tracking="NP00017"))
        self.store.add(make_parcel("P2", tracking="NP10017"))
        self.store.add(make_parcel("P3"))

    def test_found(self):
        self.assertEqual(self.store.find_by_tracking("NP10017").id, "P2")

    def test_absent(self):
        with self.assertRaises(ParcelNotFound):
            self.store.find_by_tracking("NP99999")

    def test_convention(self):
        self.assertEqual(self.store.find_by_tracking("NPO0O17").id, "P1")
        self.assertEqual(self.store.find_by_tracking("np1oo17").id, "P2")
