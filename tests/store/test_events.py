"""The events of a journal: one row each, once, without secrets, of bounded size."""

import json
import os
import pathlib
import random
import signal
import string
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from lessons_kb.model import Event, as_data
from lessons_kb.store.journal import MAX_OUTPUT_CHARS, MAX_RECORD_CHARS, MAX_TARGETS

FULL = Event(
    kind="test", at=1_700_000_000.25, session="s1", id="toolu_1", agent="claude-code",
    scope="/work", stage="TEST", tool="Bash", targets=("src/a.py", "한글.py"), arguments="12-ab",
    outcome="exec_error", text='pytest -k "x"', output="1 failed\n",
    record={"run": {"state": "failed", "code": 1}},
)  # fmt: skip


def test_an_event_comes_back_as_it_was(journal):
    journal.events.append(Event(kind="prompt"))  # of now
    assert abs(journal.events.find()[0].at - time.time()) < 60
    journal.prune_daily(lambda: 0, now=time.time() + 60)
    assert journal.events.append(FULL) is True
    assert journal.events.append(Event(kind="prompt", at=1_700_000_001.0)) is True
    assert journal.events.find() == [FULL, Event(kind="prompt", at=1_700_000_001.0)]
    text = "nul \0 surrogate \ud800 한글 \U0001f600 'quote\""
    journal.events.append(Event(kind="prompt", text=text, targets=("\udcff.py",)))
    odd = journal.events.find()[-1]
    assert (odd.text, odd.targets) == (text.replace("\ud800", "?"), ("?.py",))


def test_the_same_observation_counts_once(journal):
    same, others = {"at": FULL.at + 50}, ({"kind": "edit"}, {"session": "s2"}, {"id": "toolu_2"})
    appended = [journal.events.append(replace(FULL, **one)) for one in ({}, same, *others)]
    assert appended == [True, False, True, True, True]
    assert len(journal.events.find()) == 4
    prompt = Event(kind="prompt", session="s", id="turn-1", text="Mend the build", at=1_700_000_000)
    other = replace(prompt, text="And leave the tests alone")  # in the middle of that turn
    assert [journal.events.append(one) for one in (prompt, prompt, other)] == [True, False, True]


def test_without_an_id_equal_events_are_one_only_where_that_is_asked_for(journal):
    event = replace(FULL, id="")
    assert [journal.events.append(event) for _ in range(2)] == [True, True]
    others = [{"at": event.at + seconds} for seconds in (1.5, -1.5, 2.5)]
    others += [{"text": "other"}, {"targets": ("b",)}]
    appended = [journal.events.append(replace(event, **one), within=2.0) for one in others]
    assert appended == [False, False, True, True, True]


def test_the_latest_targets_are_those_of_the_last_events(journal):
    for number in range(6):
        kind = "read" if number % 2 else "edit"
        targets = (f"{number}.py", f"{number}.md")
        journal.events.append(Event(kind=kind, at=100.0 + number, targets=targets))
    find = journal.events.latest_targets
    assert find(["edit"], limit=2, among=6) == ["4.py", "4.md", "2.py", "2.md"]
    assert find(["edit", "read"], limit=1, among=6) == ["5.py", "5.md"]
    assert find(["edit"], limit=9, among=2) == ["4.py", "4.md"]
    assert find(["create"], limit=9, among=6) == []


def test_events_are_found_by_session_kind_tool_and_time(journal):
    for number in range(6):
        kind, tool = (("prompt", ""), ("edit", "Edit"), ("read", "Read"))[number % 3]
        session = "ab"[number % 2]
        journal.events.append(Event(kind=kind, at=100.0 + number, session=session, tool=tool))

    def times(**filters):
        return [event.at - 100 for event in journal.events.find(**filters)]  # type: ignore[arg-type]

    assert times() == times(kinds=set(), tools=()) == [0, 1, 2, 3, 4, 5]
    assert times(session="b") == [1, 3, 5]
    assert times(kinds=["edit", "read"]) == [1, 2, 4, 5]
    assert times(tools=["Read"]) == [2, 5]
    assert times(since=103.0) == [3, 4, 5]
    assert times(limit=2) == [4, 5]
    assert times(session="a", kinds=["edit"], since=101.0, limit=1) == [4]
    assert times(limit=0) == []
    assert times(session="zzz") == []


