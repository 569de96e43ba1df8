import re
import unittest

import pump


class Version(unittest.TestCase):
    def test_form(self):
        self.assertTrue(re.fullmatch(r"\d+\.\d+\.\d+", pump.VERSION))
