"""Ask an agent which pairs of cards contradict each other, check its answers and remember them.

Start with ``judge_pairs``. A pair is asked about once, in a request of at most twenty pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from lessons_kb.brain.brain import Brain
from lessons_kb.cards.card_names import are_linked
from lessons_kb.cards.conflicts import Conflict, find_conflict
from lessons_kb.collection.contradictions import Verdicts, sign_demands
from lessons_kb.errors import InputError
from lessons_kb.find.nearest import find_nearest
from lessons_kb.model import Card
from lessons_kb.text.sanitize import clean_line, counted
from lessons_kb.writers.complete import Ask, put_all
from lessons_kb.writers.prompt import build_contradiction_prompt, show_demands

PAIRS_PER_REQUEST = 20
_MARKS = " \t-*•\"'“”`.,;:!…"
"""Characters around a sentence that an agent may add or leave out."""


class Pair(NamedTuple):
    """Two cards to be compared."""

    first: Card
    second: Card


class Reading(NamedTuple):
    """The valid part of an answer."""

    conflicts: list[Conflict]
    compatible: list[Pair]
    """The pairs that somebody can follow at the same time."""
    unanswered: int
    """The number of pairs without a valid verdict."""


class Judgement(NamedTuple):
    """The result of a comparison."""

    conflicts: list[Conflict]
    compared: int
    problem: str
    """Why some pairs were not compared, in one line; "" if all were."""


def list_pairs_of(brain: Brain, card: Card) -> list[Pair]:
    """Return a card, which need not be in the brain, with each near card to be compared."""
    nearest = brain.read(partial(find_nearest, card=card))
    verdicts = Verdicts(brain.root)
    return [Pair(card, other) for other in nearest if _is_open(verdicts, card, other)]


def list_pairs(brain: Brain) -> list[Pair]:
    """Return the pairs of near cards of a brain that have not been compared yet."""
    cards = brain.read(lambda one: one.catalogue.all_cards())
    verdicts = Verdicts(brain.root)
    pairs: dict[frozenset[str], Pair] = {}
    for card in cards:
        if not card.is_injectable:
            continue
        for other in brain.read(partial(find_nearest, card=card)):
            key = frozenset((card.id, other.id))
            if key not in pairs and _is_open(verdicts, card, other):
                pairs[key] = Pair(card, other)
    return list(pairs.values())


def _is_open(verdicts: Verdicts, card: Card, other: Card) -> bool:
    """Return whether nobody knows yet if two cards contradict each other."""
    if verdicts.is_judged(card, other) or are_linked(card, other):
        return False
    if sign_demands(card) == sign_demands(other):  # two copies
        return False
    return find_conflict(card, other) is None


def build_requests(pairs: Sequence[Pair]) -> dict[str, str]:
    """Return the prompts about pairs of cards, by their numbers."""
    return {
        str(number): build_contradiction_prompt(group)
        for number, group in enumerate(_group(pairs), 1)
    }


def _group(pairs: Sequence[Pair]) -> list[Sequence[Pair]]:
    starts = range(0, len(pairs), PAIRS_PER_REQUEST)
    return [pairs[start : start + PAIRS_PER_REQUEST] for start in starts]


def judge_pairs(
    root: str,
    pairs: Sequence[Pair],
    ask: Ask,
    *,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> Judgement:
    """Ask about pairs of cards of the brain at ``root``, and store the verdicts.

    An answer that fails or is not valid costs nothing: its pairs are asked about next time. Raises
    StorageError if the verdicts cannot be written.
    """
    if not pairs:
        return Judgement(conflicts=[], compared=0, problem="")
    try:
        answers, failed = put_all(build_requests(pairs), ask, _accept, progress=progress)
    except InputError as error:
        answers, failed = {}, {"": str(error).removesuffix("; nothing was changed")}
    conflicts: list[Conflict] = []
    compatible: list[Pair] = []
    for number, group in enumerate(_group(pairs), 1):
        if str(number) in answers:
            reading = read_answer(group, answers[str(number)])
            conflicts += reading.conflicts
            compatible += reading.compatible
    Verdicts(root).add(conflicts, compatible)
    compared = len(conflicts) + len(compatible)
    return Judgement(conflicts, compared, _describe(len(pairs) - compared, failed.values()))


def _accept(answers: Mapping[str, Mapping[str, Any]]) -> dict[str, Sequence[str]]:
    """Return no problem for each answer: what is not valid is not asked about again at once."""
    return dict.fromkeys(answers, ())


def _describe(open_pairs: int, reasons: Iterable[str]) -> str:
    if not open_pairs:
        return ""
    reason = next(iter(reasons), "the answer has no valid verdict about them")
    return f"{counted(open_pairs, 'pair')} of cards not compared: {clean_line(reason)}"


def read_answer(pairs: Sequence[Pair], answer: Mapping[str, Any]) -> Reading:
    """Return the valid verdicts of an answer.

    A verdict that two cards contradict each other is valid only if the answer quotes one sentence
    of each card. The first verdict about a pair counts.
    """
    entries = answer.get("pairs")
    conflicts: list[Conflict] = []
    compatible: list[Pair] = []
    seen: set[int] = set()
    for entry in entries if isinstance(entries, list) else ():
        number = entry.get("pair") if isinstance(entry, Mapping) else None
        if type(number) is not int or number in seen or not 1 <= number <= len(pairs):
            continue
        pair = pairs[number - 1]
        if entry.get("both") is True:
            seen.add(number)
            compatible.append(pair)
        elif entry.get("both") is False:
            conflict = _read_conflict(pair, entry.get("first"), entry.get("second"))
            if conflict is not None:
                seen.add(number)
                conflicts.append(conflict)
    return Reading(conflicts, compatible, len(pairs) - len(seen))


def _read_conflict(pair: Pair, first: object, second: object) -> Conflict | None:
    """Return a conflict if both quotes are in the cards, in this order or in the other one."""
    if not (isinstance(first, str) and isinstance(second, str)):
        return None
    if _quotes(pair.first, first) and _quotes(pair.second, second):
        return Conflict(pair.first, pair.second, _unmark(first), _unmark(second))
    if _quotes(pair.first, second) and _quotes(pair.second, first):
        return Conflict(pair.first, pair.second, _unmark(second), _unmark(first))
    return None


def _unmark(sentence: str) -> str:
    """Return a sentence in one line, without the mark of a list before it."""
    return clean_line(sentence).lstrip("-*• ")


def _quotes(card: Card, sentence: str) -> bool:
    wanted = _flatten(sentence).strip(_MARKS)
    return bool(wanted) and wanted in _flatten(show_demands(card))


def _flatten(text: str) -> str:
    return " ".join(text.casefold().split())
