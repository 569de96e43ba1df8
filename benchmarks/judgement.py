"""What readers open: the tiers of the prompt in the eyes of language models.

A reader is shown what an agent would be shown, and says of each prompt which cards it would open.
Two sets a brain: *catalogue*, the titles of all cards and nothing else; *hook*, the titles that a
session starts with by default, and with each prompt the block and the offer that the hook adds.
Own prompts are those that an author wrote for single cards, foreign ones were typed in other
projects; they are mixed. Of skills the foreign prompts are those that look alike.

``--write FOLDER`` writes what readers are shown, ``FOLDER/SET/prompt-K.md``, and the key beside the
sets' folders. A reader's answer to a file is ``FOLDER/SET/answer-K-READER.jsonl``; ``--collect
FOLDER`` keeps the choices in ``judged/SET.jsonl``, prompts and cards by their hashes. Without
either, figures are printed from what is kept: no model is asked.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import metrics, report
from benchmarks.data import EXAMPLE, HERE, DataError, data_folder
from benchmarks.ours import open_indexed, private_state
from benchmarks.real_prompts import BRAINS, read_real
from lessons_kb.brain.session_titles import build_titles, format_titles, is_whole, order_by_use
from lessons_kb.text.token_estimate import estimate_tokens

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence
    from typing import Any

    from lessons_kb import Brain

Own = tuple[str, list[str]]
"""A prompt and the ids of the cards that are right for it."""
JUDGED = HERE / "judged"
KINDS = ("catalogue", "hook")
SKILLS = "skills"
_MOST_ITEMS = 40
_LONGEST = 1_500
"""Characters of a prompt: some are logs."""
_UNLIMITED = 1_000_000
"""Tokens of a catalogue, beside what the settings allow."""
_HEADERS = (
    "set", "readers", "own", "given", "or opened", "right of opened", "foreign", "given a card",
    "opened one",
)  # fmt: skip
_INSTRUCTIONS = """\
You are a coding agent. When your session began, you were given this list of lessons, notes on
mistakes that were made in this repository before:

~~~~
{catalogue}
~~~~

Below are {count} prompts. Each is the first prompt of a session of its own; judge it by itself.
{added}Say for each which files of lessons you would open before you change anything: those that
concern the task, none where none does. Do not use tools and open nothing; answer from what stands
here. Answer with one line of JSON for each prompt, in their order, and nothing else:

{{"item": 1, "open": ["path/of/a/lesson.md"]}}
{{"item": 2, "open": []}}
"""
_ADDED = """\
Where something was added to your context with the prompt, it stands below it; a lesson that is in
[ACTIVE LESSONS] is before you already and need not be opened.
"""


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Write what readers are shown, or collect what they answered; print what is known."""
    if options.write:
        for name in (*BRAINS, SKILLS):
            _write(name, Path(options.write), options.seed)
    if options.collect:
        _collect(Path(options.collect))
    figures, rows = {}, []
    for file in sorted(JUDGED.glob("*.jsonl")):
        figures[file.stem] = row = summarise(_read(file))
        shares = [f"{row[name]:.0%}" for name in _SHARES]
        own, foreign = str(row["own"]), str(row["foreign"])
        rows.append([file.stem, str(row["readers"]), own, *shares[:3], foreign, *shares[3:]])
    report.print_table("What readers open", _HEADERS, rows)
    return figures


_SHARES = ("given", "reached", "right_of_opened", "foreign_given", "foreign_opened")


