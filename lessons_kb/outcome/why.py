"""Explain which lessons a session got, and why it did not get other lessons."""

from __future__ import annotations

import re
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import log

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.brain.current_session import session_of
from lessons_kb.find.block import RetrievalOptions, preflight
from lessons_kb.find.retrieve import STILL_TEMPLATE
from lessons_kb.find.search import HIT_LIMIT, find_guarding, find_lessons
from lessons_kb.ledger.given import (
    WORDS_ONLY,
    CardOutcome,
    card_digest,
    find_cards,
    list_outcomes,
    read_outcome,
)
from lessons_kb.ledger.session_memory import read_memory
from lessons_kb.model import NOTE, WITHHELD, Card, Event, Hit, Preflight, Query
from lessons_kb.on_demand import BROAD_PATHS, load
from lessons_kb.preflight.block import NEVER_ALONE, SAME_PART, TITLE_ONLY
from lessons_kb.preflight.offers import IN_CONTEXT, OFFERED, shown_name
from lessons_kb.relevance.background_prompts import share_of
from lessons_kb.store.journal import ASKED, TITLE, Injection
from lessons_kb.text.analyzer import analyze
from lessons_kb.text.paths import relative_path
from lessons_kb.text.sanitize import shell_word
from lessons_kb.values import frozen, replace

GATE = "gate.min_confidence"
"""The setting that suppresses a card with too little confidence."""
_EXPLAINED = 3
"""The maximum number of cards for which the missing words are searched, because each card takes
several searches.
"""
_MOST_MISSING = 4
"""The maximum number of missing words, because nobody would have typed more."""
_MAX_FILES = 3
_MAX_PROMPTS = 200
_OVER_SECONDS = 3_600
"""The number of seconds without an event after which a session is over."""
_RULES = (
    (STILL_TEMPLATE, ""),
    (SAME_PART, ""),
    (TITLE_ONLY, ""),
    ("suppressed: ", GATE),
    ("offered ", "gate.offer_confidence"),
    ("weaker", "preflight.weakest"),
    ("far weaker", "preflight.weakest"),  # in records of earlier versions
    ("beyond max_lessons", "preflight.max_lessons"),
    ("beyond max_notes", "preflight.max_notes"),
    (IN_CONTEXT, "preflight.reinject_after"),
    ("does not fit", "preflight.budget"),
    ("context is off", "preflight.context"),
    (NEVER_ALONE, "preflight.context"),
    ("suppressed by [effect]", "effect.withhold_harmful"),
)
"""Pairs (beginning of a reason, key of ``lessons.toml`` that decides it)."""

NOTED, UNNOTED, DRY = "noted", "unnoted", "dry"


@frozen
class Verdict:
    """Whether one card was given, and why."""

    id: str
    title: str = ""
    """The title of the card, or "" if the card was deleted."""
    symptom: str = ""
    """The symptom of a given or offered card that is closest to the prompt, or ""."""
    given: bool
    how: str = "prompt"
    """The occasion, which is ``prompt``, ``file`` (before its change) or ``compaction``."""
    at: float = 0.0
    """The time when it was given, in seconds since the epoch, or 0 if it was given with the
    prompt.
    """
    reason: str = ""
    rule: str = ""
    """The setting that suppressed it, as a dotted key."""
    confidence: float | None = None
    lesson_at: float | None = None
    """The confidence from which the brain gives a lesson."""
    title_at: float | None = None
    """The confidence from which it offers a title."""
    missing: tuple[str, ...] = ()
    """The words of the card's title that the prompt does not have. With these words, the card would
    be given.
    """
    with_missing: float | None = None
    """The confidence with these words in the prompt."""
    changed: bool = False
    """Whether the card has changed since then."""

    @property
    def is_below_threshold(self) -> bool:
        """Return whether the gate suppressed the card because of its low confidence."""
        if self.rule != GATE or "not-for" in self.reason:
            return False
        if self.confidence is None or self.lesson_at is None:
            return True
        return self.confidence < self.lesson_at

    @property
    def offered(self) -> bool:
        """Whether the title of the card was offered."""
        return self.reason.startswith(OFFERED)


