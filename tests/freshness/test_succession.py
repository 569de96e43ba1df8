"""A successor answers for the card that it supersedes, whose words still find it."""

import pytest

from lessons_kb import Brain
from lessons_kb.find.retrieve import find_usable
from lessons_kb.find.titles import _read_titles
from tests import kit

PROMPT = "Send the quarterly newsletter to all subscribers"
BODY = "## Root Cause\n\nNobody looked.\n\n## Prevention Checklist\n\n- {}\n"


@pytest.fixture
def replaced(shop):
    def replaced(old="", new=""):
        texts = {
            "old": (f"title: The newsletter was sent twice\n{old}symptoms: ['{PROMPT}']\n", "Old"),
            "new": (f"title: Bulk mail needs a queue\n{new}", "Use the queue"),
        }
        for name, (header, item) in texts.items():
            text = f"---\ntype: lesson\n{header}---\n{BODY.format(item)}"
            kit.write(shop, f"lessons/{name}.md", text)
        for number in range(4):
            kit.write(shop, f"lessons/{number}.md", f"# Matter {number}\n\n{BODY.format('Look')}")
        return Brain.open(shop, project="shop")

    return replaced


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("superseded-by: new\n", ""),
        ("superseded_by: lessons/new.md\n", ""),
        ("status: superseded\nsuperseded-by: new.md\n", ""),
        ("", "supersedes: [old]\n"),
        ("status: archived\n", "supersedes: [lessons/old.md]\n"),
    ],
)
def test_the_successor_is_given_for_the_words_of_its_predecessor(replaced, old, new):
    with replaced(old, new) as brain:
        block = brain.preflight(PROMPT)
        assert [hit.card.id for hit in block.lessons] == ["lessons/new.md"]
        (member,) = brain.members
        titles, left_out = _read_titles(member, "shop", 20, (), "")
        count = member.read(lambda one: one.catalogue.count_titles("shop", today="2026-01-01"))
    assert "lessons/old.md" not in [title.path for title in titles]
    assert count - left_out == len(titles) == 5


def test_a_predecessor_without_a_successor_is_given_itself(replaced):
    with replaced("superseded-by: no-such-card\n") as brain:
        assert [hit.card.id for hit in brain.preflight(PROMPT).lessons] == ["lessons/old.md"]


def test_a_circle_of_successors_ends(replaced):
    with replaced("superseded-by: new\n", "superseded-by: old\n") as brain:
        assert len(brain.preflight(PROMPT).lessons) <= 1


def test_the_guard_of_a_predecessor_gives_its_successor(replaced):
    with replaced("paths: [src/mail.py]\nsuperseded-by: new\n") as brain:
        member = brain.members[0]
        member.refresh()
        guards = member.read(lambda one: find_usable(one, one.guarding(["src/mail.py"]), "shop"))
    assert [card.id for card in guards.values()] == ["lessons/new.md"]


def test_lint_names_a_successor_that_is_no_card(at, shop, replaced):
    replaced("superseded-by: no-such-card\n").close()
    (line,) = at(shop, "lint", "--rule", "unknown-card").out.splitlines()
    assert "superseded-by: no card is named no-such-card" in line
