"""A name counts from the day on which a card claimed it: by its date, or by a later edit."""

import pytest

from lessons_kb.model import CURRENT
from tests.kit import commit, git

EDITED = "2026-02-01T12:00:00+00:00"
LATER = "2026-03-01T12:00:00+00:00"
LAST = "2026-04-01T12:00:00+00:00"


@pytest.fixture
def card(shop, write_card):
    """Return the path of a committed card that names nothing yet."""
    path = write_card("cart", cause="Nobody looked.")
    commit(shop, "card", "2026-01-02T12:00:00+00:00")
    return path


def edit(shop, card, cause, when, **files):
    """Commit a new cause of a card, with other files."""
    text = card.read_text().replace("Nobody looked.", cause)
    card.write_text(text)
    commit(shop, "edit the card", when, **files)


def remove(shop, when=LATER):
    """Remove `src/mail.py` and the function `add_item`."""
    git(shop, "rm", "-q", "src/mail.py")
    commit(shop, "remove", when, **{"src/cart.py": "def put():\n    return 1\n"})


@pytest.mark.parametrize("name", ["src/mail.py", "add_item"])
def test_a_name_that_an_edit_added_after_the_removal_is_not_stale(shop, card, stand, name):
    remove(shop, EDITED)
    edit(shop, card, f"Before, it was `{name}`.", LATER)
    assert stand() == {"cart": CURRENT}


@pytest.mark.parametrize("name", ["src/mail.py", "add_item"])
def test_a_name_that_an_edit_added_before_the_removal_is_stale(shop, card, stand, name):
    edit(shop, card, f"`{name}` counts twice.", EDITED)
    remove(shop)
    assert [gone for gone, _commit in stand()["cart"].gone] == [name]


def test_a_symbol_that_is_newer_than_the_card_counts_from_the_edit_on(shop, card, stand):
    edit(
        shop, card, "`count_items` counts twice.", EDITED, **{"src/n.py": "def count_items(): 1\n"}
    )
    commit(shop, "remove", LATER, **{"src/n.py": "1\n"})
    assert [gone for gone, _commit in stand()["cart"].gone] == ["count_items"]


def test_an_edit_of_other_words_changes_nothing(shop, write_card, stand):
    card = write_card("cart", cause="`add_item` counts twice. Nobody looked.")
    commit(shop, "card", "2026-01-02T12:00:00+00:00")
    remove(shop, EDITED)
    edit(shop, card, "Somebody looked.", LATER)
    assert [gone for gone, _commit in stand()["cart"].gone] == ["add_item"]


def test_a_card_that_was_removed_and_restored_is_as_old_as_before(shop, write_card, stand):
    card = write_card("cart", cause="`add_item` counts twice.")
    commit(shop, "card", "2026-01-02T12:00:00+00:00")
    text = card.read_text()
    card.unlink()
    commit(shop, "remove the card", "2026-01-10T12:00:00+00:00")
    remove(shop, EDITED)
    card.write_text(text)
    commit(shop, "revert", LATER)
    assert [gone for gone, _commit in stand()["cart"].gone] == ["add_item"]


def test_a_name_that_was_taken_out_and_came_back_counts_from_then_on(shop, card, stand):
    edit(shop, card, "`add_item` counts twice.", "2026-01-10T12:00:00+00:00")
    card.write_text(card.read_text().replace("`add_item` counts twice.", "Nobody looked."))
    commit(shop, "take it out", "2026-01-11T12:00:00+00:00")
    remove(shop, EDITED)
    edit(shop, card, "There was `add_item`.", LATER)
    assert stand() == {"cart": CURRENT}


def test_a_file_that_came_after_the_card_and_went_again_is_not_stale(shop, write_card, stand):
    write_card("cart", "paths: [src/cart.py]\n", "It writes `out/report.json`.")
    commit(shop, "card", "2026-01-02T12:00:00+00:00")
    commit(shop, "by mistake", EDITED, **{"out/report.json": "1\n"})
    git(shop, "rm", "-q", "out/report.json")
    commit(shop, "remove", LATER)
    assert stand() == {"cart": CURRENT}


def test_a_file_that_was_committed_with_its_card_after_the_date_of_the_card_counts(
    shop, write_card, stand
):
    write_card("new", "paths: [src/new.py]\n")
    commit(shop, "code and card", EDITED, **{"src/new.py": "1\n"})
    git(shop, "rm", "-q", "src/new.py")
    commit(shop, "remove", LATER)
    assert stand()["new"].silenced


