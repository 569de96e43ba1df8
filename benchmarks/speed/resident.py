"""Hooks with the daemon and without it, beside a bare interpreter and the best peer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import metrics
from benchmarks.ours import own_brain
from benchmarks.speed import clock
from benchmarks.speed.bench import BLOCK, INDEX, Row, edit_one, make_row, time_fresh
from benchmarks.speed.clock import Command
from benchmarks.speed.entries import (
    NotBuiltError,
    bare_python,
    client,
    edit_event,
    peer,
    prompt_event,
    run_code,
    start_event,
    tool_event,
)
from lessons_kb.service.daemon_client import RECORD_NAME, ask_daemon
from lessons_kb.store.locations import state_home

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from benchmarks.speed.bench import Bench

_PATIENCE_SECONDS = 30.0
_AT_ONCE = 16
_BARE_CLIENT = (sys.executable, "-I", "-S", "-c", "pass")
_ALONE = {"LESSONS_DAEMON": "0"}
_CHECKOUT = """
import sys
from pathlib import Path
for path in Path(sys.argv[1]).rglob("*.md"):
    text = path.read_bytes()
    path.unlink()
    path.write_bytes(text + b"\\nAnother branch.\\n")
"""
_TRACE_LINE = (
    '  File "src/service/worker_{0}.py", line {0}, in handle_{0}\n    return run_{0}(job)\n'
)


def measure_prompts(bench: Bench) -> list[Row]:
    """Prompt → block, and start → titles, with the daemon running, by the number of cards."""
    rows = []
    event = prompt_event(bench.title(7))
    for size, target in zip(bench.sizes, (1.25, 1.3, 2), strict=False):
        # Among 100,000 generated cards no prompt is sure of one: the work is done all the same.
        due = BLOCK if size <= bench.large else ""
        command = client(bench.indexed(size), event, must_print=due)
        start = client(bench.indexed(size), start_event(), must_print="LESSON_TITLES")
        with running(command):
            prompt, begin = (f"{what}, daemon, {size:,} cards" for what in ("prompt", "start"))
            commands, targets = {prompt: command, begin: start}, {prompt: target, begin: 1.3}
            rows += time_fresh(bench, "hook: ", commands, targets)
    return rows


def measure_tools(bench: Bench) -> list[Row]:
    """Events around a tool call, a long prompt and sixteen hooks at once, daemon running."""
    folder = bench.indexed(1_000)
    prompt = client(folder, prompt_event(bench.title(7)), must_print=BLOCK)
    before, after = (
        f"{what}, daemon, 1,000 cards" for what in ("before an edit", "after a tool call")
    )
    commands = {
        after: client(folder, tool_event()),
        before: client(folder, edit_event(folder)),
    }
    with running(prompt):
        rows = time_fresh(bench, "hook: ", commands, {after: 1.2, before: 1.25})
        shares = []
        for number in range(bench.rounds):
            bare = clock.time_at_once(Command(argv=_BARE_CLIENT), _AT_ONCE, number)
            shares.append(clock.time_at_once(prompt, _AT_ONCE, number) / bare)
        rows.append(
            make_row(f"hook: {_AT_ONCE} prompts at once over bare", shares, "x", target=1.4)
        )
        rows.append(_measure_long(bench, folder))
    return rows


def measure_alone(bench: Bench) -> list[Row]:
    """An event without a daemon, and one two seconds after the first, which started it."""
    folder = bench.indexed(1_000)
    prompt = client(folder, prompt_event(bench.title(7)), must_print=BLOCK)
    tool = client(folder, tool_event())
    names = ("prompt, no daemon, 1,000 cards", "after a tool call, no daemon, 1,000 cards")
    commands = dict(zip(names, (_without(prompt), _without(tool)), strict=True))
    rows = time_fresh(bench, "hook: ", commands, dict.fromkeys(names, 10))
    shares = []
    for number in range(3 if bench.quick else 10):
        stop_daemon()
        clock.start(prompt, number)
        time.sleep(2)
        bare = clock.start(bare_python())
        shares.append(clock.start(prompt, number).seconds / bare.seconds)
    stop_daemon()
    return [*rows, make_row("hook: prompt 2 s after the first event", shares, "py", target=1.5)]


def measure_large(bench: Bench) -> list[Row]:
    """A refresh on the way, the daemon's memory and its processor time while idle."""
    folder = bench.indexed(bench.large)
    prompt = client(folder, prompt_event(bench.title(7)), must_print=BLOCK)
    with running(prompt) as status:
        name = f"prompt after one edit, daemon, {bench.large:,} cards"
        edited = {name: replace(prompt, before=partial(edit_one, folder))}
        rows = time_fresh(bench, "hook: ", edited, {name: 1.5})
        time.sleep(2)
        seconds = 10 if bench.quick else 60
        before = _ticks(status["pid"])
        time.sleep(seconds)
        ticks = (_ticks(status["pid"]) - before) * 60 / seconds
        found = ask_daemon(b"?status") or {}
    megabytes = found["memory_bytes"] / 1e6
    cards = f"{bench.large:,} cards open"
    rows.append(make_row(f"daemon: memory, {cards}", [megabytes], "MB", target=150))
    note = f"{ticks / os.sysconf('SC_CLK_TCK') / 60:.3%} of a core"
    rows.append(make_row(f"daemon: idle, {cards}", [ticks], "ticks/min", target=6, note=note))
    return rows


