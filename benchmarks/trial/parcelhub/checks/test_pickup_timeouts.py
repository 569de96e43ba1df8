import unittest
from datetime import date
from unittest import mock

from parcelhub.carriers import NorthPost
from tests.kit import FakeTransport, Response, Timeout

OK = Response(200, {"booking": "B1"})


@mock.patch("time.sleep", lambda _seconds: None)
class Check(unittest.TestCase):
    def test_third_attempt(self):
        transport = FakeTransport(Timeout("x"), Timeout("x"), OK)
        self.assertEqual(NorthPost("k", transport).book_pickup(date(2026, 3, 2), 4), "B1")

    def test_gives_up(self):
        transport = FakeTransport(*[Timeout("x")] * 5)
        with self.assertRaises(Timeout):
            NorthPost("k", transport).book_pickup(date(2026, 3, 2), 4)
        self.assertEqual(len(transport.requests), 3)

    def test_convention(self):
        transport = FakeTransport(Timeout("x"), OK)
        NorthPost("k", transport).book_pickup(date(2026, 3, 2), 4)
        for request in transport.requests:
            self.assertEqual(set(request["headers"]), {"X-Api-Key", "Accept"})
