"""Prints the table of trust, which `tests/trust` measures."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import report
from benchmarks.data import DataError, find_real_cards

if TYPE_CHECKING:
    import argparse
    from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TESTS = ("tests/trust", "tests/session/test_hook_boundary.py")
_CHANGED = re.compile(r"(?i)^(?:occurrences|last[-_ ]seen)\s*:")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Run the suite, in full unless ``--quick``, and print each row with its figures."""
    figures = _bump_real_cards()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "figures.jsonl"
        passed = _run_tests(path, quick=options.quick)
        noted = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    for line in sorted(noted):
        one = json.loads(line)
        figures.setdefault(one["row"], []).append(one["figure"])
    rows = [(row, "; ".join(dict.fromkeys(found))) for row, found in sorted(figures.items())]
    print("\nTrust\n")
    print("| what was done to it | what was seen |\n|---|---|")
    for row, found in rows:
        print(f"| {row} | {found} |")
    print(f"\n{passed}")
    if "failed" in passed or "error" in passed:
        raise DataError("a promise was broken; run the tests by hand to see which")
    return {"rows": dict(rows), "tests": passed}


def _run_tests(path: Path, *, quick: bool) -> str:
    environment = os.environ | {"LESSONS_TRUST_FIGURES": str(path)}
    pytest = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "-p", "no:cacheprovider"]
    command = [*pytest, "-m", "not slow" if quick else "", *TESTS]
    report.tell(f"running {' '.join(TESTS)}; in full it takes some ten minutes")
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    for line in lines:
        if line.startswith(("E  ", "FAILED", "ERROR")):
            report.tell(line)
    return lines[-1].strip("= ") if lines else "pytest did not run"


def _bump_real_cards() -> dict[str, list[str]]:
    """Bump each real card once and count what differs."""
    from lessons_kb.cards.edit import edit_header
    from lessons_kb.cards.parse import parse_bytes
    from lessons_kb.collection.card_edits import count_again
    from lessons_kb.config import KNOWN_FOLDERS
    from lessons_kb.errors import LessonsError

    changed = refused = 0
    strange: list[str] = []
    paths = find_real_cards()
    for path in paths:
        data = path.read_bytes()
        document = parse_bytes(data, path=f"lessons/{path.name}", folders=KNOWN_FOLDERS)
        if document.card is None:
            refused += 1
            continue
        text = data.decode("utf-8")
        try:
            result = edit_header(text, count_again(document.card, None, "2026-11-22"))
        except LessonsError:
            refused += 1
            continue
        before, after = text.splitlines(keepends=True), result.splitlines(keepends=True)
        fence = ["---\n"] if not text.lstrip("\ufeff").startswith("---") else []
        if _without(before) == [line for line in _without(after) if line not in fence]:
            changed += 1
        elif not fence:
            strange.append(path.name)
        else:
            changed += result.endswith(text.removeprefix("\ufeff"))
    seen = (
        f"{changed} of {len(paths)}: exactly those lines; {refused} refused and left as they were"
    )
    return {"bump of each real card": [seen + (f"; WRONG: {strange}" if strange else "")]}


def _without(lines: list[str]) -> list[str]:
    return [line for line in lines if not _CHANGED.match(line)]
