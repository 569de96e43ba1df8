"""Titles of the cards that may concern a prompt: whatever the gate is not sure of, three at most."""

import pytest

from lessons_kb.preflight.block import OFFER_OPEN, Offers, shown_name
from tests.preflight.test_block import ids, lesson, reasons, run

HELD = "suppressed: covers only 20% of the prompt's information; rare terms: chat"


HEAD = "Does each concern the task, yes or no? Open every yes before you change anything."


def held(name, confidence, reason=HELD, **fields):
    return lesson(name, confidence=confidence, passed=False, reason=reason, **fields)


def lines(found):
    return found.text.split("\n")


def test_what_the_gate_is_not_sure_of_is_offered_by_title_and_file():
    found = run([held("a", 0.3), held("b", 0.05), held("c", 0.2)], offers=Offers(least=0.12))
    assert lines(found) == [
        "[LESSON_OFFER]",
        HEAD,
        "lessons/a.md: Lesson a",
        "lessons/c.md: Lesson c",
        "[/LESSON_OFFER]",
    ]
    assert ids(found.offered) == ["lessons/a.md", "lessons/c.md"]
    assert ids(found.withheld) == ["lessons/b.md"]
    assert found.offered[0].reason == f"offered: {HELD.removeprefix('suppressed: ')}"


def test_an_offer_stands_after_the_lessons_and_before_the_notes():
    found = run([lesson("a"), held("b", 0.3)], offers=Offers(least=0.12))
    assert lines(found)[3:6] == ["[/ACTIVE LESSONS]", "", OFFER_OPEN]


def test_at_most_three_are_offered_those_without_a_place_in_the_block_too():
    sure = [lesson(name, confidence=0.9) for name in "abcd"]
    found = run([*sure, held("e", 0.3), held("f", 0.3)], offers=Offers(least=0.12))
    assert ids(found.lessons) == ["lessons/a.md", "lessons/b.md"]
    assert ids(found.offered) == ["lessons/c.md", "lessons/d.md", "lessons/e.md"]


@pytest.mark.parametrize("reason", [
    "suppressed: nearly one of its `not-for` prompts",
    "suppressed by [effect] withhold_harmful: seen to harm",
    "suppressed: it is still the template; `lessons edit` opens it",
    "already in this session",
])  # fmt: skip
def test_what_is_held_back_on_purpose_is_not_offered(reason):
    found = run([held("a", 0.9, reason)], offers=Offers(least=0.12))
    assert (found.text, found.offered) == ("", ())


def test_where_the_titles_are_in_view_the_files_are_enough():
    found = run([held("a", 0.3), held("b", 0.3)], offers=Offers(least=0.12, titled=True))
    assert found.text == (
        "[LESSON_OFFER] Does each of these concern the task, yes or no? Open every yes before you"
        " change anything: lessons/a.md, lessons/b.md [/LESSON_OFFER]"
    )


def test_a_card_that_the_agent_cannot_open_is_not_offered():
    def place(hit):
        return "" if hit.card.id == "lessons/a.md" else f"brain/{shown_name(hit)}"

    found = run([held("a", 0.3), held("b", 0.3)], offers=Offers(least=0.12, place=place))
    assert lines(found)[2] == "brain/lessons/b.md: Lesson b"
    assert len(lines(found)) == 4


def test_a_card_that_nobody_opened_takes_more_and_says_so():
    found = run([held("a", 0.3)], offers=Offers(least=0.12, held=lambda _hit: "offered 9 times"))
    assert (found.text, found.offered) == ("", ())
    assert reasons(found) == {"lessons/a.md": "offered 9 times"}


def test_an_offer_is_within_the_budget():
    offers = Offers(least=0.12)
    whole = run([held("a", 0.3), held("b", 0.3)], offers=offers).tokens
    assert ids(run([held("a", 0.3), held("b", 0.3)], offers=offers, budget=whole - 1).offered) == [
        "lessons/a.md"
    ]
    assert run([held("a", 0.3)], offers=offers, budget=20).text == ""
