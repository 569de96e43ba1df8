import unittest

from enrol.form import render


class Form(unittest.TestCase):
    def test_lines(self):
        self.assertEqual(render(["name", "course"]), "Name: ________\nCourse: ________")
