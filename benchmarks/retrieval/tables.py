"""Make the gate's data files from what they were counted in.

``lessons_kb/data/document_frequencies.txt``: how common a term is, counted in the Markdown of
folders given on the command line, one folder a repository. ``background_prompts.txt``: the terms
of the prompts in ``benchmarks/labelled/background_prompts.jsonl``. A brain that is measured must
not be among the folders.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import report
from benchmarks.data import HERE, read_rows
from lessons_kb.data import read_words
from lessons_kb.relevance.background_prompts import PASSAGE
from lessons_kb.text.analyzer import analyze

if TYPE_CHECKING:
    import argparse
    from typing import Any

CLASSES = (0.25, 0.12, 0.06, 0.03, 0.015, 0.006, 0.003, 0.0015, 0.0007)
"""Shares are rounded down to one of these; what is rarer is not listed."""
_DATA = HERE.parent / "lessons_kb" / "data"
_MOST_PASSAGES = 1_500
"""Of one repository, so that none outweighs the others."""
_FEWEST_PASSAGES = 200
_LONGEST = 40
"""Passages of one file."""
_SUFFIXES = (".md", ".mdx", ".asc", ".rst")
_TRANSLATED = re.compile(
    r"(?i)(^|/)(zh|ja|ko|fr|de|es|pt|ru|it|tr|uk|vi|id|fa|pl|bn|em|hu|he|ar|az|nl|yo|ms|hi|ur|ro"
    r"|cs|el|da|sv|th|ta|hr)(-[a-z]+)?/|i18n|locale|translations|README[-.][a-z]|TRANSL"
)
_WIDTH = 118


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Write the data files anew; shares that are already listed only rise."""
    shares = {
        term: float(share)
        for share, terms in read_words("document_frequencies.txt").items()
        for term in terms
    }
    counted = [count_passages(Path(folder)) for folder in options.folders]
    counted = [(passages, terms) for passages, terms in counted if passages >= _FEWEST_PASSAGES]
    for term in set().union(*[terms for _, terms in counted]):
        found = sorted((terms[term] / passages for passages, terms in counted), reverse=True)
        # The repository that says it most often is left out: it may be its own name.
        share = sum(found[1:]) / max(len(found) - 1, 1)
        shares[term] = max(shares.get(term, 0.0), share)
    path = _DATA / "document_frequencies.txt"
    comments = [line for line in path.read_text("utf-8").splitlines() if line.startswith("#")]
    lines = [*comments]
    for number, least in enumerate(CLASSES):
        most = CLASSES[number - 1] if number else 2.0
        terms = sorted(term for term, share in shares.items() if least <= share < most)
        lines += [f"[{least}]", *_wrap(terms)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    write_background()
    report.tell(f"{len(counted)} repositories, {len(shares)} terms")
    return {"repositories": len(counted), "terms": len(shares)}


def count_passages(folder: Path) -> tuple[int, Counter[str]]:
    """Return the number of passages of a repository that were read, and term → in how many."""
    paths = sorted(path for path in folder.rglob("*") if path.suffix in _SUFFIXES)
    paths = [p for p in paths if not _TRANSLATED.search(p.relative_to(folder).as_posix())]
    random.Random(folder.name).shuffle(paths)
    passages, counts = 0, Counter[str]()
    for path in paths:
        terms = analyze(path.read_text("utf-8", "replace"))
        for start in range(0, min(len(terms), _LONGEST * PASSAGE) - PASSAGE // 2, PASSAGE):
            if passages < _MOST_PASSAGES:
                counts.update(set(terms[start : start + PASSAGE]))
                passages += 1
    return passages, counts


def write_background() -> None:
    """Write the terms of the background prompts, a line a prompt."""
    rows = read_rows(HERE / "labelled" / "background_prompts.jsonl")
    prompts = [row["prompt"] for row in rows]
    head = (
        "# Prompts about other things, in the manner of people at work with an agent: their different",
        "# terms, as the analyzer gives them, a line a prompt. How readily they draw a card says how",
        "# much less it means that a prompt does. Made by `python -m benchmarks tables`.",
    )
    lines = [" ".join(dict.fromkeys(analyze(prompt))) for prompt in prompts]
    path = _DATA / "background_prompts.txt"
    path.write_text("\n".join([*head, *filter(None, lines)]) + "\n", encoding="utf-8")


def _wrap(terms: list[str]) -> list[str]:
    lines, line = [], ""
    for term in terms:
        if line and len(line) + len(term) >= _WIDTH:
            lines.append(line)
            line = ""
        line += f" {term}" if line else term
    return [*lines, line] if line else lines
