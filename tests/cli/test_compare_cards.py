"""`--with AGENT` finds contradictions between cards; a person confirms, and the card names them."""

import json

import pytest

from lessons_kb import Brain
from lessons_kb.cards.parse import parse_card
from lessons_kb.writers.contradictions import PAIRS_PER_REQUEST
from tests import kit
from tests.kit import make_brain

ITEMS = {
    "cursor": (
        "2026-01-02",
        "Orders were skipped",
        "Page through the orders of customers with a cursor",
    ),
    "offset": (
        "2026-02-02",
        "Paging was slow",
        "Page through the orders of customers with an offset",
    ),
    "mail": ("2026-03-02", "A mail about orders was lost", "Send mails about orders from a queue."),
}
LINK = "contradicts:\n  - lessons/cursor.md\n"
TASK = "Page through the orders of customers"
CARD = """\
---
type: lesson
title: {title}
created: {day}
symptoms: [Page through the orders of customers, list orders page by page]
---
## Root Cause

Nobody looked.

## Prevention Checklist

- {item}
"""
JUDGE = """\
import re
block = re.compile(r"### Pair (\\d+)\\n\\nCard A: (.*?)\\n\\nCard B: (.*?)(?=\\n\\n###|\\n===)", re.DOTALL)
pairs = []
for number, first, second in block.findall(prompt):
    lines = [first.splitlines()[-1], second.splitlines()[-1]]
    opposed = "cursor" in "".join(lines) and "offset" in "".join(lines)
    quotes = lines if opposed else ["", ""]
    pairs.append({"pair": int(number), "situation": "", "first": quotes[0], "second": quotes[1],
                  "both": not opposed})
"""
ANSWER = f"{JUDGE}print('Sure.', json.dumps({{'pairs': pairs}}), 'Done.')"


@pytest.fixture
def orders(tmp_path, monkeypatch, lessons):
    """A brain with three cards about orders, two of which contradict each other."""
    root = tmp_path / "orders"
    root.mkdir()
    kit.git(root, "init", "-q")
    make_brain(str(root))
    for name, (day, title, item) in ITEMS.items():
        text = CARD.format(title=title, day=day, item=item)
        if name == "mail":
            text = text.replace(TASK, "tell somebody about a shipment")
        kit.write(root, f"lessons/{name}.md", text)
    for number in range(12):
        kit.write(root, f"docs/{number}.md", f"# Other matter {number}\n\nIt is about mails.\n")
    monkeypatch.chdir(root)
    lessons("index")
    return root


def list_conflicts(lessons):
    return lessons("lint", "--rule", "conflict").out


def read_given(root):
    with Brain.open(root) as brain:
        block = brain.preflight(TASK)
        return {hit.card.id for hit in (*block.lessons, *block.offered)}, block.text


def test_the_agent_finds_what_words_do_not(lessons, orders, writer, health):
    assert not list_conflicts(lessons)
    done = lessons("lint", "--rule", "conflict", "--yes", "--with", writer(ANSWER))
    assert "3 pairs of similar cards compared: 1 contradiction" in done.err
    (line,) = done.out.splitlines()
    assert "contradicts lessons/offset.md" in line
    assert ITEMS["cursor"][2] in line
    assert ITEMS["offset"][2] in line
    assert "as an agent judges" in line
    assert list_conflicts(lessons) == done.out, "no agent is needed to report it again"
    (found,) = health("conflicts", orders)
    assert "1 pair of cards with opposed demands" in found.detail


def test_a_pair_is_asked_about_once_until_a_demand_changes(lessons, orders, writer):
    command = writer(ANSWER)
    lessons("lint", "--yes", "--with", command)
    again = lessons("lint", "--yes", "--with", command)
    assert "no cards to compare" in again.err
    assert len(writer.asked()) == 1
    mail = orders / "lessons/mail.md"
    mail.write_text(mail.read_text("utf-8").replace("occurrences: 1", "occurrences: 2"))
    lessons("lint", "--yes", "--with", command)
    assert len(writer.asked()) == 1
    mail.write_text(mail.read_text("utf-8").replace("from a queue", "from a worker"))
    lessons("lint", "--yes", "--with", command)
    assert len(writer.asked()) == 2
    assert "Card A: " in writer.asked()[1]["prompt"]
    assert "### Pair 3" not in writer.asked()[1]["prompt"], "only pairs with the changed card"


