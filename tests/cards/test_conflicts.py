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

OPPOSED_ITEMS = [
    ("Log the full body of each webhook.",
     "Do not record webhook bodies in the logs."),
    ("Deploy on Fridays as on any other day.",
     "No deployments on Friday."),
    ("Disable foreign keys during the import.",
     "Leave foreign keys enabled while importing."),
]  # fmt: skip
COMPATIBLE_ITEMS = [
    ("Delete temporary files after the export.",
     "Keep exported files for a year."),
    ("Log failed logins.",
     "Do not log passwords of failed logins."),
    ("Use UUIDs for public identifiers.",
     "Use sequential integers for the internal join table."),
    ("Cache the product list for an hour.",
     "Do not cache the shopping cart."),
    ("Run migrations before the new version starts.",
     "Remove the old columns after the old version is gone."),
    ("Retry idempotent GET requests.",
     "Do not retry POST requests without an idempotency key."),
    ("Pin versions in applications.",
     "Declare ranges in libraries."),
    ("Enable strict mode in new modules.",
     "Leave strict mode off in legacy modules."),
    ("Require two approvals on main.",
     "Let authors merge their own documentation fixes."),
    ("Encrypt backups before upload.",
     "Store the decryption key apart from the backups."),
    ("Add an index on customer_id.",
     "Remove the unused index on created_at."),
    ("Close the database connection in finally.",
     "Open the connection as late as possible."),
    ("Never block the UI thread with network calls.",
     "Wait for network calls in the background worker."),
    ("Use tabs in Makefiles.",
     "Indent Python with four spaces."),
    ("Never commit .env files.",
     "Commit .env.example with dummy values."),
    ("Delete merged branches.",
     "Keep tags of each release."),
    ("Enable compression for text responses.",
     "Disable compression for images, which are compressed."),
    ("Show the tooltip on hover.",
     "Hide the tooltip on touch devices."),
    ("Send a push notification for direct messages.",
     "Do not send push notifications for likes."),
    ("Write unit tests for pure functions.",
     "Cover the checkout with an end-to-end test."),
    ("Use async handlers for I/O.",
     "Keep CPU-bound code synchronous and in a process pool."),
    ("Always validate input on the server.",
     "Validate in the browser as well for quick feedback."),
    ("Fail fast on missing configuration.",
     "Degrade gracefully when the recommendation service is down."),
    ("Keep the connection open between queries of a request.",
     "Close the connection at the end of the request."),
    ("Disable the cron job during the migration.",
     "Enable the cron job again afterwards."),
    ("Allow inline scripts on the legacy page.",
     "Forbid inline scripts everywhere else."),
    ("Increase the timeout of the nightly import.",
     "Decrease the timeout of interactive searches."),
    ("Use local time in the user interface.",
     "Store timestamps in UTC."),
    ("Search for the invoice in the archive.", "Never delete an invoice without a backup."),
    ("Limit the retries of an upload to 2-3.", "Limit the retries of an upload to 3."),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second"), OPPOSED)
def test_opposed_demands_about_one_subject_are_a_conflict(first, second):
    assert find_conflict(card(first), card(second, "b"))
    assert find_conflict(card(second), card(first, "b"))


@pytest.mark.parametrize(("first", "second"), COMPATIBLE)
def test_demands_that_go_together_are_none(first, second):
    assert find_conflict(card(first), card(second, "b")) is None


@pytest.mark.parametrize(("first", "second"), OPPOSED_ITEMS)
def test_items_that_no_project_can_follow_together_are_a_conflict(first, second):
    one = card("The invoice was wrong", checklist=(first,))
    other = card("Nobody noticed for weeks", "b", checklist=("Look twice", second))
    assert find_conflict(one, other).demand == first
    assert find_conflict(other, one).opposed == first


@pytest.mark.parametrize(("first", "second"), COMPATIBLE_ITEMS)
def test_items_about_other_things_places_or_moments_are_none(first, second):
    one = card("The invoice was wrong", checklist=(first,))
    other = card("Nobody noticed for weeks", "b", checklist=(second,))
    assert find_conflict(one, other) is None
    assert find_conflict(other, one) is None


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
    cards = [card("A", detect=(first,)), card("C", "c"), card("B", "b", detect=(second,))]
    (conflict,) = find_conflicts(cards)
    assert (conflict.first.title, conflict.second.title) == ("A", "B")


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
