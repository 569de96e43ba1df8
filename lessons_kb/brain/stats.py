"""The noun ``brain.stats``: what the cards did, what the journal counted of them, and marks."""

from __future__ import annotations

import contextlib
import datetime as dt
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from lessons_kb.brain.cards import Cards, day_or_today, names_project, names_stage
from lessons_kb.brain.detection import Months, glance
from lessons_kb.brain.drafts import Drafts
from lessons_kb.brain.injected import find_cards, session_of
from lessons_kb.brain.layer import Layer
from lessons_kb.brain.layers import Layers
from lessons_kb.errors import InputError, StorageError
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
from lessons_kb.learn.signs import TOLD, Sign, find_signs, is_about, phrases_of
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
    outcomes = layer.journal.outcomes
    firsts = outcomes.first_given(without=BEFORE)
    if only is not None:
        firsts = {card: at for card, at in firsts.items() if card == only}
    cards = {card.id: card for card in find_cards(layer, set(firsts))}
    if not cards:
        return
    nearest = brain.layers[0].journal
    until = max(firsts[card] for card in cards)
    called: dict[str, list[bool]] = {card: [] for card in cards}
    asked = nearest.events.asked(until=until)
    for session, began in asked[:: -(-len(asked) // MAX_SESSIONS) or 1]:
        waiting = {card: cards[card] for card in cards if began < firsts[card]}
        given = outcomes.given(session) if waiting else ()
        for card, seen in _called(brain, session, waiting).items():
            if card not in given:
                called[card].append(seen)
    for card, sessions in called.items():
        _keep(outcomes, card, firsts[card], sessions)


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


def _keep(outcomes: Outcomes, card: str, first: float, sessions: list[bool]) -> None:
    if True in sessions:
        taught = len(sessions) - 1 - sessions[::-1].index(True)
        sessions = sessions[:taught] + sessions[taught + 1 :]
    day = time.strftime("%Y-%m-%d", time.localtime(first))
    outcomes.keep(card, day, {BEFORE: len(sessions), BEFORE_RECURRED: sum(sessions)})


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
        effects = [effect for part in parts for effect in part.effects(day, homes, added)]
        effects.sort(key=lambda effect: (-effect.injections, effect.card.id))
        sums: Counter[str] = Counter()
        for part in parts:
            sums.update(part.sums())
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
        counts = _Counted.of(layer, card.id)
        stale = layer.settings.learn.stale_days
        idle = _is_idle(card, counts.first_day, day_or_today(today), stale)
        others = (one for one in self._brain.layers if one is not layer)
        shared = any(one.read(lambda at: at.catalogue.numbers(card.id)) for one in others)
        return counts.weigh(card, brain=layer.alias if shared else "", idle=idle)


class _Part:
    """One brain's part of an overview: the cards that are meant, and what was counted of them.

    Without a filter that includes what was counted of cards that are gone.
    """

    def __init__(self, layer: Layer, stage: str | None, project: str | None) -> None:
        files = layer.read(lambda one: one.catalogue.all_cards())
        self.cards = [
            card
            for card in files
            if card.kind != NOTE and names_stage(card, stage) and names_project(card, project)
        ]
        self.notes = sum(card.kind == NOTE for card in files)
        self.known = {card.id for card in files}
        self._alias = layer.alias
        self._stale_days = layer.settings.learn.stale_days
        self._counts = _Counted.of(layer)
        filtered = stage is not None or project is not None
        self._ids = {card.id for card in self.cards} if filtered else None

    def effects(
        self, day: str, homes: Mapping[str, int], added: Mapping[tuple[str, str], Months]
    ) -> list[Effect]:
        """Return what each card did.

        ``homes`` says in how many brains an id is, ``added`` what commits added, by brain and id.
        """
        first = self._counts.first_day
        return [
            replace(
                self._counts.weigh(
                    card,
                    brain=self._alias if homes[card.id] > 1 else "",
                    idle=_is_idle(card, first, day, self._stale_days),
                ),
                added=added.get((self._alias, card.id), ()),
            )
            for card in self.cards
            if card.status != "archived"
        ]

    def sums(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for card, counts in self._counts.totals.items():
            if card != ALL and (self._ids is None or card in self._ids):
                found.update(counts)
        return found

    def days(self) -> list[tuple[str, str, int]]:
        return self._counts.days(self._ids)

    def sessions(self) -> int:
        return self._counts.sessions(self._ids)


class _Counted:
    """What the journal of one brain counted, of all cards or of one."""

    def __init__(self, outcomes: Outcomes | None, card: str | None) -> None:
        self._outcomes = outcomes
        self.totals: dict[str, dict[str, int]] = {}
        self.first_day: str | None = None
        self._span: dict[str, tuple[str, str]] = {}
        if outcomes is not None:
            self.totals = outcomes.totals(None if card is None else [card])
            self.first_day = outcomes.first_day()
            self._span = outcomes.span(card)

    @classmethod
    def of(cls, layer: Layer, card: str | None = None) -> _Counted:
        try:
            return cls(layer.journal.outcomes, card)
        except StorageError:
            return cls(None, card)

    def weigh(self, card: Card, *, brain: str, idle: bool) -> Effect:
        first, last = self._span.get(card.id, (None, None))
        counts = self.totals.get(card.id, {})
        return weigh(card, counts, brain=brain, first=first, last=last, idle=idle)

    def days(self, cards: set[str] | None) -> list[tuple[str, str, int]]:
        return [] if self._outcomes is None else self._outcomes.days(_WEEKLY, cards)

    def sessions(self, cards: set[str] | None) -> int:
        if self._outcomes is None:
            return 0
        if cards is None:
            return self.totals.get(ALL, {}).get(SESSIONS, 0)
        return self._outcomes.sessions(cards)


def _is_idle(card: Card, watched: str | None, today: str, stale_days: int) -> bool:
    """Return whether a card could have been given for long, as far as its dates tell."""
    dated = [day for day in (card.created, card.last_seen) if day]
    since = [day for day in map(read_date, (*dated, watched or today)) if day]
    now = read_date(today)
    return bool(dated and now and since and (now - max(since)).days >= stale_days)


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
