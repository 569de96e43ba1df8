"""Measures the time and memory of a command, each time in a fresh process.

"py" is the time of ``python -c pass`` with the interpreter of the same build, in the same round.
With ``--against DIR`` the build in DIR (its own ``.venv``) runs in turn with this one. Each build
has a home, a state and brains of its own, which it sets up itself.
"""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import metrics, report
from benchmarks.generate import learn_statistics, make_card, write_cards
from benchmarks.speed import clock
from benchmarks.speed.clock import Command

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence
    from typing import Any

    from benchmarks.metrics import Spread

ROOT = Path(__file__).resolve().parent.parent.parent
SIZES = (3, 1_000)
_HOME_VARIABLES = (
    *("HOME", "LESSONS_STATE_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"),
    *("XDG_CONFIG_HOME", "XDG_CACHE_HOME"),
)
_MEMORY = """\
import os, sys
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(child, 0)
print("\\nMEMORY", usage.ru_maxrss / 1024)
sys.exit(os.waitstatus_to_exitcode(status))
"""
"""A process is said to have used at least what its parent held: here a small one is the parent."""
_EMPTY_TYPER = """\
import typer
app = typer.Typer(add_completion=False, rich_markup_mode=None)
@app.command()
def main() -> None:
    print("typer", typer.__version__)
app()
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """What a row shall reach at the most."""

    py: float
    megabytes: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """Times and memory of one program."""

    py: Spread
    milliseconds: float
    megabytes: float


class Build:
    """A build of lessons_kb and the home in which it runs."""

    def __init__(self, name: str, folder: Path, python: str, home: Path) -> None:
        self.name, self.folder, self.python = name, folder, python
        self._home = home
        self.environment = {name: str(home / name.lower()) for name in _HOME_VARIABLES}
        self.environment["PYTHONPATH"] = str(folder)
        for path in self.environment.values():
            Path(path).mkdir(parents=True, exist_ok=True)

    def brain(self, size: int) -> Path:
        """Return the folder of the brain with so many cards."""
        return self._home / f"brain-{size}"

    def prepare(self, seed: int) -> None:
        """Write the brains, index them, and install the hook."""
        statistics = learn_statistics()
        for size in SIZES:
            folder = self.brain(size)
            write_cards(folder, statistics, size, seed=seed)
            for words in (("trust", str(folder)), ("index",), ("preflight", "set it up")):
                clock.start(self.command(size, *words))
        clock.start(self.command(SIZES[0], "install", "claude-code"))

    def command(self, size: int, *words: str, must_print: str = "") -> Command:
        """Return the console script in the brain with so many cards."""
        script = Path(self.python).with_name("lessons")
        program = (str(script),) if script.is_file() else (self.python, "-m", _ENTRY)
        return Command(
            argv=(*program, *words),
            cwd=str(self.brain(size)),
            environment=self.environment,
            must_print=must_print,
        )

    def completion(self, size: int, *words: str, must_print: str = "") -> Command:
        """Return what a shell runs for TAB behind these words."""
        asked = {
            "_LESSONS_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(("lessons", *words)),
            "COMP_CWORD": str(len(words)),
        }
        command = self.command(size, must_print=must_print)
        return replace(command, environment={**command.environment, **asked})

    def event(self, size: int, event: Mapping[str, Any], *, must_print: str = "") -> Command:
        """Return the hook as agents start it, with no daemon; each run is its own session."""
        command = Command(
            argv=(
                str(Path(self.environment["LESSONS_STATE_HOME"]) / "lessons-hook"),
                "claude-code",
            ),
            cwd=str(self.brain(size)),
            environment={
                **self.environment,
                "LESSONS_BRAIN": str(self.brain(size)),
                "LESSONS_DAEMON": "0",
                "LESSONS_HOOK_DEADLINE": "20",
            },
            must_print=must_print,
        )
        return replace(
            command,
            before=partial(self._begin, command),
            stdin=lambda number: self._payload(number, event),
        )

    def _begin(self, command: Command, number: int) -> None:
        """Begin the session of a run: its first prompt brings the titles else."""
        start = {"hook_event_name": "SessionStart", "source": "startup"}
        text = self._payload(number, start)
        clock.start(replace(command, stdin=lambda _number: text, must_print=""))

    def _payload(self, number: int, event: Mapping[str, Any]) -> str:
        common = {
            "session_id": f"{self.name}-{event.get('kind', '')}-{number}",
            "transcript_path": "",
            "cwd": self.environment["HOME"],
            "permission_mode": "default",
        }
        return json.dumps({**common, **event})


_ENTRY = "lessons_kb.cli.entry"


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure every row on each build in turn, print the table, return all figures."""
    rounds = 5 if options.quick else 15
    figures: dict[str, dict[str, Any]] = {}
    table = []
    with tempfile.TemporaryDirectory(prefix="lessons-bench-") as name:
        builds = [Build("this build", ROOT, sys.executable, Path(name, "new"))]
        if options.against:
            folder = Path(options.against).resolve()
            python = str(folder / ".venv" / "bin" / "python")
            builds.append(Build("against", folder, python, Path(name, "old")))
        for build in builds:
            build.prepare(options.seed)
        rows = list_rows(builds, options.seed)
        wanted = tuple(filter(None, (options.rows or "").split(",")))
        for row, (commands, target) in rows.items():
            if wanted and not row.startswith(wanted):
                continue
            measured = measure(builds, commands, rounds)
            figures[row] = {name: _data(found) for name, found in measured.items()}
            table.append(_cells(row, builds, measured, target))
            report.tell(" | ".join(table[-1]))
        for python in (sys.executable, *options.typer):
            program = Command(argv=(python, "-c", _EMPTY_TYPER), must_print="typer")
            found = measure_one(python, program, rounds)
            version = clock.start(program).output.strip()
            figures[f"empty program, {version}"] = _data(found)
            row = [f"empty program, {version}", *_figures(found)]
            table.append(
                [*row, *[""] * (2 * len(builds) - 2), "8 py", _reached(found, Target(py=8))]
            )
            report.tell(" | ".join(table[-1]))
    headers = ["work"]
    for build in builds:
        headers += [f"{build.name}, py", "MB"]
    report.print_table("Commands", [*headers, "target", "reached"], table)
    return {"rows": figures}


