import unittest

from shiftboard.importer import import_people
from tests.kit import Board

TEXT = """name,email
Cy Young,cy@example.org
"Diaz, Bo",BO@example.org
Ada B.,ada@example.org
"""


class Check(unittest.TestCase):
    def test_import(self):
        board = Board()
        text = TEXT.replace("BO@", "dora@")
        self.assertEqual(import_people(text, board.people), 2)
        names = [one.name for one in board.people.all()]
        self.assertEqual(names, ["Ada Byron", "Bo Diaz", "Cy Young", "Diaz, Bo"])
        self.assertEqual(import_people(text, board.people), 0)
        self.assertFalse(any(one.minor for one in board.people.all()))

    def test_convention(self):
        board = Board()
        import_people("name,email\nMia Roth*,mia@example.org\nNo Star,no@example.org\n", board.people)
        found = {one.name: one.minor for one in board.people.all()}
        self.assertEqual(found["Mia Roth"], True)
        self.assertEqual(found["No Star"], False)
