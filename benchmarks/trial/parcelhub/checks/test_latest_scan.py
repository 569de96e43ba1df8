import unittest
from datetime import datetime

from parcelhub.models import Scan
from tests.kit import make_parcel


class Check(unittest.TestCase):
    def test_latest(self):
        early, late = Scan(datetime(2026, 1, 1), "A", "x"), Scan(datetime(2026, 1, 2), "B", "x")
        self.assertEqual(make_parcel(scans=[late, early]).latest_scan(), late)
        self.assertEqual(make_parcel(scans=[early, late]).latest_scan(), late)
        self.assertIsNone(make_parcel().latest_scan())
