import pytest

from lessons_kb.cards.check_card import is_vague
from lessons_kb.learn.draft_text import find_missing

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


def missing(**changes):
    return find_missing(**{**GOOD, **changes}, is_vague=is_vague)


@pytest.mark.parametrize("draft", [GOOD, GOOD_KOREAN])
def test_a_draft_that_says_all_lacks_nothing(draft):
    assert find_missing(**draft, is_vague=is_vague) == ()


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