def test_what_comes_later_is_found_by_number(journal):
    assert journal.events.last_number() == 0
    journal.events.append(FULL)
    seen = journal.events.last_number()
    assert journal.events.numbered(after=seen) == []
    other = replace(FULL, id="2", kind="edit")
    journal.events.append(other)
    assert journal.events.numbered(after=seen) == [(seen + 1, other)]
    assert journal.events.numbered(after=seen, kinds=["prompt"]) == []


def test_size_is_bounded(journal, path):
    journal.events.append(
        Event(
            kind="command",
            text="a " * 1_000_000,
            output="start\n" + "line of output\n" * 1_000_000 + "the end",
            targets=tuple(f"{number}" * 1000 for number in range(1000)),
            record={"more": ["x " * 4000] * 100},
        )
    )
    (event,) = journal.events.find()
    assert len(event.output) <= MAX_OUTPUT_CHARS
    assert event.output.startswith("start\n")
    assert event.output.endswith("the end")
    assert "characters left out" in event.output
    assert len(event.targets) == MAX_TARGETS
    assert len(json.dumps(event.record)) <= MAX_RECORD_CHARS
    journal.close()
    assert os.path.getsize(path) < 1_000_000


def test_no_secret_reaches_the_file(journal, path):
    dice = random.Random(7)
    key = "ghp_" + "".join(dice.choices(string.ascii_letters + string.digits, k=36))
    bearer = "".join(dice.choices(string.ascii_letters + string.digits, k=40))
    password = "Tr0ub4dor-und-3"
    output = (
        f"push to https://x:{key}@github.com failed\nAuthorization: Bearer {bearer}\n"
        f"FATAL: could not log in with DB_PASSWORD={password}\n"
    )
    journal.events.append(
        Event(
            kind="test",
            session="s",
            text=f"DB_PASSWORD={password} pytest --token {bearer}",
            output=output,
            targets=(f"https://bob:{password}@example.org/x",),
            record={"run": {"command": ["curl", "-H", f"Authorization: Bearer {bearer}"]}},
        )
    )
    journal.runs.begin(Event(kind="test", text=f"DB_PASSWORD={password} pytest {key}"))
    kept = "".join(str(as_data(event)) for event in journal.events.find())
    journal.close()
    data = b"".join(
        file.read_bytes() for file in pathlib.Path(path).parent.rglob("*") if file.is_file()
    )
    for secret in (key, bearer, password):
        assert secret not in kept
        assert secret.encode() not in data
    assert "could not log in" in kept


def test_a_run_is_written_once_when_it_ends(journal):
    started = Event(kind="test", at=5.0, session="s", text="pytest")
    run = journal.runs.begin(started)
    assert journal.events.find() == []
    assert journal.runs.end_abandoned() == 0
    assert journal.runs.end(run, replace(started, outcome="exec_error")) is True
    assert journal.runs.end(run, replace(started, outcome="cancelled")) is False
    assert journal.runs.end_abandoned() == 0
    assert journal.events.find() == [replace(started, outcome="exec_error", id=run)]


KILLED = """
import os, signal, sys
from lessons_kb.model import Event
from lessons_kb.store.journal import Journal
journal = Journal(sys.argv[1])
journal.runs.begin(Event(kind="test", at=5.0, session="s", text="pytest", record={"run": {"command": ["pytest"]}}))
print("begun", flush=True)
sys.stdin.read() if sys.argv[2] == "wait" else os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="kills with a signal")
def test_what_a_killed_process_left_running_ends_as_cancelled(path, journal):
    killed = subprocess.run([sys.executable, "-c", KILLED, path, "die"], stdout=subprocess.PIPE)
    assert killed.returncode == -signal.SIGKILL
    living = subprocess.Popen(
        [sys.executable, "-c", KILLED, path, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with living:
        assert living.stdout is not None
        living.stdout.readline()
        journal.prune_daily(lambda: 90, now=10.0)
        (event,) = journal.events.find()
        assert (event.kind, event.outcome, event.text) == ("test", "cancelled", "pytest")
        assert event.record == {
            "run": {"command": ["pytest"], "state": "cancelled", "abandoned": True}
        }
        assert journal.runs.end_abandoned() == 0
        living.kill()
        living.wait()
        assert journal.runs.end_abandoned() == 1
        assert [event.outcome for event in journal.events.find()] == ["cancelled"] * 2
        assert os.listdir(os.path.join(os.path.dirname(path), "runs")) == []