@frozen
class Why:
    """The lessons of one prompt, and the lessons that its session got until the next prompt."""

    source: str
    """The source is ``noted`` if it comes from the prompt's record, ``unnoted`` for sessions that
    recorded only the given lessons, and ``dry`` if the prompt was run just now.
    """
    session: str = ""
    agent: str = ""
    at: float = 0.0
    prompt: str = ""
    tokens: int = 0
    verdicts: tuple[Verdict, ...] = ()
    """The verdicts for the prompt, with the given cards first and then the suppressed cards."""
    later: tuple[Verdict, ...] = ()
    """Cards that were given since then, in order, before the change of a file or after a
    compaction.
    """
    named: tuple[Verdict, ...] = ()
    """Cards whose titles alone were given before a change, because other cards fit better."""
    earlier: tuple[Verdict, ...] = ()
    """Cards given before this prompt that are still in the session's context."""
    withheld: tuple[str, ...] = ()
    """Ids of cards withheld from the session by ``[effect] withhold``. It is empty until the
    session is over.
    """
    words_only: bool = False
    """Whether the prompt was answered without the model, although it is installed."""


def explain_prompt(
    brains: Brains,
    prompt: str,
    *,
    session: str | None = None,
    paths: Sequence[str] = (),
    stage: str | None = None,
) -> Why:
    """Explain the lessons that a prompt gets at present. Nothing is journalled.

    With a ``session``, the lessons in the context of this session are suppressed.
    """
    options = RetrievalOptions(session=session, paths=tuple(paths), stage=stage, context=False)
    block = preflight(brains, prompt, options, fresh=True, remember=False)
    hits = (*block.lessons, *block.offered, *block.withheld)
    cards = {shown_name(hit): hit.card for hit in hits}
    verdicts = [_describe_card(_make_verdict(card), cards, prompt) for card in list_outcomes(block)]
    query = Query(text=prompt, stage=stage, paths=tuple(paths), limit=HIT_LIMIT)
    verdicts = _explain_nearest(brains, query, verdicts)
    verdicts = _explain_broad_paths(brains, paths, verdicts)
    query = Query(text=prompt, stage=stage, paths=tuple(paths), inactive=True)
    for brain, hit in find_lessons(brains, query):
        name = shown_name(hit)
        confidence = hit.confidence
        if hit.card.status != "active" and confidence >= brain.settings.gate.offer_confidence:
            reason = f"{hit.card.status}; `lessons restore {shell_word(name)}` makes it active"
            verdict = Verdict(id=name, given=False, reason=reason, confidence=confidence)
            verdicts.insert(len(block.lessons) + len(block.offered), verdict)
    return Why(
        source=DRY,
        session=session or "",
        prompt=prompt,
        tokens=block.tokens,
        verdicts=tuple(verdicts),
    )


def _explain_broad_paths(
    brains: Brains, paths: Sequence[str], verdicts: Sequence[Verdict]
) -> list[Verdict]:
    """Add to the reason of each card that guards ``paths`` why an edit does not bring the card."""
    here = brains.directory
    notes: dict[str, str] = {}
    for path in paths:
        for card in find_guarding(brains, relative_path(path, here, cwd=here)):
            if card.id not in notes:
                notes[card.id] = load(BROAD_PATHS).explain_broad_paths(card, here)
    explained = []
    for verdict in verdicts:
        note = notes.get(verdict.id.rpartition(":")[2], "")
        reason = f"{verdict.reason}; {note}" if note and verdict.reason else verdict.reason or note
        explained.append(replace(verdict, reason=reason))
    return explained


def _describe_card(verdict: Verdict, cards: Mapping[str, Card], prompt: str) -> Verdict:
    """Add the title of a card and, if it was given or offered, its symptom closest to a prompt."""
    card = cards.get(verdict.id)
    if card is None:
        return verdict
    reached = verdict.given or verdict.offered
    symptom = _find_closest_symptom(card, prompt) if reached else ""
    return replace(verdict, title=card.title, symptom=symptom)


