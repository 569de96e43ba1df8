"""The noun ``brain.stats``: what the cards did, what the journal counted of them, and marks."""

from __future__ import annotations

import contextlib
import datetime as dt
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.brain.current_session import session_of
from lessons_kb.collection.card_edits import today
from lessons_kb.collection.cards import Cards
from lessons_kb.collection.drafts import Drafts
from lessons_kb.collection.lookup import names
from lessons_kb.errors import InputError, StorageError
from lessons_kb.find.project_detection import glance
from lessons_kb.ledger.lesson_effect import (
    ADDRESSED,
    INJECTED,
    MARKS,
    SESSIONS,
    TOKENS,
    UNADDRESSED,
    WEEKS,
    Effect,
    Overview,
    Period,
    compare,
    group_by_card,
    weigh,
)
from lessons_kb.ledger.statistics import Pooled, RiskDifference, pool
from lessons_kb.model import FACTS, FAILED, NOTE, WITHHELD, Card, Occasion
from lessons_kb.outcome.post_check import read_facts
from lessons_kb.store.error_log import find_late
from lessons_kb.store.journal import ALL, BUMPED, Outcomes, day_of
from lessons_kb.text.times import read_date
from lessons_kb.values import replace

ANY = "any"
"""What stands for a stage or project in a card that names none."""
_HISTORY = (INJECTED, ADDRESSED, UNADDRESSED, BUMPED, *MARKS)
_WEEKLY = (INJECTED, ADDRESSED, UNADDRESSED)
_FAILED = "failed"


class Stats:
    """What the cards of a brain did. A journal that cannot be read counts as an empty one."""

    def __init__(self, brains: Brains) -> None:
        self._brains = brains

    def overview(self, *, stage: str | None = None, project: str | None = None) -> Overview:
        """Return totals and the effect of each card, of all or of one stage's or project's."""
        self._brains.refresh()
        parts: list[tuple[_Counted, list[Card]]] = []
        homes: Counter[str] = Counter()
        notes = 0
        for brain in self._brains.members:
            files = brain.read(lambda one: one.catalogue.all_cards())
            homes.update(card.id for card in files)
            notes += sum(card.kind == NOTE for card in files)
            own = [card for card in files if card.kind != NOTE]
            own = [card for card in own if names(card, stage=stage, project=project)]
            chosen = {card.id for card in own} if stage is not None or project is not None else None
            parts.append((_Counted(brain, chosen), own))
        counted, cards = [part for part, _own in parts], [card for _, own in parts for card in own]
        added = glance(self._brains)
        pooled = pool(two for one in counted for two in one.differences.values())
        effects = [
            replace(
                one.weigh(card, pooled, shared=homes[card.id] > 1),
                added=added.get((one.brain.alias, card.id), ()),
            )
            for one, own in parts
            for card in own
            if card.status != "archived"
        ]
        effects.sort(key=lambda effect: (-effect.injections, effect.card.id))
        failed = [day for one in counted for day in one.failed()]
        sums: Counter[str] = Counter()
        for counts in (counts for one in counted for counts in one.totals.values()):
            sums.update(counts)
        return Overview(
            cards=len(cards),
            notes=notes,
            occurrences=sum(card.occurrences for card in cards),
            drafts=Drafts(self._brains).count(),
            by_kind=_ranked(card.kind for card in cards),
            by_stage=_ranked(s for card in cards for s in card.stages or (ANY,)),
            by_project=_ranked(card.project or ANY for card in cards),
            by_severity=_ranked(card.severity for card in cards),
            by_source=_ranked(card.source for card in cards),
            by_status=_ranked(card.status for card in cards),
            # A session may be given cards of several brains: their sum would count it twice.
            sessions=max(one.sessions for one in counted),
            injections=sums[INJECTED],
            tokens=sums[TOKENS],
            checked=sums[ADDRESSED] + sums[UNADDRESSED],
            addressed=sums[ADDRESSED],
            recurrences=len(failed),
            periods=_weekly([*(row for one in counted for row in one.days()), *failed]),
            effects=tuple(effects),
            pooled=pooled,
            late=len(find_late()),
        )

    def effect(self, name: str, *, look: bool = True) -> Effect:
        """Return what one card did; ``name`` as in ``Cards.find``.

        Unless it may ``look`` for the card's patterns in what was added of late, it takes no time.
        """
        brain, card = Cards(self._brains).find(name)
        found = glance(self._brains) if card.detect and look else {}
        return replace(self._weigh(brain, card), added=found.get((brain.alias, card.id), ()))

    def history(self, name: str) -> tuple[tuple[str, str, int], ...]:
        """Return (ISO day, what was counted or came of it, how often) of one card, oldest first."""
        brain, card = Cards(self._brains).find(name)
        try:
            rows = brain.journal.counts(card.id)
            occasions = brain.journal.ledger.find(cards=[card.id])
        except StorageError:
            return ()
        seen = Counter({(day, what): n for _card, what, day, n in rows if n and what in _HISTORY})
        told = (one for one in occasions if one.told != WITHHELD)
        seen.update((day_of(one.at), one.outcome) for one in told if one.fact)
        return tuple((day, what, n) for (day, what), n in sorted(seen.items()))

    def mark(self, name: str, what: str, *, session: str | None = None) -> Effect:
        """Note that a card helped, misled or was not about the task; return its effect.

        ``what`` is one of ``MARKS``, counted in a session once; without ``session`` the one that
        this process runs in is meant, if an agent says so. The card stays as it is.
        """
        if what not in MARKS:
            raise InputError(f"a mark is one of {', '.join(MARKS)}, not {what!r}")
        brain, card = Cards(self._brains).find(name)
        known = session_of()[0] if session is None else session
        brain.journal.outcomes.note(known, card.id, what, at=time.time())
        return self._weigh(brain, card)

    def _weigh(self, brain: Brain, card: Card) -> Effect:
        others = (one for one in self._brains.members if one is not brain)
        shared = any(one.read(lambda at: at.catalogue.numbers(card.id)) for one in others)
        counted = {one: _Counted(one) for one in self._brains.members}
        pooled = pool(two for one in counted.values() for two in one.differences.values())
        return counted[brain].weigh(card, pooled, shared=shared)


