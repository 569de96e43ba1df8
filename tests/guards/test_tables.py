"""The guards' behaviour, as tables that can be read and that fail."""

import json
from pathlib import Path

import pytest

from lessons_kb.guards import Watch
from lessons_kb.model import EVENTS, OUTCOMES, Event

GOLDEN = Path(__file__).parents[1] / "golden" / "guards"
TABLES = sorted(GOLDEN.glob("*.txt"))


def read_event(line):
    kind, *words = line.split()
    fields = {"kind": kind, "targets": ()}
    for word in words:
        if word.startswith("@"):
            fields["scope"] = word[1:]
        elif word.startswith("!"):
            fields["outcome"] = word[1:]
        elif word.startswith("="):
            fields["arguments"] = word[1:]
        elif word.startswith("tool:"):
            fields["tool"] = word[5:]
        else:
            fields["targets"] += (word,)
    event = Event(**fields)
    assert event.kind in EVENTS
    assert event.outcome in OUTCOMES
    return event


def show(signal):
    shown = f"{signal.level} {signal.guard}: {signal.message}"
    if signal.level != "note":
        shown += f"\nuser: {signal.user_line}\nrecord: {json.dumps(signal.record)}"
    return [f"    | {line}".rstrip() for line in shown.split("\n")]


def restart(watch):
    return Watch.from_state(json.loads(json.dumps(watch.to_state())))


def replay(text, *, between=lambda watch: watch):
    """Play the events of a table; return it as it should read."""
    watch, lines = Watch(), []
    for line in text.split("\n"):
        if line.startswith("    |"):
            continue
        lines.append(line)
        if line.startswith("##"):
            watch = Watch()
        elif line and not line.startswith("#"):
            watch = between(watch)
            for signal in watch.see(read_event(line)):
                lines += show(signal)
    return "\n".join(lines)


def test_there_are_tables():
    assert {path.stem for path in TABLES} == {"edits", "files", "mistakes", "repeats"}


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_table(path):
    text = path.read_text(encoding="utf-8")
    assert replay(text) == text


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_table_with_a_new_process_for_every_event(path):
    text = path.read_text(encoding="utf-8")
    assert replay(text, between=restart) == text
