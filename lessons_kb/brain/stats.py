"""The noun ``brain.stats``: what the cards did, what the journal counted of them, and marks."""

from __future__ import annotations

import contextlib
import datetime as dt
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from lessons_kb.brain.cards import Cards, day_or_today, names
from lessons_kb.brain.detection import glance
from lessons_kb.brain.drafts import Drafts
from lessons_kb.brain.injected import find_cards, session_of
from lessons_kb.brain.layer import Layer
from lessons_kb.brain.layers import Layers
from lessons_kb.errors import InputError, StorageError
from lessons_kb.learn.failure_signs import TOLD, Sign, find_signs, is_about, phrases_of
from lessons_kb.learn.lesson_effect import (
    ADDRESSED,
    BEFORE,
    BEFORE_RECURRED,
    INJECTED,
    MARKS,
    RECURRED,
    SESSIONS,
    TOKENS,
    UNADDRESSED,
    WEEKS,
    Effect,
    Overview,
    Period,
    weigh,
)
from lessons_kb.model import CALLS, FAILURES, NOTE, Card
from lessons_kb.store.journal import ALL, ASKED, BUMPED, Events, Outcomes
from lessons_kb.text.times import read_date

MAX_SESSIONS = 200
"""Looked through at once, evenly over the time before: two seconds with 12,000 cards."""
_MAX_PROMPTS = 3
"""Of one session: what it is about is said early."""
_MAX_SIGNS = 1_000


def look_before(brain: Layers, layers: Sequence[Layer], only: str | None = None) -> None:
    """Count the sessions before, for each card that was given and has no such count yet.

    ``only`` names one card of ``layers``. What is found is kept, for the journal's events are
    forgotten. A journal that cannot be written is left as it is.
    """
    for layer in layers:
        with contextlib.suppress(StorageError):
            _look(brain, layer, only)


