"""Measures the search for contradictions on labelled pairs of cards, and on pairs of real brains.

The authors of the pairs knew nothing of lessons_kb. What an agent says is measured with ``--with
COMMAND``, or with fresh language models: ``--write
FOLDER`` writes the requests of the product, ``NN/request.txt``, of about twenty pairs in mixed
order, and a second run with ``--collect FOLDER`` reads ``answer.txt`` beside each. The labelled
pairs are written twice, for two independent models. The pairs of near cards of real brains are
written in mixed order, too, so that the first requests are a sample of them.
"""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks import report
from benchmarks.data import DataError, read_rows, write_rows
from benchmarks.ours import private_state
from lessons_kb.agents.headless import find_headless
from lessons_kb.brain.brain import Brain
from lessons_kb.errors import InputError
from lessons_kb.model import Card
from lessons_kb.text.json_objects import find_objects
from lessons_kb.writers.contradictions import (
    PAIRS_PER_REQUEST,
    Pair,
    build_requests,
    list_pairs,
    read_answer,
)
from lessons_kb.writers.prompt import COMPARE_SYSTEM, CONTRADICTION_SCHEMA

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

_LABELLED = Path(__file__).parents[1] / "labelled"
_FILES = ("conflict_pairs.jsonl", "conflict_pairs_2.jsonl")
_READERS = ("a", "b")
_REAL = "real"
_REQUEST, _ANSWER, _KEYS = "request.txt", "answer.txt", "keys"
_README = (
    "Read request.txt and write your answer as answer.txt exactly in the form it asks for."
    " Read nothing else.\n"
)
_SIZES = "cards.json"
_SECONDS = 600.0
_SHOWN = ("id", "title", "why", "checklist", "paths", "when")
"""The fields of a card that a request shows."""


class Case(NamedTuple):
    """A pair of cards, with the file that has its label."""

    source: str
    is_conflict: bool
    pair: Pair


