"""Print the findings about brains and agents, each with its fix."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from lessons_kb.cli.output import print_answer
from lessons_kb.collection.health import MARKS, Health
from lessons_kb.model import as_data
from lessons_kb.text.sanitize import clean_line


def print_lines(lines: Sequence[Health]) -> None:
    """Print each line with its mark, and the fix below or behind it."""
    before_fix = "\n  " if sys.stdout.isatty() else " "
    told = []
    for line in lines:
        done = "fixed: " if line.level == "fixed" else ""
        fix = f"{before_fix}→ {clean_line(line.fix)}" if line.fix else ""
        told.append(f"{MARKS[line.level]} {line.what}: {done}{clean_line(line.detail)}{fix}")
    print_answer([as_data(line) for line in lines], *told)