def list_rows(builds: Sequence[Build], seed: int) -> dict[str, tuple[dict[str, Command], Target]]:
    """Return row → the command of each build, and the target."""
    statistics = learn_statistics()
    path, text = make_card(statistics, 1, seed=seed, real_size=False)
    card = Path(path).stem
    title = text.split("title: '", 1)[1].split("'", 1)[0]
    prompt = f"Please look after this: {title}"
    works: dict[str, tuple[tuple[str, ...], str]] = {
        "list": (("list",), "TITLE"),
        "show": (("show", card), "type:"),
        "search": (("search", title), card[:20]),
        "preflight": (("preflight", prompt), ""),
        "bump": (("bump", card), "seen"),
        "why": (("why",), "Prompt:"),
        "daemon status": (("daemon", "status"), "daemon"),
        "config": (("config",), "check"),
        "review --list": (("review", "--list"), ""),
    }
    rows: dict[str, tuple[dict[str, Command], Target]] = {}
    for size in SIZES:
        for name, (words, due) in works.items():
            limit = 35 if name in ("list", "preflight") else None
            commands = {b.name: b.command(size, *words, must_print=due) for b in builds}
            rows[f"{name}, {size:,} cards"] = (commands, Target(py=12, megabytes=limit))
    small, large = SIZES
    rows["--version"] = (
        {b.name: b.command(small, "--version", must_print="lessons ") for b in builds},
        Target(py=4),
    )
    rows["--help"] = (
        {b.name: b.command(small, "--help", must_print="preflight") for b in builds},
        Target(py=10),
    )
    rows["completion of a command"] = (
        {b.name: b.completion(large, "sh", must_print="show") for b in builds},
        Target(py=10),
    )
    rows["completion of a card, 1,000 cards"] = (
        {b.name: b.completion(large, "show", card[:5]) for b in builds},
        Target(py=10),
    )
    asked = {"kind": "prompt", "hook_event_name": "UserPromptSubmit", "prompt": prompt}
    rows["prompt without a daemon, 1,000 cards"] = (
        {b.name: b.event(large, asked, must_print="ACTIVE LESSONS") for b in builds},
        Target(py=5),
    )
    called = {
        "kind": "tool",
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "ls src", "description": "list"},
        "tool_response": {"stdout": "a.py\n", "stderr": "", "interrupted": False},
        "tool_use_id": "tool-1",
    }
    rows["after a tool call without a daemon, 1,000 cards"] = (
        {b.name: b.event(large, called) for b in builds},
        Target(py=4),
    )
    return rows


def measure(
    builds: Sequence[Build], commands: Mapping[str, Command], rounds: int
) -> dict[str, Measured]:
    """Run the command of each build in turn with its own bare interpreter."""
    turn: dict[str, Command] = {}
    for build in builds:
        turn[f"py {build.name}"] = Command(argv=(build.python, "-c", "pass"))
        turn[build.name] = commands[build.name]
    runs = clock.time_in_turn(turn, rounds)
    measured = {}
    for build in builds:
        times = runs[build.name]
        seconds = metrics.compute_spread([one.seconds for one in times])
        measured[build.name] = Measured(
            py=clock.ratios(times, runs[f"py {build.name}"]),
            milliseconds=seconds.median * 1000,
            megabytes=weigh(build.python, commands[build.name]),
        )
    return measured


def measure_one(python: str, program: Command, rounds: int) -> Measured:
    """Run one program in turn with its bare interpreter."""
    bare = Command(argv=(python, "-c", "pass"))
    runs = clock.time_in_turn({"py": bare, "program": program}, rounds)
    seconds = metrics.compute_spread([one.seconds for one in runs["program"]])
    return Measured(
        py=clock.ratios(runs["program"], runs["py"]),
        milliseconds=seconds.median * 1000,
        megabytes=weigh(python, program),
    )


def weigh(python: str, command: Command) -> float:
    """Return the largest resident size of a program, in megabytes."""
    under = replace(command, argv=(python, "-I", "-S", "-c", _MEMORY, *command.argv))
    output = clock.start(under, number=1_000).output
    return float(output.rpartition("MEMORY")[2])


def _cells(
    row: str, builds: Sequence[Build], measured: Mapping[str, Measured], target: Target
) -> list[str]:
    cells = [row]
    for build in builds:
        cells += _figures(measured[build.name])
    aim = f"{target.py:g} py"
    if target.megabytes is not None:
        aim += f", {target.megabytes:g} MB"
    return [*cells, aim, _reached(measured[builds[0].name], target)]


def _figures(found: Measured) -> list[str]:
    spread = found.py
    shown = f"{spread.median:.1f} ({spread.low:.1f} … {spread.high:.1f})"
    return [shown, f"{found.megabytes:.0f}"]


def _reached(found: Measured, target: Target) -> str:
    heavy = target.megabytes is not None and found.megabytes > target.megabytes
    return "NO" if heavy or found.py.median > target.py else "yes"


def _data(found: Measured) -> dict[str, float]:
    return {
        "py": found.py.median,
        "low": found.py.low,
        "high": found.py.high,
        "milliseconds": found.milliseconds,
        "megabytes": found.megabytes,
    }
