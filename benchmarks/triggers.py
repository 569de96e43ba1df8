"""How often a prompt that complains of nothing is taken for a complaint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks import report
from benchmarks.data import read_everyday, read_sets
from benchmarks.dedup import PAIRS, read_pairs
from lessons_kb.learn.failure_signs import find_phrase

if TYPE_CHECKING:
    import argparse
    from typing import Any


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Print the share of false triggers in each set of public prompts."""
    prompts = {"everyday": [prompt.text for prompt in read_everyday()]}
    prompts |= {s.name: [query.text for query in s.queries] for s in read_sets(options.sets)}
    for name in PAIRS:
        pairs = read_pairs(name)
        prompts[f"pairs/{name}"] = [text for pair in pairs for text in (pair.one, pair.other)]
    figures: dict[str, Any] = {}
    for name, texts in prompts.items():
        drawn = [text for text in texts if find_phrase(text)]
        figures[name] = {"prompts": len(texts), "triggers": len(drawn), "drawn": drawn}
    total = sum(row["prompts"] for row in figures.values())
    false = sum(row["triggers"] for row in figures.values())
    rows = [[n, f"{row['prompts']}", f"{row['triggers']}"] for n, row in figures.items()]
    rows.append(["all", str(total), f"{false} ({false / total:.2%})"])
    report.print_table("Prompts taken for a complaint", ("set", "prompts", "triggers"), rows)
    return {"sets": figures, "rate": false / total}
