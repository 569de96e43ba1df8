"""Fresh processes: the first index, the command, the server's round trip."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks import metrics
from benchmarks.ours import own_brain
from benchmarks.speed import clock
from benchmarks.speed.bench import BLOCK, INDEX, Row, make_row, time_fresh
from benchmarks.speed.entries import McpClient, bare_python, run_code, script

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.speed.bench import Bench


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
