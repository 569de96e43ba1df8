import unittest

from parcelhub.carriers import CarrierError, Swiftway
from tests.kit import FakeTransport, Response


class Check(unittest.TestCase):
    def test_void(self):
        transport = FakeTransport(Response(200, {"code": "SW9", "state": "voided"}))
        self.assertIsNone(Swiftway("k", transport).void_label("SW9"))
        self.assertEqual(transport.requests[0]["method"], "DELETE")
        self.assertTrue(transport.requests[0]["url"].endswith("/labels/SW9"))
        self.assertEqual(transport.requests[0]["headers"]["X-Api-Key"], "k")

    def test_refused(self):
        with self.assertRaises(CarrierError):
            Swiftway("k", FakeTransport(Response(404, {"error": "gone"}))).void_label("SW9")

    def test_convention(self):
        for state in ("active", "void-requested"):
            transport = FakeTransport(Response(200, {"code": "SW9", "state": state}))
            with self.assertRaises(CarrierError):
                Swiftway("k", transport).void_label("SW9")
