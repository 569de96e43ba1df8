"""Why a session was given what it was given: noted by hooks, or asked for dry."""

import json
import os
import pathlib
import re
import sqlite3
import time
from types import SimpleNamespace

import pytest

from lessons_kb import Brain
from lessons_kb.model import Event
from tests.kit import Claude

PROMPT = "Add a Telegram command that runs a shell script"
TELEGRAM = "lessons/telegram-allowlist.md"
MIGRATION = """\
---
type: lesson
title: A migration without a way back
paths: ["migrations/**"]
---

## Prevention Checklist

- Write the downgrade too
"""


@pytest.fixture
def brain(root, telegram, write, monkeypatch):
    write("lessons/migration.md", MIGRATION)
    write(
        "lessons/shell.md",
        "# Every run of the importer locks the table\n\n## Fix\n\n- Add a lock\n",
    )
    monkeypatch.setenv("LESSONS_BRAIN", str(root))
    return Brain.open(root, directory=root)


def session(brain):
    return Claude(pathlib.Path(brain.directory), find=lambda _directory: brain)


def rows(brain):
    path = os.path.join(brain.members[0].journal.path)
    with sqlite3.connect(path) as db:
        tables = [n for (n,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return [db.execute(f"SELECT * FROM {name}").fetchall() for name in sorted(tables)]


@pytest.fixture
def told(lessons):
    """Return what `lessons why` tells of a session, the last one, or a prompt."""

    def told(brain, session=None, prompt=()):
        roots = [word for layer in brain.members for word in ("--brain", layer.root)]
        named = ("--session", session) if session else ()
        done = lessons(*roots, "why", *prompt, *named, "--json")
        return json.loads(done.out, object_hook=lambda data: SimpleNamespace(**data))

    return told


def test_each_prompt_is_told_with_what_was_held_back(brain, telegram, told):
    assert told(brain) is told(brain, "s1") is None
    claude = session(brain)
    claude.prompt(PROMPT)
    why = told(brain)
    known = (why.source, why.session, why.agent, why.prompt)
    assert known == ("noted", "s1", "claude-code", PROMPT)
    given, *held = why.verdicts
    assert (given.id, given.given, "telegram" in given.reason) == (TELEGRAM, True, True)
    assert given.title == "Telegram remote execution must require an allowlist"
    assert given.confidence > 0.5
    assert (why.tokens > 0, why.later, why.earlier) == (True, [], [])
    assert held
    assert {one.rule for one in held} <= {"gate.min_confidence", "preflight.weakest"}
    (event,) = brain.journal.events()
    assert (event.kind, event.record["lessons"][0]["id"]) == ("prompt", TELEGRAM)

    telegram.write_text(telegram.read_text().replace("Cover the rejection", "Prove the rejection"))
    brain.refresh()
    assert told(brain).verdicts[0].reason == given.reason
    claude.prompt("What is for lunch?", 2)
    why = told(brain)
    assert (why.source, why.prompt) == ("noted", "What is for lunch?")
    assert not [one for one in why.verdicts if one.given]
    assert [(one.id, one.changed) for one in why.earlier] == [(TELEGRAM, True)]
    telegram.unlink()
    brain.refresh()
    assert [(one.id, one.title) for one in told(brain).earlier] == [(TELEGRAM, "")]


@pytest.mark.semantic
def test_a_prompt_that_was_answered_without_the_model_says_so(
    brain, told, lessons, minilm, monkeypatch
):
    monkeypatch.delenv("LESSONS_SEMANTIC")
    claude = session(brain)
    claude.prompt(PROMPT)
    assert not told(brain).words_only
    brain.members[0].words_only = True
    claude.prompt("What is for lunch?", 2)
    assert told(brain).words_only
    shown = " ".join(lessons("--brain", brain.members[0].root, "why").out.split())
    assert "Only words were searched" in shown
    monkeypatch.setenv("LESSONS_SEMANTIC", "0")
    assert not told(brain).words_only


@pytest.mark.parametrize("second", [0.0, 0.995], ids=["a second begins", "a second ends"])
def test_cards_before_a_call_and_after_a_compaction_are_told(brain, monkeypatch, told, second):
    claude = session(brain)
    claude.prompt(PROMPT)
    claude.edit("migrations/7.sql")
    (before,) = told(brain).later
    assert (before.id, before.how) == ("lessons/migration.md", "file")
    assert before.reason == "guards migrations/7.sql"
    now = time.time
    begun = now()
    monkeypatch.setattr(time, "time", lambda: int(begun) + 60 + second + now() - begun)
    claude.say("SessionStart", source="compact")
    later = told(brain).later
    assert [one.how for one in later] == ["file", "compaction", "compaction"], later
    assert {one.id for one in later} == {"lessons/migration.md", TELEGRAM}
    assert [one.id for one in told(brain).verdicts if one.given] == [TELEGRAM]
    claude.prompt("What is for lunch?", 2)
    assert sorted(one.id for one in told(brain).earlier) == ["lessons/migration.md", TELEGRAM]


def test_a_session_without_reasons_tells_what_it_was_given(brain, told):
    journal = brain.members[0].journal
    for name in ("bare", "old"):
        turn = journal.next_turn(name)
        cards = [("lessons/shell.md", "x", 9)]
        journal.record_injections(name, turn=turn, at=int(time.time()), cards=cards)
    journal.events.append(Event(kind="prompt", at=time.time() - 5, session="old", text=PROMPT))
    for name, prompt in (("bare", ""), ("old", PROMPT)):
        why = told(brain, name)
        assert (why.source, why.prompt, why.tokens) == ("unnoted", prompt, 9)
        assert [(one.id, one.changed) for one in why.verdicts] == [("lessons/shell.md", True)]


def test_the_library_and_the_command_line_are_told_too(brain, told):
    brain.preflight(PROMPT, session="mine")
    assert told(brain).session == "mine"
    brain.preflight(f"{PROMPT} again", session="")
    assert told(brain).prompt == f"{PROMPT} again"
    assert [e.kind for e in brain.journal.events()] == ["preflight", "preflight"]


def test_of_two_brains_each_card_is_told_with_its_own(brain, tmp_path, telegram, monkeypatch, told):
    other = tmp_path / "other"
    (other / "lessons").mkdir(parents=True)
    (other / TELEGRAM).write_text(telegram.read_text().replace("Telegram remote", "Telegram bot"))
    root = brain.members[0].root
    both = Brain.open(root, other, directory=root)
    session(both).prompt(PROMPT)
    why = told(both)
    titles = {one.id: one.title for one in why.verdicts if one.id.endswith(TELEGRAM)}
    assert titles == {
        f"brain:{TELEGRAM}": "Telegram remote execution must require an allowlist",
        f"other:{TELEGRAM}": "Telegram bot execution must require an allowlist",
    }
    assert why.later == []
    assert why.tokens > 0


def test_asking_about_a_prompt_writes_nothing(brain, told):
    session(brain).prompt(PROMPT)
    before = rows(brain)
    why = told(brain, prompt=[PROMPT])
    assert (why.source, why.verdicts[0].given) == ("dry", True)
    again = told(brain, "s1", [PROMPT])
    assert (again.verdicts[0].given, again.verdicts[0].rule) == (False, "preflight.reinject_after")
    assert told(brain, "unknown", [PROMPT]).verdicts[0].given
    assert rows(brain) == before


def test_a_reason_names_its_setting_and_no_secret(brain, told):
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    rules = {
        "suppressed: only common words matched (run)": "gate.min_confidence",
        "weaker than the best hit: 1.00 against 9.00": "preflight.weakest",
        "beyond max_lessons = 3": "preflight.max_lessons",
        "does not fit into a budget of 800 tokens for lessons": "preflight.budget",
        f'shares {secret}"': "",
    }
    event = Event(kind="prompt", at=5.5, session="s", text="x")
    events = brain.members[0].journal.events
    events.append(event)
    events.set_record(event, "lessons", [{"id": "a.md", "reason": reason} for reason in rules])
    verdicts = told(brain, "s").verdicts
    assert [one.rule for one in verdicts] == [*rules.values()]
    assert ("shares " in verdicts[-1].reason, secret in str(verdicts)) == (True, False)


def test_a_card_that_was_held_back_says_what_would_have_made_the_difference(brain, told):
    prompt = "Require a header for the page"
    near = told(brain, prompt=[prompt]).verdicts[0]
    assert not near.given
    assert near.confidence < near.lesson_at
    assert near.missing
    better = told(brain, prompt=[f"{prompt} {' '.join(near.missing)}"]).verdicts
    (given,) = [one for one in better if one.id == near.id]
    assert given.given
    assert given.confidence == near.with_missing >= given.lesson_at


def test_the_command_prints_numbers_that_agree(brain, lessons):
    prompt = "Require a header for the page"
    out = " ".join(lessons("why", prompt).out.split())
    assert re.search(
        r"confidence 0\.\d\d .*a lesson takes 0\.50(, a title 0\.15)?; with “[^”]+”.* in the prompt"
        r" it would be (0\.[5-9]\d|1\.00)",
        out,
    )
    assert "%" not in out


def test_advice_about_words_is_only_for_a_card_below_the_threshold(brain, lessons, told):
    reasons = {
        "offered: a lesson before it answers the same part of the prompt": 0.99,
        "weaker than the best hit: 0.89 against 1.00": 0.89,
        "offered: shares rare terms: telegram": 0.45,
    }
    event = Event(kind="prompt", at=5.5, session="s", text="Require a header for the page")
    events = brain.members[0].journal.events
    events.append(event)
    record = [
        {"id": TELEGRAM, "reason": reason, "confidence": confidence, "lesson_at": 0.5}
        for reason, confidence in reasons.items()
    ]
    events.set_record(event, "lessons", record)
    rules = [verdict.rule for verdict in told(brain, "s").verdicts]
    assert rules == ["", "preflight.weakest", "gate.min_confidence"]
    lines = lessons("why", "--session", "s").out.splitlines()
    advice = [line for line in lines if "a lesson takes 0.50" in line]
    assert len(advice) == 1
    assert "rare terms" in lines[lines.index(advice[0]) - 1]


def test_prompts_of_one_second_outside_a_session_keep_their_own_cards(brain, told, monkeypatch):
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    importer = "Every run of the importer locks the table, add a lock"
    brain.preflight(PROMPT, session="")
    brain.preflight(importer, session="")
    why = told(brain)
    assert why.prompt == importer
    assert [verdict.id for verdict in why.verdicts if verdict.given] == ["lessons/shell.md"]
    assert why.later == []
    assert why.tokens > 0
