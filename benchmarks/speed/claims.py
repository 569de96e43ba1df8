"""Times hooks over a large brain whose cards make claims about the code: with two builds, in turn.

The cards have `paths`, `when` and `supersedes`, name files and functions in backticks, and the
patterns of some are opposed. In the history of the project, files were moved and removed
afterwards. A build that does not know these keys gets the same files.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks import metrics, report
from benchmarks.data import DataError
from benchmarks.generate import Statistics, learn_statistics, make_card
from benchmarks.speed import clock
from benchmarks.speed.bench import BLOCK
from benchmarks.speed.builds import Build, ProcessorClock, make_builds, prepare
from benchmarks.speed.clock import Command

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence
    from typing import Any

CARDS, QUICK_CARDS = 12_000, 1_000
ROUNDS, QUICK_ROUNDS = 40, 7
SESSIONS, QUICK_SESSIONS = 200, 20
"""Sessions that began on this machine before, as on any that has a brain of this size."""
FILES = 300
_PROMPTED = 7
"""The number of the card to which the prompt applies."""
_START, _END = "2026-01-01T12:00:00+00:00", "2026-12-31T12:00:00+00:00"
_LOCK = '[[package]]\nname = "pandas"\nversion = "2.2.0"\n'
_SETTINGS = "[index]\nmax_files = 1000000\n[semantic]\nenabled = false\n"
_sessions = itertools.count()


@dataclass(frozen=True, kw_only=True, slots=True)
class Claims:
    """The numbers of the cards that make claims, as the newer build reads them."""

    stale: int
    contradictions: int


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Time the events of each build in turn, print the table, return all figures."""
    size = QUICK_CARDS if options.quick else CARDS
    rounds = QUICK_ROUNDS if options.quick else ROUNDS
    sessions = QUICK_SESSIONS if options.quick else SESSIONS
    statistics = learn_statistics()
    with tempfile.TemporaryDirectory(prefix="lessons-claims-") as name:

        def write_project(build: Build) -> None:
            report.tell(f"{build.name}: writes and indexes {size:,} cards …")
            _write_project(build.project, statistics, size)

        builds = make_builds(Path(name), options.against, write_project)
        builds.reverse()
        claims = _count_claims(builds[0])
        commands = {"py": Command(argv=(sys.executable, "-c", "pass"))}
        for build in builds:
            for event, command in _list_commands(build, _title(statistics)).items():
                commands[f"{event}, {build.name}"] = command
        try:
            for build in builds:
                prepare(build, _title(statistics), is_warm=True)
                for _ in range(sessions):
                    _begin_session(build)
            runs = clock.time_in_turn(commands, rounds)
            spent = _measure_processor(builds, _title(statistics), rounds)
        finally:
            for build in builds:
                build.run("daemon", "stop")
    rows = []
    for name in list(commands)[1:]:
        spread = clock.ratios(runs[name], runs["py"])
        milliseconds = metrics.compute_spread([run.seconds * 1000 for run in runs[name]])
        rows.append(
            {
                "event": name,
                "py": round(spread.median, 3),
                "low": round(spread.low, 3),
                "high": round(spread.high, 3),
                "ms": round(milliseconds.median, 2),
                "processor_ms": round(median(spent[name]), 2),
            }
        )
    headers = ["event, build", "median", "min … max", "ms", "processor, ms"]
    cells = [
        [
            row["event"],
            f"{row['py']:.2f} py",
            f"{row['low']:.2f} … {row['high']:.2f}",
            row["ms"],
            row["processor_ms"],
        ]
        for row in rows
    ]
    title = f"{size:,} cards, {claims.stale} stale, {claims.contradictions} contradicting"
    report.print_table(title, headers, [[str(cell) for cell in row] for row in cells])
    return {"rows": rows, "cards": size, "stale": claims.stale, "rivals": claims.contradictions}


def _write_project(project: Path, statistics: Statistics, size: int) -> None:
    """Write code, cards about it, and then a commit that moves and removes some of the code."""
    (project / "src").mkdir(parents=True)
    (project / "lessons.toml").write_text(_SETTINGS, "utf-8")
    (project / "uv.lock").write_text(_LOCK, "utf-8")
    for number in range(FILES):
        text = f"def func_{number}():\n    return {number}\n" * 5
        (project / f"src/m{number}.py").write_text(text, "utf-8")
    last = ""
    for number in range(size):
        path, text = make_card(statistics, number, seed=1, real_size=False)
        file = project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_add_claims(text, number, last), "utf-8")
        last = Path(path).stem
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    _commit(project, _START)
    (project / "lib").mkdir()
    for number in range(0, FILES, 10):
        (project / f"src/m{number}.py").rename(project / f"lib/n{number}.py")
        (project / f"src/m{number + 1}.py").unlink()
    _commit(project, _END)