def _find_closest_symptom(card: Card, prompt: str) -> str:
    """Return the symptom that shares the rarest words with a prompt, or "" if none shares any."""
    asked = set(analyze(prompt))
    closest, most = "", 0.0
    for symptom in card.symptoms:
        shared = asked.intersection(analyze(symptom))
        nats = sum(-log(share_of(term)) for term in shared)
        if nats > most:
            closest, most = symptom, nats
    return closest


def find_why(brains: Brains, session: str | None = None) -> Why | None:
    """Return the lessons of the latest prompt of a session, which is by default the newest session.

    Return None if the journal has neither a prompt nor an injection.
    """
    brains.refresh()
    members = brains.members
    if session is None:
        session = _find_newest_session(members)
    if session is None:
        return None
    events = members[0].journal.events
    prompt = next(iter(events.find(session=session, kinds=ASKED, limit=1)), None)
    injections = _list_injections(members, session)
    if prompt is None and not injections:
        return None
    since = prompt.at if prompt else float(max(row.at for _brain, row in injections))
    current, earlier = _divide_by_turn(members, injections, session, since)
    outcomes = read_outcome(prompt) if prompt else None
    noted = [_make_verdict(card) for card in outcomes or ()]
    ids = {verdict.id.rpartition(":")[2] for verdict in noted}
    ids |= {row.card for _brain, row in injections}
    cards = _CardsByBrain(members, ids)
    by_name = cards.list_by_name()
    text = prompt.text if prompt else ""
    verdicts = [_describe_card(verdict, by_name, text) for verdict in noted]
    if prompt is not None and outcomes is not None:
        query = Query(text=prompt.text, limit=HIT_LIMIT)
        verdicts = _explain_nearest(brains, query, verdicts)
    if outcomes is None:
        verdicts = [cards.make_verdict(brain, row) for brain, row in current]
    compactions = events.find(session=session, kinds=("compaction",), since=since)
    # The cards are recorded a moment after the compaction, perhaps in the next second.
    compacted_at = {int(event.at) + delay for event in compactions for delay in (0, 1)}
    # Keys ``brain:card:file`` of the files that the session was about to change.
    shown = [remark.key for remark in read_memory(members[0].journal, session).shown]
    with_prompt = {verdict.id for verdict in verdicts if verdict.given}
    tokens = 0
    later: list[Verdict] = []
    for brain, row in current:
        verdict = cards.make_verdict(brain, row)
        if verdict.id in with_prompt:
            with_prompt.remove(verdict.id)
            tokens += row.tokens
        elif not session and outcomes is not None:
            # Outside a session no file is edited, so another prompt of this second got the card.
            continue
        elif row.at in compacted_at:
            reason = "active before the context was compacted"
            later.append(replace(verdict, how="compaction", reason=reason))
        else:
            prefix = f"{brain.alias}:{row.card}:"
            files = [key.removeprefix(prefix) for key in shown if key.startswith(prefix)]
            reason = f"guards {', '.join(files[:_MAX_FILES]) or 'a file at hand'}"
            later.append(replace(verdict, how="file", reason=reason))
    return Why(
        source=UNNOTED if outcomes is None else NOTED,
        session=session,
        agent=prompt.agent if prompt else "",
        at=since,
        prompt=prompt.text if prompt else "",
        tokens=tokens,
        verdicts=tuple(verdicts),
        later=tuple(later),
        named=tuple(_find_named(members, shown)),
        earlier=tuple(cards.make_verdict(brain, row) for brain, row in earlier),
        withheld=_find_withheld(members, session),
        words_only=_lacked_model(members[0], prompt),
    )


def _lacked_model(brain: Brain, prompt: Event | None) -> bool:
    """Return whether the model is installed, but a prompt was answered before the model was
    loaded.
    """
    if prompt is None or not prompt.record.get(WORDS_ONLY):
        return False
    return brain.meaning is not None


Injected = list[tuple[Brain, Injection]]


