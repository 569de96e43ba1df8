"""Measures the time of `lessons stats` with 12,000 cards and 100,000 rows of a journal."""

from __future__ import annotations

import os
import sqlite3
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING
from unittest import mock

from benchmarks import report
from benchmarks.generate import learn_statistics, make_prompt, open_brain_folder
from benchmarks.speed.clock import Command, ratios, time_in_turn
from lessons_kb import Brain
from lessons_kb.store.journal import JOURNAL_NAME
from lessons_kb.store.state_folder import state_dir

if TYPE_CHECKING:
    import argparse
    from typing import Any

CARDS, QUICK_CARDS = 12_000, 1_000
SESSIONS = 2_500
"""Of 14 events and 16 injections each, spread over 88 days; the rest of the rows are counts."""
EVENTS, PROMPTS, INJECTIONS, COUNTS = 14, 2, 16, 25_000
GIVEN = 2_000
"""Cards that were ever given."""
ROUNDS, QUICK_ROUNDS = 7, 3


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Print the time of the first `lessons stats` and of later ones, beside a bare interpreter."""
    size = QUICK_CARDS if options.quick else CARDS
    folder = open_brain_folder(size, seed=options.seed)
    with tempfile.TemporaryDirectory() as place:
        environment = {"LESSONS_STATE_HOME": place}
        with mock.patch.dict(os.environ, environment):
            with Brain.open(folder) as brain:
                brain.refresh()
                cards = [card.id for card in brain.cards.all()][:GIVEN]
                brain.journal.counts()
            journal = Path(state_dir(str(folder))) / JOURNAL_NAME
        rows = fill(journal, cards, seed=options.seed)
        argv = (sys.executable, "-m", "lessons_kb.cli.main", "--brain", str(folder), "stats")
        stats = Command(argv=argv, environment=environment, must_print="Most given")
        commands = {
            "bare Python": Command(argv=(sys.executable, "-I", "-c", "pass")),
            "stats, the first time": replace(stats, before=lambda _number: forget(journal)),
            "stats": stats,
        }
        runs = time_in_turn(commands, QUICK_ROUNDS if options.quick else ROUNDS)
    table, figures = [], {}
    for name, found in runs.items():
        spread = ratios(found, runs["bare Python"])
        seconds = sorted(one.seconds for one in found)[len(found) // 2]
        table.append([name, f"{seconds:.2f} s", f"{spread.median:.0f}"])
        figures[name] = {"seconds": seconds, "ratio": spread.median}
    title = f"{size:,} cards, {rows:,} journal rows"
    report.print_table(title, ("command", "median", "× bare Python"), table)
    return {"cards": size, "rows": rows, "figures": figures}


def fill(path: Path, cards: list[str], *, seed: int) -> int:
    """Write sessions into a journal; return how many rows there are in all."""
    dice = Random(seed)
    statistics = learn_statistics()
    prompts = [make_prompt(statistics, n, seed=seed, words=25) for n in range(500)]
    begun = time.time() - 88 * 86_400
    events: list[tuple[Any, ...]] = []
    given: list[tuple[Any, ...]] = []
    for number in range(SESSIONS):
        session, at = f"session-{number}", begun + number * 88 * 86_400 / SESSIONS
        for place in range(EVENTS):
            prompt = place < PROMPTS
            kind, tool = ("prompt", "") if prompt else ("command", "Bash")
            outcome = "exec_error" if not prompt and dice.random() < 0.15 else "ok"
            text, output = dice.choice(prompts), "" if prompt else dice.choice(prompts)
            row = (at + place, session, "", kind, "claude-code", "/shop", tool)
            events.append((*row, "[]", "", outcome, text, output, "{}"))
        for place in range(INJECTIONS):
            card = cards[int(len(cards) * dice.random() ** 2)]
            given.append((session, place, int(at) + place, card, "", 1, 120))
    days = [time.strftime("%Y-%m-%d", time.localtime(begun + day * 86_400)) for day in range(88)]
    whats = ("injected", "addressed", "unaddressed", "sessions", "recurred")
    counts = {(dice.choice(cards), dice.choice(whats), dice.choice(days)) for _ in range(COUNTS)}
    with sqlite3.connect(path) as db:
        db.executemany(
            "INSERT INTO events (at, session, id, kind, agent, scope, tool, targets, arguments,"
            " outcome, text, output, record) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            events,
        )
        db.executemany(
            "INSERT INTO injections (session, turn, at, card, digest, rank, tokens)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            given,
        )
        db.executemany("INSERT INTO counts VALUES (?, ?, ?, 1)", sorted(counts))
    db.close()
    return len(events) + len(given) + len(counts)


def forget(path: Path) -> None:
    """Let the next `stats` look through the sessions before each card again."""
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM counts WHERE what IN ('before', 'before recurred')")
    db.close()
