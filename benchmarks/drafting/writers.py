"""What language models write of mined drafts, by the checks of `lessons review --with`.

``--write`` puts the prompts of the first drafts of each clone's brain into a folder, one
``prompt-K.md`` each, exactly as ``--show-prompt`` prints them; without it the answers there,
``answer-K.json`` and ``answer-K-again.json``, are checked as a writer's are. What fails once is asked
again in ``prompt-K-again.md``. ``support-prompt-K.md`` and ``support-prompt-K-again.md`` ask which
statements of an answer the evidence does not support; ``support-answer-K.json`` and
``support-answer-K-again.json`` say so. ``card-K.md`` is the card that a person would see, for readers who
say in ``verdict-R-K.json`` whether they would accept it unchanged: ``{"accept": true, "why": "…"}``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import report
from benchmarks.data import DataError
from lessons_kb.errors import InputError
from lessons_kb.library import Library as Brain
from lessons_kb.mining.draft_text import split_evidence
from lessons_kb.text.sanitize import visible
from lessons_kb.writers.complete import NOT_SHOWN, complete
from lessons_kb.writers.prompt import SYSTEM, build_prompt

if TYPE_CHECKING:
    import argparse
    import threading

SETS = "drafts.json"


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Write the prompts, or print one line a draft: what became of it and what readers say."""
    if not options.into:
        raise DataError("name the folder of prompts and answers: --into FOLDER")
    into = Path(options.into)
    if options.write:
        return _write(options.folders, into)
    sets = json.loads((into / SETS).read_text(encoding="utf-8"))
    rows = []
    for folder in dict.fromkeys(one["folder"] for one in sets.values()):
        with Brain.open(folder, directory=folder) as brain:
            rows += _score(brain, into, {k: v for k, v in sets.items() if v["folder"] == folder})
    heads = ("card", "draft", "became", "quoted", "marked", "remarks", "readers")
    report.print_table("Drafts that a writer completed", heads, rows)
    complete_ones = [row for row in rows if row[2] == "card"]
    return {"cards": len(complete_ones), "of": len(rows), "rows": rows}


def _write(folders: list[str], into: Path) -> dict[str, Any]:
    if not folders:
        raise DataError("name clones that hold a brain with mined drafts")
    into.mkdir(parents=True, exist_ok=True)
    sets: dict[str, dict[str, str]] = {}
    for folder in folders:
        with Brain.open(folder, directory=folder) as brain:
            for draft in brain.drafts.all():
                number = str(len(sets) + 1)
                sets[number] = {"folder": folder, "draft": draft.id}
                _write_prompt(into / f"prompt-{number}.md", build_prompt(brain, draft))
    (into / SETS).write_text(json.dumps(sets, indent=1), encoding="utf-8")
    print(f"{len(sets)} prompts in {into}")
    return {"prompts": len(sets)}


def _score(brain: Brain, into: Path, sets: dict[str, dict[str, str]]) -> list[tuple[str, ...]]:
    drafts = {number: brain.drafts.get(one["draft"]) for number, one in sets.items()}
    prompts = {build_prompt(brain, draft): number for number, draft in drafts.items()}

    def ask(prompt: str, _stop: threading.Event) -> dict[str, Any]:
        first = next(one for one in prompts if prompt.startswith(one))
        number = prompts[first] + ("" if prompt == first else "-again")
        if prompt != first:
            _write_prompt(into / f"prompt-{number}.md", prompt)
        return _read_answer(into / f"answer-{number}.json")

    numbers = {_read_evidence(prompt): number for prompt, number in prompts.items()}
    asked = Counter[str]()

    def ask_for_support(prompt: str, _stop: threading.Event) -> dict[str, Any]:
        number = numbers[_read_evidence(prompt)]
        asked[number] += 1
        name = f"{number}-again" if asked[number] > 1 else number
        _write_prompt(into / f"support-prompt-{name}.md", prompt)
        return _read_answer(into / f"support-answer-{name}.json")

    rows = []
    completed = complete(brain, list(drafts.values()), ask, ask_for_support=ask_for_support)
    done = {one.id: one for one in completed}
    for number, draft in drafts.items():
        result = done[draft.id]
        text = split_evidence(brain.drafts.get(draft.id).text)[0] if result.title else ""
        (into / f"card-{number}.md").write_text(text, encoding="utf-8")
        verdicts = sorted(into.glob(f"verdict-*-{number}.json"))
        accepted = [json.loads(one.read_text(encoding="utf-8"))["accept"] for one in verdicts]
        marked = text.count(NOT_SHOWN)
        readers = f"{sum(accepted)}/{len(accepted)}" if accepted else ""
        became = "card" if text else "draft"
        shown = (str(text.count("<!-- “")), str(marked), "; ".join(result.problems)[:200], readers)
        rows.append((number, draft.id, became, *shown))
    return rows


def _read_evidence(prompt: str) -> str:
    """Return the text between the marks of a prompt."""
    found = re.search(r"=== EVIDENCE \w+ ===\n(.*)\n=== END OF EVIDENCE", prompt, re.DOTALL)
    if found is None:
        raise DataError("a prompt without marks around its evidence")
    return found[1]


def _write_prompt(path: Path, prompt: str) -> None:
    path.write_text(f"{SYSTEM}\n\n{visible(prompt)}\n", encoding="utf-8")


def _read_answer(path: Path) -> dict[str, Any]:
    if not path.exists():
        raise InputError(f"no {path.name}")
    text = path.read_text(encoding="utf-8")
    answer: dict[str, Any] = json.loads(text[text.index("{") : text.rindex("}") + 1])
    return answer
