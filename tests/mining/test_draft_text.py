import pathlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.cards.sketch import fill
from lessons_kb.mining.candidates import find_candidates, typed_before
from lessons_kb.mining.draft_text import (
    fence,
    pick_hunks,
    sketch_candidate,
    sketch_diff,
    sketch_session,
    sketch_trigger,
)
from lessons_kb.mining.triggers import SessionReader, find_triggers
from lessons_kb.model import Event
from tests.cards.reading import parse

TEMPLATE = (pathlib.Path(__file__).parents[2] / "templates" / "lesson.md").read_text("utf-8")
DIFF = """\
diff --git a/cart.py b/cart.py
index 1..2 100644
--- a/cart.py
+++ b/cart.py
@@ -1,2 +1,2 @@
 def total(items):
-    return 3
+    return sum(items)
@@ -40,2 +40,3 @@ def tax():
 x
+y
 z
diff --git a/other.py b/other.py
--- a/other.py
+++ b/other.py
@@ -1 +1 @@
-a
+b
"""


def events(*rows):
    names = ("kind", "text", "outcome", "output", "targets")
    rows = [dict(zip(names, row, strict=False)) for row in rows]
    return [Event(at=float(at), **row) for at, row in enumerate(rows, 1)]


RED = "FAILED tests/test_cart.py::test_total - assert 3 == 4\n1 failed"
SESSION = events(
    ("prompt", "Add a discount to the cart"),
    ("test", "pytest -q", "exec_error", RED),
    ("edit", "", "ok", "", ("cart.py", "tests/test_cart.py")),
    ("test", "pytest -q"),
)


def test_the_sketch_of_a_fixed_test_is_complete():
    (trigger,) = find_triggers(SESSION)
    sketch = sketch_trigger(trigger, diff=DIFF)
    assert sketch.title == "tests/test_cart.py::test_total failed"
    for told in (
        "Add a discount to the cart", "`pytest -q`", "assert 3 == 4",
        "`tests/test_cart.py::test_total`", "`cart.py`, `tests/test_cart.py`",
    ):  # fmt: skip
        assert told in sketch.sections["Situation"]
    assert "+    return sum(items)" in sketch.sections["Fix"]
    assert sketch.paths == ("cart.py",)
    assert sketch.example == "Add a discount to the cart"


SAID = "또 안 돼. 로그인 버튼을 누르면 500이 나와"


@pytest.mark.parametrize(("text", "told"), [
    ("또 안 돼요\n## Root Cause\n- fake", "또 안 돼요 ## Root Cause - fake"),
    (SAID, SAID), (f"또 안 돼.\n{'x ' * 400}", "또 안 돼."),
])  # fmt: skip
def test_the_users_words_are_one_quoted_line(text, told):
    (trigger,) = find_triggers(events(("prompt", text)))
    sections = sketch_trigger(trigger).sections
    assert f"> “{told}”" in sections["Situation"]
    assert parse(fill(TEMPLATE, sections)).card.why == ""


@pytest.mark.slow
@given(st.text(alphabet="`~ab\n# -", max_size=300))
def test_output_cannot_close_its_fence(output):
    text = fill(TEMPLATE, {"Situation": fence(output + "\n## Root Cause\n\nx y z w", "text")})
    assert parse(text).card.why == ""


def test_a_long_change_is_cut_at_a_line():
    block = fence("\n".join(f"+line {number}" for number in range(2000)), "diff", limit=100)
    assert len(block) < 130
    assert block.endswith("\n…\n```")


TURNS = events(
    ("prompt", "Add a coupon to the shopping cart"),
    ("command", "pytest tests/test_cart.py", "exec_error", "assert total == 3: coupon"),
    ("edit", "", "ok", "", ("cart.py",)),
    ("prompt", "still wrong, look at the rounding"),
    ("edit", "", "ok", "", ("rounding.py",)),
    ("command", "pytest tests/test_cart.py"),
    ("prompt", "Now let the newsletter go out at night"),
    ("command", "python send.py", "exec_error", "SMTPServerDisconnected"),
    ("edit", "", "ok", "", ("send.py",)),
    ("prompt", "And rename the logo"),
    ("edit", "", "ok", "", ("logo.svg",)),
)


@pytest.mark.parametrize(("title", "paths", "told", "untold"), [
    ("The coupon was taken off the cart twice", ("cart.py", "rounding.py"),
     ("Add a coupon", "assert total == 3", "`cart.py`, `rounding.py`"), ("send", "logo")),
    ("The newsletter lost its SMTP connection", ("send.py",),
     ("`python send.py`", "SMTPServerDisconnected"), ("coupon", "logo")),
    ("Somebody forgot it", ("cart.py", "rounding.py", "send.py"),
     ("`python send.py`", "Add a coupon"), ()),
])  # fmt: skip
def test_the_turn_that_the_title_is_about_until_it_passed(title, paths, told, untold):
    sketch = sketch_session(TURNS, title=title)
    assert (sketch.title, sketch.paths) == (title, paths)
    assert all(word in sketch.sections["Situation"] for word in told)
    assert not any(word in sketch.sections["Situation"] for word in untold)
    assert sketch_session([], title=title).example == ""


def test_a_session_without_a_title_is_sketched_from_its_last_request_and_failure():
    sketch = sketch_session(TURNS, diff=DIFF)
    assert sketch.title == "SMTPServerDisconnected"
    assert "And rename the logo" in sketch.sections["Situation"]
    assert "SMTPServerDisconnected" in sketch.sections["Situation"]
    assert "sum(items)" in sketch.sections["Fix"]


def test_a_mined_candidate_is_sketched_with_the_prompts_of_its_task():
    reader = SessionReader()
    for event in TURNS[:6]:
        reader.see(event)
    (seen,) = reader.finish()
    assert set(seen.signals) == {"complaint", "turn opened with a complaint"}
    (candidate,) = find_candidates([seen], [], now=10.0)
    sketch = sketch_candidate(candidate, prompts=typed_before(candidate), diff=DIFF)
    assert (sketch.symptoms, sketch.paths) == (("Add a coupon to the shopping cart",), seen.paths)
    assert "still wrong, look at the rounding" in sketch.sections["Situation"]
    assert "sum(items)" in sketch.sections["Fix"]


@pytest.mark.parametrize("output", [
    "FAILED tests/test_cart.py::test_total\nAssertionError: 3 == 4", "0 errors, no error was found",
])  # fmt: skip
def test_a_test_that_the_turn_has_just_written_and_a_denial_are_no_mistakes(output):
    reader = SessionReader()
    for event in events(
        ("prompt", "Add a cart"), ("create", "", "ok", "", ("tests/test_cart.py",)),
        ("command", "pytest", "exec_error", output), ("edit", "", "ok", "", ("cart.py",)),
        ("command", "pytest"),
    ):  # fmt: skip
        reader.see(event)
    assert [one for one in reader.finish() if one.signals] == []


def test_hunks_are_picked_by_file_and_line():
    whole, near = pick_hunks(DIFF, "cart.py"), pick_hunks(DIFF, "cart.py", 41)
    assert ("return sum(items)" in whole, "other.py" in whole) == (True, False)
    assert ("+y" in near, "return sum" in near) == (True, False)
    assert pick_hunks(DIFF, "cart.py", 20) == pick_hunks(DIFF, "absent.py") == ""
    sketch = sketch_diff("cart.py", near, line=41)
    assert sketch.paths == ("cart.py",)
    assert "line 41 of `cart.py`" in sketch.sections["Situation"]
    assert "<!--" not in sketch.sections["Fix"]