def _add_claims(text: str, number: int, last: str) -> str:
    """Return a card with claims about the code. Others than the prompted one may be silent."""
    header = []
    if "\npaths:" not in text:
        header.append(f"paths: [src/m{number % FILES}.py]")
    if number % 3 == 0:
        header.append("when: [pandas<3]")
    elif number % 30 == 1:
        header.append("when: [pandas<1]")
    if number % 50 == 49:
        header.append(f"supersedes: [{last}]")
    lines = [f"\n`func_{number % FILES}` in `src/m{number % (FILES + 20)}.py` does it."]
    pair, part = divmod(number, 200)
    if part in (101, 102):
        wrong, right = ("pack", "skip") if part == 101 else ("skip", "pack")
        header += [f"detect: [{{regex: {wrong}_zibeline{pair}, good: {right}_zibeline{pair}}}]"]
    start, _, rest = text.partition("\n---\n")
    return "\n".join([start, *header, "---", rest.rstrip("\n"), *lines, ""])


def _commit(project: Path, when: str) -> None:
    dates = {"GIT_COMMITTER_DATE": when, "GIT_AUTHOR_DATE": when}
    identity = ("-c", "user.name=benchmark", "-c", "user.email=benchmark@example.com")
    for words in (("add", "-A"), (*identity, "commit", "-qm", "A change", "--no-verify")):
        command = ["git", "-C", str(project), *words]
        subprocess.run(command, check=True, env={**os.environ, **dates})


def _count_claims(build: Build) -> Claims:
    """Count what the newer build makes of the claims. Raises DataError if it sees none."""
    rows = build.run("list", "--stale", "--all").splitlines()[1:]
    conflicts = build.run("lint", "--rule", "conflict").splitlines()
    pairs = [line for line in conflicts if "contradicts" in line]
    counts = Claims(stale=len(rows), contradictions=len(pairs))
    if not counts.stale or not counts.contradictions:
        raise DataError(f"the cards have no claims: {counts}")
    return counts


def _title(statistics: Statistics) -> str:
    text = make_card(statistics, _PROMPTED, seed=1, real_size=False)[1]
    return "Please look after this: " + text.split("title: '", 1)[1].split("'", 1)[0]


def _list_commands(build: Build, prompt: str) -> Mapping[str, Command]:
    """Return the hooks of a build by the name of the event."""
    src = build.project / "src"
    events = {
        "prompt": {"hook_event_name": "UserPromptSubmit", "prompt": prompt},
        "before an edit": {
            "hook_event_name": "PreToolUse",
            "tool_name": "Edit",
            "tool_input": {"file_path": f"{src}/m5.py", "old_string": "a", "new_string": "b"},
        },
        "after a tool call": {
            "hook_event_name": "PostToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": "ls src", "description": "list"},
            "tool_response": {"stdout": "a.py\n", "stderr": "", "interrupted": False},
        },
    }
    commands = {name: _make_command(build, event) for name, event in events.items()}
    commands["prompt"] = replace(commands["prompt"], must_print=BLOCK)
    return commands


def _measure_processor(
    builds: Sequence[Build], prompt: str, rounds: int
) -> Mapping[str, list[float]]:
    """Return the milliseconds of processor time of daemon and hook, for each event and build."""
    spent: dict[str, list[float]] = {}
    clocks = [(build, ProcessorClock(build), _list_commands(build, prompt)) for build in builds]
    for number in range(rounds):
        for build, processor, commands in clocks:
            for event, command in commands.items():
                payload = json.loads(command.stdin(number)) if command.stdin else {}
                time = processor.measure(partial(build.fire, payload))
                spent.setdefault(f"{event}, {build.name}", []).append(time)
    return spent


def _make_command(build: Build, event: Mapping[str, Any]) -> Command:
    """Return the hook on an event. Each run is a session of its own, which begins before."""

    def begin(number: int) -> str:
        session = _begin_session(build)
        return json.dumps({**session, "tool_use_id": f"call-{number}", **event})

    return replace(_make_hook(build), stdin=begin)


def _begin_session(build: Build) -> dict[str, str]:
    """Send the start of a new session to a build. Return what all events of the session share."""
    session = f"claims-{os.getpid()}-{next(_sessions)}"
    common = {"session_id": session, "transcript_path": "", "cwd": str(build.project)}
    start = {**common, "hook_event_name": "SessionStart", "source": "startup"}
    clock.start(replace(_make_hook(build), stdin=lambda _: json.dumps(start)))
    return common


def _make_hook(build: Build) -> Command:
    return Command(
        argv=(str(build.launcher), "claude-code"),
        cwd=str(build.project),
        environment={**build.environment, "LESSONS_HOOK_DEADLINE": "20"},
    )
