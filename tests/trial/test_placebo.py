"""A placebo keeps what decides when a card comes, and its form; nothing of what it says."""

import pathlib

import pytest

from lessons_kb.cards.parse import parse_card
from lessons_kb.trial.place import make_placebo

CARDS = sorted(pathlib.Path("brain-example/lessons").glob("*.md"))


@pytest.mark.parametrize("path", CARDS, ids=lambda path: path.stem)
def test_a_placebo_has_the_same_length_and_other_words(path):
    text = path.read_text()
    before, after = (
        parse_card(one, path=f"lessons/{path.name}", folders={"lessons": "lesson"}).card
        for one in (text, make_placebo(text))
    )
    assert (after.symptoms, after.paths, after.severity) == (
        before.symptoms,
        before.paths,
        before.severity,
    )
    assert len(after.checklist) == len(before.checklist)
    assert 0.7 <= len(make_placebo(text)) / len(text) <= 1.3
    said = {word for item in (before.title, *before.checklist) for word in item.lower().split()}
    new = {word for item in (after.title, *after.checklist) for word in item.lower().split()}
    assert len(said & new) <= 0.35 * len(said)
