"""Drafts and stale cards on the command line."""

import json
import sys
import time

import pytest

from lessons_kb import Brain
from lessons_kb.cards.sources import read_sources_of
from lessons_kb.model import Event
from tests.kit import commit, write

GOOD = {
    "sections": {"Root Cause": "The total was hard-coded to three instead of a sum of the items."},
    "prevention": ["Cover the total of a cart with two items by a test"],
    "symptoms": ["the total of the cart is wrong", "change how a cart is summed up"],
    "example": "Add a discount",
}
TITLE = "The total of a cart was hard-coded"


@pytest.fixture
def propose(brain):
    def propose(title=TITLE, **details):
        with Brain.open(brain) as opened:
            return opened.drafts.propose(title, **{**GOOD, **details}).id

    return propose


@pytest.mark.slow
def test_what_happened_is_listed_with_what_it_lacks(lessons, brain):
    assert lessons("review").err == "lessons: no drafts to review\n"
    assert json.loads(lessons("review", "--json").out) == []
    with Brain.open(brain) as opened:
        events = opened.members[0].journal.events
        for outcome in ("exec_error", "ok"):
            events.append(
                Event(kind="test", text="pytest", outcome=outcome, output="E  assert 3 == 4")
            )
    assert "red-green" in lessons("review", "--list").out
    (draft,) = json.loads(lessons("review", "--list", "--json").out)
    assert len(draft["missing"]) == 4
    refused = lessons("review", "--accept", draft["id"])
    assert refused.code == 2
    assert "is incomplete; add a title that names the mistake" in refused.err
    assert refused.err.count("\n") == 1
    shown = lessons("review", "--show", draft["id"])
    assert "E  assert 3 == 4" in shown.out
    assert "## Mistake / Risk\n\n## Root Cause\n\n## Fix\n" in shown.out
    assert "missing: two or three `symptoms`" in shown.err


@pytest.mark.slow
def test_a_draft_is_accepted_merged_and_discarded(lessons, propose):
    assert lessons("review", "--accept", propose()).out == (
        "lessons/the-total-of-a-cart-was-hard-coded.md\n"
    )
    again = propose()
    refused = lessons("review", "--accept", again)
    assert refused.code == 2
    assert "already has this title" in refused.err
    merged = lessons("review", "--merge", again, "the-total-of-a-cart")
    assert merged.out == "lessons/the-total-of-a-cart-was-hard-coded.md seen 2×\n"
    third = propose("Refunds ignored the currency of the order")
    assert lessons("review", "--discard", third).out == f"{third} discarded\n"
    assert lessons("review", "--discard", third).code == 2


@pytest.mark.slow
def test_scripts_read_what_was_done(lessons, propose):
    done = json.loads(lessons("review", "--accept", propose(), "--json").out)
    assert (done["done"], done["card"]["source"]) == ("accepted", "auto")
    (draft,) = [propose()]
    (listed,) = json.loads(lessons("review", "--list", "--json").out)
    assert (listed["id"], listed["missing"]) == (draft, [])
    assert listed["near_duplicates"][0]["level"] == "same"
    second = lessons("review", "--accept", draft, "--on-duplicate", "new", "--json")
    assert json.loads(second.out)["card"]["id"].endswith("-2.md")


def test_several_drafts_are_shown_accepted_and_discarded_at_once(lessons, propose, brain):
    ids = [propose(title) for title in ("A cart", "Payouts were doubled", "The page was blank")]
    shown = lessons("review", "--show", ids[0], "--show", ids[1]).out
    assert "title: A cart" in shown
    assert "title: Payouts were doubled" in shown
    refused = lessons("review", "--discard", ids[0], "--discard", "absent")
    assert (refused.code, refused.out) == (2, "")
    done = lessons("review", "--discard", ids[0], ids[1])
    assert done.out == f"{ids[0]} discarded\n{ids[1]} discarded\n"
    (left,) = json.loads(lessons("review", "--list", "--json").out)
    assert left["id"] == ids[2]
    fourth = propose("Mails were sent twice", symptoms=["send mails again", "mails to customers"])
    accepted = lessons("review", "--accept", ids[2], "--accept", fourth, "--on-duplicate", "new")
    assert len(accepted.out.splitlines()) == 2


@pytest.mark.parametrize("command", ["edit", "show", "bump", "delete"])
def test_a_draft_in_place_of_a_card_is_named(lessons, propose, command):
    draft = propose()
    said = lessons(command, draft)
    assert said.code == 2
    assert f"{draft} is a draft, not a card; `lessons review --show {draft}` prints it" in said.err