def test_a_request_has_at_most_twenty_pairs(lessons, orders, writer):
    for number in range(12):
        text = CARD.format(
            title=f"Orders {number}", day="2026-01-01", item=f"Count orders {number}"
        )
        kit.write(orders, f"lessons/many-{number}.md", text)
    done = lessons("lint", "--yes", "--with", writer(ANSWER))
    prompts = [call["prompt"] for call in writer.asked()]
    counts = [prompt.count("### Pair ") for prompt in prompts]
    assert max(counts) == PAIRS_PER_REQUEST
    assert len(counts) == -(-sum(counts) // PAIRS_PER_REQUEST)
    assert f"{sum(counts)} pairs of similar cards compared" in done.err


@pytest.mark.parametrize(
    "body",
    [
        "sys.exit(3)",
        "print('I would rather not. ' * 9999)",
        "print(json.dumps({'pairs': 'none'}))",
        "print(json.dumps({'pairs': [7, {'pair': 'x', 'both': False}, {'pair': 99, 'both': True}]}))",
        JUDGE + "print(json.dumps({'pairs': [{**one, 'both': False} for one in pairs]}))"
        .replace("'both': False", "'both': False, 'first': 'Never said', 'second': 'Nor this'"),
    ],
    ids=["fails", "talks", "no-list", "odd-entries", "invented-quotes"],
)  # fmt: skip
def test_a_bad_answer_costs_nothing_and_is_one_line(lessons, orders, writer, body):
    before = lessons("lint").out
    done = lessons("lint", "--yes", "--with", writer(body))
    assert done.out == before
    (line,) = [one for one in done.err.splitlines() if "not compared" in one]
    assert line.startswith("lessons: 3 pairs of cards not compared: ")
    assert len(line) < 400
    assert len(writer.asked()) == 1
    again = lessons("lint", "--yes", "--with", writer(ANSWER))
    assert "3 pairs of similar cards compared: 1 contradiction" in again.err


def test_nothing_is_sent_without_a_yes_and_all_of_it_can_be_read(lessons, orders, writer):
    refused = lessons("lint", "--with", writer(ANSWER))
    assert refused.code == 2
    assert "nothing was sent; add --yes, or --show-prompt to read it first" in refused.err
    shown = lessons("lint", "--show-prompt").out
    assert "### Pair 3" in shown
    assert ITEMS["mail"][2] in shown
    with pytest.raises(FileNotFoundError):
        writer.asked()


def test_a_yes_links_the_newer_card_and_no_block_has_both(lessons, orders, writer, answer):
    lessons("lint", "--yes", "--with", writer(ANSWER))
    both = {"lessons/cursor.md", "lessons/offset.md"}
    assert read_given(orders)[0] >= both, "until a person agrees, nothing changes"
    before = {path: path.read_bytes() for path in orders.glob("lessons/*.md")}
    shown = answer("lint", "--fix", typed="y\n")
    assert "lessons/offset.md: contradicts lessons/cursor.md" in shown
    after = {path: path.read_bytes() for path in orders.glob("lessons/*.md")}
    newer = orders / "lessons/offset.md"
    assert {path for path in before if before[path] != after[path]} == {newer}
    added = LINK.encode()
    assert after[newer].replace(added, b"") == before[newer]
    assert not list_conflicts(lessons)
    lessons("index")
    given, text = read_given(orders)
    assert given & both == {"lessons/offset.md"}
    assert f"   Contradicts: {ITEMS['cursor'][1]}" in text.splitlines()


@pytest.mark.parametrize(("typed", "remains"), [("n\n", False), ("l\n", True), ("\n", True)])
def test_a_no_ends_the_report_and_later_keeps_it(lessons, orders, writer, answer, typed, remains):
    lessons("lint", "--yes", "--with", writer(ANSWER))
    answer("lint", "--fix", typed=typed)
    assert bool(list_conflicts(lessons)) is remains
    assert b"contradicts" not in (orders / "lessons/offset.md").read_bytes()


ADD = (
    *("add", "Nobody found the last page", "--why", "The pages of orders moved."),
    *("--do", "Read one page of orders after the other with an offset", "--symptom", TASK),
    *("--symptom", "list orders page by page in the worker"),
)


@pytest.fixture
def alone(orders):
    (orders / "lessons/offset.md").unlink()
    return orders


def test_a_new_card_that_demands_the_opposite_is_asked_about(lessons, alone, writer, answer):
    refused = lessons(*ADD, "--yes", "--with", writer(ANSWER))
    assert refused.code == 2
    assert "lessons/cursor.md demands the opposite: Page through" in refused.err
    shown = answer(*ADD, "--yes", "--with", writer(ANSWER), typed="y\n")
    assert "Write it all the same, so that an agent gets only one of the two?" in shown
    assert len(writer.asked()) == 1, "the pair was judged before"
    (new,) = alone.glob("lessons/nobody-found*.md")
    card = parse_card(new.read_text("utf-8"), path="lessons/x.md", folders={}).card
    assert card.contradicts == ("lessons/cursor.md",)


@pytest.mark.parametrize(("rule", "names"), [("contradicts", True), ("new", False)])
def test_without_a_terminal_an_option_decides(lessons, alone, writer, rule, names):
    lessons(*ADD, "--yes", "--with", writer(ANSWER))
    done = lessons(*ADD, "--on-duplicate", rule)
    assert done.code == 0, done.err
    (new,) = alone.glob("lessons/nobody-found*.md")
    assert (LINK in new.read_text("utf-8")) is names


def test_a_failing_agent_does_not_stop_a_new_card(lessons, alone, writer):
    done = lessons(*ADD, "--yes", "--with", writer("sys.exit(3)"))
    assert done.code == 0, done.err
    assert "not compared: " in done.err
    assert list(alone.glob("lessons/nobody-found*.md"))


def test_a_draft_is_compared_before_it_is_accepted(lessons, alone, writer):
    draft = json.loads(lessons(*ADD, "--draft", "--json").out)["draft"]["id"]
    compared = lessons("review", "--list", "--yes", "--with", writer(ANSWER))
    assert "1 contradiction" in compared.err
    refused = lessons("review", "--accept", draft)
    assert "lessons/cursor.md demands the opposite" in refused.err
    accepted = lessons("review", "--accept", draft, "--on-duplicate", "contradicts")
    assert accepted.code == 0, accepted.err
    (new,) = alone.glob("lessons/nobody-found*.md")
    assert LINK in new.read_text("utf-8")


def test_a_draft_lists_the_near_cards_for_the_agent_that_wrote_it(lessons, alone):
    near = json.loads(lessons(*ADD, "--draft", "--json").out)["near"]
    assert {card["id"] for card in near} == {"lessons/cursor.md", "lessons/mail.md"}
    assert near[0].keys() == {"id", "title", "checklist"}
