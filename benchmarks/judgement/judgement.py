"""The tiers of the prompt: what it brings, and what language models open of that.

First come the figures of `at_prompt`, of this build and of ``--against DIR``.

A reader is shown what an agent would be shown, and says of each prompt which cards it would open:
the titles that a session starts with by default, the file of all titles where the agent is told to
read it, and with each prompt the block and the offer that the hook adds. Own prompts are those that
an author wrote for single cards, foreign ones were typed in other projects; they are mixed. Of
skills the foreign prompts are those that look alike. (The sets *catalogue* that are kept showed
nothing but the titles of all cards.)

``--write FOLDER`` writes what readers are shown, ``FOLDER/SET/prompt-K.md``, and the key beside the
sets' folders. What a reader answers to a file is ``FOLDER/SET/answers-READER-K.jsonl``; ``--collect
FOLDER`` keeps the choices in ``judged/hook-SET.jsonl``, prompts and cards by their hashes. Without
either, figures are printed from what is kept: no model is asked.
"""

from __future__ import annotations

import hashlib
import random
import re
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import metrics, report
from benchmarks.data import EXAMPLE, HERE, DataError, data_folder, read_rows, write_rows
from benchmarks.judgement import at_prompt
from benchmarks.ours import open_indexed, private_state
from benchmarks.retrieval.real_prompts import BRAINS, read_real
from lessons_kb.find.titles import Access, build_titles, is_whole

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from lessons_kb import Brain

