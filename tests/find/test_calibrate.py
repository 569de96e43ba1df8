"""The thresholds that a brain is given with its index."""

import json

import pytest

from lessons_kb import Brain
from lessons_kb.find import calibrate
from lessons_kb.relevance.background_prompts import read_developer_prompts
from lessons_kb.relevance.thresholds import BrainThresholds, Thresholds, parse_thresholds
from tests.kit import make_brain, write

COMMON = [prompt.splitlines()[0] for prompt in read_developer_prompts() if len(prompt) > 40]
"""What people ask of any agent."""
RARE = [f"The zygomorphic quokka of lot {lot} was found under a palimpsest" for lot in range(99)]


@pytest.fixture
def fill(tmp_path):
    """Return a brain of so many cards that say something."""

    def make(count, words):
        folder = tmp_path / "brain"
        make_brain(str(folder))
        for number in range(count):
            title = json.dumps(words[number])
            text = f"---\ntype: lesson\ntitle: {title}\n---\n\n{words[number]}.\n"
            write(folder, f"lessons/c{number}.md", text)
        return Brain.open(folder, directory=folder)

    return make


def find_thresholds(brain):
    brain.search("anything")
    return parse_thresholds(brain.members[0].thresholds).words


def test_a_brain_about_everyday_work_takes_more_than_one_about_something_else(fill):
    with fill(calibrate.FEWEST_CARDS, RARE) as quiet:
        low = find_thresholds(quiet)
    with fill(calibrate.FEWEST_CARDS + 10, COMMON) as loud:
        high = find_thresholds(loud)
    assert low.basis
    assert low.lesson <= 0.5
    assert low.title < high.title
    assert high.lesson > low.lesson


def test_few_cards_have_the_defaults(fill):
    with fill(calibrate.FEWEST_CARDS - 1, COMMON) as brain:
        assert find_thresholds(brain) == Thresholds()


def test_they_are_kept_and_found_anew_for_another_size_alone(fill, monkeypatch):
    asked = []
    ask = calibrate._ask
    monkeypatch.setattr(
        calibrate, "_ask", lambda brain, **options: asked.append(1) or ask(brain, **options)
    )
    with fill(calibrate.FEWEST_CARDS, RARE) as brain:
        first = find_thresholds(brain)
        assert find_thresholds(brain) == first
    with Brain.open(brain.members[0].root) as again:
        assert find_thresholds(again) == first
        assert len(asked) == 1
        hits = again.search("the zygomorphic quokka")
        assert {(hit.lesson_at, hit.title_at) for hit in hits} == {(first.lesson, first.title)}
    with fill(2 * calibrate.FEWEST_CARDS, RARE) as larger:
        find_thresholds(larger)
    assert len(asked) == 2


def test_the_index_command_finds_them(fill, lessons, monkeypatch):
    with fill(calibrate.FEWEST_CARDS, RARE) as brain:
        monkeypatch.chdir(brain.members[0].root)
        assert lessons("index").code == 0
        assert parse_thresholds(brain.members[0].thresholds).words.basis


@pytest.mark.slow
@pytest.mark.semantic
def test_the_index_command_finds_those_by_meaning_and_a_search_does_not(
    fill, lessons, monkeypatch, minilm
):
    monkeypatch.delenv("LESSONS_SEMANTIC")
    with fill(calibrate.FEWEST_CARDS, COMMON) as brain:
        (layer,) = brain.members
        brain.search("anything")
        found = parse_thresholds(layer.thresholds)
        assert found.words.basis
        assert found.meaning == BrainThresholds().meaning
        monkeypatch.chdir(layer.root)
        assert lessons("index").code == 0
    with Brain.open(layer.root) as again:
        found = parse_thresholds(again.members[0].thresholds)
        assert found.meaning.basis
        assert found.meaning.title != found.words.title
        hits = again.search(COMMON[3])
        limits = {(hit.lesson_at, hit.title_at) for hit in hits}
        assert limits == {(found.meaning.lesson, found.meaning.title)}
