"""What the cards did, as the hooks' own entry and the journal tell it."""

import datetime as dt
import itertools
import pathlib
import time
from types import SimpleNamespace

import pytest

from lessons_kb import Brain
from lessons_kb.model import Event
from lessons_kb.store.catalogue import Catalogue
from lessons_kb.text.token_estimate import estimate_tokens
from tests.kit import Claude, state_dir, write

CACHE = """\
---
type: lesson
title: Cache key of the price endpoint ignores the currency
symptoms:
  - price endpoint answers in the wrong currency
  - "AssertionError: EUR is not USD"
stage: DEV
---

## Prevention Checklist

- Put the currency into the cache key of prices
- Request the price endpoint in two currencies
"""
NAME = "lessons/cache-key.md"
PROMPT = "Add a currency parameter to the cached price endpoint"
TASKS = f"{PROMPT}.\nThen add a currency parameter to the cached price endpoint of the shop."
"""Two cards that answer the same part of a prompt are not both given."""


@pytest.fixture
def brain(root, write, telegram):
    write(NAME, CACHE)
    write("notes/house.md", "# How we work\n\nWe review each other's changes.\n")
    with Brain.open(root, directory=root, project="shop") as brain:
        yield brain


@pytest.fixture
def happen(brain, monkeypatch):
    """Return a session whose events are twenty seconds apart and began forty days ago."""
    clock = itertools.count(time.time() - 40 * 86_400, 20)
    monkeypatch.setattr("lessons_kb.ledger.given.time", SimpleNamespace(time=lambda: next(clock)))
    monkeypatch.setattr("lessons_kb.session.state.time", SimpleNamespace(time=lambda: next(clock)))
    project = pathlib.Path(brain.directory)
    return lambda session="s": Claude(project, session, find=lambda _directory: brain)


def fail(session):
    session.run(
        "pytest tests/test_price.py", when="Failed", error="E   AssertionError: EUR is not USD"
    )


@pytest.fixture
def own(tmp_path):
    """Write a card like that of the cache key into another brain; return the brain."""

    def own(name=NAME, title="Cache key"):
        write(tmp_path / "own", name, CACHE.replace("Cache key", title))
        return tmp_path / "own"

    return own


def test_a_turn_is_counted_by_items(brain, happen):
    session = happen()
    session.say("SessionStart", source="startup")
    block = session.prompt(PROMPT).context
    assert ranked(brain) == [NAME]
    session.stop("I renamed a variable in the report.")
    effect = brain.stats.effect("cache-key")
    assert (effect.injections, effect.sessions) == (1, 1)
    assert (effect.checked, effect.addressed) == (2, 0)
    assert effect.tokens == estimate_tokens(block)
    assert (effect.outcomes, effect.verdict) == ({"unknown": 1}, "no facts yet")
    day = (dt.datetime.now() - dt.timedelta(days=40)).date().isoformat()
    assert effect.first_injected == effect.last_injected == day
    assert [(what, times) for _day, what, times in brain.stats.history("cache-key")] == [
        ("injected", 1),
        ("unaddressed", 2),
    ]
    overview = brain.stats.overview()
    assert (overview.sessions, overview.injections, overview.checked) == (1, 1, 2)
    assert len(overview.periods) in (6, 7)
    assert sum(period.injections for period in overview.periods) == 1
    assert overview.periods[0].injections == 1
    assert brain.stats.overview(stage="DEV").sessions == 1
    assert brain.stats.overview(stage="TEST").sessions == 0


def test_the_end_of_a_turn_looks_up_its_own_cards_alone(brain, happen, monkeypatch):
    session = happen()
    session.prompt(PROMPT)
    fail(session)
    whole = Catalogue.numbers

    def numbers(catalogue, path=None):
        assert path is not None, "twelve thousand rows for a few cards"
        return whole(catalogue, path)

    with monkeypatch.context() as patch:  # a refresh, of files this young, reads all of them
        patch.setattr(Catalogue, "numbers", numbers)
        session.stop("I renamed a variable in the report.")
    effect = brain.stats.effect(NAME)
    assert effect.checked == 2


