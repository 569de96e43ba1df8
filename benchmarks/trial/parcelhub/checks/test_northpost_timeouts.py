import unittest
from unittest import mock

from parcelhub.carriers import CarrierError, NorthPost
from tests.kit import FakeTransport, Response, Timeout, make_parcel

OK = Response(201, {"tracking": "NP00017"})


@mock.patch("time.sleep", lambda _seconds: None)
class Check(unittest.TestCase):
    def test_third_attempt(self):
        transport = FakeTransport(Timeout("x"), Timeout("x"), OK)
        self.assertEqual(NorthPost("k", transport).create_label(make_parcel("P7")), "NP00017")

    def test_gives_up(self):
        transport = FakeTransport(*[Timeout("x")] * 5)
        with self.assertRaises(Timeout):
            NorthPost("k", transport).create_label(make_parcel())
        self.assertEqual(len(transport.requests), 3)

    def test_refusal_is_not_repeated(self):
        transport = FakeTransport(Response(422, {"error": "zip"}), OK)
        with self.assertRaises(CarrierError):
            NorthPost("k", transport).create_label(make_parcel())

    def test_convention(self):
        transport = FakeTransport(Timeout("x"), Timeout("x"), OK)
        NorthPost("k", transport).create_label(make_parcel("P7"))
        for request in transport.requests:
            self.assertEqual(request["headers"].get("X-NP-Dedupe"), "P7")
