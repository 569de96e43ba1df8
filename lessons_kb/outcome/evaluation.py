"""Evaluate a brain with labelled prompts, for each engine."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.brain.search_index import Refresh
from lessons_kb.brain.write_index import BATCH, digest_files
from lessons_kb.collection.cards import Cards
from lessons_kb.config import CHOICES
from lessons_kb.errors import InputError, LessonsError
from lessons_kb.find.block import RetrievalOptions, preflight
from lessons_kb.find.search import HIT_LIMIT, search
from lessons_kb.find.titles import Access, find_card, find_listed
from lessons_kb.model import KINDS, NOTE, Card
from lessons_kb.relevance.evaluation_measures import (
    NDCG_DEPTH,
    Evaluation,
    Labelled,
    PromptOutcome,
    summarise,
)
from lessons_kb.search.engine_protocol import Engine
from lessons_kb.search.engine_registry import local_engine, open_engine
from lessons_kb.values import frozen

ENGINES = CHOICES["index.engine"]
LOCAL_ENGINES = tuple(name for name in ENGINES if local_engine(name) == name)
ALL_ENGINES = "all"


MISS, FALSE, EXTRA = "miss", "false-injection", "extra"
"""The kinds of faults. With MISS, an expected card was not injected. With FALSE, a card was
injected although no card is expected. With EXTRA, a card was injected in addition to the expected
cards.
"""


@frozen
class Fault:
    """A card whose injection, or lack of it, contradicts the labels of a prompt."""

    kind: str
    """MISS, FALSE or EXTRA."""
    line: int
    """The 1-based line in the file of prompts."""
    query: str
    card: str
    """The id of the card."""
    rank: int | None
    """The 1-based place in the ranking without the threshold, or None if the card is not among the
    first ten.
    """
    reason: str
    """The reason why the card was injected or suppressed."""


@frozen
class Report:
    """The result of an evaluation."""

    engines: dict[str, Evaluation]
    faults: dict[str, tuple[Fault, ...]]
    """The faults by engine, in the order of the prompts."""
    inactive: tuple[str, ...] = ()
    """Expected cards that are ignored or archived, so that no engine finds them."""


def evaluate(brains: Brains, labelled: Sequence[Labelled], *, engine: str | None = None) -> Report:
    """Run every labelled prompt through `Brain.search` and `Brain.preflight`.

    ``engine`` is one of ENGINES, or ALL_ENGINES for the engines that need no extra. By default, it
    is the engine in ``lessons.toml``. The rankings are made without the threshold, and the
    blocks have no notes. Nothing is journalled. Raises InputError, with the line, if an expected
    name does not denote a card.
    """
    if engine not in (None, ALL_ENGINES, *ENGINES):
        raise InputError(f"unknown engine {engine!r}; choose {', '.join((*ENGINES, ALL_ENGINES))}")
    brains.refresh()
    own = brains.members[0].settings.index.engine
    run = _Run(brains)
    expected = [run.resolve(prompt) for prompt in labelled]
    engines: dict[str, Evaluation] = {}
    faults: dict[str, tuple[Fault, ...]] = {}
    for name in LOCAL_ENGINES if engine == ALL_ENGINES else (engine or own,):
        outcomes: list[PromptOutcome] = []
        engine_faults: list[Fault] = []
        with _with_engine(brains, name) as copy:
            for prompt, names in zip(labelled, expected, strict=True):
                outcome, reasons = run.ask(copy, prompt, names)
                outcomes.append(outcome)
                engine_faults += run.find_faults(prompt, outcome, reasons)
        engines[name] = summarise(outcomes)
        faults[name] = tuple(engine_faults)
    return Report(engines=engines, faults=faults, inactive=tuple(sorted(run.inactive)))


_DEPTH = max(HIT_LIMIT, NDCG_DEPTH)
"""The length of the rankings."""


class _Run:
    """An evaluation of some brains. The name of a card is its id, after the alias of its brain."""

    def __init__(self, brains: Brains) -> None:
        self._brains = brains
        self._names: dict[Card, str] = {}
        self._by_id: dict[str, Card] = {}
        """Id → card; of cards with the same id, that of the first brain."""
        for brain in brains.members:
            for card in brain.read(lambda reader: reader.catalogue.all_cards()):
                self._names.setdefault(card, f"{brain.alias}:{card.id}")
                self._by_id.setdefault(card.id, card)
        self._cards_with_id = Counter(card.id for card in self._names)
        """Id → number of cards that have it. A card needs its alias if there are several."""
        self.inactive: set[str] = set()
        """Ids of expected cards that are not active; filled by `resolve`."""
        self.listed = frozenset(_find_titled(brains))
        """Names of the cards whose titles a session gets when it starts."""

    def name_of(self, card: Card) -> str:
        return self._names.get(card, card.id)

    def ask(
        self, brains: Brains, prompt: Labelled, expected: tuple[str, ...]
    ) -> tuple[PromptOutcome, dict[str, str]]:
        """Return the outcome of a prompt, and a mapping from the names of the cards found to their
        reasons.
        """
        query = prompt.query
        began = time.perf_counter()
        block = preflight(
            brains, query, RetrievalOptions(context=False), fresh=False, remember=False
        )
        seconds = time.perf_counter() - began
        ranked = search(brains, query, kinds=KINDS, limit=_DEPTH, fresh=False)
        outcome = PromptOutcome(
            expected=expected,
            ranked=tuple(self.name_of(hit.card) for hit in ranked),
            injected=tuple(self.name_of(hit.card) for hit in block.lessons),
            offered=tuple(self.name_of(hit.card) for hit in block.offered),
            listed=self.listed,
            tokens=block.tokens,
            milliseconds=seconds * 1000,
        )
        hits = (*ranked, *block.lessons, *block.offered, *block.withheld)
        return outcome, {self.name_of(hit.card): hit.reason for hit in hits}

    def find_faults(
        self, prompt: Labelled, outcome: PromptOutcome, reasons: Mapping[str, str]
    ) -> Iterator[Fault]:
        """Yield the faults of a prompt, missed cards first."""
        expected, injected = outcome.expected, outcome.injected
        kinds = {name: MISS for name in expected if name not in injected}
        unexpected = EXTRA if expected else FALSE
        kinds |= {name: unexpected for name in injected if name not in expected}
        for name, kind in kinds.items():
            absent = f"not among the first {_DEPTH}"
            if name.partition(":")[2] in self.inactive:
                absent = "not active, so no prompt finds it"
            yield Fault(
                kind=kind,
                line=prompt.line,
                query=prompt.query,
                card=self.id_of(name),
                rank=outcome.ranked.index(name) + 1 if name in outcome.ranked else None,
                reason=reasons.get(name, absent),
            )

    def id_of(self, name: str) -> str:
        """Return the id of a named card, with the alias of its brain if two brains have this id."""
        card_id = name.partition(":")[2]
        return name if self._cards_with_id[card_id] > 1 else card_id

    def resolve(self, prompt: Labelled) -> tuple[str, ...]:
        """Return the names of the expected cards. Raises InputError if one of them does not denote
        a card.
        """
        names: dict[str, None] = {}
        for name in prompt.expected:
            try:  # `Cards.get` takes milliseconds, which is too long for a thousand ids
                card = self._by_id.get(name) or Cards(self._brains).get(name)
            except LessonsError as error:
                raise InputError(f"line {prompt.line}: {error}") from None
            if card.kind == NOTE:
                raise InputError(
                    f"line {prompt.line}: {card.id} is a note, and notes are never injected; "
                    "list cards only"
                )
            if card.status != "active":
                self.inactive.add(card.id)
            names[self.name_of(card)] = None
        return tuple(names)


def _find_titled(brains: Brains) -> Iterator[str]:
    """Yield the names of the cards whose titles a session gets when it starts."""
    files = find_listed(brains, Access(directory=brains.directory))
    for brain in brains.members:
        for file in files:
            card_id = find_card(brain, os.path.join(brains.directory, file))
            if card_id:
                yield f"{brain.alias}:{card_id}"


@contextlib.contextmanager
def _with_engine(brains: Brains, name: str) -> Iterator[Brains]:
    """Open the same brains with another engine, which exists only within the context."""
    if all(brain.settings.index.engine == name for brain in brains.members):
        yield brains
        return
    with tempfile.TemporaryDirectory(prefix="lessons-eval-") as folder:
        members = [
            _OtherEngine(brain, name, os.path.join(folder, str(number)))
            for number, brain in enumerate(brains.members)
        ]
        with Brains(members, directory=brains.directory, project=brains.project) as copy:
            yield copy


class _OtherEngine(Brain):
    """A brain at its last commit, searched with another engine. It is never refreshed."""

    def __init__(self, brain: Brain, name: str, directory: str) -> None:
        super().__init__(brain.root, alias=brain.alias)
        os.makedirs(directory)
        self._other = open_engine(name, directory, create=True)
        numbers = self.catalogue.numbers()
        paths = list(numbers)
        for start in range(0, len(paths), BATCH):
            entries = digest_files(brain.root, paths[start : start + BATCH], brain.settings)
            self._other.update(
                (numbers[entry.path][0], entry.terms) for entry in entries if entry.card
            )

    @property
    def engine(self) -> Engine:
        return self._other

    def refresh(self, **_options: object) -> Refresh:
        return Refresh(files=0)

    def close(self) -> None:
        super().close()
        self._other.close()