def _look(brain: Layers, layer: Layer, only: str | None) -> None:
    outcomes, events = layer.journal.outcomes, brain.layers[0].journal.events
    firsts = outcomes.first_given(without=BEFORE)
    chosen = {card for card in firsts if only in (None, card)}
    cards = {card.id: card for card in find_cards(layer, chosen)}
    if not cards:
        return
    called: dict[str, list[bool]] = {card: [] for card in cards}
    asked = events.asked(until=max(firsts[card] for card in cards))
    for session, began in asked[:: -(-len(asked) // MAX_SESSIONS) or 1]:
        waiting = {card: cards[card] for card in cards if began < firsts[card]}
        given = outcomes.given(session) if waiting else ()
        for card, seen in _called(brain, session, waiting).items():
            if card not in given:
                called[card].append(seen)
    for card, sessions in called.items():
        if True in sessions:  # the last of these is what taught the lesson
            del sessions[len(sessions) - 1 - sessions[::-1].index(True)]
        day = time.strftime("%Y-%m-%d", time.localtime(firsts[card]))
        outcomes.keep(card, day, {BEFORE: len(sessions), BEFORE_RECURRED: sum(sessions)})


def _called(brain: Layers, session: str, cards: Mapping[str, Card]) -> dict[str, bool]:
    """Return which cards a session would have been given → whether it shows their mistake."""
    if not cards:
        return {}
    events = brain.layers[0].journal.events
    found: set[str] = set()
    for prompt in events.find(session=session, kinds=ASKED)[:_MAX_PROMPTS]:
        block = brain.preflight(prompt.text, context=False, fresh=False, remember=False)
        found |= {hit.card.id for hit in block.lessons if hit.card.id in cards}
    if not found:
        return {}
    signs = read_signs(events, session, limit=_MAX_SIGNS)
    phrases = {card: phrases_of(cards[card]) for card in found}
    return {card: any(is_about(sign, phrases[card]) for sign in signs) for card in found}


def read_signs(events: Events, session: str, *, after: int = 0, limit: int) -> list[Sign]:
    """Return the signs of a session in what was written after a number, oldest first.

    Of failed calls and of what was told, the newest ``limit`` are looked at: calls that went well,
    of which a session has thousands, are not even read.
    """
    failed = events.numbered(
        session=session, kinds=CALLS, outcomes=FAILURES, after=after, limit=limit
    )
    told = events.numbered(session=session, kinds=TOLD, after=after, limit=limit)
    signs = find_signs(event for _number, event in (*failed, *told))
    return sorted(signs, key=lambda sign: sign.at)


ANY = "any"
"""What stands for a stage or project in a card that names none."""
_HISTORY = (INJECTED, ADDRESSED, UNADDRESSED, RECURRED, BUMPED, *MARKS)
_WEEKLY = (INJECTED, ADDRESSED, UNADDRESSED, RECURRED)


class Stats:
    """What the cards of a brain did. A journal that cannot be read counts as an empty one."""

    def __init__(self, brain: Layers) -> None:
        self._brain = brain

    def overview(
        self, *, stage: str | None = None, project: str | None = None, today: str | None = None
    ) -> Overview:
        """Return totals and the effect of each card, of all or of one stage's or project's.

        ``today`` (ISO) ends the last week and says which cards have been idle for long.
        """
        day = day_or_today(today)
        self._brain.refresh()
        look_before(self._brain, self._brain.layers)
        parts = [_Part(layer, stage, project) for layer in self._brain.layers]
        cards = [card for part in parts for card in part.cards]
        homes = Counter(card_id for part in parts for card_id in part.known)
        added = glance(self._brain)
        effects = [
            replace(
                part.weigh(card, day, shared=homes[card.id] > 1),
                added=added.get((part.layer.alias, card.id), ()),
            )
            for part in parts
            for card in part.cards
            if card.status != "archived"
        ]
        effects.sort(key=lambda effect: (-effect.injections, effect.card.id))
        sums: Counter[str] = Counter()
        for part in parts:
            for card_id, counts in part.totals.items():
                if card_id != ALL and (part.chosen is None or card_id in part.chosen):
                    sums.update(counts)
        return Overview(
            cards=len(cards),
            notes=sum(part.notes for part in parts),
            occurrences=sum(card.occurrences for card in cards),
            drafts=Drafts(self._brain).count(),
            by_kind=_ranked(card.kind for card in cards),
            by_stage=_ranked(s for card in cards for s in card.stages or (ANY,)),
            by_project=_ranked(card.project or ANY for card in cards),
            by_severity=_ranked(card.severity for card in cards),
            by_source=_ranked(card.source for card in cards),
            by_status=_ranked(card.status for card in cards),
            # A session may be given cards of several brains: their sum would count it twice.
            sessions=max((part.sessions() for part in parts), default=0),
            injections=sums[INJECTED],
            tokens=sums[TOKENS],
            checked=sums[ADDRESSED] + sums[UNADDRESSED],
            addressed=sums[ADDRESSED],
            recurrences=sums[RECURRED],
            periods=_weekly((row for part in parts for row in part.days()), day),
            effects=tuple(effects),
        )

    def effect(self, name: str, *, today: str | None = None) -> Effect:
        """Return what one card did; ``name`` as in ``Cards.find``."""
        layer, card = Cards(self._brain).find(name)
        look_before(self._brain, [layer], card.id)
        added = glance(self._brain).get((layer.alias, card.id), ()) if card.detect else ()
        return replace(self._weigh(layer, card, today), added=added)

    def recorded(self, name: str) -> Effect:
        """Return what one card did as far as it is counted already: ``effect``, but at once."""
        layer, card = Cards(self._brain).find(name)
        return self._weigh(layer, card)

    def history(self, name: str) -> tuple[tuple[str, str, int], ...]:
        """Return (ISO day, what was counted, how often) of one card, oldest first."""
        layer, card = Cards(self._brain).find(name)
        try:
            rows = layer.journal.counts(card.id)
        except StorageError:
            return ()
        return tuple((day, what, n) for _card, what, day, n in rows if n and what in _HISTORY)

    def mark(self, name: str, what: str, *, session: str | None = None) -> Effect:
        """Note that a card helped, misled or was not about the task; return its effect.

        ``what`` is one of ``MARKS``, counted in a session once; without ``session`` the one that
        this process runs in is meant, if an agent says so. The card stays as it is.
        """
        if what not in MARKS:
            raise InputError(f"a mark is one of {', '.join(MARKS)}, not {what!r}")
        layer, card = Cards(self._brain).find(name)
        known = session_of()[0] if session is None else session
        layer.journal.outcomes.note(known, card.id, what, at=time.time())
        return self._weigh(layer, card)

    def _weigh(self, layer: Layer, card: Card, today: str | None = None) -> Effect:
        others = (one for one in self._brain.layers if one is not layer)
        shared = any(one.read(lambda at: at.catalogue.numbers(card.id)) for one in others)
        return _Counted(layer, card.id).weigh(card, day_or_today(today), shared=shared)


class _Counted:
    """What the journal of one brain counted, of all cards or of one; nothing if unreadable."""

    def __init__(self, layer: Layer, card: str | None = None) -> None:
        self.layer = layer
        self.totals: Mapping[str, Mapping[str, int]] = {}
        self.outcomes: Outcomes | None = None
        self._first_day: str | None = None
        self._span: Mapping[str, tuple[str, str]] = {}
        with contextlib.suppress(StorageError):
            outcomes = layer.journal.outcomes
            totals = outcomes.totals(None if card is None else [card])
            self._first_day, self._span = outcomes.first_day(), outcomes.span(card)
            self.outcomes, self.totals = outcomes, totals

    def weigh(self, card: Card, day: str, *, shared: bool) -> Effect:
        """Return what a card did; ``shared`` tells that another brain has its id, too."""
        first, last = self._span.get(card.id, (None, None))
        # Whether it could have been given for long, as far as its dates tell.
        dated = [one for one in (card.created, card.last_seen) if one]
        since = [one for one in map(read_date, (*dated, self._first_day or day)) if one]
        now, limit = read_date(day), self.layer.settings.learn.stale_days
        idle = bool(dated and now and since and (now - max(since)).days >= limit)
        alias = self.layer.alias if shared else ""
        counts = self.totals.get(card.id, {})
        return weigh(card, counts, brain=alias, first=first, last=last, idle=idle)


class _Part(_Counted):
    """One brain's part of an overview: the cards that are meant, and what was counted of them.

    Without a filter that includes what was counted of cards that are gone.
    """

    def __init__(self, layer: Layer, stage: str | None, project: str | None) -> None:
        super().__init__(layer)
        files = layer.read(lambda one: one.catalogue.all_cards())
        self.cards = [
            card
            for card in files
            if card.kind != NOTE and names(card, stage=stage, project=project)
        ]
        self.notes = sum(card.kind == NOTE for card in files)
        self.known = {card.id for card in files}
        filtered = stage is not None or project is not None
        self.chosen = {card.id for card in self.cards} if filtered else None

    def days(self) -> list[tuple[str, str, int]]:
        return self.outcomes.days(_WEEKLY, self.chosen) if self.outcomes else []

    def sessions(self) -> int:
        if self.chosen is None:
            return self.totals.get(ALL, {}).get(SESSIONS, 0)
        return self.outcomes.sessions(self.chosen) if self.outcomes else 0


def _weekly(days: Iterable[tuple[str, str, int]], today: str) -> tuple[Period, ...]:
    weeks: dict[dt.date, Counter[str]] = {}
    for day, what, times in days:
        if date := read_date(day):
            weeks.setdefault(_monday(date), Counter())[what] += times
    if not weeks:
        return ()
    last = max(_monday(read_date(today) or max(weeks)), *weeks)
    first = max(min(weeks), last - dt.timedelta(weeks=WEEKS - 1))
    mondays = [first + dt.timedelta(weeks=n) for n in range((last - first).days // 7 + 1)]
    return tuple(
        Period(
            start=monday.isoformat(),
            injections=seen[INJECTED],
            checked=seen[ADDRESSED] + seen[UNADDRESSED],
            addressed=seen[ADDRESSED],
            recurrences=seen[RECURRED],
        )
        for monday in mondays
        for seen in [weeks.get(monday, Counter())]
    )


def _monday(date: dt.date) -> dt.date:
    return date - dt.timedelta(days=date.weekday())


def _ranked(names: Iterable[str]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(Counter(names).items(), key=lambda pair: (-pair[1], pair[0])))