def test_a_bump_belongs_to_the_session_that_was_given_the_card(brain, happen, monkeypatch):
    happen("s-1").prompt(PROMPT)
    monkeypatch.setenv("LESSONS_SESSION", "s-2")
    brain.bump(NAME)
    assert brain.stats.effect(NAME).outcomes == {"unknown": 1}
    monkeypatch.setenv("LESSONS_SESSION", "s-1")
    brain.bump(NAME)
    assert brain.stats.effect(NAME).outcomes == {"came back": 1}
    monkeypatch.delenv("LESSONS_SESSION")  # by hand it is meant of the last session of a day
    brain.preflight(PROMPT, session="now")
    for _ in range(2):
        brain.bump(NAME)
    assert brain.stats.effect(NAME).outcomes == {"came back": 2}


@pytest.mark.slow
def test_a_long_session_is_seen_whole(brain, happen):
    for session in ("long", "taught"):
        claude = happen(session)
        claude.prompt(PROMPT)
        fail(claude)
        journal = brain.members[0].journal
        at = journal.events.find(session=session, limit=1)[0].at + 1
        with journal.transaction():
            for _ in range(600):
                journal.events.append(Event(kind="read", session=session, at=at, text="cat x.md"))
        claude.stop("Done.")
    assert brain.stats.effect(NAME).outcomes == {"left": 1, "came back": 1}


def test_a_harmful_card_is_withheld_only_if_the_settings_say_so(brain, root, happen):
    (root / NAME).write_text(CACHE.replace("stage: DEV", "paths: [src/price.py]"))
    brain.refresh()
    for session in "abc":
        brain.stats.mark(NAME, "harmful", session=session)
    assert [hit.card.id for hit in brain.preflight(PROMPT).lessons] == [NAME]
    one = happen("one")
    assert NAME in one.edit("src/price.py").context
    (root / "lessons.toml").write_text("[effect]\nwithhold_harmful = true\n")
    block = brain.preflight(PROMPT)
    assert block.lessons == ()
    (held,) = [hit for hit in block.withheld if hit.card.id == NAME]
    assert "withhold_harmful: marked harmful 3×" in held.reason
    assert not any(hit.passed for hit in brain.search(PROMPT))
    assert happen("two").edit("src/price.py").context == ""
    assert NAME not in one.say("SessionStart", source="compact").context
    for _ in range(2):
        brain.stats.mark(NAME, "helpful")
    assert [hit.card.id for hit in brain.preflight(PROMPT).lessons] == [NAME]


@pytest.mark.slow
def test_a_card_never_given_is_put_away_after_its_time(brain, write):
    write("lessons/old.md", "---\ntitle: Old trouble\ncreated: 2020-01-01\n---\n\n- Look\n")
    assert brain.stats.effect("old").proposal == ""
    brain.journal.count(NAME, "injected", at=time.time() - 200 * 86_400)
    assert brain.stats.effect("old").proposal == "archive"
    write("lessons/new.md", f"---\ntitle: New\ncreated: {dt.date.today()}\n---\n\n- Look\n")
    assert brain.stats.effect("new").proposal == ""
    assert brain.stats.effect(NAME).proposal == ""


def test_weeks_have_no_gaps_and_are_at_most_twenty_six(brain):
    for days in (3, 30, 400):
        brain.journal.count(NAME, "injected", at=time.time() - days * 86_400)
    periods = brain.stats.overview().periods
    starts = [dt.date.fromisoformat(period.start) for period in periods]
    assert len(starts) == 26
    assert {(b - a).days for a, b in itertools.pairwise(starts)} == {7}
    assert all(start.weekday() == 0 for start in starts)
    assert sum(period.injections for period in periods) == 2


def test_a_journal_that_cannot_be_opened_counts_as_empty(root, write):
    write(NAME, CACHE)
    (pathlib.Path(state_dir(str(root))) / "journal.db").mkdir()
    with Brain.open(root) as brain:
        found = brain.stats.overview()
        assert (found.cards, found.injections) == (1, 0)
        assert brain.stats.history(NAME) == ()


def test_what_a_deleted_card_was_given_stays_in_the_totals(brain):
    brain.preflight(PROMPT, session="s")
    brain.cards.delete(NAME)
    found = brain.stats.overview()
    assert (found.injections, found.sessions, found.cards) == (1, 1, 1)
    assert sum(period.injections for period in found.periods) == 1
    assert brain.stats.overview(stage="DEV").injections == 0