def _find_newest_session(brains: Sequence[Brain]) -> str | None:
    """Return the session of the newest prompt or injection."""
    sessions: list[tuple[float, str]] = []
    for brain in brains:
        newest = brain.journal.injections.newest()
        if newest is not None:
            sessions.append((float(newest[1]), newest[0]))
    prompts = brains[0].journal.events.find(kinds=ASKED, limit=1)
    sessions += [(prompt.at, prompt.session) for prompt in prompts]
    return max(sessions)[1] if sessions else None


def _list_injections(brains: Sequence[Brain], session: str) -> Injected:
    injections: Injected = []
    for brain in brains:
        injections += [(brain, row) for row in brain.journal.injections.of(session)]
    return injections


def _divide_by_turn(
    brains: Sequence[Brain], injections: Injected, session: str, since: float
) -> tuple[Injected, Injected]:
    """Return the injections of the latest turn, and the earlier injections that are still in the
    context.
    """
    turns = {brain: brain.journal.injections.turn(session) for brain in brains}
    current: Injected = []
    earlier: Injected = []
    for brain, row in injections:
        # Prompts without a session do not have turns, so their time decides.
        is_current = row.turn == turns[brain] if turns[brain] else row.at >= int(since)
        if is_current:
            current.append((brain, row))
        elif row.in_context and session:
            earlier.append((brain, row))
    return current, earlier


class _CardsByBrain:
    """The present cards with some ids, by brain."""

    def __init__(self, brains: Sequence[Brain], ids: set[str]) -> None:
        self._cards = {
            brain: {card.id: card for card in find_cards(brain, ids)} for brain in brains
        }

    def list_by_name(self) -> dict[str, Card]:
        """Return a mapping from ids, with and without the alias of the brain, to cards. The
        nearest brain wins.
        """
        by_name: dict[str, Card] = {}
        for brain, cards in reversed(self._cards.items()):
            for card in cards.values():
                by_name[card.id] = card
                by_name[f"{brain.alias}:{card.id}"] = card
        return by_name

    def make_verdict(self, brain: Brain, row: Injection) -> Verdict:
        """Return the verdict for an injection."""
        card = self._cards[brain].get(row.card)
        is_shared = sum(row.card in cards for cards in self._cards.values()) > 1
        return Verdict(
            id=f"{brain.alias}:{row.card}" if is_shared else row.card,
            title=card.title if card else "",
            given=True,
            at=float(row.at),
            changed=card is not None and card_digest(card) != row.digest,
        )


def _find_named(brains: Sequence[Brain], shown: Sequence[str]) -> Iterator[Verdict]:
    """Yield the cards whose titles alone were given before a change of their file."""
    for brain in brains:
        prefix = f"{TITLE} {brain.alias}:"
        for key in shown:
            if key.startswith(prefix):
                card, _, file = key.removeprefix(prefix).partition(":")
                reason = f"guards {file}, which other lessons guard better: named by its title"
                yield Verdict(id=card, given=False, how="file", reason=reason)


def find_withheld_before(brains: Sequence[Brain], since: float) -> tuple[str, tuple[str, ...]]:
    """Return the last session from which a lesson was withheld, and these lessons if it is over."""
    session, latest = "", since
    for brain in brains:
        for occasion in brain.hook_journal.ledger.find():
            if occasion.told == WITHHELD and occasion.at > latest:
                session = occasion.session.partition("/")[0]
                latest = occasion.at
    return session, _find_withheld(brains, session)


def _find_withheld(brains: Sequence[Brain], session: str) -> tuple[str, ...]:
    """Return the lessons withheld from a session.

    The result is empty while the session may continue, because its agent could read the lessons
    here.
    """
    last = brains[0].journal.events.find(session=session, limit=1)
    if not last or session_of()[0] == session or time.time() - last[0].at < _OVER_SECONDS:
        return ()
    withheld: list[str] = []
    for brain in brains:
        occasions = brain.journal.ledger.find(session=session)
        withheld += [occasion.card for occasion in occasions if occasion.told == WITHHELD]
    return tuple(withheld)


