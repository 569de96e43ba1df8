"""Of a session only what belongs to the named mistake is taken."""

from lessons_kb.learn.draft_text import sketch_session
from lessons_kb.learn.triggers import find_failure, pick_turns
from lessons_kb.model import Event


def session():
    rows = [
        ("prompt", "Add a coupon to the shopping cart", "ok", "", ()),
        ("command", "pytest tests/test_cart.py", "exec_error", "assert total == 3: coupon", ()),
        ("edit", "", "ok", "", ("cart.py",)),
        ("prompt", "still wrong, look at the rounding", "ok", "", ()),
        ("edit", "", "ok", "", ("rounding.py",)),
        ("command", "pytest tests/test_cart.py", "ok", "", ()),
        ("prompt", "Now let the newsletter go out at night", "ok", "", ()),
        ("command", "python send.py", "exec_error", "SMTPServerDisconnected", ()),
        ("edit", "", "ok", "", ("send.py",)),
        ("prompt", "And rename the logo", "ok", "", ()),
        ("edit", "", "ok", "", ("logo.svg",)),
    ]
    names = ("kind", "text", "outcome", "output", "targets")
    return [
        Event(at=float(at), **dict(zip(names, row, strict=True))) for at, row in enumerate(rows, 1)
    ]


def test_the_turn_that_the_title_is_about_until_it_passed():
    found = pick_turns(session(), "The coupon was taken off the cart twice")
    assert [event.at for event in found] == [1, 2, 3, 4, 5, 6]
    found = pick_turns(session(), "The newsletter lost its SMTP connection")
    assert [event.at for event in found] == [7, 8, 9]


def test_a_title_that_is_about_no_turn_leaves_the_session_whole():
    assert pick_turns(session(), "Somebody forgot it") == session()
    assert pick_turns([], "The coupon") == []


def test_the_card_tells_nothing_of_the_other_turns():
    sketch = sketch_session(session(), title="The coupon was taken off the cart twice")
    situation = sketch.sections["Situation"]
    assert "Add a coupon" in situation
    assert "assert total == 3" in situation
    assert "`cart.py`, `rounding.py`" in situation
    assert "send" not in situation
    assert "logo" not in situation
    assert sketch.paths == ("cart.py", "rounding.py")
    assert sketch.example == "Add a coupon to the shopping cart"


def test_of_two_failures_the_one_that_is_meant_is_told():
    failure = find_failure(session(), "The newsletter lost its SMTP connection")
    assert failure
    assert failure.text == "python send.py"
    assert find_failure([], "x") is None