def test_each_brain_counts_for_its_own_cards(brain, root, own):
    other = own("lessons/price.md", "The cache key")
    with Brain.open(root, other, directory=root, project="shop") as both:
        given = {hit.card.id for hit in both.preflight(TASKS, session="s").lessons}
        found = both.stats.overview()
        assert given == {NAME, "lessons/price.md"}
        assert {e.card.id for e in found.effects if e.sessions} == given
        assert (found.injections, found.sessions) == (2, 1)


def test_an_effect_says_whose_it_is_where_two_brains_have_the_id(brain, root, own):
    with Brain.open(root, own(), directory=root, project="shop") as both:
        both.stats.mark(f"own:{NAME}", "harmful")
        harmful = {e.name: e.harmful for e in both.stats.overview().effects}
        mine, theirs = f"brain:{NAME}", f"own:{NAME}"
        assert harmful == {mine: 0, theirs: 1, "lessons/telegram-allowlist.md": 0}
        assert [e.name for e in both.stats.overview(stage="DEV").effects] == [mine, theirs]
        assert both.stats.effect(NAME).brain == "brain"
        assert both.stats.mark(theirs, "helpful").name == theirs
        assert both.stats.effect("telegram").name == "lessons/telegram-allowlist.md"


def ranked(brain):
    """Return the cards of the last block by their number there, whatever brain they are of."""
    journals = [layer.journal for layer in brain.members]
    rows = sorted(row for journal in journals for row in journal.injections.ranked("s"))
    assert [row[1] for row in rows] == [*range(1, len(rows) + 1)]
    return [card for _since, _rank, card in rows]


def test_a_number_means_the_lesson_of_the_latest_block_whatever_brain_it_is_of(brain, root, own):
    other = own("lessons/own.md", "The cache key")
    settings = "[preflight]\nmax_lessons = 3\nweakest = 0.0\n[hooks]\nclose = true\n"
    (root / "lessons.toml").write_text(settings)
    with Brain.open(root, other, directory=root, project="shop") as both:
        claude = Claude(root, "s", find=lambda _directory: both)

        def close(prompt, number, line):
            text = claude.prompt(prompt, number).context
            known = [card for card in (*two, telegram) if card in text]
            claude.edit("a.py", number, when="Post", tool_response={"success": True})
            claude.stop(f"Done.\n\nLessons: {line} left: no time")
            denied = [one.card.id for one in both.check_last().items if one.denied]
            return sorted(known, key=text.index), denied

        two, telegram = (NAME, "lessons/own.md"), "lessons/telegram-allowlist.md"
        cards, denied = close(TASKS, 1, "L2.1")
        assert sorted(cards) == sorted(two)
        assert (ranked(both), denied) == (cards, [cards[1]])
        shell = "Let the Telegram bot run a shell command of a group member"
        assert close(shell, 2, "L1.1") == ([telegram], [telegram])


def test_so_it_does_in_every_block(brain, root, happen):
    names = [f"lessons/guard-{number}.md" for number in range(2)]  # more would say nothing
    for name in names:
        words = CACHE.replace("stage: DEV", "paths: [src/price.py]")
        (root / name).write_text(words.replace("Cache key", f"Cache key {name[-4]}"))
    brain.refresh()
    session = happen()
    text = session.edit("src/price.py").context
    assert ranked(brain) == sorted(names, key=text.index)
    brain.members[0].journal.next_turn("s")
    text = session.say("SessionStart", source="compact").context
    assert ranked(brain) == sorted(names, key=text.index)


def test_the_first_lesson_of_setup_does_not_count(brain, happen, write):
    name, title = "lessons/first-lesson.md", "The first lesson has arrived"
    write(name, CACHE.replace("Cache key of the price endpoint ignores the currency", title))
    happen().prompt(PROMPT)
    before = brain.stats.overview()
    assert name not in [effect.card.id for effect in before.effects]
    cards = [(name, "x", 9)]
    brain.members[0].journal.record_injections("t", turn=1, at=int(time.time()), cards=cards)
    after = brain.stats.overview()
    assert (after.cards, after.injections) == (before.cards, before.injections)
    assert (after.sessions, after.periods) == (before.sessions, before.periods)
    assert brain.stats.effect("first-lesson").injections > 0
    write(name, CACHE.replace("endpoint", "service"))  # a card of the user with this name
    assert brain.stats.overview().cards == before.cards + 1
