"""Two cards with opposed demands: reported, asked about, and never given in one block."""

import pytest

from lessons_kb import Brain
from lessons_kb.errors import Contradiction
from tests import kit

ASK, FORBID = (
    "Always retry failed payments of customers",
    "Never retry failed payments of customers",
)
BODY = "## Root Cause\n\nNobody looked.\n\n## Prevention Checklist\n\n- {}\n"


@pytest.fixture
def opposed(at, shop):
    for name, text, day in (("old", ASK, "2026-01-02"), ("new", FORBID, "2026-02-02")):
        header = f"type: lesson\ntitle: Payments are {name}\ncreated: {day}\n"
        symptoms = "symptoms: [Retry the failed payments of customers]\n"
        kit.write(shop, f"lessons/{name}.md", f"---\n{header}{symptoms}---\n{BODY.format(text)}")
    for number in range(4):
        kit.write(shop, f"lessons/{number}.md", f"# Other matter {number}\n\n{BODY.format('Look')}")
    at(shop, "index")
    return shop


def test_only_the_newer_one_is_given_and_names_the_other(opposed):
    with Brain.open(opposed, project="shop") as brain:
        block = brain.preflight("Retry the failed payments of customers")
    assert [hit.card.id for hit in block.lessons] == ["lessons/new.md"]
    assert "   Contradicts: Payments are old" in block.text.splitlines()
    assert ASK not in block.text
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
    kit.write(opposed, "lessons/old.md", old.read_text("utf-8").replace(ASK, "Ask a person first"))
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
        text = f"---\ntitle: A charge went out twice\n---\n{BODY.format(FORBID)}"
        with pytest.raises(Contradiction, match=r"lessons/old\.md demands the opposite"):
            brain.cards.add_text(text)
        assert brain.cards.add_text(text, on_duplicate="new").id
