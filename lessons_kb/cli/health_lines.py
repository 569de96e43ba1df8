"""Print the results of health checks, each with its fix."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from lessons_kb.cli.output import print_answer
from lessons_kb.collection.health import MARKS, Health
from lessons_kb.model import as_data
from lessons_kb.text.sanitize import clean_line


def print_lines(lines: Sequence[Health]) -> None:
    """Print each line with its mark and its fix. On a terminal, the fix is on its own line."""
    before_fix = "\n  " if sys.stdout.isatty() else " "
    texts = []
    for line in lines:
        fixed = "fixed: " if line.level == "fixed" else ""
        fix = f"{before_fix}→ {clean_line(line.fix)}" if line.fix else ""
        texts.append(f"{MARKS[line.level]} {line.what}: {fixed}{clean_line(line.detail)}{fix}")
    print_answer([as_data(line) for line in lines], *texts)
