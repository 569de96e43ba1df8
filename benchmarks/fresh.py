"""Fresh processes: the first index, the hook, the command, the server's round trip."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from benchmarks import clock, metrics
from benchmarks.bench import BLOCK, INDEX, Row, edit_one, make_row, time_fresh
from benchmarks.entries import (
    McpClient,
    bare_python,
    edit_event,
    hook,
    prompt_event,
    run_code,
    script,
    tool_event,
    watching,
)
from benchmarks.ours import own_brain

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.bench import Bench

_TRACE_LINE = (
    '  File "src/service/worker_{0}.py", line {0}, in handle_{0}\n    return run_{0}(job)\n'
)


def measure_index(bench: Bench) -> list[Row]:
    """First index in a fresh process of two workers, short and real-size cards."""
    rows = []
    for real_size, target in ((False, 8.0), (True, 15.0)):
        folder = bench.brain(bench.large, real_size=real_size)
        command = run_code(INDEX, str(folder), must_print="indexed")
        command = replace(command, before=lambda _n, folder=folder: _forget_index(folder))
        runs = [clock.start(command) for _ in range(1 if bench.quick else 3)]
        kind = "real-size cards" if real_size else "cards"
        megabytes = max(run.megabytes for run in runs)
        rows.append(
            make_row(
                f"first index, {bench.large:,} {kind}",
                [run.seconds for run in runs],
                "s",
                target=None if bench.quick else target,
                note=f"{megabytes:.0f} MB",
            )
        )
    return rows


def measure_disk(bench: Bench) -> list[Row]:
    """Size of the index of 1,000 cards over that of the cards."""
    rows = []
    for real_size in (False, True):
        folder = bench.indexed(1_000, real_size=real_size)
        cards = sum(path.stat().st_size for path in folder.rglob("*.md"))
        index = sum(path.stat().st_size for path in own_brain(folder).rglob("*") if path.is_file())
        kind = "real-size cards" if real_size else "cards"
        note = f"{index / 1e6:.1f} MB for {cards / 1e6:.1f} MB"
        rows.append(
            make_row(f"index on disk, 1,000 {kind}", [index / cards], "x", target=2, note=note)
        )
    return rows


def measure_hook(bench: Bench) -> list[Row]:
    """The hook in fresh processes, beside a bare interpreter."""
    small, large = bench.indexed(1_000), bench.indexed(bench.large)
    event = prompt_event(bench.title(7))
    commands = {
        "prompt, 1,000 cards": hook(small, event, must_print=BLOCK),
        f"prompt, {bench.large:,} cards": hook(large, event, must_print=BLOCK),
        "after a tool call, 1,000 cards": hook(small, tool_event()),
        "before an edit, 1,000 cards": hook(small, edit_event(small)),
    }
    targets = {"prompt, 1,000 cards": 4.5, f"prompt, {bench.large:,} cards": 10}
    targets["after a tool call, 1,000 cards"] = 3
    rows = time_fresh(bench, "hook: ", commands, targets)
    edited = {
        f"prompt after one edit, {bench.large:,} cards": replace(
            hook(large, event, must_print=BLOCK), before=partial(edit_one, large)
        )
    }
    rows += time_fresh(bench, "hook: ", edited, {})
    runs = [clock.start(commands[f"prompt, {bench.large:,} cards"], n) for n in range(900, 903)]
    megabytes = [run.megabytes for run in runs]
    rows.append(make_row(f"memory of a hook, {bench.large:,} files", megabytes, "MB", target=80))
    return rows


def measure_hook_watched(bench: Bench) -> list[Row]:
    """The hook while ``lessons watch`` vouches for freshness."""
    folder = bench.indexed(bench.large)
    name = f"prompt, watched, {bench.large:,} cards"
    command = hook(folder, prompt_event(bench.title(7)), must_print=BLOCK)
    with watching(folder):
        return time_fresh(bench, "hook: ", {name: command}, {name: 6})


def measure_long(bench: Bench) -> list[Row]:
    """A prompt of 20,000 characters with a stack trace over one of 200."""
    folder = bench.indexed(1_000)
    short = (bench.title(7) + " " + bench.prompt(7, 40))[:200]
    trace = "".join(_TRACE_LINE.format(number) for number in range(400))
    long = f"{short}\n\n{trace}"[:20_000]
    commands = {
        "short": hook(folder, prompt_event(short), must_print=BLOCK),
        "long": hook(folder, prompt_event(long)),
    }
    runs = clock.time_in_turn(commands, bench.rounds)
    pairs = zip(runs["long"], runs["short"], strict=True)
    shares = [one.seconds / other.seconds for one, other in pairs]
    return [make_row("hook: 20,000 characters over 200", shares, "x", target=1.5)]


def measure_command(bench: Bench) -> list[Row]:
    """``lessons preflight`` in fresh processes, for orientation."""
    folder = str(bench.indexed(1_000))
    command = script("lessons", "--brain", folder, "preflight", bench.title(7), must_print=BLOCK)
    return time_fresh(bench, "command: ", {"lessons preflight, 1,000 cards": command}, {})


def measure_mcp(bench: Bench) -> list[Row]:
    """Round trip of the preflight tool of a running MCP server."""
    rows = []
    for size, target in ((1_000, 0.5), (bench.large, 1.0)):
        bare = [clock.start(bare_python()) for _ in range(bench.rounds)]
        py = metrics.compute_spread([run.seconds for run in bare]).median
        with McpClient(bench.indexed(size)) as client:
            argument = client.find_argument("lessons_preflight")
            calls = {"mcp": lambda p: client.call("lessons_preflight", {argument: p})}  # noqa: B023
            prompts = [bench.prompt(number) for number in range(100)]
            times = clock.time_calls(calls, prompts)["mcp"]
        shares = [spent / 1000 / py for spent in times]
        note = f"{metrics.compute_spread(times).median:.2f} ms"
        rows.append(
            make_row(f"MCP: prompt → block, {size:,} cards", shares, "py", target=target, note=note)
        )
    return rows


def _forget_index(folder: Path) -> None:
    shutil.rmtree(own_brain(folder))