class _Counted:
    """What the journal of one brain counted of its ``chosen`` cards, of all if None.

    That is nothing if it is unreadable, and includes what was counted of cards that are gone.
    """

    def __init__(self, brain: Brain, chosen: set[str] | None = None) -> None:
        self.brain = brain
        self.sessions = 0
        self.totals: Mapping[str, Mapping[str, int]] = {}
        self.occasions: Mapping[str, list[Occasion]] = {}
        self.outcomes: Outcomes | None = None
        self._first_day: str | None = None
        self._span: Mapping[str, tuple[str, str]] = {}
        self._chosen = chosen
        with contextlib.suppress(StorageError):
            outcomes = brain.journal.outcomes
            totals, ledger = outcomes.totals(), brain.journal.ledger.find()
            of_all = totals.pop(ALL, {}).get(SESSIONS, 0)
            self.sessions = of_all if chosen is None else outcomes.sessions(chosen)
            self._first_day, self._span = outcomes.first_day(), outcomes.span()
            self.totals, self.occasions = totals, group_by_card(ledger)
            if chosen is not None:
                self.totals = {card: totals[card] for card in chosen.intersection(totals)}
                cards = chosen.intersection(self.occasions)
                self.occasions = {card: self.occasions[card] for card in cards}
            self.outcomes = outcomes

    @cached_property
    def differences(self) -> Mapping[str, RiskDifference]:
        """Card → how often its mistake was left with it and without, where both are known."""
        found = {card: compare(occasions) for card, occasions in self.occasions.items()}
        return {card: two for card, two in found.items() if two.known}

    def weigh(self, card: Card, pooled: Pooled, *, shared: bool) -> Effect:
        """Return what a card did; ``shared`` tells that another brain has its id, too."""
        first, last = self._span.get(card.id, (None, None))
        # Whether it could have been given for long, as far as its dates tell.
        dated = [one for one in (card.created, card.last_seen) if one]
        since = [one for one in map(read_date, (*dated, self._first_day or today())) if one]
        now, limit = read_date(today()), self.brain.settings.learn.stale_days
        totals, occasions = self.totals.get(card.id, {}), self.occasions.get(card.id, [])
        # It was given, and no session shows what became of its mistake.
        untold = bool(totals.get(INJECTED)) and not any(one.fact for one in occasions)
        effect = weigh(
            card,
            totals,
            occasions,
            brain=self.brain.alias if shared else "",
            first=first,
            last=last,
            idle=bool(dated and now and since and (now - max(since)).days >= limit),
            facts=read_facts(self.brain, card).kinds if untold else FACTS,
            compared=pooled.lessons,
        )
        two = self.differences.get(card.id) if pooled.lessons > 1 else None
        return replace(effect, expected=pooled.shrink(two) if two else None)

    def failed(self) -> list[tuple[str, str, int]]:
        told = (one for some in self.occasions.values() for one in some if one.told != WITHHELD)
        return [(day_of(one.at), _FAILED, 1) for one in told if one.outcome in FAILED]

    def days(self) -> list[tuple[str, str, int]]:
        return self.outcomes.days(_WEEKLY, self._chosen) if self.outcomes else []


def _weekly(days: Iterable[tuple[str, str, int]]) -> tuple[Period, ...]:
    weeks: dict[dt.date, Counter[str]] = {}
    for day, what, times in days:
        if date := read_date(day):
            weeks.setdefault(_monday(date), Counter())[what] += times
    if not weeks:
        return ()
    last = max(_monday(read_date(today()) or max(weeks)), *weeks)
    first = max(min(weeks), last - dt.timedelta(weeks=WEEKS - 1))
    mondays = [first + dt.timedelta(weeks=n) for n in range((last - first).days // 7 + 1)]
    return tuple(
        Period(
            start=monday.isoformat(),
            injections=seen[INJECTED],
            checked=seen[ADDRESSED] + seen[UNADDRESSED],
            addressed=seen[ADDRESSED],
            recurrences=seen[_FAILED],
        )
        for monday in mondays
        for seen in [weeks.get(monday, Counter())]
    )


def _monday(date: dt.date) -> dt.date:
    return date - dt.timedelta(days=date.weekday())


def _ranked(names: Iterable[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(Counter(names).items(), key=lambda pair: (-pair[1], pair[0])))
