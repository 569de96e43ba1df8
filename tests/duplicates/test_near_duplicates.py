import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.duplicates.near_duplicates import (
    NEAR,
    RELATED,
    SAME,
    Duplicates,
    compare,
    is_same_wording,
    similarity,
)
from lessons_kb.model import Card


def card(title, number=0, why="", checklist=()):
    path = f"lessons/{number}.md"
    return Card(id=path, kind="lesson", title=title, why=why, checklist=checklist or (title,))


def level(one, other):
    duplicate = compare(one, card(other))
    return duplicate.level if duplicate else ""


@pytest.mark.parametrize(("one", "other"), [
    ("Retry without a key", "retry  without a `key`."),
    ("Tests fail without the fixture", "Test fails without a fixture"),
    ("로그인이 두 번 호출됨", "로그인이 두번 호출됨."),
])  # fmt: skip
def test_what_only_differs_in_form_is_the_same(one, other):
    assert level(one, other) == SAME


@pytest.mark.parametrize(("one", "other"), [
    ("Never use == in JavaScript code", "Never use === in JavaScript code"),
    ("Comparing instead of assigning a value", "Assigning instead of comparing a value"),
    ("Run the migration before the deploy", "Run the migration after the deploy"),
    ("Do log the request body", "Do not log the request body"),
    ("Wait 10 seconds before a retry", "Wait 30 seconds before a retry"),
    ("로그인이 안 되는 경우를 처리하라", "로그인이 되는 경우를 처리하라"),
    ("Import fails", "Imports failed"),
])  # fmt: skip
def test_what_turns_the_meaning_is_never_merged(one, other):
    assert level(one, other) != SAME
    assert not is_same_wording(one, other)


@pytest.mark.parametrize(("one", "other"), [
    ("Telegram remote execution must require an allowlist",
     "Remote execution through Telegram must require an allow list"),
    ("Retried payment charged twice", "Retrying a payment charged the customer twice"),
    ("미세먼지 때문에 너무 짜증나", "미세먼지가 너무 많아서 짜증나"),
])  # fmt: skip
def test_a_paraphrase_is_proposed(one, other):
    assert level(one, other) in (NEAR, RELATED)


def test_one_form_about_other_things_is_kin():
    assert (
        level("The billing service drops the last row", "The search service drops the last row")
        == RELATED
    )


def test_other_lessons_are_no_near_duplicates():
    assert level("Retried payment charged twice", "Telegram bot needs an allowlist") == ""


def test_what_a_card_says_counts_beside_its_title():
    known = card(
        "Customers pay two times",
        why="The retry sends a new idempotency key with each request.",
        checklist=("Derive the idempotency key from the order",),
    )
    text = "A retry sends a new idempotency key.\nDerive the idempotency key from the order"
    found = Duplicates([known]).find("Double charge", text=text)
    assert [duplicate.level for duplicate in found] == [NEAR]
    assert "lessons/0.md" in found[0].reason


def test_the_best_match_comes_first_and_notes_are_none():
    note = Card(id="readme.md", kind="note", title="Retry without a key")
    known = [card("Retry of a request without a key", 1), card("Retry without a key", 2), note]
    found = Duplicates(known).find("retry without a key")
    assert [duplicate.card.id for duplicate in found] == ["lessons/2.md", "lessons/1.md"]
    assert found[0].level == SAME


def test_a_card_that_was_added_is_found():
    known = Duplicates([])
    assert known.find("Retry without a key") == []
    for number in range(100):
        known.add(card(f"Lesson about thing {number * 7} and its neighbour", number))
    known.add(card("Retry without a key", 100))
    assert known.find("Retry without any key")[0].card.id == "lessons/100.md"


@pytest.mark.slow
def test_distinct_templated_lessons_stay_apart():
    known = Duplicates([])
    services = "billing auth search cart export import mailer report".split()
    faults = "retries without a key,drops the last row,logs the password,reads past the end".split(
        ","
    )
    times = "on Mondays,after a deploy,in parallel,on Windows".split(",")
    titles = [f"The {s} service {f} {t}" for s in services for f in faults for t in times]
    for number, title in enumerate(titles):
        assert all(duplicate.level == RELATED for duplicate in known.find(title))
        known.add(card(title, number))


@given(st.text(max_size=200), st.text(max_size=200))
def test_similarity_is_a_symmetric_share(one, other):
    score = similarity(one, other)
    assert 0 <= score <= 1
    assert score == pytest.approx(similarity(other, one))
    assert is_same_wording(one, other) == is_same_wording(other, one)


@given(st.text(max_size=200), st.lists(st.text(max_size=60), max_size=8))
def test_any_title_is_answered(title, titles):
    found = Duplicates(card(text, number) for number, text in enumerate(titles)).find(title)
    assert len(found) <= 3