class Outcome(NamedTuple):
    """Whether two cards contradict each other, and the verdict: None without a valid verdict."""

    source: str
    is_conflict: bool
    is_reported: bool | None


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Print a row for each file of pairs and each way to judge them; return the counts."""
    cases = _read_cases()
    if options.write:
        return _write(Path(options.write), cases, options)
    if not (options.with_ or options.collect):
        raise DataError("name an agent (--with COMMAND), or a folder (--write, then --collect)")
    judged: dict[str, list[Outcome]] = {}
    figures: dict[str, Any] = {}
    if options.with_:
        judged[options.with_] = _ask(_shuffle(cases, options.seed), options.with_)
    if options.collect:
        folder = Path(options.collect)
        for reader in _READERS:
            judged[f"reader {reader}"] = _collect(folder / reader, _read_kept(folder / reader))
    rows = []
    for judge, outcomes in judged.items():
        for source in (*_FILES, "both"):
            counts = Counter(
                (outcome.is_conflict, outcome.is_reported)
                for outcome in outcomes
                if source in (outcome.source, "both")
            )
            rows.append((judge, source, *_describe(counts)))
            figures[f"{judge}, {source}"] = _count(counts)
    heads = ["judge", "pairs of", "pairs", "precision", "recall", "false", "no verdict"]
    report.print_table("Contradictions between two cards", heads, rows)
    if options.collect and (Path(options.collect) / _REAL).is_dir():
        figures[_REAL] = _collect_real(Path(options.collect) / _REAL)
    return figures


def _count(counts: Mapping[tuple[bool, bool | None], int]) -> dict[str, int]:
    return {
        "right": counts[True, True],
        "missed": counts[True, False] + counts[True, None],
        "false": counts[False, True],
        "no verdict": counts[True, None] + counts[False, None],
        "pairs": sum(counts.values()),
    }


def _describe(counts: Mapping[tuple[bool, bool | None], int]) -> tuple[str, ...]:
    """Return the cells of a row: pairs, precision, recall, false pairs, pairs without a verdict."""
    figures = _count(counts)
    reported = figures["right"] + figures["false"]
    precision = f"{figures['right'] / reported:.2f}" if reported else "-"
    recall = figures["right"] / max(1, figures["right"] + figures["missed"])
    false, silent = str(figures["false"]), str(figures["no verdict"])
    return str(figures["pairs"]), precision, f"{recall:.2f}", false, silent


def _read_cases() -> list[Case]:
    cases = []
    for name in _FILES:
        for number, row in enumerate(read_rows(_LABELLED / name), 1):
            first = _make_card(row["first"], f"lessons/{number}-first.md")
            second = _make_card(row["second"], f"lessons/{number}-second.md")
            cases.append(Case(name, row["contradict"], Pair(first, second)))
    return cases


def _make_card(text: Mapping[str, Any], name: str) -> Card:
    values = {key: text[key] for key in ("title", "why") if key in text}
    for key in ("checklist", "paths", "when"):
        values[key] = tuple(text.get(key, ()))
    return Card(id=name, kind="lesson", **values)


def _shuffle(cases: Iterable[Case], seed: int | str) -> list[Case]:
    """Return cases in a random order, in which the cards of a pair have a random order as well."""
    dice = random.Random(seed)
    mixed = list(cases)
    dice.shuffle(mixed)
    return [
        case._replace(pair=Pair(*case.pair[::-1])) if dice.random() < 0.5 else case
        for case in mixed
    ]


def _judge(cases: Sequence[Case], answer: Mapping[str, Any]) -> list[Outcome]:
    """Return the outcome of each case of a request."""
    reading = read_answer([case.pair for case in cases], answer)
    opposed = {_key_of(conflict.first, conflict.second) for conflict in reading.conflicts}
    together = {_key_of(*pair) for pair in reading.compatible}
    outcomes = []
    for case in cases:
        key = _key_of(*case.pair)
        is_reported = True if key in opposed else False if key in together else None
        outcomes.append(Outcome(case.source, case.is_conflict, is_reported))
    return outcomes


def _key_of(first: Card, second: Card) -> frozenset[str]:
    """Return what names a pair: the files of labels number their pairs alike."""
    return frozenset((f"{first.id} {first.title}", f"{second.id} {second.title}"))


def _group(cases: Sequence[Case]) -> list[Sequence[Case]]:
    starts = range(0, len(cases), PAIRS_PER_REQUEST)
    return [cases[start : start + PAIRS_PER_REQUEST] for start in starts]


def _ask(cases: Sequence[Case], command: str) -> list[Outcome]:
    """Return the outcome of each case, as an agent on this machine judges it."""
    agent = find_headless(command, seconds=_SECONDS)
    outcomes: list[Outcome] = []
    for group in _group(cases):
        (request,) = build_requests([case.pair for case in group]).values()
        answer: Mapping[str, Any] = {}
        try:
            answer = agent.ask(request, system=COMPARE_SYSTEM, schema=CONTRADICTION_SCHEMA)
        except InputError as error:
            report.tell(str(error))
        outcomes += _judge(group, answer)
    return outcomes


def _write(folder: Path, cases: Sequence[Case], options: argparse.Namespace) -> dict[str, Any]:
    """Write the requests about the labelled pairs, and about near cards of the named brains."""
    figures: dict[str, Any] = {}
    for reader in _READERS:
        mixed = _shuffle(cases, f"{options.seed} {reader}")
        figures[reader] = _write_requests(folder / reader, mixed)
    sizes = {}
    real: list[Case] = []
    for named in options.folders:
        name, _, place = named.partition("=")
        pairs, sizes[name] = _list_real_pairs(Path(place))
        real += [Case(name, False, pair) for pair in pairs]
        report.tell(f"{name}: {sizes[name]} cards, {len(pairs)} pairs")
    if real:
        figures[_REAL] = _write_requests(folder / _REAL, _shuffle(real, options.seed))
        figures["cards"] = sizes
        sizes_text = json.dumps(sizes)
        (folder / _KEYS / _SIZES).write_text(sizes_text, encoding="utf-8")
    return figures


def _list_real_pairs(folder: Path) -> tuple[list[Pair], int]:
    """Return the pairs of near cards in a copy of a brain, and the number of its cards."""
    if not folder.is_dir():
        raise DataError(f"no folder {folder}; name brains as NAME=FOLDER")
    with tempfile.TemporaryDirectory(prefix="lessons-bench-") as place:
        root = Path(place) / "brain"
        shutil.copytree(folder, root, ignore=shutil.ignore_patterns(".lessons"))
        with private_state(Path(place) / "home"):
            brain = Brain(str(root))
            brain.refresh()
            cards = brain.read(lambda one: one.catalogue.all_cards())
            pairs = list_pairs(brain)
            brain.close()
    return pairs, sum(card.is_injectable for card in cards)


def _write_requests(folder: Path, cases: Sequence[Case]) -> dict[str, int]:
    requests = build_requests([case.pair for case in cases])
    for number, request in requests.items():
        place = folder / f"{int(number):02}"
        place.mkdir(parents=True, exist_ok=True)
        (place / "README.md").write_text(_README, encoding="utf-8")
        text = f"{COMPARE_SYSTEM}\n\n{request}"
        (place / _REQUEST).write_text(text, encoding="utf-8")
    rows = [
        {
            "source": case.source,
            "contradict": case.is_conflict,
            "first": {name: getattr(case.pair.first, name) for name in _SHOWN},
            "second": {name: getattr(case.pair.second, name) for name in _SHOWN},
        }
        for case in cases
    ]
    write_rows(_find_key(folder), rows)
    return {"requests": len(requests), "pairs": len(cases)}


def _find_key(folder: Path) -> Path:
    """Return the file with the pairs of a folder of requests, which readers must not see."""
    keys = folder.parent / _KEYS
    keys.mkdir(exist_ok=True)
    return keys / f"{folder.name}.jsonl"


def _read_kept(folder: Path) -> list[Case]:
    """Return the cases of a folder of requests, in the order of the requests."""
    cases = []
    for row in read_rows(_find_key(folder)):
        first = _make_card(row["first"], row["first"]["id"])
        second = _make_card(row["second"], row["second"]["id"])
        cases.append(Case(row["source"], row["contradict"], Pair(first, second)))
    return cases


def _read_answers(folder: Path, cases: Sequence[Case]) -> list[tuple[Sequence[Case], Any]]:
    """Return the cases of each request that has an answer, with the answer."""
    answered = []
    for number, group in enumerate(_group(cases), 1):
        path = folder / f"{number:02}" / _ANSWER
        if path.exists():
            text = path.read_text(encoding="utf-8")
            objects = list(find_objects(text))
            answers = [answer for answer in objects if "pairs" in answer]
            answered.append((group, answers[-1] if answers else {}))
    return answered


def _collect(folder: Path, cases: Sequence[Case]) -> list[Outcome]:
    outcomes: list[Outcome] = []
    for group, answer in _read_answers(folder, cases):
        outcomes += _judge(group, answer)
    return outcomes


def _collect_real(folder: Path) -> dict[str, Any]:
    """Print the pairs of real cards that an answer calls opposed, for a person to read."""
    cases = _read_kept(folder)
    sizes = json.loads((folder.parent / _KEYS / _SIZES).read_text(encoding="utf-8"))
    answered, silent = 0, 0
    conflicts = []
    for group, answer in _read_answers(folder, cases):
        reading = read_answer([case.pair for case in group], answer)
        answered += len(group)
        silent += reading.unanswered
        conflicts += reading.conflicts
    cards = sum(sizes.values())
    share = answered / max(1, len(cases))
    a_thousand = 1_000 * len(conflicts) / max(1e-9, cards * share)
    rows = [(str(cards), str(len(cases)), str(answered), str(silent), str(len(conflicts)))]
    heads = ["cards", "pairs", "answered", "no verdict", "called opposed"]
    report.print_table("Pairs of near cards in real brains", heads, rows)
    print(f"called opposed in 1,000 cards: {a_thousand:.1f}")
    for conflict in conflicts:
        print(f"- {conflict.first.id} | {conflict.second.id}")
        print(f"  {conflict.demand}\n  {conflict.opposed}")
    return {
        "cards": cards,
        "pairs": len(cases),
        "answered": answered,
        "called opposed": len(conflicts),
        "in 1,000 cards": a_thousand,
    }
