"""How well does this brain answer prompts whose cards are known? By engine."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.brain.open_index import Refresh
from lessons_kb.brain.search_index import BATCH, digest_files
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
"""What may be wrong with a prompt: an expected card was not injected; a card was, where silence is
right; another card was injected beside those that are expected."""


@frozen
class Fault:
    """One card that was injected, or not, against what a prompt's labels say."""

    kind: str
    """MISS, FALSE or EXTRA."""
    line: int
    """1-based line of the file of prompts."""
    query: str
    card: str
    """Its id."""
    rank: int | None
    """1-based place in the ranking without the gate; None where it is not in the first ten."""
    reason: str
    """Why it was injected, or suppressed."""


@frozen
class Report:
    """What an evaluation found."""

    engines: dict[str, Evaluation]
    faults: dict[str, tuple[Fault, ...]]
    """By engine, in the order of the prompts."""
    inactive: tuple[str, ...] = ()
    """Expected cards that are ignored or archived: no engine can bring them up."""


def evaluate(brains: Brains, labelled: Sequence[Labelled], *, engine: str | None = None) -> Report:
    """Put every labelled prompt to the brain as `Brain.search` and `Brain.preflight` would.

    ``engine`` is one of ENGINES or ALL_ENGINES (those that need no extra), by default that of
    ``lessons.toml``. Rankings are
    those without the gate; what is injected are the lessons, without notes. Nothing is
    journalled. Raises InputError for an expected name that is no card, naming the line.
    """
    if engine not in (None, ALL_ENGINES, *ENGINES):
        raise InputError(f"unknown engine {engine!r}; choose {', '.join((*ENGINES, ALL_ENGINES))}")
    brains.refresh()
    own = brains.members[0].settings.index.engine
    names = _Names(brains)
    expected = [names.resolve(prompt) for prompt in labelled]
    engines, faults = {}, {}
    for name in LOCAL_ENGINES if engine == ALL_ENGINES else (engine or own,):
        with _with_engine(brains, name) as asked:
            answers = [
                names.ask(asked, prompt, ids)
                for prompt, ids in zip(labelled, expected, strict=True)
            ]
        engines[name] = summarise([outcome for outcome, _faults in answers])
        faults[name] = tuple(fault for _outcome, found in answers for fault in found)
    return Report(engines=engines, faults=faults, inactive=tuple(sorted(names.inactive)))


class _Names:
    """Every card's name in an evaluation: its id behind the alias of its brain."""

    def __init__(self, brains: Brains) -> None:
        self._brains = brains
        self._names: dict[Card, str] = {}
        self._by_id: dict[str, Card] = {}
        for brain in brains.members:
            for card in brain.read(lambda one: one.catalogue.all_cards()):
                self._names.setdefault(card, f"{brain.alias}:{card.id}")
                self._by_id.setdefault(card.id, card)
        self._count = Counter(card.id for card in self._names)
        self.inactive: set[str] = set()
        # The cards whose titles a session has from its start.
        files = [
            os.path.join(brains.directory, place)
            for place in find_listed(brains, Access(directory=brains.directory))
        ]
        found = ((one.alias, find_card(one, file)) for one in brains.members for file in files)
        self.listed = frozenset(f"{alias}:{card}" for alias, card in found if card)

    def of(self, card: Card) -> str:
        return self._names.get(card, card.id)

    def ask(
        self, brains: Brains, prompt: Labelled, expected: tuple[str, ...]
    ) -> tuple[PromptOutcome, list[Fault]]:
        """Return what a brain gives for a prompt, and what is wrong with that."""
        query = prompt.query
        began = time.perf_counter()
        block = preflight(
            brains, query, RetrievalOptions(context=False), fresh=False, remember=False
        )
        seconds = time.perf_counter() - began
        depth = max(HIT_LIMIT, NDCG_DEPTH)
        ranked = search(brains, query, kinds=KINDS, limit=depth, fresh=False)
        outcome = PromptOutcome(
            expected=expected,
            ranked=tuple(self.of(hit.card) for hit in ranked),
            injected=tuple(self.of(hit.card) for hit in block.lessons),
            offered=tuple(self.of(hit.card) for hit in block.offered),
            listed=self.listed,
            tokens=block.tokens,
            milliseconds=seconds * 1000,
        )
        hits = (*ranked, *block.lessons, *block.offered, *block.withheld)
        reasons = {self.of(hit.card): hit.reason for hit in hits}
        wrong = [(MISS, name) for name in expected if name not in outcome.injected]
        unasked = [name for name in outcome.injected if name not in expected]
        wrong += [(EXTRA if expected else FALSE, name) for name in unasked]
        found = []
        for kind, name in wrong:
            card = self.id_of(name)
            absent = f"not among the first {depth}"
            if name.partition(":")[2] in self.inactive:
                absent = "not active, so no prompt finds it"
            rank = outcome.ranked.index(name) + 1 if name in outcome.ranked else None
            reason = reasons.get(name, absent)
            found.append(
                Fault(kind=kind, line=prompt.line, query=query, card=card, rank=rank, reason=reason)
            )
        return outcome, found

    def id_of(self, name: str) -> str:
        """Return the id of the card of a name, with its alias where two brains hold the id."""
        card_id = name.partition(":")[2]
        return name if self._count[card_id] > 1 else card_id

    def resolve(self, prompt: Labelled) -> tuple[str, ...]:
        found: dict[str, None] = {}
        for name in prompt.expected:
            try:  # looking up a thousand whole ids one by one would take seconds
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
            found[self.of(card)] = None
        return tuple(found)


@contextlib.contextmanager
def _with_engine(brains: Brains, name: str) -> Iterator[Brains]:
    """Give the same brain with another engine, which lives as long as the context."""
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
    """A brain as it stands, searched with another engine. It is never refreshed."""

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

    def refresh(self, **_how: object) -> Refresh:
        return Refresh(files=0)

    def close(self) -> None:
        super().close()
        self._other.close()
