"""Two cards with opposed demands: reported, asked about, and never given in one block."""

import pytest

from lessons_kb import Brain
from lessons_kb.errors import Contradiction
from tests import kit

ASK, FORBID = (
    "detect:\n  - regex: charge_once\n    good: charge_with_retry\n",
    "detect:\n  - regex: charge_with_retry\n    good: charge_once\n",
)
"""Opposed patterns: each of them matches the good example of the other one."""
BODY = "## Root Cause\n\nNobody looked.\n\n## Prevention Checklist\n\n- {}\n"


@pytest.fixture
def opposed(at, shop):
    for name, detect, day in (("old", ASK, "2026-01-02"), ("new", FORBID, "2026-02-02")):
        header = f"type: lesson\ntitle: Payments are {name}\ncreated: {day}\n{detect}"
        symptoms = "symptoms: [Retry the failed payments of customers]\n"
        body = BODY.format(f"Count the {name} attempts")
        kit.write(shop, f"lessons/{name}.md", f"---\n{header}{symptoms}---\n{body}")
    for number in range(4):
        kit.write(shop, f"lessons/{number}.md", f"# Other matter {number}\n\n{BODY.format('Look')}")
    at(shop, "index")
    return shop


def test_only_the_newer_one_is_given_and_names_the_other(opposed):
    with Brain.open(opposed, project="shop") as brain:
        block = brain.preflight("Retry the failed payments of customers")
    assert [hit.card.id for hit in block.lessons] == ["lessons/new.md"]
    assert "   Contradicts: Payments are old" in block.text.splitlines()
    assert "Count the old attempts" not in block.text
    (held,) = [hit for hit in block.withheld if hit.card.id == "lessons/old.md"]
    assert held.reason == "contradicts a lesson that is given: Payments are new"
    assert not block.offered


def test_the_older_one_is_given_once_it_is_confirmed(at, opposed):
    at(opposed, "confirm", "old")
    at(opposed, "index")
    with Brain.open(opposed, project="shop") as brain:
        block = brain.preflight("Retry the failed payments of customers")
    assert [hit.card.id for hit in block.lessons] == ["lessons/old.md"]


def test_an_edit_that_ends_the_contradiction_gives_both(at, opposed):
    old = opposed / "lessons/old.md"
    kit.write(opposed, "lessons/old.md", old.read_text("utf-8").replace(ASK, ""))
    at(opposed, "index")
    with Brain.open(opposed, project="shop") as brain:
        (member,) = brain.members
        cards = member.read(lambda one: one.catalogue.all_cards())
    assert not any(card.standing.yields_to for card in cards)


def test_lint_and_doctor_report_them(at, health, opposed):
    (line,) = at(opposed, "lint", "--rule", "conflict").out.splitlines()
    assert line.startswith("lessons/old.md: ")
    assert "contradicts lessons/new.md" in line
    (found,) = health("conflicts", opposed)
    assert "1 pair of cards with opposed demands" in found.detail


def test_a_card_that_demands_the_opposite_is_not_added_unasked(at, opposed):
    (opposed / "lessons/new.md").unlink()
    with Brain.open(opposed, project="shop") as brain:
        body = BODY.format("Count the attempts")
        text = f"---\ntitle: A charge of customers went out twice\n{FORBID}---\n{body}"
        refusal = r"lessons/old\.md demands the opposite: charge_with_retry"
        with pytest.raises(Contradiction, match=refusal):
            brain.cards.add_text(text)
        new = brain.cards.add_text(text, on_duplicate="new")
        assert not new.contradicts
        linked = brain.cards.add_text(text, on_duplicate="contradicts")
        assert linked.contradicts == ("lessons/old.md",)


@pytest.mark.parametrize("name", ["old", "old.md", "lessons/old.md"])
def test_cards_that_a_person_linked_are_never_in_one_block(at, opposed, name):
    for card, detect in (("old", ASK), ("new", FORBID)):
        path = opposed / f"lessons/{card}.md"
        path.write_text(path.read_text("utf-8").replace(detect, ""), encoding="utf-8")
    at(opposed, "index")
    assert not _find_weaker(opposed)
    new = opposed / "lessons/new.md"
    kit.write(
        opposed,
        "lessons/new.md",
        new.read_text("utf-8").replace("created:", f"contradicts: [{name}]\ncreated:"),
    )
    at(opposed, "index")
    assert _find_weaker(opposed) == {"lessons/old.md": ("lessons/new.md",)}
    assert not at(opposed, "lint", "--rule", "conflict").out
    at(opposed, "confirm", "old")
    at(opposed, "index")
    assert _find_weaker(opposed) == {"lessons/new.md": ("lessons/old.md",)}
    with Brain.open(opposed, project="shop") as brain:
        block = brain.preflight("Retry the failed payments of customers")
    assert [hit.card.id for hit in block.lessons] == ["lessons/old.md"]
    assert not block.offered
    assert "   Contradicts: Payments are new" in block.text.splitlines()


def _find_weaker(root):
    """Return the cards that yield to another card, with those to which they yield."""
    with Brain.open(root, project="shop") as brain:
        (member,) = brain.members
        cards = member.read(lambda one: one.catalogue.all_cards())
    return {card.id: card.standing.yields_to for card in cards if card.standing.yields_to}


def test_lint_reports_a_name_in_contradicts_that_fits_no_card(at, opposed):
    header = "type: lesson\ntitle: A\ncontradicts: [no-such-card]\n"
    kit.write(opposed, "lessons/a.md", f"---\n{header}---\n{BODY.format('Look')}")
    (line,) = at(opposed, "lint", "--rule", "unknown-card").out.splitlines()
    assert "contradicts: no card is named no-such-card" in line
