from till.cart import Cart
from till.client import Client
from till.settle import settle

sent = []
settle(Cart("Ada", [250, 125]), Client(lambda name, fields: sent.append((name, fields))))
assert sent == [("book", {"account": "Ada", "amount": 3750})], sent
