import unittest

from sync.upload import upload


class Upload(unittest.TestCase):
    def test_success(self):
        self.assertTrue(upload(b"1", lambda data, timeout: True))
