import unittest
from datetime import time

from meter.export import list_stations
from meter.readings import Reading


class Export(unittest.TestCase):
    def test_stations(self):
        readings = [Reading("Weir", time(6), 1.5), Reading("Bridge", time(6), None)]
        self.assertEqual(list_stations(readings), "Bridge\nWeir\n")
