import unittest

from parcelhub.manifest import export_manifest
from tests.kit import make_parcel


class Check(unittest.TestCase):
    def setUp(self):
        parcels = [make_parcel("P2", tracking="NP2"), make_parcel("P1", tracking="NP1")]
        self.lines = export_manifest(parcels).splitlines()

    def test_rows(self):
        self.assertEqual(self.lines[0], "id;tracking;weight_g;country")
        self.assertEqual(self.lines[1:3], ["P2;NP2;1200;DE", "P1;NP1;1200;DE"])

    def test_convention(self):
        self.assertEqual(self.lines[3:], ["END;2"])
        self.assertEqual(export_manifest([]).splitlines()[1:], ["END;0"])