def measure_checkout(bench: Bench) -> list[Row]:
    """Prompts while every card is written anew, as a checkout does; each must get its lesson."""
    with tempfile.TemporaryDirectory(prefix="lessons-checkout-") as name:
        folder = Path(shutil.copytree(bench.brain(bench.large), Path(name) / "brain"))
        own_brain(folder)
        clock.start(run_code(INDEX, str(folder), must_print="indexed"))
        prompt = client(folder, prompt_event(bench.title(7)), must_print=BLOCK)
        with running(prompt):
            time.sleep(3)  # its watcher has looked at all files
            quiet = [clock.start(prompt, number).seconds for number in range(bench.rounds)]
            until, busy = time.monotonic() + (5 if bench.quick else 20), []
            with subprocess.Popen([sys.executable, "-c", _CHECKOUT, str(folder)]):
                while time.monotonic() < until:
                    busy.append(clock.start(prompt).seconds * 1000)
                    time.sleep(0.2)
    note = f"{metrics.compute_spread(quiet).median * 1000:.0f} ms before"
    row = f"hook: prompt while {bench.large:,} cards are written, daemon"
    return [make_row(row, busy, "ms", target=100, note=note)]


def measure_peer(bench: Bench) -> list[Row]:
    """The prompt hook of claude-memory-engine on the same cards."""
    rows = []
    for size in (1_000, bench.large):
        with peer(bench.brain(size), prompt_event(bench.title(7))) as command:
            rows += time_fresh(bench, "peer: ", {f"prompt, {size:,} cards": command}, {})
    return rows


@contextmanager
def running(command: Command) -> Iterator[dict[str, Any]]:
    """Start a daemon of our own and have it answer ``command`` before anything is timed."""
    stop_daemon()
    until = time.monotonic() + _PATIENCE_SECONDS
    while not (status := ask_daemon(b"?status") or {}).get("answered"):
        if time.monotonic() > until:
            raise NotBuiltError(f"no daemon answers: {status}")
        clock.start(command)
        time.sleep(0.2)
    try:
        yield status
        after = ask_daemon(b"?status") or {}
        if after.get("pid") != status["pid"]:
            raise NotBuiltError("the daemon was replaced on the way")
    finally:
        stop_daemon()


def stop_daemon() -> None:
    """End the daemon of this benchmark, and let the next hook start another at once."""
    status = ask_daemon(b"?stop") and ask_daemon(b"?status")
    until = time.monotonic() + _PATIENCE_SECONDS
    while status is not None and time.monotonic() < until:
        time.sleep(0.05)
        status = ask_daemon(b"?status")
    (Path(state_home()) / RECORD_NAME).unlink(missing_ok=True)


def _without(command: Command) -> Command:
    return replace(command, environment={**command.environment, **_ALONE})


def _measure_long(bench: Bench, folder: Path) -> Row:
    """A prompt of 20,000 characters with a stack trace over one of 200."""
    short = (bench.title(7) + " " + bench.prompt(7, 40))[:200]
    trace = "".join(_TRACE_LINE.format(number) for number in range(400))
    long = f"{short}\n\n{trace}"[:20_000]
    commands = {
        "short": client(folder, prompt_event(short), must_print=BLOCK),
        "long": client(folder, prompt_event(long)),
    }
    runs = clock.time_in_turn(commands, bench.rounds)
    pairs = zip(runs["long"], runs["short"], strict=True)
    shares = [one.seconds / other.seconds for one, other in pairs]
    return make_row("hook: 20,000 characters over 200", shares, "x", target=1.3)


def _ticks(pid: int) -> int:
    """Return the processor time of a process so far, in ticks of the clock."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
