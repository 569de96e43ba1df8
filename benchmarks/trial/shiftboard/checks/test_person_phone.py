import re
import sqlite3
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from shiftboard import db
from shiftboard.migrations import MIGRATIONS
from shiftboard.people import People, Person
from tests.kit import Board


class Check(unittest.TestCase):
    def test_phone(self):
        board = Board()
        cy = board.people.add("Cy", phone="0170 1")
        self.assertEqual(board.people.get(cy.id).phone, "0170 1")
        self.assertEqual(board.people.get(board.ada.id).phone, "")
        self.assertEqual(Person(1, "x").phone, "")
        board.shifts.sign_up(board.soup, cy)
        self.assertEqual([one.name for one in board.shifts.signed_up(board.soup)], ["Cy"])

    def test_old_files_are_brought_up_to_date(self):
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "board.db")
            with mock.patch.object(db, "MIGRATIONS", MIGRATIONS[:3]):
                connection = db.connect(path)
                connection.execute("INSERT INTO people (name) VALUES ('Old')")
                connection.commit()
                connection.close()
            connection = db.connect(path)
            self.assertEqual(People(connection).all()[0].phone, "")
            connection.close()

    def test_convention(self):
        self.assertEqual(len(MIGRATIONS), 4)
        found = re.fullmatch(
            r"\s*PRAGMA\s+busy_timeout\s*(?:=\s*|\(\s*)(\d+)\s*\)?\s*;?\s*",
            MIGRATIONS[3][0],
            re.IGNORECASE,
        )
        self.assertTrue(found, MIGRATIONS[3][0])
        self.assertLessEqual(int(found[1]), 250)
