"""Statistics of the cards: totals, the effect of each card, its history and the user's marks."""

from __future__ import annotations

import contextlib
import datetime as dt
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.brain.current_session import session_of
from lessons_kb.collection.all_drafts import count_drafts
from lessons_kb.collection.card_edits import today
from lessons_kb.collection.cards import Cards
from lessons_kb.collection.lookup import names
from lessons_kb.errors import InputError, StorageError
from lessons_kb.find.project_detection import glance
from lessons_kb.ledger.escalation import find_returns
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
from lessons_kb.store.locations import FIRST_LESSON, FIRST_LESSON_TITLE
from lessons_kb.text.times import read_date
from lessons_kb.values import replace

ANY = "any"
"""The stage or project of a card that does not name one."""
_HISTORY = (INJECTED, ADDRESSED, UNADDRESSED, BUMPED, *MARKS)
_WEEKLY = (INJECTED, ADDRESSED, UNADDRESSED)
_FAILED = "failed"
T = TypeVar("T")


class Stats:
    """The statistics of the brains that apply. An unreadable journal counts as an empty one."""

    def __init__(self, brains: Brains) -> None:
        self._brains = brains

    def overview(self, *, stage: str | None = None, project: str | None = None) -> Overview:
        """Return the totals and the effect of each card, or of the cards of one stage or
        project.
        """
        self._brains.refresh()
        is_filtered = stage is not None or project is not None
        counts_by_brain: list[_BrainCounts] = []
        brains_with: Counter[str] = Counter()
        notes = 0
        for brain in self._brains.members:
            files = brain.read(lambda brain: brain.catalogue.all_cards())
            brains_with.update(card.id for card in files)
            notes += sum(card.kind == NOTE for card in files)
            cards_of_brain = [
                card for card in files if card.kind != NOTE and not _is_demonstration(card)
            ]
            cards_of_brain = [
                card for card in cards_of_brain if names(card, stage=stage, project=project)
            ]
            is_own = any(card.id == FIRST_LESSON for card in cards_of_brain)
            left_out = "" if is_own else FIRST_LESSON
            counts = _BrainCounts(brain, cards_of_brain, is_filtered=is_filtered, left_out=left_out)
            counts_by_brain.append(counts)
        pooled = _pool(counts_by_brain)
        history = glance(self._brains)
        cards: list[Card] = []
        effects: list[Effect] = []
        sums: Counter[str] = Counter()
        days: list[tuple[str, str, int]] = []
        failed: list[tuple[str, str, int]] = []
        for counts in counts_by_brain:
            cards += counts.cards
            for card in counts.cards:
                if card.status != "archived":
                    effect = counts.weigh(card, pooled, shared=brains_with[card.id] > 1)
                    added = history.months.get((counts.brain.alias, card.id), ())
                    partly = history.is_partial
                    effects.append(replace(effect, added=added, added_partly=partly))
            for totals in counts.totals.values():
                sums.update(totals)
            days += counts.days()
            failed += counts.failed()
        effects.sort(key=lambda effect: (-effect.injections, effect.card.id))
        stages: list[str] = []
        for card in cards:
            stages += card.stages or (ANY,)
        return Overview(
            cards=len(cards),
            notes=notes,
            occurrences=sum(card.occurrences for card in cards),
            drafts=count_drafts(self._brains),
            by_kind=_rank(card.kind for card in cards),
            by_stage=_rank(stages),
            by_project=_rank(card.project or ANY for card in cards),
            by_severity=_rank(card.severity for card in cards),
            by_source=_rank(card.source for card in cards),
            by_status=_rank(card.status for card in cards),
            # A session may get cards of several brains, so a sum would count it twice.
            sessions=max(counts.sessions for counts in counts_by_brain),
            injections=sums[INJECTED],
            tokens=sums[TOKENS],
            checked=sums[ADDRESSED] + sums[UNADDRESSED],
            addressed=sums[ADDRESSED],
            recurrences=len(failed),
            periods=_group_by_week([*days, *failed]),
            effects=tuple(effects),
            pooled=pooled,
            returned=sum(counts.count_returned() for counts in counts_by_brain),
            late=len(find_late()),
        )

    def effect(self, name: str, *, look: bool = True) -> Effect:
        """Return the effect of one card. ``name`` is as in ``Cards.find``.

        With ``look``, recent commits are searched for the card's patterns, which may take a few
        seconds.
        """
        brain, card = Cards(self._brains).find(name)
        effect = self._weigh(brain, card)
        if not (card.detect and look):
            return effect
        history = glance(self._brains)
        added = history.months.get((brain.alias, card.id), ())
        return replace(effect, added=added, added_partly=history.is_partial)

    def history(self, name: str) -> tuple[tuple[str, str, int], ...]:
        """Return tuples (ISO day, count or outcome, times) of one card, oldest first."""
        brain, card = Cards(self._brains).find(name)
        try:
            rows = brain.journal.counts(card.id)
            occasions = brain.journal.ledger.find(cards=[card.id])
        except StorageError:
            return ()
        times_by_day: Counter[tuple[str, str]] = Counter()
        for _card, what, day, times in rows:
            if times and what in _HISTORY:
                times_by_day[day, what] = times
        for occasion in occasions:
            if occasion.told != WITHHELD and occasion.fact:
                times_by_day[day_of(occasion.at), occasion.outcome] += 1
        return tuple((day, what, times) for (day, what), times in sorted(times_by_day.items()))

    def mark(self, name: str, what: str, *, session: str | None = None) -> Effect:
        """Record the user's judgement of a card. Return the effect of the card.

        ``what`` is one of MARKS and counts once in a session. ``session`` is by default the agent
        session in which this process runs. The card's file is not changed.
        """
        if what not in MARKS:
            raise InputError(f"a mark is one of {', '.join(MARKS)}, not {what!r}")
        brain, card = Cards(self._brains).find(name)
        marked_in = session_of()[0] if session is None else session
        brain.journal.outcomes.note(marked_in, card.id, what, at=time.time())
        return self._weigh(brain, card)

    def _weigh(self, brain: Brain, card: Card) -> Effect:
        others = [other for other in self._brains.members if other is not brain]
        shared = any(
            other.read(lambda opened: opened.catalogue.numbers(card.id)) for other in others
        )
        counts = {member: _BrainCounts(member) for member in self._brains.members}
        return counts[brain].weigh(card, _pool(counts.values()), shared=shared)


