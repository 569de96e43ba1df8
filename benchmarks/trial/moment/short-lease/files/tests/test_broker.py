import unittest

from post.broker import Broker


class Brokers(unittest.TestCase):
    def test_an_empty_queue(self):
        self.assertIsNone(Broker(lambda *_words, **_fields: None).take("letters"))
