"""Two cards whose patterns are opposed, and which of the two is given: SPEC §4."""

import pytest

from lessons_kb.cards.conflicts import choose, find_conflict, find_conflicts
from lessons_kb.model import Card, Pattern


def card(text, name="a", **more):
    return Card(id=f"lessons/{name}.md", kind="lesson", title=text, **more)


def pattern(text, *good, kind="regex"):
    return Pattern(kind=kind, text=text, good=good)


AGAINST_HTTPX = pattern("import httpx", "import requests")
AGAINST_REQUESTS = pattern("import requests", "import httpx")


def test_patterns_that_match_each_others_good_example_are_opposed():
    first = card("A", detect=(AGAINST_HTTPX,))
    second = card("B", "b", detect=(AGAINST_REQUESTS,))
    conflict = find_conflict(first, second)
    assert (conflict.first, conflict.second) == (first, second)
    assert (conflict.demand, conflict.opposed) == ("import requests", "import httpx")


@pytest.mark.parametrize("other", [
    AGAINST_HTTPX,
    pattern("import requests", "import urllib3"),
    pattern("import requests"),
    pattern("import requests", "import httpx", kind="ast"),
])  # fmt: skip
def test_other_patterns_go_together(other):
    first = card("A", detect=(AGAINST_HTTPX,))
    second = card("B", "b", detect=(other,))
    assert find_conflict(first, second) is None
    assert find_conflict(second, first) is None


def test_words_alone_are_no_contradiction():
    first = card("Always retry failed payments")
    second = card("Never retry failed payments", "b")
    assert find_conflict(first, second) is None
    assert not list(find_conflicts([first, second]))


def test_cards_of_two_projects_never_meet():
    first = card("A", detect=(AGAINST_HTTPX,), project="a")
    second = card("B", "b", detect=(AGAINST_REQUESTS,), project="b")
    assert find_conflict(first, second) is None
    assert not list(find_conflicts([first, second]))


def test_among_many_cards_each_pair_is_named_once():
    cards = [
        card("A", detect=(AGAINST_HTTPX, pattern("httpx.get", "requests.get"))),
        card("C", "c"),
        card("B", "b", detect=(AGAINST_REQUESTS, pattern("requests.get", "httpx.get"))),
        card("D", "d", detect=(AGAINST_REQUESTS,), status="archived"),
    ]
    (conflict,) = find_conflicts(cards)
    assert (conflict.first.title, conflict.second.title) == ("A", "B")


def test_the_card_that_was_confirmed_or_written_later_is_given():
    old = card("A", created="2026-01-01")
    new = card("B", "b", created="2026-02-01")
    assert choose(old, new) == (new, old)
    assert choose(card("A", created="2026-01-01", confirmed="2026-03-01"), new)[0].title == "A"
