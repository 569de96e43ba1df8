"""What is said of a near-duplicate, which are found, and the figures behind it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.collection.near_duplicates import (
    NEAR,
    RELATED,
    SAME,
    Duplicates,
    NearDuplicate,
    compare,
    is_same_wording,
    similarity,
)
from lessons_kb.errors import DuplicateCard
from lessons_kb.library import Library
from lessons_kb.model import Card


def card(title, name="a", kind="lesson", **fields):
    values = {"checklist": (title,), **fields}
    return Card(id=f"{kind}s/{name}.md", kind=kind, title=title, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(("left", "right", "words", "pairs", "pieces"), [
    # words and pairs share one of two; " re", "red", "ed " of 3 + 5 and 3 + 4 trigrams
    ("red green", "red blue", 2 / 4, 2 / 4, 6 / 15),
    ("fix it!", "Fix, it.", 1, 1, 1),
    # a multiset: said twice is said twice
    ("red red", "red", 2 / 3, 2 / 3, 6 / 9),
    ("ab", "cd", 0, 0, 0),
    ("", "ab", 0, 0, 0),
    # characters 1 of 2; one bigram each, another; " 가" of 4 trigrams of Jamo each
    ("가나", "가다", 2 / 4, 0, 2 / 8),
    # spaces between are pieces alone: "일 이" is " 일이 " with one more space inside
    ("일 이", "일이", 1, 1, 6 / 11),
    # both kinds in one text: stems and characters are counted together
    ("red 가나", "red 가다", 4 / 6, 2 / 4, 8 / 14),
])  # fmt: skip
def test_similarity_is_the_mean_of_three_coefficients(left, right, words, pairs, pieces):
    for first, second in ((left, right), (right, left)):
        assert similarity(first, second) == pytest.approx((words + pairs + pieces) / 3)


@pytest.mark.parametrize(("title", "existing", "level", "reason"), [
    ("Retry", "retry.", SAME, "lessons/a.md already has this title"),
    ("Tests fail without the fixture", "Test fails without a fixture", SAME,
     "lessons/a.md has a title with the same words: Test fails without a fixture"),
    ("Run the tests, then push", "Run the test then push!", SAME,
     "lessons/a.md has a title with the same words: Run the test then push!"),
    ("The billing service drops the last row", "The search service drops the last row", RELATED,
     "lessons/a.md is similar (title 79%): The search service drops the last row"),
    ("Retrying a payment charged the customer twice", "Retried payment charged twice", NEAR,
     "lessons/a.md is similar (title 89%): Retried payment charged twice"),
    ("Telegram remote execution must require an allowlist",
     "Remote execution through Telegram must require an allow list", NEAR,
     ("lessons/a.md is similar (title 80%): Remote execution through Telegram must require an allow "
     "list")),
    ("미세먼지 때문에 너무 짜증나", "미세먼지가 너무 많아서 짜증나", NEAR, "lessons/a.md is similar (title 62%): 미세먼지가 너무 많아서 짜증나"),
])  # fmt: skip
def test_a_near_duplicate_has_a_reason(title, existing, level, reason):
    duplicate = compare(title, card(existing))
    assert (duplicate.card, duplicate.level, duplicate.reason) == (card(existing), level, reason)
    assert duplicate.score == (1.0 if level == SAME else round(similarity(title, existing), 4))


KNOWN = card(
    "Customers pay two times",
    why="The retry sends a new idempotency key with each request.",
    checklist=("Derive the idempotency key from the order",),
)
SAID = "A retry sends a new idempotency key.\nDerive the idempotency key from the order"


def test_what_a_card_says_is_compared_whole():
    whole = f"{KNOWN.title}\n{KNOWN.why}\n{KNOWN.checklist[0]}"
    score = round(similarity(f"Double charge\n{SAID}", whole), 4)
    assert compare("Double charge", KNOWN, text=SAID) == NearDuplicate(
        card=KNOWN,
        level=NEAR,
        score=score,
        reason="lessons/a.md is similar (text 72%): Customers pay two times",
    )
    assert compare("Double charge", KNOWN) is None
    # A title that stands in for the checklist is no second thing that a card says.
    bare = card(KNOWN.title)
    assert compare("Double charge", bare, text=f"Double charge\n{KNOWN.title}") is None
    duplicate = compare("Customers pay two times more", bare, text="Something else, at some length")
    assert duplicate.score == round(similarity("Customers pay two times more", KNOWN.title), 4)


@pytest.mark.parametrize(("left", "right", "same"), [
    ("Tests fail", "Test failed", False),
    ("Wait 10 seconds", "Wait 11 seconds", False),
    ("Use x = y in tests", "Use x == y in tests", False),
    ("Keep it short - always!", "Keep it short, always?", True),
    ("Push to main first", "Push from main first", False),
    ("로그인이 두 번 된다", "로그인이 두번 된다.", True),
    ("로그인이 두 번 된다", "로그인이 세 번 된다", False),
    ("로그인 오류", "로그인오류", False),
    ("로그인 retry 오류 처리", "로그인 retries 오류처리", True),
    ("로그인 오류 retry 처리", "로그인 retry 오류 처리", False),
    # what turns the meaning
    ("Never use == in JavaScript code", "Never use === in JavaScript code", False),
    ("로그인이 안 되는 경우를 처리하라", "로그인이 되는 경우를 처리하라", False),
])  # fmt: skip
def test_same_wording(left, right, same):
    assert is_same_wording(left, right) is is_same_wording(right, left) is same
    assert same is (compare(left, card(right)).level == SAME)


@pytest.mark.parametrize(("left", "right", "level"), [
    # every difference is an exchange
    ("Set a timeout on the http client", "Set a timeout on the smtp client", RELATED),
    # words were added or left out as well, or only their forms differ: a paraphrase
    ("Tests fail", "Test failed", NEAR),
    ("Set a timeout on the http client", "Set a short timeout on the http client", NEAR),
    ("Set a timeout on the http client", "Always set a timeout on the smtp client", NEAR),
    # what is added is a number, a symbol or a negation
    ("Set a timeout on the http client", "Set a timeout on the http2 client", RELATED),
    ("Compare the two with is", "Compare the two with is != None", RELATED),
    ("Set a timeout on the http client", "Never set a timeout on the http client", RELATED),
    # characters of a dense script are compared one by one
    ("결제 요청을 다시 보내면 두 번 청구된다", "환불 요청을 다시 보내면 두 번 청구된다", RELATED),
    ("결제 요청을 다시 보내면 두 번 청구된다", "결제를 요청을 다시 보내면 두 번 청구된다", NEAR),
])  # fmt: skip
def test_one_form_or_a_paraphrase(left, right, level):
    for title, existing in ((left, right), (right, left)):
        assert compare(title, card(existing)).level == level


def names(duplicates):
    return [duplicate.card.id for duplicate in duplicates]


TITLE = "Set a timeout on the http client"
CARDS = [
    card("Set a timeout on the smtp client", "related"),
    card("Set a short timeout on the http client", "near-b"),
    card("Set a short timeout on the http client", "near-a"),
    card("Set a much shorter timeout on the http client", "nearly"),
    card("set a timeout on the HTTP client.", "same"),
    card("Set a timeout on the http client", "other", "playbook"),
    card("Setting timeouts on http clients", "worded"),
    card("Log the request body", "far"),
]


def test_near_duplicates_are_ordered_by_level_score_and_id():
    duplicates = Duplicates(CARDS)
    everything = [
        "lessons/same.md", "lessons/worded.md", "playbooks/other.md", "lessons/near-a.md",
        "lessons/near-b.md", "lessons/nearly.md", "lessons/related.md",
    ]  # fmt: skip
    assert names(duplicates.find(TITLE, limit=9)) == everything
    assert names(duplicates.find(TITLE)) == everything[:3]
    assert names(duplicates.find(TITLE, limit=1)) == everything[:1]
    assert names(duplicates.find(TITLE, kind="playbook")) == ["playbooks/other.md"]
    assert names(duplicates.find(TITLE, kind="lesson", limit=9)) == [
        name for name in everything if name.startswith("lessons")
    ]
    assert duplicates.find(TITLE, kind="qa-finding") == []
    assert duplicates.find("Nothing like any of them") == []
    assert duplicates.find("") == []


def test_symptoms_and_text_name_candidates_and_rare_words_go_first():
    crowd = [
        card(f"The http client waits {number}", f"c{number:02}", why="The client set a timeout.")
        for number in range(60)
    ]
    rare = card("A zebra crosses the client", "rare", symptoms=("unicorn",))
    duplicates = Duplicates([*crowd[:30], rare, *crowd[30:]])
    assert names(duplicates.find("The zebra crosses a client", limit=1)) == ["lessons/rare.md"]
    assert "lessons/rare.md" in names(duplicates.find("A zebra crosses clients timeout", limit=1))


def test_a_brain_of_cards_without_a_word_is_searched_too():
    duplicates = Duplicates([card("???", "a"), card("!!!", "b"), card("???!", "note", "note")])
    assert names(duplicates.find("???")) == ["lessons/a.md"]
    assert duplicates.find("A word") == []
    assert Duplicates([]).find("A word") == []
    assert compare("Retried payment charged twice", card("Telegram bot needs an allowlist")) is None


@given(st.text(max_size=200), st.text(max_size=200))
def test_similarity_is_a_symmetric_share(left, right):
    score = similarity(left, right)
    assert 0 <= score <= 1
    assert score == pytest.approx(similarity(right, left))
    assert is_same_wording(left, right) == is_same_wording(right, left)


@given(st.text(max_size=200), st.lists(st.text(max_size=60), max_size=8))
def test_any_title_is_answered(title, titles):
    duplicates = Duplicates(card(text, number) for number, text in enumerate(titles)).find(title)
    assert len(duplicates) <= 3


def test_a_near_duplicate_is_found_behind_many_notes_with_the_same_words(tmp_path):
    """The index answers with notes, too; only cards are candidates."""
    folder = tmp_path / "lessons"
    folder.mkdir()
    title = "Rotate the signing key before the certificate expires"
    (folder / "key.md").write_text(f"# {title}\n\n## Prevention Checklist\n\n- Rotate it\n")
    for number in range(60):
        (tmp_path / f"note-{number}.md").write_text(f"# {title}\n\n{title}. {title}.\n")
    library = Library.open(tmp_path, directory=tmp_path)
    with library, pytest.raises(DuplicateCard) as caught:
        library.create("Rotate signing keys before a certificate expires")
    assert caught.value.existing == "lessons/key.md"