@pytest.mark.slow
def test_a_user_works_through_the_drafts_line_by_line(
    answer, propose, brain, monkeypatch, tmp_path
):
    monkeypatch.setenv("TERM", "dumb")
    propose("A first lesson about the sum of a cart")
    propose("Payouts were doubled at midnight", symptoms=())
    seen = answer("review", typed="accept 1\nedit 1\naccept 2\nquit\n")
    assert "incomplete; add two or three `symptoms`" in seen
    assert "no editor found; set $EDITOR" in seen
    assert "lessons/a-first-lesson-about-the-sum-of-a-cart.md is now a card" in seen
    script = tmp_path / "editor.py"
    script.write_text(
        "import pathlib, sys\npath = pathlib.Path(sys.argv[1])\n"
        "path.write_text(path.read_text().replace('symptoms: []', 'symptoms: [money is gone, paid two times]'))\n"
    )
    monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")
    assert "lessons/payouts-were-doubled-at-midnight.md" in answer(
        "review", typed="edit 1\naccept 1 new\n"
    )
    with Brain.open(brain) as opened:
        assert opened.drafts.count() == 0


def stale_card(brain, name, extra=""):
    header = f"type: lesson\ntitle: Lesson {name}\ncreated: 2020-01-01\n{extra}"
    write(brain, f"lessons/{name}.md", f"---\n{header}---\n\n## Fix\n\nx\n")


@pytest.fixture
def stale(brain):
    for path in (brain / "lessons").glob("*.md"):
        path.unlink()
    stale_card(brain, "hand")
    stale_card(brain, "machine", "source: auto\n")
    stale_card(brain, "often", "occurrences: 2\n")
    stale_card(brain, "recent", f"last-seen: {time.strftime('%Y-%m-%d')}\n")
    stale_card(brain, "used")
    stale_card(brain, "ignored", "status: ignored\n")
    with Brain.open(brain) as opened:
        opened.members[0].journal.outcomes.count("lessons/used.md", "injected", at=time.time())
    return brain


def names(result):
    return {one["id"]: one["done"] for one in json.loads(result.out) if "lessons/" in one["id"]}


def test_stale_cards_are_named_first_and_curated_ones_kept_unless_asked_for(lessons, stale):
    machine, hand = "lessons/machine.md", "lessons/hand.md"
    dry = lessons("archive", "--stale", "--dry-run", "--json")
    assert names(dry) == {machine: "kept", hand: "kept"}
    assert json.loads(dry.out)[0]["id"] == machine
    assert "not archived" in lessons("archive", "--stale").err
    assert "status: archived" not in (stale / machine).read_text()
    yes = ("archive", "--stale", "--json", "--yes")
    assert names(lessons(*yes)) == {machine: "archived", hand: "kept"}
    assert names(lessons(*yes, "--curated")) == {hand: "archived"}
    assert names(lessons(*yes[:3])) == {}


def test_on_a_terminal_each_is_asked_for(answer, lessons, stale):
    answer("archive", "--stale", typed="n\ny\n" + "n\n" * 20)
    left = lessons("archive", "--stale", "--dry-run", "--json")
    assert names(left) == {"lessons/machine.md": "kept"}


def test_a_card_is_created_from_a_change_or_the_last_session(lessons, brain):
    commit(brain)
    (brain / "new.py").write_text("def total(items):\n    return sum(items)\n")
    made = lessons("create", TITLE, "--from-diff", "new.py:2")
    text = (brain / made.out.strip()).read_text()
    assert "+    return sum(items)" in text
    assert "paths: [new.py]" in text
    assert [source.resource for source in read_sources_of(text)] == ["file:new.py#L2"]
    for place in ("absent.py", "new.py:40"):
        refused = lessons("create", "Another lesson about it", "--from-diff", place)
        assert (refused.code, refused.err.count("\n")) == (2, 1)
        assert f"{place} has no change against HEAD" in refused.err
    other = "Refunds ignored the currency of the order"
    for session, said in (([], "no session yet"), (["absent"], "no session 'absent'")):
        assert said in lessons("create", other, "--from-session", *session).err
    with Brain.open(brain) as opened:
        opened.members[0].journal.events.append(
            Event(kind="prompt", text="Sum up the cart", session="s", at=time.time())
        )
    made = lessons("create", other, "--from-session")
    text = (brain / made.out.strip()).read_text()
    assert "Sum up the cart" in text
    (source,) = read_sources_of(text)
    assert source.resource.startswith("session:")
    assert source.quote == ""
    both = lessons("create", other, "--from-session", "s", "--from-diff", "x")
    assert "cannot be combined" in both.err


def test_a_near_duplicate_is_asked_about(answer, lessons, brain):
    near = "Remote execution through Telegram must require an allow list"
    refused = lessons("create", near)
    assert refused.code == 2
    assert "lessons/telegram-allowlist.md is similar" in refused.err
    seen = answer("create", near, "--no-edit", typed="b\n")
    assert "lessons/telegram-allowlist.md (seen 6×)" in seen
