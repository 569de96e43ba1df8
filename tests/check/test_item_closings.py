"""What an agent closes its items with, and what is believed of it."""

import pytest

from lessons_kb.check.item_states import check_items, read_closings
from lessons_kb.model import Card, Command, Edit, Evidence

ITEMS = ("Reject unknown senders", "Cover the rejection with a test")
CARD = Card(id="lessons/a.md", kind="lesson", title="a", checklist=ITEMS)
DONE = Evidence(
    edits=(Edit(path="src/bot.py", text="x = 1"),),
    commands=(Command(line="cd api && pytest -q tests/test_bot.py", tests=True),),
    complete=True,
)


def close(answer, evidence=DONE):
    closings = read_closings(answer, {1: CARD.id}, {CARD.id: ITEMS})
    items = check_items([CARD], answer, evidence, closings=closings).items
    return [(item.state, item.where) for item in items]


@pytest.mark.parametrize(("line", "expected"), [
    ("L1.2 done src/bot.py:41", ("shown", "src/bot.py:41")),
    ("- L1.2 done: `src/bot.py`", ("shown", "src/bot.py")),
    ("L1.2 done `pytest -q tests/test_bot.py`", ("shown", "command")),
    ("L1.2 done tests/test_bot.py:3", ("contradicted", "answer")),
    ("L1.2 done `npm test`", ("contradicted", "answer")),
    ("L1.2 left: no time", ("denied", "answer")),
    ("L1.2 done", ("open", "")),
    ("L1.2 I wonder", ("open", "answer")),
    ("L1.2 done src/nothing.py\nL1.2 left", ("denied", "answer")),
    ("L1.9 done src/bot.py:41", ("open", "")),
    ("L2.2 done src/bot.py:41", ("open", "")),
])  # fmt: skip
def test_a_closing_is_held_against_what_happened(line, expected):
    assert close(f"All of it is in place.\n\n{line}\n")[1][0] == expected[0]
    if expected[1]:
        assert close(f"Fine.\n\n{line}\n")[1][1] in (expected[1], "")


def test_a_closing_shows_its_own_item_alone():
    assert close("L1.1 done src/bot.py:1")[1] == ("open", "")


def test_where_not_all_is_known_nothing_is_contradicted():
    some = Evidence(edits=DONE.edits)
    assert close("L1.2 done tests/test_bot.py:3", some)[1] == ("open", "answer")