class _BrainCounts:
    """The counts in the journal of one brain, of all its cards or of a selection.

    Without a selection, they include the counts of deleted cards, but not of the card ``left_out``.
    They are empty if the journal cannot be read.
    """

    def __init__(
        self,
        brain: Brain,
        cards: Sequence[Card] = (),
        *,
        is_filtered: bool = False,
        left_out: str = "",
    ) -> None:
        self.brain = brain
        self.cards = cards
        self.sessions = 0
        self.totals: Mapping[str, Mapping[str, int]] = {}
        self.occasions: Mapping[str, list[Occasion]] = {}
        self.outcomes: Outcomes | None = None
        self._first_day: str | None = None
        self._span: Mapping[str, tuple[str, str]] = {}
        self._selection = {card.id for card in cards} if is_filtered else None
        with contextlib.suppress(StorageError):
            outcomes = brain.journal.outcomes
            totals = outcomes.totals()
            ledger = brain.journal.ledger.find()
            self.sessions = totals.pop(ALL, {}).get(SESSIONS, 0)
            self._first_day = outcomes.first_day()
            self._span = outcomes.span()
            self.totals = totals
            self.occasions = group_by_card(ledger)
            if self._selection is None and left_out in totals:
                self._selection = totals.keys() - {left_out}
            if self._selection is not None:
                self.sessions = outcomes.sessions(self._selection)
                self.totals = _select(self.totals, self._selection)
                self.occasions = _select(self.occasions, self._selection)
            self.outcomes = outcomes

    @cached_property
    def differences(self) -> Mapping[str, RiskDifference]:
        """Mapping from each card to the difference of its risks with and without the lesson, if
        both risks are available.
        """
        differences: dict[str, RiskDifference] = {}
        for card_id, occasions in self.occasions.items():
            difference = compare(occasions)
            if difference.known:
                differences[card_id] = difference
        return differences

    def weigh(self, card: Card, pooled: Pooled, *, shared: bool) -> Effect:
        """Return the effect of a card. ``shared`` states that another brain has a card with the
        same id.
        """
        first, last = self._span.get(card.id, (None, None))
        totals = self.totals.get(card.id, {})
        occasions = self.occasions.get(card.id, [])
        # The file of a card has to be read only if the card was injected without any known outcome.
        has_no_outcome = bool(totals.get(INJECTED)) and not any(map(_has_fact, occasions))
        effect = weigh(
            card,
            totals,
            occasions,
            brain=self.brain.alias if shared else "",
            first=first,
            last=last,
            idle=self._is_old(card),
            facts=read_facts(self.brain, card).kinds if has_no_outcome else FACTS,
            compared=pooled.lessons,
        )
        difference = self.differences.get(card.id) if pooled.lessons > 1 else None
        return replace(effect, expected=pooled.shrink(difference) if difference else None)

    def _is_old(self, card: Card) -> bool:
        """Return whether, according to its dates, a card has been available for injection for a
        long time.
        """
        own_days = [day for day in (card.created, card.last_seen) if day]
        days = [*own_days, self._first_day or today()]
        dates = [date for date in map(read_date, days) if date]
        now = read_date(today())
        if not (own_days and dates and now):
            return False
        return (now - max(dates)).days >= self.brain.settings.learn.stale_days

    def count_returned(self) -> int:
        """Return the number of active cards whose mistake has occurred again since their last
        step.
        """
        active = [card for card in self.cards if card.status == "active"]
        return sum(bool(find_returns(card, self.occasions.get(card.id, ()))) for card in active)

    def failed(self) -> list[tuple[str, str, int]]:
        """Return a tuple (ISO day, "failed", 1) for each time that a lesson was given without
        success.
        """
        rows: list[tuple[str, str, int]] = []
        for occasions in self.occasions.values():
            deliveries = [occasion for occasion in occasions if occasion.told != WITHHELD]
            failed = [occasion for occasion in deliveries if occasion.outcome in FAILED]
            rows += [(day_of(occasion.at), _FAILED, 1) for occasion in failed]
        return rows

    def days(self) -> list[tuple[str, str, int]]:
        """Return tuples (ISO day, name of the count, times)."""
        return self.outcomes.days(_WEEKLY, self._selection) if self.outcomes else []


