"""Measures the processor time that an event of Claude Code costs in our processes.

The same events are sent in turn through the plugin's module, which asks the daemon over its socket,
and through the command hook, which starts a process for each event. Both ask the same daemon. The
time that the module itself needs inside the client is not part of the figures.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import report
from benchmarks.data import DataError
from benchmarks.speed.builds import Build, ProcessorClock, make_builds, prepare, read_children_time

if TYPE_CHECKING:
    import argparse
    from typing import Any

_BRAIN = Path(__file__).resolve().parents[2] / "brain-example"
_PROMPT = "Add a Telegram command that runs a shell script on the server"
_EVENTS = ("PreToolUse", "PostToolUse")
_ROUNDS, _QUICK_ROUNDS = 40, 10
_WARM_UP = 6


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Print the table; return all figures."""
    rounds = _QUICK_ROUNDS if options.quick else _ROUNDS
    with tempfile.TemporaryDirectory(prefix="lessons-module-") as name:
        (build,) = make_builds(Path(name), None, _write_project)
        try:
            prepare(build, _PROMPT, is_warm=True)
            times, bare = _measure(build, rounds)
        finally:
            build.run("daemon", "stop")
    py = statistics.median(bare)
    rows = [
        {
            "event": event,
            "way": way,
            "ms": round(statistics.median(spent), 2),
            "py": round(statistics.median(spent) / py, 3),
            "high": round(max(spent) / py, 3),
        }
        for (event, way), spent in times.items()
    ]
    table = [
        [row["event"], row["way"], f"{row['py']:.2f} py", f"{row['high']:.2f}", f"{row['ms']} ms"]
        for row in rows
    ]
    title = f"Processor time for one event ({rounds} of each in turn; py = {py:.1f} ms)"
    report.print_table(title, ["event", "way", "median", "max", "median, ms"], table)
    return {"rows": rows, "py_ms": round(py, 2)}


def _write_project(build: Build) -> None:
    """Copy the example brain into a repository with some code."""
    shutil.copytree(_BRAIN, build.project, ignore=shutil.ignore_patterns(".lessons"))
    (build.project / "src").mkdir()
    for number in range(20):
        (build.project / f"src/m{number}.py").write_text("def f():\n    return 1\n", "utf-8")
    subprocess.run(["git", "init", "-q", str(build.project)], check=True)


def _measure(build: Build, rounds: int) -> tuple[dict[tuple[str, str], list[float]], list[float]]:
    """Return the milliseconds of each event and way, and those of a bare interpreter."""
    door, clock = _Door(build), ProcessorClock(build)
    times: dict[tuple[str, str], list[float]] = {}
    bare = []
    for number in range(_WARM_UP + rounds):
        for event in _EVENTS:
            payload = _make_payload(build, event, number)
            for way, send in (("module", door.ask), ("command", build.fire)):
                spent = clock.measure(partial(send, payload))
                if number >= _WARM_UP:
                    times.setdefault((event, way), []).append(spent)
        before = read_children_time()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        bare.append(read_children_time() - before)
    return times, bare


class _Door:
    """The way by which the plugin's module reaches the daemon of a build."""

    def __init__(self, build: Build) -> None:
        command = [str(build.launcher), "claude-code", "module"]
        done = subprocess.run(
            command,
            cwd=build.project,
            env=build.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        self._path, *variables = done.stdout.split("\0")
        self._variables = dict(text.split("=", 1) for text in variables if text)
        self._project = str(build.project)

    def ask(self, event: dict[str, Any]) -> None:
        """Send an event as the module does. Raises DataError if the daemon declines it."""
        body = {
            "agent": "claude-code",
            "cwd": self._project,
            "event": json.dumps({**event, "shows_reason": True}),
            "environment": self._variables,
        }
        connection = HTTPConnection("lessons")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(self._path)
        connection.request("POST", "/", json.dumps(body), {"content-type": "application/json"})
        response = connection.getresponse()
        response.read()
        connection.close()
        if response.status != HTTPStatus.OK:
            raise DataError(f"the daemon answered with status {response.status}")


def _make_payload(build: Build, event: str, number: int) -> dict[str, Any]:
    """Return an event about an edit of a file or about a command."""
    payload: dict[str, Any] = {
        "session_id": "one",
        "transcript_path": "",
        "cwd": str(build.project),
        "permission_mode": "default",
        "hook_event_name": event,
        "tool_use_id": f"toolu_{number}",
    }
    if number % 3 == 1:
        payload["tool_name"] = "Bash"
        payload["tool_input"] = {"command": f"ls src && git status {number}"}
        response: dict[str, Any] = {"stdout": "ok", "stderr": "", "interrupted": False}
    else:
        path = os.path.join(build.project, f"src/m{number % 20}.py")
        payload["tool_name"] = "Edit"
        payload["tool_input"] = {
            "file_path": path,
            "old_string": "return 1",
            "new_string": f"return {number}",
        }
        response = {"filePath": path, "structuredPatch": []}
    if event == "PostToolUse":
        payload["tool_response"] = response
    return payload
