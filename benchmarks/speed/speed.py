"""Measures fresh processes beside a bare interpreter and warm calls beside references.

"py" is the time of ``python -c pass``, measured in turn with everything else of the same table.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import report
from benchmarks.ours import private_state
from benchmarks.speed import clock, fresh, resident, warm
from benchmarks.speed.bench import Bench, Row
from benchmarks.speed.entries import NotBuiltError
from lessons_kb.model import as_data

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Any

SECTIONS: dict[str, Callable[[Bench], list[Row]]] = {
    "index": fresh.measure_index,
    "disk": fresh.measure_disk,
    "hook alone": resident.measure_alone,
    "hook prompts": resident.measure_prompts,
    "hook tools": resident.measure_tools,
    "hook large": resident.measure_large,
    "hook checkout": resident.measure_checkout,
    "peer": resident.measure_peer,
    "command": fresh.measure_command,
    "mcp": fresh.measure_mcp,
    "refresh": warm.measure_refresh,
    "warm": warm.measure_warm,
}
"""Fresh processes first: what a child is said to have used at most counts the memory that its
parent had when it was begun, and the references of the warm rows take a gigabyte."""


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure every row that exists, print the table, return all figures."""
    rows: list[Row] = []
    missing: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="lessons-bench-") as name, private_state(Path(name)):
        bench = Bench(options)
        for title, measure in SECTIONS.items():
            if options.rows and not title.startswith(tuple(options.rows.split(","))):
                continue
            report.tell(f"{title} …")
            try:
                found = measure(bench)
            except (NotBuiltError, ImportError, clock.ProcessError) as error:
                missing[title] = str(error)
                report.tell(f"  left out: {error}")
                continue
            for row in found:
                report.tell(f"  {row.name}: {' '.join(_cells(row)[1:])}")
            rows += found
    headers = ["work", "median", "min … max", "target", "reached", "note"]
    report.print_table("Speed", headers, [_cells(row) for row in rows])
    for title, why in missing.items():
        print(f"\n{title}: not measured: {why}")
    return {"rows": [as_data(row) for row in rows], "missing": missing}


def _cells(row: Row) -> list[str]:
    reached = "" if row.target is None else "yes" if row.value <= row.target else "NO"
    target = "" if row.target is None else f"{row.target:g} {row.unit}"
    return [
        row.name,
        f"{row.value:.2f} {row.unit}",
        f"{row.low:.2f} … {row.high:.2f}",
        target,
        reached,
        row.note,
    ]
