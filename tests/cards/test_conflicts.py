"""Two cards that demand the opposite of each other about the same subject: SPEC §4."""

import pytest

from lessons_kb.cards.conflicts import choose, find_conflict, find_conflicts
from lessons_kb.model import Card, Pattern


def card(text, name="a", **more):
    return Card(id=f"lessons/{name}.md", kind="lesson", title=text, **more)


OPPOSED = [
    ("Always retry failed payments", "Never retry failed payments"),
    ("Use savepoints in migration tests", "Do not use savepoints in migration tests"),
    ("Enable query caching for reports", "Disable query caching for reports"),
    ("Prefer `requests` over `httpx` in clients", "Prefer `httpx` over `requests` in clients"),
    ("Open the database session before the request", "Open the database session after the request"),
    ("Commit generated lock files", "Avoid to commit generated lock files"),
    ("Use absolute imports in packages", "Use relative imports in packages"),
]
COMPATIBLE = [
    ("When editing module 1, keep its interface stable",
     "When editing module 2, never keep its interface stable"),
    ("When editing module 1, keep its interface stable",
     "When editing module 2, keep its interface stable"),
    ("Always retry failed payments", "Always retry failed payments twice"),
    ("Never log card numbers", "Never log passwords"),
    ("Use savepoints in migration tests", "Never use sleep in browser tests"),
    ("Enable caching in `orders.py`", "Disable caching in `users.py`"),
    ("Never retry failed payments", "Retry failed uploads"),
    ("Do not use savepoints", "Never use savepoints"),
    ("Add an index before the migration", "Remove the index after the migration"),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second"), OPPOSED)
def test_opposed_demands_about_one_subject_are_a_conflict(first, second):
    assert find_conflict(card(first), card(second, "b"))
    assert find_conflict(card(second), card(first, "b"))


@pytest.mark.parametrize(("first", "second"), COMPATIBLE)
def test_demands_that_go_together_are_none(first, second):
    assert find_conflict(card(first), card(second, "b")) is None


def test_items_of_checklists_are_compared_too():
    first = card("Payments", checklist=("Always retry failed payments",))
    second = card("Billing", "b", checklist=("Look", "Never retry failed payments"))
    conflict = find_conflict(first, second)
    assert (conflict.demand, conflict.opposed) == (
        "Always retry failed payments",
        "Never retry failed payments",
    )


def test_a_title_that_names_the_mistake_agrees_with_an_item_that_prevents_it():
    mistake = card("Retried payments without an idempotency key")
    item = "Send the same idempotency key on every retry of a payment"
    rule = card("Payments", "b", checklist=(item,))
    assert find_conflict(mistake, rule) is None
    assert find_conflict(rule, mistake) is None


def test_patterns_that_find_each_others_good_example_are_opposed():
    first = Pattern(kind="regex", text="import httpx", good=("import requests",))
    second = Pattern(kind="regex", text="import requests", good=("import httpx",))
    assert find_conflict(card("A", detect=(first,)), card("B", "b", detect=(second,)))
    assert not find_conflict(card("A", detect=(first,)), card("B", "b", detect=(first,)))


def test_cards_of_two_projects_never_meet():
    first, second = OPPOSED[0]
    assert not find_conflict(card(first, project="a"), card(second, "b", project="b"))


def test_among_many_cards_each_pair_is_named_once():
    cards = [
        card(text, f"{n}-{m}") for n, pair in enumerate(OPPOSED) for m, text in enumerate(pair)
    ]
    cards += [card(text, f"c{n}-{m}") for n, pair in enumerate(COMPATIBLE[5:6])
              for m, text in enumerate(pair)]  # fmt: skip
    pairs = [(one.first.id, one.second.id) for one in find_conflicts(cards)]
    expected = [(f"lessons/{n}-0.md", f"lessons/{n}-1.md") for n in range(len(OPPOSED))]
    assert sorted(pairs) == expected


def test_the_card_that_was_confirmed_or_written_later_is_given():
    old = card("A", created="2026-01-01")
    new = card("B", "b", created="2026-02-01")
    assert choose(old, new) == (new, old)
    assert choose(card("A", created="2026-01-01", confirmed="2026-03-01"), new)[0].title == "A"