def _is_demonstration(card: Card) -> bool:
    """Return whether `setup` wrote a card to show that lessons arrive."""
    return card.id == FIRST_LESSON and card.title == FIRST_LESSON_TITLE


def _select(values: Mapping[str, T], keys: Iterable[str]) -> dict[str, T]:
    return {key: values[key] for key in keys if key in values}


def _has_fact(occasion: Occasion) -> bool:
    return bool(occasion.fact)


def _pool(counts_by_brain: Iterable[_BrainCounts]) -> Pooled:
    """Return the pooled effect of all lessons of some brains."""
    differences: list[RiskDifference] = []
    for counts in counts_by_brain:
        differences += counts.differences.values()
    return pool(differences)


def _group_by_week(days: Iterable[tuple[str, str, int]]) -> tuple[Period, ...]:
    """Return the sums of at most WEEKS weeks up to now, without a gap."""
    weeks: dict[dt.date, Counter[str]] = {}
    for day, what, times in days:
        date = read_date(day)
        if date:
            weeks.setdefault(_monday(date), Counter())[what] += times
    if not weeks:
        return ()
    last = max(_monday(read_date(today()) or max(weeks)), *weeks)
    first = max(min(weeks), last - dt.timedelta(weeks=WEEKS - 1))
    periods: list[Period] = []
    for week in range((last - first).days // 7 + 1):
        monday = first + dt.timedelta(weeks=week)
        sums = weeks.get(monday, Counter())
        period = Period(
            start=monday.isoformat(),
            injections=sums[INJECTED],
            checked=sums[ADDRESSED] + sums[UNADDRESSED],
            addressed=sums[ADDRESSED],
            recurrences=sums[_FAILED],
        )
        periods.append(period)
    return tuple(periods)


def _monday(date: dt.date) -> dt.date:
    return date - dt.timedelta(days=date.weekday())


def _rank(names: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """Return pairs (name, count), with the most frequent name first."""
    return tuple(sorted(Counter(names).items(), key=lambda pair: (-pair[1], pair[0])))
