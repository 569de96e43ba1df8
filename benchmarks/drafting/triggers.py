"""What a session's events call for: how often a prompt that complains of nothing is taken for a
complaint, and which incidents of ``labelled/incidents.jsonl`` become a draft.

An incident is what the hooks journalled while an agent did what a script told its model to do, in a
small project, with real commands: thirteen mistakes and thirteen others, chosen and labelled
before they were run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks import report
from benchmarks.data import HERE, read_everyday, read_rows, read_sets
from benchmarks.retrieval.dedup import PAIRS, read_pairs
from lessons_kb.calls.failure_signs import find_phrase
from lessons_kb.mining.triggers import RED_GREEN, find_triggers
from lessons_kb.model import Event

if TYPE_CHECKING:
    import argparse
    from typing import Any


INCIDENTS = HERE / "labelled" / "incidents.jsonl"


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
    return {"sets": figures, "rate": false / total, "incidents": _judge_incidents()}


def _judge_incidents() -> dict[str, Any]:
    """Print for each agent how many mistakes and others become a draft, and which are wrong."""
    found: dict[str, dict[str, Any]] = {}
    for incident in read_rows(INCIDENTS):
        events = [Event(**{**one, "targets": tuple(one["targets"])}) for one in incident["events"]]
        # Of a test that goes green with no file changed, drafts ask git; here no file is junk.
        drawn = [t for t in find_triggers(events) if t.kind != RED_GREEN or t.files]
        row = found.setdefault(incident["agent"], {"mistakes": [], "others": [], "wrong": []})
        row["mistakes" if incident["mistake"] else "others"].append(bool(drawn))
        row["wrong"] += [incident["name"]] if bool(drawn) != incident["mistake"] else []
    rows = [
        (
            agent,
            f"{sum(row['mistakes'])} of {len(row['mistakes'])}",
            f"{sum(row['others'])} of {len(row['others'])}",
            ", ".join(row["wrong"]),
        )
        for agent, row in found.items()
    ]
    columns = ("agent", "mistakes drafted", "others drafted", "wrong")
    report.print_table("Incidents that become a draft", columns, rows)
    return found
