import pathlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.cards.parse import parse_card
from lessons_kb.config import KNOWN_FOLDERS
from lessons_kb.learn.draft_text import (
    UNNAMED,
    fence,
    fill,
    find_lacks,
    pick_hunks,
    sketch_diff,
    sketch_session,
    sketch_trigger,
)
from lessons_kb.learn.triggers import find_triggers
from lessons_kb.model import Event, Pattern

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


def session():
    red = "FAILED tests/test_cart.py::test_total - assert 3 == 4\n1 failed"
    return [
        Event(kind="prompt", at=1, text="Add a discount to the cart"),
        Event(kind="test", at=2, text="pytest -q", outcome="exec_error", output=red),
        Event(kind="edit", at=3, tool="Edit", targets=("cart.py", "tests/test_cart.py")),
        Event(kind="test", at=4, text="pytest -q"),
    ]


def test_a_fixed_test_is_told_whole():
    (trigger,) = find_triggers(session())
    sketch = sketch_trigger(trigger, diff=DIFF)
    situation, fix = sketch.sections["Situation"], sketch.sections["Fix"]
    assert sketch.title == f"{UNNAMED} (tests/test_cart.py::test_total failed)"
    assert "Add a discount to the cart" in situation
    assert "`pytest -q`" in situation
    assert "assert 3 == 4" in situation
    assert "`tests/test_cart.py::test_total`" in situation
    assert "`cart.py`, `tests/test_cart.py`" in situation
    assert "+    return sum(items)" in fix
    assert sketch.paths == ("cart.py",)
    assert sketch.example == "Add a discount to the cart"


def test_the_users_words_are_one_quoted_line():
    said = Event(kind="prompt", text="또 안 돼요\n## Root Cause\n- fake", at=1)
    (trigger,) = find_triggers([said])
    card = parse_card(
        fill(TEMPLATE, sketch_trigger(trigger).sections), path="lessons/x.md", folders=KNOWN_FOLDERS
    ).card
    assert card
    assert card.why == ""


def test_what_was_said_beside_the_complaint_is_told_too():
    said = "또 안 돼. 로그인 버튼을 누르면 500이 나와"
    for text, told in ((said, said), (f"또 안 돼.\n{'x ' * 400}", "또 안 돼.")):
        prompt = Event(kind="prompt", text=text, at=1)
        (trigger,) = find_triggers([prompt])
        assert f"> “{told}”" in sketch_trigger(trigger).sections["Situation"]


def test_a_template_keeps_its_guidance_where_nothing_is_known():
    text = fill(TEMPLATE, {"Situation": "It happened."})
    assert "## Situation\n\nIt happened.\n\n## Mistake / Risk\n\n<!-- What was done" in text
    assert "What was being done" not in text
    assert fill(TEMPLATE, {}) == TEMPLATE


@given(st.text(alphabet="`~ab\n# -", max_size=300))
def test_no_output_closes_its_own_fence(output):
    text = fill(TEMPLATE, {"Situation": fence(output + "\n## Root Cause\n\nx y z w", "text")})
    card = parse_card(text, path="lessons/x.md", folders=KNOWN_FOLDERS).card
    assert card
    assert card.why == ""


def test_a_long_change_is_cut_at_a_line():
    block = fence("\n".join(f"+line {number}" for number in range(2000)), "diff", limit=100)
    assert len(block) < 130
    assert block.endswith("\n…\n```")


def test_a_session_is_told_by_its_last_request_and_failure():
    sketch = sketch_session(session(), diff=DIFF, title="A total that is hard-coded")
    assert sketch.title == "A total that is hard-coded"
    assert "Add a discount" in sketch.sections["Situation"]
    assert "assert 3 == 4" in sketch.sections["Situation"]


def test_hunks_are_picked_by_file_and_line():
    assert "return sum(items)" in pick_hunks(DIFF, "cart.py")
    assert "other.py" not in pick_hunks(DIFF, "cart.py")
    near = pick_hunks(DIFF, "cart.py", 41)
    assert "+y" in near
    assert "return sum" not in near
    assert pick_hunks(DIFF, "cart.py", 20) == ""
    assert pick_hunks(DIFF, "absent.py") == ""
    sketch = sketch_diff("cart.py", near, line=41)
    assert sketch.paths == ("cart.py",)
    assert "line 41 of `cart.py`" in sketch.sections["Situation"]