Own = tuple[str, list[str]]
"""A prompt and the ids of the cards that are right for it."""
JUDGED = HERE / "judged"
SKILLS = "skills"
_MOST_ITEMS = 40
_LONGEST = 1_500
"""Characters of a prompt: some are logs."""
_UNLIMITED = 1_000_000
"""Tokens of a catalogue, beside what the settings allow."""
_HEADERS = (
    "set", "readers", "own", "given", "or opened", "right of opened", "foreign", "given a card",
    "shown a title", "opened one",
)  # fmt: skip
_INSTRUCTIONS = """\
You are a coding agent. When your session began, you were given this list of lessons, notes on
mistakes that were made in this repository before:

~~~~
{catalogue}
~~~~
{read}
Below are {count} prompts. Each is the first prompt of a session of its own; judge it by itself.
Where something was added to your context with the prompt, it stands below it; a lesson that is in
[ACTIVE LESSONS] is before you already and need not be opened. Do what the texts ask of you: say for
each prompt which files of lessons you would open before you change anything, none where none is to
be opened. Do not use tools to look anything up and open nothing; answer from what stands here.
Answer with one line of JSON for each prompt, in their order, and nothing else; name each file with
its folder, or, of a lesson of which only the title is listed, its whole title:

{{"item": {first}, "open": ["folder/of/a/lesson.md"]}}
{{"item": {second}, "open": []}}
"""
_FILE_READ = """
You were told to read a file, and have read it. This stands in it:

~~~~
{}
~~~~
"""


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Write what readers are shown, or collect what they answered; print what is known."""
    if options.write:
        for name in (*BRAINS, SKILLS):
            _write(name, Path(options.write), options.seed)
    if options.collect:
        _collect(Path(options.collect))
    figures: dict[str, Any] = {}
    if not (options.write or options.collect):
        try:
            figures["prompts"] = at_prompt.run(options)
        except DataError as error:  # the kept answers of readers need no data
            report.tell(str(error))
    rows = []
    # Other benchmarks keep their readers' answers in the same folder.
    for file in sorted(one for way in ("catalogue", "hook") for one in JUDGED.glob(f"{way}-*")):
        figures[file.stem] = row = summarise(read_rows(file))
        shares = [f"{row[name]:.0%}" for name in _SHARES]
        own, foreign = str(row["own"]), str(row["foreign"])
        rows.append([file.stem, str(row["readers"]), own, *shares[:3], foreign, *shares[3:]])
    report.print_table("What readers open", _HEADERS, rows)
    return figures


_SHARES = (
    "given", "reached", "right_of_opened", "foreign_given", "foreign_titled", "foreign_opened",
)  # fmt: skip


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
        "foreign_titled": share(one["offered"] for one in foreign),
        "foreign_opened": share(one["open"] for one in foreign),
    }


def _write(name: str, folder: Path, seed: int) -> None:
    """Write what readers are shown of a brain, and the key to it."""
    rng = random.Random(f"{name} {seed}")
    source, own, foreign = _read_skills(rng) if name == SKILLS else _read_lessons(name, rng)
    items = [(text[:_LONGEST], cards) for text, cards in [*own, *((text, []) for text in foreign)]]
    rng.shuffle(items)
    with tempfile.TemporaryDirectory() as place, private_state(Path(place)):
        copy = Path(place) / name
        shutil.copytree(source, copy)
        with open_indexed(copy) as brain:
            _write_set(brain, name.removeprefix("brain-"), folder, items)


def _read_lessons(name: str, rng: random.Random) -> tuple[Path, list[Own], list[str]]:
    """Return a brain of lessons, all prompts that were written for it, and as many recorded."""
    written = read_rows(HERE / "labelled" / "real_manner.jsonl")
    own = [(case["prompt"], [case["card"]]) for case in written if case["brain"] == name]
    source = EXAMPLE if name == "brain-example" else data_folder() / "brains" / name
    return source, own, rng.sample(read_real(), len(own))


def _read_skills(rng: random.Random) -> tuple[Path, list[Own], list[str]]:
    """Return the brain of skills, prompts for some of them, and all that look alike."""
    folder = data_folder() / "skills"
    prompts = read_rows(folder / "prompts.jsonl")
    own = [
        (one["query"], [f"lessons/{card}.md" for card in one["expected"]])
        for one in prompts
        if one["expected"]
    ]
    foreign = [one["query"] for one in prompts if not one["expected"]]
    return folder / "brain", rng.sample(own, len(foreign)), foreign


def _write_set(
    brain: Brain, name: str, folder: Path, items: Sequence[tuple[str, list[str]]]
) -> None:
    (layer,) = brain.members
    today = time.strftime("%Y-%m-%d")
    titles = layer.read(
        lambda one: one.catalogue.titles(brain.project, limit=_UNLIMITED, today=today)
    )
    cards = {one.path: one.title for one in titles}
    items = [one for one in items if cards.keys() >= set(one[1])]  # others are archived
    catalogue = build_titles(brain, Access(directory=brain.directory), most=_UNLIMITED)
    read = ""
    if file := re.search(r"read (\S+) once, which", catalogue):
        read = _FILE_READ.format(Path(brain.directory, file[1]).read_text(encoding="utf-8").strip())
        catalogue = catalogue.replace(file[1], ".lessons/titles.md")  # its name is random
    shown, key = [], []
    for number, (text, expected) in enumerate(items, 1):
        block = brain.preflight(text, context=False, remember=False, titled=is_whole(catalogue))
        added = f"\n\nAdded to your context:\n\n~~~~\n{block.text}\n~~~~" if block.text else ""
        shown.append(f"## Prompt {number}\n\n~~~~\n{text}\n~~~~{added}\n")
        key.append(
            {
                "item": number,
                "prompt": hashlib.sha256(text.encode()).hexdigest()[:16],
                "expected": expected,
                "given": [hit.card.id for hit in block.lessons],
                "offered": [hit.card.id for hit in block.offered],
            }
        )
    (folder / name).mkdir(parents=True, exist_ok=True)
    size = -(-len(shown) // -(-len(shown) // _MOST_ITEMS))
    for place, start in enumerate(range(0, len(shown), size), 1):
        part = shown[start : start + size]
        head = _INSTRUCTIONS.format(
            catalogue=catalogue, read=read, count=len(part), first=start + 1, second=start + 2
        )
        text = "\n".join([head, *part])
        (folder / name / f"prompt-{place}.md").write_text(text, encoding="utf-8")
    write_rows(folder / f"{name}.key.jsonl", [{"cards": cards}, *key])


def _collect(folder: Path) -> None:
    """Keep the choices of all answers of a folder, in the order of sets, readers and prompts.

    A reader that answered only some of a file's items opened nothing with the others.
    """
    for file in sorted(folder.glob("*.key.jsonl")):
        name = file.name.removesuffix(".key.jsonl")
        cards, *key = read_rows(file)
        items = {row.pop("item"): row for row in key}
        chosen: dict[str, dict[int, list[str]]] = defaultdict(dict)
        for answer in sorted((folder / name).glob("answers-*.jsonl")):
            _answers, reader, _number = answer.stem.split("-", 2)
            for row in read_rows(answer):
                if row["item"] not in items:
                    raise DataError(f"{answer}: item {row['item']} was not asked")
                chosen[reader][row["item"]] = [_name(one, cards["cards"]) for one in row["open"]]
        judged = []
        for reader, rows in chosen.items():
            if missing := sorted(items.keys() - rows.keys()):
                print(f"{name}: reader {reader} did not answer {missing}", file=sys.stderr)
            judged += [
                {"reader": reader, **items[number], "open": rows.get(number, [])}
                for number in sorted(items)
            ]
        if judged:
            JUDGED.mkdir(exist_ok=True)
            hidden = [{key: _hide(value) for key, value in row.items()} for row in judged]
            write_rows(JUDGED / f"hook-{name}.jsonl", hidden)


def _name(opened: str, cards: Mapping[str, str]) -> str:
    """Return the card that a reader means by its title or the end of its path, else what it said."""
    end, words = opened.strip("`./ ").removesuffix(".md"), _squeeze(opened)
    fitting = [card for card in cards if f"/{card}".endswith(f"/{end}.md")]
    if not fitting:
        titled = [card for card in cards if words.endswith(_squeeze(cards[card]) or " ")]
        longest = max((len(cards[card]) for card in titled), default=0)
        fitting = [card for card in titled if len(cards[card]) == longest]
    below = [card for card in fitting if opened.startswith(card.rpartition("/")[0])]
    return (below or [opened])[0] if len(fitting) != 1 else fitting[0]


def _squeeze(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _hide(value: Any) -> Any:
    """Return hashes for the names of files: those of other projects are theirs."""
    if not isinstance(value, list):
        return value
    return [hashlib.sha256(one.encode()).hexdigest()[:12] for one in value]
