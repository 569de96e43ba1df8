"""`lessons manage` without a terminal: plain commands, one a line."""

import json
import re
import sys

import pytest

from tests.kit import oppose, write

TELEGRAM = "lessons/telegram-allowlist.md"


@pytest.fixture
def talk(lessons, root, monkeypatch):
    """Say lines; return how many were refused, and what was answered."""
    monkeypatch.setitem(sys.modules, "textual", None)  # it is left alone

    def run(*lines, on=root):
        done = lessons("--brain", on, "manage", stdin="\n".join(lines))
        refused = done.out.count("not done: ")
        assert (done.code, done.err) == (2 if refused else 0, "")
        return refused, done.out

    return run


@pytest.mark.slow
def test_a_session(talk, golden, root):
    before = (root / TELEGRAM).read_bytes()
    deleted = ("delete 1", "delete 1 yes", "undo", "drafts", "more", "quit", "bump 1")
    refused, said = talk("list telegram", "bump 1", "ignore 1", "undo", "undo", *deleted)
    golden("prompt", re.sub(r" +\d+[dwy]  ", "  age  ", said))
    assert refused == 1
    assert (root / TELEGRAM).read_bytes() == before


@pytest.mark.slow
def test_an_impossible_command_is_reported(talk):
    wrong = {
        "dance": "unknown command 'dance'; see `help`",
        "bump": "bump needs a number",
        "bump 99": "no number 99",
        "bump nothing-like-it": "matches no rows",
        "bump lessons/": "rows of the last list",
        "accept 1": "accept works on drafts; list them with `drafts`",
        "edit 1": "set $EDITOR",
    }
    refused, said = talk("", *wrong)
    assert refused == len(wrong)
    for told, words in zip(said.split("not done: ")[1:], wrong.values(), strict=True):
        assert words in told.partition("\n")[0]


@pytest.mark.slow
def test_more_goes_on_with_the_numbers(talk, root):
    for number in range(5):
        write(root, f"lessons/x{number}.md", f"# Card {number}\n")
    _refused, said = talk("show telegram-allowlist", "more", "more")
    assert "- [ ] Cover the rejection with a test" in said
    assert "20 of 25; `more` shows more" in said
    assert "\n   25  " in said
    assert said.rstrip().endswith("no more")


@pytest.mark.slow
def test_a_number_means_the_row_that_was_listed_with_it(talk, root):
    for name in "abc":
        write(root, f"lessons/odd-{name}.md", f"---\nstatus: active\n---\n# Odd thing {name}\n")
    refused, said = talk("list odd active", "archive 1", "archive 2", "archive 2", "restore 1")
    assert refused == 0
    assert [line for line in said.splitlines() if line.startswith("lessons/odd-")] == [
        "lessons/odd-a.md is archived",
        "lessons/odd-b.md is archived",
        "lessons/odd-b.md is already archived",
        "lessons/odd-a.md is active",
    ]
    refused, said = talk("list odd", "delete 1 yes", "delete 2 yes", "delete 2 yes", "more")
    assert refused == 1
    assert "not done: lessons/odd-c.md no longer exists; see `list`" in said
    assert [path.stem for path in (root / "lessons").glob("odd-*")] == ["odd-b"]


@pytest.mark.slow
def test_drafts_are_reviewed(talk, brain, root):
    brain.drafts.propose("TODO name the mistake", now=1_793_000_000.0)
    ripe = brain.drafts.propose(
        "The nightly job mailed every customer twice",
        sections={"Root Cause": "The retry had no idempotency key, so it was a second order."},
        prevention=["Send the job's date as a key with each mail"],
        symptoms=["duplicate mails", "the cron ran again after a crash"],
        now=1_793_000_001.0,
    )
    taken = ("show 1", "accept 2", "merge 1", f"merge 1 {TELEGRAM}", "undo", f"accept {ripe.id}")
    refused, said = talk("drafts", *taken, "undo", "discard 1", "discard 1 yes", "undo")
    for words in (
        "incomplete; add a title",
        f"counted on {TELEGRAM}, seen 6×",
        "is now a card",
        f"{ripe.id} discarded",
    ):
        assert words in said
    assert refused == 3
    assert brain.drafts.count() == 2
    assert not list((root / "lessons").glob("the-nightly*"))


def test_a_duplicate_is_named_with_both_ways_out(talk, brain):
    draft = brain.drafts.propose(
        "Telegram remote execution must require an allowlist",
        sections={"Root Cause": "The handler never looked at the sender of the message."},
        prevention=["Reject every chat id that is not on the allowlist"],
        symptoms=["anyone can run it", "the bot obeys strangers"],
    )
    refused, said = talk("drafts", "accept 1", "accept 1 new")
    assert refused == 1
    assert f"`merge {draft.id} {TELEGRAM}` counts it there" in said
    assert "is now a card" in said


def test_an_empty_brain_is_no_trouble(talk, tmp_path):
    (tmp_path / "empty").mkdir()
    refused, said = talk("list", "list x", "bump 1", "help", on=tmp_path / "empty")
    assert refused == 1
    assert said.startswith("0 cards, 0 drafts; `help` lists the commands\n")
    assert "no cards with 'x'" in said
    assert said.endswith("\nN is a number of the last list, or the id of a row in it.\n")


def test_json_lists_both_tabs_and_a_template_is_marked(lessons, talk, root):
    write(root, "lessons/new.md", "---\ntitle: A queue\n---\n\n## Fix\n\n<!-- How? -->\n")
    assert "[template] A queue" in talk("list queue")[1]
    (root / "lessons" / "bad.md").write_bytes(b"---\ntitle: \xff\n---\n")
    data = json.loads(lessons("--brain", root, "manage", "--json").out)
    assert (len(data["cards"]), data["drafts"]) == (22, [])
    assert {card["status"] for card in data["cards"]} == {"active", "ignored", "archived", "broken"}


def test_a_draft_that_demands_the_opposite_is_accepted_with_a_link(talk, lessons, root):
    always, never = "Always retry failed payments of customers", "Never retry payments of customers"
    body = "## Root Cause\n\nIt failed.\n\n## Prevention Checklist\n\n- {}\n"
    write(root, "lessons/retry.md", f"# A payment was lost\n\n{body.format(always)}")
    lessons(
        *(
            "--brain",
            root,
            "add",
            "A charge went out twice",
            "--draft",
            "--why",
            "The gateway takes each request for a new charge.",
        ),
        *("--do", never),
        *("--symptom", "send a payment again", "--symptom", "the bank charged two times"),
    )
    oppose(root, ("A payment was lost", always), ("A charge went out twice", never))
    refused, said = talk("drafts", "accept 1")
    assert refused == 1
    assert "lessons/retry.md demands the opposite: Always retry" in said
    assert " contradicts` writes it, and an agent gets only one of the two" in said
    refused, _said = talk("drafts", "accept 1 contradicts")
    assert refused == 0
    (new,) = (root / "lessons").glob("a-charge-went*.md")
    assert "contradicts:\n  - lessons/retry.md\n" in new.read_text("utf-8")
