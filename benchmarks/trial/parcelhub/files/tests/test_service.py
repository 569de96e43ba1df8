import os
import tempfile
import unittest

from parcelhub.carriers import NorthPost
from parcelhub.events import EventBus
from parcelhub.labels import render_label
from parcelhub.rates import northpost_price
from parcelhub.service import ParcelService
from parcelhub.store import ParcelNotFound, ParcelStore
from tests.kit import FakeTransport, Response, make_parcel


class ServiceTest(unittest.TestCase):
    def setUp(self):
        self.store, self.bus, self.heard = ParcelStore(), EventBus(), []
        self.bus.subscribe(lambda name, payload: self.heard.append((name, payload)))
        carrier = NorthPost("k", FakeTransport(Response(201, {"tracking": "NP00017"})))
        self.service = ParcelService(self.store, self.bus, {"northpost": carrier})
        self.store.add(make_parcel())

    def test_from_label_to_door(self):
        self.assertEqual(self.service.label("P1").tracking, "NP00017")
        self.service.mark_shipped("P1")
        self.assertEqual(self.service.mark_delivered("P1").status, "delivered")
        self.assertEqual(len(self.heard), 2)

    def test_unknown_parcel(self):
        with self.assertRaises(ParcelNotFound):
            self.store.get("P2")

    def test_parcels_are_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "parcels.json")
            ParcelStore(path).add(make_parcel())
            self.assertEqual(ParcelStore(path).get("P1"), make_parcel())

    def test_label_and_price(self):
        label = render_label(make_parcel(tracking="NP1")).splitlines()
        self.assertEqual(label[0], "Ada Byron")
        self.assertEqual(label[-1], "NP1")
        self.assertEqual(northpost_price(make_parcel()), 549)
