"""The list of titles: within its budget, honest about what it leaves out, harmless."""

import pathlib
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lessons_kb import Brain
from lessons_kb.brain.session_titles import (
    TITLES_CLOSE,
    TITLES_OPEN,
    Access,
    build_titles,
    format_titles,
    order_by_use,
)
from lessons_kb.store.catalogue import Title
from lessons_kb.text.token_estimate import estimate_tokens

EXAMPLE = pathlib.Path(__file__).parents[2] / "brain-example"
GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "session_titles.txt"
COUNTERS = (estimate_tokens, len, lambda text: len(text.encode()), lambda _text: 7)


@given(
    titles=st.lists(st.tuples(st.text(min_size=1), st.text()), max_size=30),
    more=st.integers(0, 100),
    budget=st.integers(0, 4_000),
    counter=st.sampled_from(COUNTERS),
)
@example(titles=[("a.md", "T" * 999)] * 9, more=0, budget=300, counter=estimate_tokens)
def test_the_budget_holds_and_a_cut_list_says_so(titles, more, budget, counter):
    total = len(titles) + more
    text = format_titles(titles, total=total, budget=budget, counter=counter)
    if not text:
        return
    assert counter(text) <= budget
    first, head, *lines, last = text.split("\n")
    assert (first, last) == (TITLES_OPEN, TITLES_CLOSE)
    selected = re.match(r"The (\d+) most used of (\d+) lessons ", head)
    count = int(selected[1]) if selected else len(titles)
    assert 0 < count <= len(titles)
    assert (selected is not None) is (count < total)
    assert selected is None or int(selected[2]) == total
    folders = {place.rpartition("/")[0] for place, _title in titles[:count]}
    assert 0 < len(lines) - count <= len(folders)
    assert all(TITLES_CLOSE not in line for line in lines)


def test_the_most_used_come_first():
    rows = {"rare": (1, 0, "2026-05-01"), "given": (1, 9, ""), "came back": (5, 0, "2020-01-01")}
    rows |= {"of today": (1, 0, "2026-11-25"), "near": (1, 0, "2026-05-01")}
    titles = {
        name: (Title(path=name, title="", occurrences=seen, seen=day), injected)
        for name, (seen, injected, day) in rows.items()
    }
    used = [name for name, _title in order_by_use(titles)]
    assert used == ["given", "came back", "of today", "rare", "near"]


@pytest.fixture
def brain():
    with Brain.open(EXAMPLE, directory=EXAMPLE) as brain:
        brain.refresh()
        yield brain


def test_the_text_is_as_it_was(brain, request):
    text = build_titles(brain, Access(directory=str(EXAMPLE)), most=400) + "\n"
    if request.config.getoption("--update"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_a_whole_brain_is_given_within_the_default(brain):
    text = build_titles(brain, Access(directory=str(EXAMPLE)), most=9_000)
    assert text.startswith(f"{TITLES_OPEN}\nThe lessons ")
    cards = [card for card in brain.cards.all() if card.is_injectable and not card.project]
    folders = {card.id.partition("/")[0] for card in cards}
    assert len(text.splitlines()) == 3 + len(folders) + len(cards)


def test_what_cannot_be_read_is_left_out(brain, tmp_path):
    assert build_titles(brain, Access(directory=str(tmp_path)), most=9_000) == ""
    text = build_titles(brain, Access(directory=str(tmp_path), outside=True), most=9_000)
    assert f"\n{EXAMPLE}/lessons/\n" in text