def summarise(judged: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return the shares of one set, means over its readers.

    *reached*: the right card was given, or a reader opened it; *right_of_opened*: of the cards
    opened for own prompts and foreign ones, those that are the right one of their prompt.
    """
    own = [one for one in judged if one["expected"]]
    foreign = [one for one in judged if not one["expected"]]
    opened = [(card, one["expected"]) for one in judged for card in one["open"]]

    def share(values: Iterable[object]) -> float:
        return metrics.mean([float(bool(one)) for one in values])

    readers = {one["reader"] for one in judged}
    return {
        "readers": len(readers),
        "own": len(own) // len(readers),
        "foreign": len(foreign) // len(readers),
        "given": share(set(one["expected"]) & set(one["given"]) for one in own),
        "reached": share(set(one["expected"]) & set(one["given"] + one["open"]) for one in own),
        "right_of_opened": share(card in expected for card, expected in opened),
        "foreign_given": share(one["given"] for one in foreign),
        "foreign_opened": share(one["open"] for one in foreign),
    }


def _write(name: str, folder: Path, seed: int) -> None:
    """Write both sets of a brain, the same prompts in the same order in each."""
    rng = random.Random(f"{name} {seed}")
    source, own, foreign = _read_skills(rng) if name == SKILLS else _read_lessons(name, rng)
    items = [(text[:_LONGEST], cards) for text, cards in [*own, *((text, []) for text in foreign)]]
    rng.shuffle(items)
    with tempfile.TemporaryDirectory() as place, private_state(Path(place)):
        copy = Path(place) / name
        shutil.copytree(source, copy)
        with open_indexed(copy) as brain:
            for kind in KINDS:
                _write_set(brain, kind, f"{kind}-{name}", folder, items)


def _read_lessons(name: str, rng: random.Random) -> tuple[Path, list[Own], list[str]]:
    """Return a brain of lessons, all prompts that were written for it, and as many recorded."""
    written = _read(HERE / "labelled" / "real_manner.jsonl")
    own = [(case["prompt"], [case["card"]]) for case in written if case["brain"] == name]
    source = EXAMPLE if name == "brain-example" else data_folder() / "brains" / name
    return source, own, rng.sample(read_real(), len(own))


def _read_skills(rng: random.Random) -> tuple[Path, list[Own], list[str]]:
    """Return the brain of skills, prompts for some of them, and all that look alike."""
    folder = data_folder() / "skills"
    prompts = _read(folder / "prompts.jsonl")
    own = [
        (one["query"], [f"lessons/{card}.md" for card in one["expected"]])
        for one in prompts
        if one["expected"]
    ]
    foreign = [one["query"] for one in prompts if not one["expected"]]
    return folder / "brain", rng.sample(own, len(foreign)), foreign


def _write_set(
    brain: Brain, kind: str, name: str, folder: Path, items: Sequence[tuple[str, list[str]]]
) -> None:
    hooked = kind == "hook"
    if hooked:
        catalogue = build_titles(brain, brain.directory, outside=False, most=_UNLIMITED)
    else:
        catalogue = _list_all(brain)
    shown, key = [], []
    for text, expected in items:
        block = brain.preflight(text, context=False, remember=False, titled=is_whole(catalogue))
        given = [hit.card.id for hit in block.lessons] if hooked else []
        offered = [hit.card.id for hit in block.offered] if hooked else []
        added = (
            f"\n\nAdded to your context:\n\n~~~~\n{block.text}\n~~~~" if given or offered else ""
        )
        shown.append(f"~~~~\n{text}\n~~~~{added}")
        key.append(
            {
                "prompt": hashlib.sha256(text.encode()).hexdigest()[:16],
                "expected": expected,
                "given": given,
                "offered": offered,
            }
        )
    (folder / name).mkdir(parents=True, exist_ok=True)
    files = -(-len(shown) // _MOST_ITEMS)
    for number in range(files):
        part = shown[number::files]
        head = _INSTRUCTIONS.format(
            catalogue=catalogue, count=len(part), added=_ADDED if hooked else ""
        )
        parts = [f"## Prompt {item}\n\n{text}\n" for item, text in enumerate(part, 1)]
        text = "\n".join([head, *parts])
        (folder / name / f"prompt-{number + 1}.md").write_text(text, encoding="utf-8")
    rows = [
        {"file": number + 1, "item": item, **one}
        for number in range(files)
        for item, one in enumerate(key[number::files], 1)
    ]
    _dump(folder / f"{name}.key.jsonl", rows)


def _list_all(brain: Brain) -> str:
    """Return all titles, whatever they cost."""
    (layer,) = brain.layers
    found = layer.read(lambda one: one.catalogue.titles(brain.project, most=_UNLIMITED, paths=()))
    titles = order_by_use({one.path: (one, 0) for one in found})
    return format_titles(titles, total=len(titles), budget=_UNLIMITED, counter=estimate_tokens)


def _collect(folder: Path) -> None:
    """Keep the choices of all answers of a folder, in the order of sets, readers and prompts."""
    for key in sorted(folder.glob("*.key.jsonl")):
        name = key.name.removesuffix(".key.jsonl")
        items: dict[int, dict[int, dict[str, Any]]] = defaultdict(dict)
        for row in _read(key):
            items[row.pop("file")][row.pop("item")] = row
        judged = []
        for answer in sorted((folder / name).glob("answer-*.jsonl")):
            _answer, number, reader = answer.stem.split("-", 2)
            asked = items[int(number)]
            chosen = {row["item"]: row["open"] for row in _read(answer)}
            if chosen.keys() != asked.keys():
                raise DataError(f"{answer}: answers other items than prompt-{number}.md asks")
            rows = ({"reader": reader, **asked[n], "open": chosen[n]} for n in sorted(asked))
            judged += [{key: _hide(value) for key, value in row.items()} for row in rows]
        if judged:
            JUDGED.mkdir(exist_ok=True)
            _dump(JUDGED / f"{name}.jsonl", judged)


def _hide(value: Any) -> Any:
    """Return hashes for the names of files: those of other projects are theirs."""
    if not isinstance(value, list):
        return value
    return [hashlib.sha256(one.encode()).hexdigest()[:12] for one in value]


def _read(file: Path) -> list[dict[str, Any]]:
    lines = file.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def _dump(file: Path, rows: Iterable[dict[str, Any]]) -> None:
    text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    file.write_text(text, encoding="utf-8")
