import pytest

from lessons_kb.cards.draft_gaps import find_lacks
from tests.cards.reading import parse

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
    return find_lacks(parse(text))


@pytest.mark.parametrize(("changes", "words"), [
    ({}, []), (GOOD_KOREAN, []),
    ({"title": "TODO comments in a workflow hide a failing ${{ job.status }}"}, []),
    ({"items": ["Quote `{{ value }}` in each Helm template"], "symptoms": ["a {{ b }}", "c"]}, []),
    ({"title": "TODO name the mistake (tests/test_cart.py failed)"}, ["title"]),
    ({"title": "tests/test_cart.py::test_total failed"}, ["title"]),
    ({"title": "Untitled"}, ["title"]),
    *(({"title": title}, ["title"]) for title in
      ("Fix bug", "it broke again", "또 안 돼요", "Payments",
       "fix: enforce the validation of each redirect", "Fix(pay)!: send the key with each charge",
       "Fix the order of the keys in a charge", "Enforce the validation of redirects (#3066)")),
    *(({"title": title}, []) for title in
      ("Fixing the lock file by hand loses entries",)),
    *(({"cause": cause}, ["Root Cause"]) for cause in
      ("", "Lack of care.", "I was careless and it was my mistake", "TODO", "부주의했다")),
    ({"items": []}, ["Prevention"]),
    ({"items": ["be careful", "더 조심하기", "TODO"]}, ["Prevention"]),
    ({"symptoms": ["one"]}, ["symptoms"]),
    ({"symptoms": ["The same thing", "the same  thing!"]}, ["symptoms"]),
    ({"title": "", "cause": "", "items": [], "symptoms": []},
     ["title", "Root Cause", "Prevention", "symptoms"]),
])  # fmt: skip
def test_missing_parts_of_a_draft_are_listed(changes, words):
    lines = find_missing(**{**GOOD, **changes})
    assert [word in line for word, line in zip(words, lines, strict=True)] == [True] * len(words)
