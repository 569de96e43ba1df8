"""Hooks of other tools beside ours: the same prompts, in turn, with both services running.

``NAME=LINE`` names a peer and the shell line of its hook for a prompt. The line reads the event of
Claude Code from standard input. Its service, if it has one, must be running.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import metrics, report
from benchmarks.data import DataError
from benchmarks.ours import open_indexed, private_state
from benchmarks.retrieval.sixcards import CASES, write_six
from benchmarks.speed import clock
from benchmarks.speed.clock import Command
from benchmarks.speed.entries import bare_python, client, prompt_event
from benchmarks.speed.resident import running

if TYPE_CHECKING:
    import argparse
    from typing import Any

_OTHERS = 1_000
_ROUNDS, _QUICK_ROUNDS = 30, 6
_OURS, _BARE = "lessons_kb", "bare Python"


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Time our hook, the hooks of the peers and a bare interpreter, in turn."""
    lines = dict(_read_peer(text) for text in options.peers)
    prompts = [case.plain for case in CASES]
    with tempfile.TemporaryDirectory(prefix="lessons-peers-") as name, private_state(Path(name)):
        folder = Path(name) / "brain"
        write_six(folder, _OTHERS, options.seed)
        with open_indexed(folder):
            pass

        def event(number: int) -> dict[str, Any]:
            return prompt_event(prompts[number % len(prompts)])(number)

        ours = client(folder, event)
        commands = {_BARE: bare_python(), _OURS: ours}
        for peer, line in lines.items():
            commands[peer] = Command(argv=("/bin/sh", "-c", line), stdin=ours.stdin)
        with running(ours):
            rounds = _QUICK_ROUNDS if options.quick else _ROUNDS
            runs = clock.time_in_turn(commands, rounds)
    rows, figures = [], {}
    for program, times in runs.items():
        seconds = metrics.compute_spread([one.seconds for one in times]).median
        bare = clock.ratios(times, runs[_BARE]).median
        to_ours = clock.ratios(times, runs[_OURS]).median
        figures[program] = {"seconds": seconds, "to_bare": bare, "to_ours": to_ours}
        rows.append([program, f"{1000 * seconds:.0f} ms", f"{bare:.1f}", f"{to_ours:.1f}"])
    headers = ("hook for a prompt", "median", "to a bare Python", "to ours")
    report.print_table(f"Hooks of other tools, {rounds} rounds", headers, rows)
    return {"rounds": rounds, "programs": figures}


def _read_peer(text: str) -> tuple[str, str]:
    name, sign, line = text.partition("=")
    if not sign or not line.strip():
        raise DataError(f"{text!r} is not NAME=LINE")
    return name, line
