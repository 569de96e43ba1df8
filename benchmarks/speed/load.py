"""Measures on a busy machine which events are answered in time, with a later event, or never.

Ten sessions, each a start, a prompt, an edit of a protected file and an edit that a gate holds,
beside 0, 8 and 12 busy processes, with and without a daemon that runs; two builds in turn. Between
two events passes the time that a model would take.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks import report
from benchmarks.speed.builds import Build, make_builds, prepare

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from typing import Any

BUSY = (0, 8, 12)
SESSIONS, QUICK_SESSIONS = 10, 2
PAUSE_SECONDS = 2.0
"""Between two events of a session, while the model works."""
_BUSY_CODE = "while True: pass"
_CLOSING_EVENTS = 2
"""Results of tools at the end of a session, with which something late may arrive."""
IN_EVENT, NEXT, LATER, NEVER = "in the event", "with the next event", "later", "never"
COLD, WARM = STATES = "cold", "warm"
DECIDED, NOT_CHECKED, PASSED = "gate decided", "not checked", "passed in silence"


class Step(NamedTuple):
    """One event of a session, and the text that shows that it was answered."""

    name: str
    event: dict[str, Any]
    shown_by: str


@dataclass(kw_only=True, slots=True)
class Tally:
    """What became of the events of one build under one load."""

    events: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys((IN_EVENT, NEXT, LATER, NEVER), 0)
    )
    gates: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys((DECIDED, NOT_CHECKED, PASSED), 0)
    )
    never: dict[str, int] = field(default_factory=dict)
    """Event → how often it was never answered."""


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Run the sessions of each build in turn, print the table, return all figures."""
    sessions = options.sessions or (QUICK_SESSIONS if options.quick else SESSIONS)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="lessons-load-") as name:
        builds = make_builds(Path(name), options.against, _write_project)
        try:
            for busy in options.busy or BUSY:
                for is_warm in (state == WARM for state in options.daemon):
                    rows += _measure(builds, busy, is_warm=is_warm, sessions=sessions)
        finally:
            for build in builds:
                build.run("daemon", "stop")
    headers = ["busy", "daemon", "build", IN_EVENT, NEXT, LATER, NEVER, DECIDED, NOT_CHECKED]
    headers += [PASSED, "load", "never answered"]
    report.print_table("A busy machine", headers, [_cells(row) for row in rows])
    return {"rows": rows, "sessions": sessions, "pause": PAUSE_SECONDS}


def _measure(
    builds: list[Build], busy: int, *, is_warm: bool, sessions: int
) -> list[dict[str, Any]]:
    tallies = {build.name: Tally() for build in builds}
    loads = []
    with _busy_processes(busy) as processes:
        for number in range(sessions):
            for build in builds:
                _send(processes, signal.SIGSTOP)
                prepare(build, _PROMPT, is_warm=is_warm)
                _send(processes, signal.SIGCONT)
                session = f"{busy}-{is_warm:d}-{number}"
                _run_session(build, session, tallies[build.name])
                loads.append(os.getloadavg()[0])
            state = WARM if is_warm else COLD
            report.tell(f"{busy} busy, {state}: {number + 1}/{sessions}")
    load = max(loads)
    return [
        {
            "busy": busy,
            "warm": is_warm,
            "build": build.name,
            "events": tallies[build.name].events,
            "gates": tallies[build.name].gates,
            "never": tallies[build.name].never,
            "load": round(load, 1),
        }
        for build in builds
    ]


def _run_session(build: Build, session: str, tally: Tally) -> None:
    steps = _build_steps(build.project, session)
    outputs = []
    for step in steps:
        outputs.append(build.fire(step.event))
        time.sleep(PAUSE_SECONDS)
    for number, step in enumerate(steps[:-_CLOSING_EVENTS]):
        arrived = [place for place, said in enumerate(outputs) if step.shown_by in said]
        late = [place for place in arrived if place >= number]
        wait = late[0] - number if late else None
        became = {0: IN_EVENT, 1: NEXT, None: NEVER}.get(wait, LATER)
        tally.events[became] += 1
        if became == NEVER:
            tally.never[step.name] = tally.never.get(step.name, 0) + 1
    gated = len(steps) - _CLOSING_EVENTS - 1
    if '"deny"' in outputs[gated]:
        tally.gates[DECIDED] += 1
    elif any("not checked" in said for said in outputs[gated:]):
        tally.gates[NOT_CHECKED] += 1
    else:
        tally.gates[PASSED] += 1