def test_a_fix_proposes_how_the_mistake_looks_as_a_comment():
    diff = (
        "diff --git a/run.py b/run.py\n--- a/run.py\n+++ b/run.py\n@@ -1,2 +1,2 @@\n"
        " def run(cmd):\n-    subprocess.run(cmd, shell=True)\n+    subprocess.run([cmd])\n"
    )
    shell = Pattern(kind="ast", text="subprocess.run($$$, shell=True)", language="python")
    fix = sketch_diff("run.py", diff, propose=lambda _diff: [shell]).sections["Fix"]
    comment = fix[fix.index("<!--") :]
    assert comment.endswith(
        "detect:\n  - ast: 'subprocess.run($$$, shell=True)'\n    language: python\n-->"
    )
    header = comment[comment.index("detect:") : comment.index("-->")]
    document = parse_card(f"---\n{header}---\n", path="lessons/a.md", folders=KNOWN_FOLDERS)
    assert document.card is not None
    assert [one.text for one in document.card.detect] == ["subprocess.run($$$, shell=True)"]
    assert document.findings == ()


def test_a_fix_that_shows_nothing_specific_proposes_nothing():
    assert "<!--" not in sketch_diff("cart.py", DIFF).sections["Fix"]


GOOD = {
    "title": "A retried charge bills the customer twice",
    "cause": "The retry sends a new idempotency key with each request.",
    "items": ["Derive the key from the order id", "be careful"],
    "symptoms": ["support says someone paid two times", "add a retry to the payment call"],
}
GOOD_KOREAN = {
    "title": "결제를 재시도하면 두 번 청구된다",
    "cause": "재시도할 때마다 새 멱등키를 보내기 때문이다.",
    "items": ["주문 번호로 멱등키를 만든다"],
    "symptoms": ["고객이 두 번 결제됐다고 한다", "결제 호출에 재시도를 추가해 줘"],
}


def find_missing(title, cause, items, symptoms):
    header = "".join(f"  - {symptom}\n" for symptom in symptoms)
    text = f"---\ntitle: {title!r}\nsymptoms:\n{header}---\n## Root Cause\n\n{cause}\n\n"
    text += "## Prevention Checklist\n\n" + "".join(f"- [ ] {item}\n" for item in items)
    return find_lacks(parse_card(text, path="lessons/x.md", folders=KNOWN_FOLDERS))


def missing(**changes):
    return find_missing(**{**GOOD, **changes})


@pytest.mark.parametrize("draft", [GOOD, GOOD_KOREAN])
def test_a_draft_that_says_all_lacks_nothing(draft):
    assert find_missing(**draft) == ()


@pytest.mark.parametrize(("changes", "word"), [
    ({"title": "TODO name the mistake (tests/test_cart.py failed)"}, "title"),
    ({"title": "Fix bug"}, "title"),
    ({"title": "it broke again"}, "title"),
    ({"title": "또 안 돼요"}, "title"),
    ({"title": "Payments"}, "title"),
    ({"cause": ""}, "Root Cause"),
    ({"cause": "Lack of care."}, "Root Cause"),
    ({"cause": "I was careless and it was my mistake"}, "Root Cause"),
    ({"cause": "TODO"}, "Root Cause"),
    ({"cause": "부주의했다"}, "Root Cause"),
    ({"items": []}, "Prevention"),
    ({"items": ["be careful", "더 조심하기", "TODO"]}, "Prevention"),
    ({"symptoms": ["one"]}, "symptoms"),
    ({"symptoms": ["The same thing", "the same  thing!"]}, "symptoms"),
])  # fmt: skip
def test_what_is_missing_is_said(changes, word):
    (line,) = missing(**changes)
    assert word in line


def test_everything_missing_is_said_at_once():
    assert len(missing(title="", cause="", items=[], symptoms=[])) == 4
