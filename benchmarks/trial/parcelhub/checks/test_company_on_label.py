import unittest

from parcelhub.labels import render_label
from parcelhub.models import Address
from tests.kit import make_parcel


class Check(unittest.TestCase):
    def setUp(self):
        to = Address("Ada Byron", "Lindenweg 4", "20095", "Hamburg", company="Engines GmbH")
        self.lines = render_label(make_parcel(recipient=to, tracking="NP1")).splitlines()

    def test_company(self):
        self.assertTrue(any("Engines GmbH" in line for line in self.lines), self.lines)
        self.assertEqual(self.lines[0], "Ada Byron")
        self.assertEqual(self.lines[-1], "NP1")

    def test_without(self):
        plain = render_label(make_parcel(tracking="NP1")).splitlines()
        self.assertEqual(plain, ["Ada Byron", "Lindenweg 4", "20095 Hamburg", "DE", "NP1"])

    def test_convention(self):
        self.assertEqual(self.lines[1], "Lindenweg 4")
        self.assertIn("Engines GmbH", self.lines[-2])
