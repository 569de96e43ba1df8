"""Time fresh processes and warm calls fairly: in turn, A B A B, many rounds."""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.metrics import Spread


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """A program to start: what it reads, where, and what it must print to count as working."""

    argv: tuple[str, ...]
    stdin: Callable[[int], str] | None = None
    """Number of the run → standard input."""
    cwd: str = "."
    environment: Mapping[str, str] = field(default_factory=dict)
    """Added to the environment."""
    must_print: str = ""
    before: Callable[[int], None] | None = None
    """Called with the number of the run, outside the time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One finished process."""

    seconds: float
    megabytes: float
    """Largest resident size."""
    code: int
    output: str


class ProcessError(Exception):
    """A measured program failed or did not do its work: its time would mean nothing."""


def start(command: Command, number: int = 0) -> Run:
    """Run a program once and wait for it.

    ``posix_spawn`` takes the same time for every program, however much memory this process uses;
    ``wait4`` reports the resident size of that child alone.
    """
    if command.before:
        command.before(number)
    with tempfile.TemporaryDirectory(prefix="lessons-clock-") as name:
        paths = [str(Path(name) / stream) for stream in ("in", "out", "err")]
        text = command.stdin(number) if command.stdin else ""
        Path(paths[0]).write_text(text, encoding="utf-8")
        write = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, paths[0], os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, paths[1], write, 0o600),
            (os.POSIX_SPAWN_OPEN, 2, paths[2], write, 0o600),
        ]
        environment = {**os.environ, **command.environment}
        # A user's interpreter keeps what it has compiled; without it every start compiles anew.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        here = os.getcwd()
        os.chdir(command.cwd)
        try:
            began = time.perf_counter()
            child = os.posix_spawn(command.argv[0], command.argv, environment, file_actions=actions)
            _, status, usage = os.wait4(child, 0)
            seconds = time.perf_counter() - began
        finally:
            os.chdir(here)
        output = Path(paths[1]).read_text(encoding="utf-8", errors="replace")
        error = Path(paths[2]).read_text(encoding="utf-8", errors="replace")
    code = os.waitstatus_to_exitcode(status)
    if code != 0 or command.must_print not in output:
        last = (error.strip() or output.strip() or "it printed nothing").splitlines()[-1]
        raise ProcessError(f"{' '.join(command.argv)[:100]}: exit {code}: {last[:300]}")
    return Run(seconds=seconds, megabytes=usage.ru_maxrss / 1024, code=code, output=output)


def time_in_turn(
    commands: Mapping[str, Command], rounds: int, *, warm_up: int = 2
) -> dict[str, list[Run]]:
    """Start every command once a round, in turn; return the runs of each, warm-up left out."""
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for number in range(rounds + warm_up):
        for name, command in commands.items():
            run = start(command, number)
            if number >= warm_up:
                runs[name].append(run)
    return runs


def time_at_once(command: Command, count: int, number: int = 0) -> float:
    """Start a program ``count`` times at once; return the seconds until the last has ended."""
    write = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    environment = {**os.environ, **command.environment}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory(prefix="lessons-clock-") as name:
        outputs = [Path(name) / f"out{one}" for one in range(count)]
        actions = []
        for one, output in enumerate(outputs):
            text = command.stdin(number) if command.stdin else ""
            (given := Path(name) / f"in{one}").write_text(text, encoding="utf-8")
            actions.append(
                [
                    (os.POSIX_SPAWN_OPEN, 0, str(given), os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 1, str(output), write, 0o600),
                ]
            )
        began = time.perf_counter()
        children = [
            os.posix_spawn(command.argv[0], command.argv, environment, file_actions=files)
            for files in actions
        ]
        codes = [os.waitpid(child, 0)[1] for child in children]
        seconds = time.perf_counter() - began
        missing = [one for one in outputs if command.must_print not in one.read_text("utf-8")]
    if any(codes) or missing:
        raise ProcessError(f"{len(missing)} of {count} at once did not do their work")
    return seconds


def time_calls(
    calls: Mapping[str, Callable[[str], object]], prompts: Sequence[str], *, warm_up: int = 5
) -> dict[str, list[float]]:
    """Call every function with every prompt, in turn; return the milliseconds of each call."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number, prompt in enumerate([*prompts[:warm_up], *prompts]):
        for name, call in calls.items():
            began = time.perf_counter()
            call(prompt)
            spent = (time.perf_counter() - began) * 1000
            if number >= warm_up:
                times[name].append(spent)
    return times


def ratios(runs: Sequence[Run], base: Sequence[Run]) -> Spread:
    """Return the time of each run over that of the bare interpreter in the same round."""
    pairs = zip(runs, base, strict=True)
    return metrics.compute_spread([run.seconds / bare.seconds for run, bare in pairs])
