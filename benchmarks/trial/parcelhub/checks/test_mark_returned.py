import re
import unittest

from parcelhub.events import EventBus
from parcelhub.service import ParcelService
from parcelhub.store import ParcelNotFound, ParcelStore
from tests.kit import make_parcel


class Check(unittest.TestCase):
    def setUp(self):
        self.heard, bus, store = [], EventBus(), ParcelStore()
        bus.subscribe(lambda name, payload: self.heard.append((name, payload)))
        store.add(make_parcel(tracking="NP1", status="shipped"))
        self.service = ParcelService(store, bus, {})

    def test_returned(self):
        parcel = self.service.mark_returned("P1", "refused")
        self.assertEqual((parcel.status, parcel.reason), ("returned", "refused"))
        payload = self.heard[-1][1]
        self.assertEqual(payload["id"], "P1")
        self.assertEqual(payload["tracking"], "NP1")
        self.assertEqual(payload["reason"], "refused")

    def test_unknown(self):
        with self.assertRaises(ParcelNotFound):
            self.service.mark_returned("P9", "refused")

    def test_convention(self):
        self.service.mark_returned("P1", "refused")
        names = [name for name, _payload in self.heard]
        self.assertTrue(any(re.fullmatch(r"parcel\.returned\.v1", name) for name in names), names)