def _build_steps(project: Path, session: str) -> list[Step]:
    common = {"session_id": session, "cwd": str(project), "transcript_path": ""}

    def edit(path: str, number: int) -> dict[str, Any]:
        change = {"file_path": str(project / path), "old_string": "a = 1", "new_string": "a = 2"}
        call = {"tool_name": "Edit", "tool_use_id": f"{session}-{number}", "tool_input": change}
        return {"hook_event_name": "PreToolUse", **call}

    result = {
        "hook_event_name": "PostToolUse",
        "tool_name": "Read",
        "tool_input": {"file_path": str(project / "README.md")},
        "tool_response": {},
    }
    prompt = {"hook_event_name": "UserPromptSubmit", "prompt": _PROMPT}
    steps = [
        Step("start", {"hook_event_name": "SessionStart", "source": "startup"}, _TITLE),
        Step("prompt", prompt, _PROMPT_ITEM),
        Step("protected edit", edit("billing/round.py", 1), _PATH_ITEM),
        Step("gated edit", edit("limits/api.toml", 2), _GATE_ITEM),
    ]
    closing = [Step("result", {**result, "tool_use_id": f"{session}-r{n}"}, "") for n in (1, 2)]
    steps += closing[:_CLOSING_EVENTS]
    return [step._replace(event={**common, **step.event}) for step in steps]


@contextlib.contextmanager
def _busy_processes(count: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    command = [sys.executable, "-I", "-S", "-c", _BUSY_CODE]
    processes = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _send(processes: list[subprocess.Popen[bytes]], number: int) -> None:
    for process in processes:
        process.send_signal(number)


_PROMPT = "Add a Telegram command that restarts the payment service on the server"
_TITLE = "Kafka consumers must commit offsets after the write"
_PROMPT_ITEM = "Reject every chat id that is not on the allowlist"
_PATH_ITEM = "Round to cents once, at the end of the invoice"
_GATE_ITEM = "Change the limits in the table, never in the file"
_CARDS = {
    "telegram": ("Telegram commands must check the allowlist", "", _PROMPT_ITEM),
    "kafka": (_TITLE, "", "Commit the offset behind the write"),
    "rounding": ("Rounding each line loses cents", "paths: [billing/round.py]\n", _PATH_ITEM),
    "limits": ("Limits are generated", "paths: ['limits/*.toml']\ngate: once\n", _GATE_ITEM),
}
"""File → title, further lines of its header, the item of its checklist."""


def _write_project(build: Build) -> None:
    """Write the example of the build with four further cards and the files that they protect."""
    # A build gets its own example: an older one does not know the settings of a newer one.
    example = build.source / "brain-example"
    shutil.copytree(example, build.project, ignore=shutil.ignore_patterns(".*"))
    subprocess.run(["git", "init", "-q", str(build.project)], check=True)
    for path in ("billing/round.py", "limits/api.toml", "README.md"):
        file = build.project / path
        file.parent.mkdir(exist_ok=True)
        file.write_text("a = 1\n", encoding="utf-8")
    for slug, (title, header, item) in _CARDS.items():
        text = (
            f"---\ntype: lesson\ntitle: {title}\nseverity: high\noccurrences: 9\n{header}---\n\n"
            f"## Root Cause\n\nIt was done by hand, and nobody saw it.\n\n"
            f"## Prevention Checklist\n\n- {item}\n"
        )
        (build.project / "lessons" / f"{slug}.md").write_text(text, encoding="utf-8")


def _cells(row: dict[str, Any]) -> list[str]:
    cells = [str(row["busy"]), WARM if row["warm"] else COLD, row["build"]]
    for counts in (row["events"], row["gates"]):
        total = sum(counts.values())
        cells += [f"{100 * count / total:.0f} %" for count in counts.values()]
    never = ", ".join(f"{name} {count}" for name, count in row["never"].items())
    return [*cells, f"{row['load']:.0f}", never]