def test_one_gone_name_among_many_that_are_only_mentioned_is_listed_without_a_note(
    shop, write_card, stand, lessons, monkeypatch
):
    card = write_card("cart", "paths: [src/cart.py]\n")
    names = ("src/mail.py", "src/cart.py", "src/api/users.py", "src/api/orders.py", "list_users")
    mentions = " ".join(f"`{name}`" for name in names)
    card.write_text(card.read_text() + f"\n## Situation\n\n{mentions}\n")
    git(shop, "rm", "-q", "src/mail.py")
    commit(shop, "remove", LATER)
    standing = stand()["cart"]
    assert [gone for gone, _commit in standing.gone] == ["src/mail.py"]
    assert standing.caveat == ""
    monkeypatch.chdir(shop)
    assert "src/mail.py" in lessons("lint", "--rule", "gone-name").out
    card.write_text(card.read_text().replace("Look at it", "Look at `src/mail.py`"))
    assert stand()["cart"].caveat == "Note: src/mail.py is gone."


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("docs/use.md", "`old_word`\n"),
        ("lessons/other.md", "old_word\n"),
        ("data.bin", "\0 old_word\n"),
        ("src/cart.py", "very_old_word = older.old_wordy\n"),
    ],
)
def test_a_word_counts_only_in_the_code_of_the_earlier_commit(shop, write_card, stand, path, text):
    commit(shop, "earlier", "2026-01-01T13:00:00+00:00", **{path: text})
    write_card("cart", cause="`old_word` counts twice.")
    git(shop, "rm", "-q", path)
    commit(shop, "remove", LATER)
    assert stand()["cart"] == CURRENT


def test_symbols_of_cards_with_many_dates_are_found_in_the_commits_of_these_dates(
    shop, write_card, stand
):
    for day in range(3, 28):
        when = f"2026-01-{day:02}T12:00:00+00:00"
        commit(shop, "replace", when, **{"src/cart.py": f"def item_{day}(): return 1\n"})
        card = write_card(f"cart-{day}", cause=f"`item_{day}` counts twice, not `item_{day - 1}`.")
        card.write_text(card.read_text().replace("2026-01-02", f"2026-01-{day:02}"))
    commit(shop, "remove", LATER, **{"src/cart.py": "1\n"})
    gone = {name: [word for word, _commit in one.gone] for name, one in stand().items()}
    assert gone == {f"cart-{day}": [f"item_{day}"] for day in range(3, 28)}


def test_missing_contents_of_files_that_no_card_names_are_no_fault(
    shop, write_card, stand, lessons, monkeypatch
):
    write_card("cart", "paths: [src/cart.py]\n")
    commit(shop, "card", "2026-01-03T12:00:00+00:00")
    blob = git(shop, "rev-parse", "HEAD:src/mail.py").strip()
    git(shop, "mv", "src/mail.py", "src/post.py")
    commit(shop, "move", EDITED, **{"src/post.py": "def send(): return 1\n"})
    git(shop, "rm", "-q", "src/cart.py")
    removal = commit(shop, "remove", LATER)
    (shop / ".git/objects" / blob[:2] / blob[2:]).unlink()
    assert stand()["cart"].gone == (("src/cart.py", removal),)
    monkeypatch.chdir(shop)
    assert "cannot read the history" not in lessons("doctor").out


def test_symbols_are_followed_from_commit_to_commit(shop, write_card, stand):
    write_card("cart", cause="`add_item` counts twice.")
    write_card("users", cause="`list_users` counts twice.")
    assert not any(one.gone for one in stand().values())
    copy = {"src/copy.py": "def add_item(): return 2\n"}
    commit(shop, "twice", EDITED, **copy)
    assert not stand()["cart"].gone
    commit(shop, "one is left", LATER, **{"src/copy.py": "1\n"})
    assert not stand()["cart"].gone
    commit(shop, "moved", LATER, **{"src/cart.py": "1\n", "src/new.py": "def add_item(): 1\n"})
    assert not stand()["cart"].gone
    commit(shop, "none is left", LAST, **{"src/new.py": "1\n"})
    assert stand()["cart"].gone
    commit(shop, "others", LAST, **{"src/mail.py": "1\n"})
    standings = stand()
    assert standings["cart"].gone
    assert not standings["users"].gone
    commit(shop, "back", LAST, **copy)
    assert not stand()["cart"].gone