def find_rule(reason: str) -> str:
    """Return the setting that decides a reason for suppression, or "" if no setting does."""
    why_not_given = reason.removeprefix(OFFERED)
    for beginning, key in _RULES:
        if why_not_given.startswith(beginning):
            return key
    return GATE if reason.startswith(OFFERED) else ""


def _make_verdict(card: CardOutcome) -> Verdict:
    """Return the verdict for a card in a prompt's record."""
    return Verdict(
        id=card.id,
        given=card.given,
        reason=card.reason,
        rule="" if card.given else find_rule(card.reason),
        confidence=card.confidence,
        lesson_at=card.lesson_at,
        title_at=card.title_at,
    )


def _explain_nearest(brains: Brains, query: Query, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the verdicts. The missing words are added to the first verdicts that the gate
    suppressed.
    """
    explained: list[Verdict] = []
    found: Sequence[tuple[Brain, Hit]] | None = None
    left = _EXPLAINED
    for verdict in verdicts:
        if verdict.is_below_threshold and left:
            if found is None:
                found = find_lessons(brains, query)
            explained.append(_find_missing(brains, query, verdict, found))
            left -= 1
        else:
            explained.append(verdict)
    return explained


def _find_missing(
    brains: Brains, query: Query, verdict: Verdict, found: Sequence[tuple[Brain, Hit]]
) -> Verdict:
    """Return a verdict with the words that the prompt lacks, if with a few more words of the
    card's title the card is given.

    ``found`` are the hits of the prompt as it is.
    """
    same = [(brain, hit.card) for brain, hit in found if shown_name(hit) == verdict.id]
    if not same:
        return verdict
    words = _find_lacking_words(same[0][1].title, query.text)
    for count in range(1, min(len(words), _MOST_MISSING) + 1):
        missing = words[:count]
        longer = replace(query, text=f"{query.text} {' '.join(missing)}")
        for brain, likely in find_lessons(brains, longer):
            if (brain, likely.card) == same[0] and likely.passed:
                return replace(verdict, missing=tuple(missing), with_missing=likely.confidence)
    return verdict


def _find_lacking_words(title: str, prompt: str) -> list[str]:
    """Return the words of a title that a prompt does not have, with the rarest first."""
    asked = set(analyze(prompt))
    lacking: dict[str, float] = {}
    for word in re.findall(r"\w[\w.'-]*", title):
        terms = analyze(word)
        if terms and asked.isdisjoint(terms):
            lacking[word] = min(map(share_of, terms))
    return sorted(lacking, key=lacking.__getitem__)


def find_prompt(brains: Brains, card: Card, session: str | None = None) -> str:
    """Return the latest prompt, of a given session or of any session, that got a card. Return "" if
    there is none.
    """
    names = {card.id, *(f"{brain.alias}:{card.id}" for brain in brains.members)}
    events = brains.members[0].journal.events
    prompts = events.find(session=session, kinds=ASKED, limit=_MAX_PROMPTS)
    for prompt in reversed(prompts):
        outcomes = read_outcome(prompt) or ()
        if any(outcome.given and outcome.id in names for outcome in outcomes):
            return prompt.text
    return ""


_LARGEST = 1 << 20


def find_least_budget(block: Preflight, attempt: Callable[[int], Preflight]) -> int | None:
    """Return the minimum budget, in tokens, for which ``attempt`` returns a lesson.

    Return None if ``block`` has a lesson, or if its budget withheld none. Return 0 if even the
    largest budget gives no lesson, because ``model_context`` is a limit as well. About twenty
    attempts are made.
    """
    rules = [find_rule(hit.reason) for hit in block.withheld if hit.card.kind != NOTE]
    if block.lessons or "preflight.budget" not in rules:
        return None
    if not attempt(_LARGEST).lessons:
        return 0
    # A binary search: a budget with a lesson is followed only by budgets with a lesson.
    return bisect_left(range(_LARGEST), True, key=lambda budget: bool(attempt(budget).lessons))
