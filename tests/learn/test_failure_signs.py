"""What an output tells of failures, and what an agent says of a lesson in so many words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.learn.failure_signs import (
    error_excerpt,
    find_failing,
)
from lessons_kb.learn.lesson_effect import find_marks

MARKS = {
    (("1", "harmful"),): [
        "Lesson 1 was wrong: the API has changed.", "I was misled by lesson 1.",
        "교훈 1은 이 프로젝트에 맞지 않습니다.", "Lesson 1 was wrong that the port is fixed.",
        "Following lesson 1 broke the build.", "Because of lesson 1, the price cache broke.",
        "교훈 1은 맞지 않았습니다.", "교훈 1은 틀린 내용입니다.",
    ],
    (("2", "helpful"),): [
        "Lesson 2 (lessons/a-b.md) helped me to see it.",
    ],
    (("3", "helpful"),): [
        "Thanks to lesson 3, the cache is keyed by currency.",
    ],
    (("lessons/x.md", "harmful"),): [
        "`lessons/x.md` misled me into a retry.", "lessons/x.md is outdated.",
    ],
    (("2", "harmful"),): [
        "Lesson 2 is no longer true since v3.", "교훈 2번은 틀렸습니다.",
        "Lesson 1 is right that lesson 2 was wrong.",
    ],
    (("1", "helpful"),): [
        "교훈 1이 도움이 됐습니다.", "교훈 1번 덕분에 고쳤습니다.", "Lesson 1 was right: the key was wrong.",
        "Lesson 1 was right about the allowlist.", "Lesson 1 caught the missing lock.",
        "Lesson 1 prevented a second charge.", "Lesson 1 saved me an hour.",
    ],
    (("1", "helpful"), ("2", "harmful")): [
        "Lesson 1 helped. Lesson 1 helped. Lesson 2 was wrong.",
    ],
    (("1", "harmful"), ("2", "harmful")): [
        "Lesson 1 was wrong and lesson 2 was wrong.",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("text", "marks"), [(t, marks) for marks in MARKS for t in MARKS[marks]])
def test_what_an_agent_says_of_a_lesson(text, marks):
    assert tuple(find_marks(text)) == marks


@pytest.mark.parametrize("text", [
    "If lesson 1 was wrong, we would see it.", "Lesson 1 was not wrong.", "Was lesson 1 helpful?",
    "I don't think lesson 1 helped.", "Lesson learned: the key was wrong.",
    "I applied lesson 1 and lesson 2.", "> Lesson 1 was wrong",
    "The test in lesson 1 was written first.", "교훈 1을 따르지 않아 코드가 틀렸다", "교훈 1이 틀렸다면 알려 주세요",
    "The key was wrong and the lesson is to test it.", "Lesson 1 is right that X was broken.",
    "`lessons/x.md` is right that the cache was broken again.",
    "Lesson 1 is right to warn that this was broken.", "Lesson 1 is right below the prompt.",
    "Lesson 1 is right here.", "Lesson 1 was right-aligned in the block.",
    "Lesson 1 was wrong-footed by the rename.", "Lesson 1 was mistaken for a note.",
    "Lesson 1 was helpful but is outdated.",
    "Lesson 1 was wrong about the port, although right about the key.",
    "Lesson 1 was useful only in part.", "Lesson 1 helped nobody.", "Lesson 1 hurt nothing.",
    "Lesson 1 caught my eye.", "Lesson 1 prevented me from finishing.",
    "Lesson 1 saved to the brain.", "Lesson 1 pointed me to the wrong file.",
    "Because of lesson 1 I looked for what broke.",
    "lessons/x.md was incorrect, so I corrected its header.",
    "lessons/x.md was wrong before my fix.", "교훈 1은 맞지 않는 통화를 다룬다", "교훈 1이 틀린 키를 잡아 줬다",
    "교훈 1은 도움이 된 적이 없다", "",
])  # fmt: skip
def test_what_is_said_of_something_else(text):
    assert find_marks(text) == []


@given(st.text(max_size=300))
def test_any_text_can_be_read(text):
    find_marks(f"lesson {text}")
    find_failing(text)


PYTEST = """\
............F...
=================================== FAILURES ===================================
______________________________ test_total_of_cart ______________________________

    def test_total_of_cart():
>       assert total([1, 2]) == 4
E       assert 3 == 4
E        +  where 3 = total([1, 2])

tests/test_cart.py:5: AssertionError
=========================== short test summary info ============================
FAILED tests/test_cart.py::test_total_of_cart - assert 3 == 4
1 failed, 15 passed in 0.12s
"""


@pytest.mark.parametrize(("output", "names"), [
    (PYTEST, ("tests/test_cart.py::test_total_of_cart",)),
    ("--- FAIL: TestTotal (0.00s)\n    cart_test.go:9: got 3\nFAIL", ("TestTotal",)),
    ("test cart::total ... FAILED\ntest result: FAILED. 1 failed", ("cart::total",)),
    (" FAIL  src/cart.test.ts\n  ● total › adds\n", ("src/cart.test.ts", "total › adds")),
    ("not ok 2 - adds the tax", ("adds the tax",)),
    ("\x1b[31m[ERROR]\x1b[0m   CartTest.total:12 expected", ("CartTest.total",)),
    ("CartTest > total() FAILED", ("CartTest > total()",)),
    ("FAIL: test_total (cart.CartTest)", ("test_total (cart.CartTest)",)),
    ("15 passed in 0.12s", ()),
])  # fmt: skip
def test_failing_tests_are_named(output, names):
    assert find_failing(output) == names


def test_an_excerpt_keeps_the_lines_that_tell_else_the_end():
    assert error_excerpt("\x1b[31mE  assert 3 == 4\x1b[0m\n") == "E  assert 3 == 4"
    noise = "\n".join(f"collecting item {number}" for number in range(2000))
    excerpt = error_excerpt(f"{noise}\n{PYTEST}{noise}", limit=800)
    assert "E       assert 3 == 4" in excerpt
    assert "FAILED tests/test_cart.py::test_total_of_cart" in excerpt
    end = error_excerpt("\n".join(f"step {number}" for number in range(500)), limit=100)
    assert (end[0], end[-8:]) == ("…", "step 499")


@given(st.text(max_size=3000), st.integers(50, 1000))
def test_an_excerpt_stays_in_its_limit(output, limit):
    assert len(error_excerpt(output, limit=limit)) <= limit
