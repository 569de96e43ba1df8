import unittest
from datetime import date

from parcelhub.carriers import CarrierError, NorthPost, Swiftway, make_carrier
from tests.kit import FakeTransport, Response, make_parcel


class CarrierTest(unittest.TestCase):
    def test_northpost_sells_a_label(self):
        transport = FakeTransport(Response(201, {"tracking": "NP00017"}))
        self.assertEqual(NorthPost("k", transport).create_label(make_parcel()), "NP00017")
        self.assertEqual(transport.requests[0]["body"]["weight"], 1200)

    def test_swiftway_sells_a_label(self):
        transport = FakeTransport(Response(200, {"code": "SW9"}))
        self.assertEqual(Swiftway("k", transport).create_label(make_parcel()), "SW9")

    def test_a_refusal_is_an_error(self):
        transport = FakeTransport(Response(422, {"error": "zip"}))
        with self.assertRaises(CarrierError):
            NorthPost("k", transport).create_label(make_parcel())

    def test_a_pickup_is_booked(self):
        transport = FakeTransport(Response(200, {"booking": "B1"}))
        self.assertEqual(NorthPost("k", transport).book_pickup(date(2026, 3, 2), 4), "B1")

    def test_unknown_carrier(self):
        with self.assertRaises(CarrierError):
            make_carrier("pigeon", "k")
