import unittest

from tests.kit import Board


class Check(unittest.TestCase):
    def test_search(self):
        people = Board().people
        people.add("Cy 100% Young", "cy_y@example.org")

        def names(text):
            return [one.name for one in people.search(text)]

        self.assertEqual(names("BYRON"), ["Ada Byron"])
        self.assertEqual(names("example.org"), ["Ada Byron", "Bo Diaz", "Cy 100% Young"])
        self.assertEqual(names("0%"), ["Cy 100% Young"])
        self.assertEqual(names("y_y"), ["Cy 100% Young"])
        self.assertEqual(names("_"), ["Cy 100% Young"])
        self.assertEqual(names("zz"), [])
