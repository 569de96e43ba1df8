from post.broker import Broker
from post.worker import run_once

asked = []


def ask(name, **fields):
    asked.append((name, fields))
    return {"id": "1", "text": "Dear Ada"} if name == "take" else None


handled = []
assert run_once(Broker(ask), handled.append) is True
assert [message.id for message in handled] == ["1"], handled
assert [name for name, _fields in asked] == ["take", "acknowledge"], asked
assert asked[0][1]["lease"] >= 45, asked
