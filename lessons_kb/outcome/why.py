"""Why a session was given the lessons it was given, and what held the others back."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.brain.current_session import session_of
from lessons_kb.find.block import RetrievalOptions, preflight
from lessons_kb.find.retrieve import STILL_TEMPLATE
from lessons_kb.find.search import find_lessons
from lessons_kb.ledger.given import (
    CardOutcome,
    card_digest,
    find_cards,
    list_outcomes,
    read_outcome,
)
from lessons_kb.ledger.session_memory import read_memory
from lessons_kb.model import NOTE, WITHHELD, Card, Preflight, Query
from lessons_kb.preflight.block import NEVER_ALONE
from lessons_kb.preflight.offers import IN_CONTEXT, OFFERED, shown_name
from lessons_kb.store.journal import ASKED, TITLE, Injection
from lessons_kb.text.sanitize import shell_word
from lessons_kb.values import frozen, replace

GATE = "gate.min_confidence"
"""The setting that holds back a card that is not sure enough."""
_MAX_FILES = 3
_LOOKED_AT = 200
_OVER_SECONDS = 3_600
"""Without an event for so long a session is over."""
_RULES = (
    (STILL_TEMPLATE, ""),
    ("suppressed: ", GATE),
    ("offered ", "gate.offer_confidence"),
    ("far weaker", "preflight.weakest"),
    ("beyond max_lessons", "preflight.max_lessons"),
    ("beyond max_notes", "preflight.max_notes"),
    (IN_CONTEXT, "preflight.reinject_after"),
    ("does not fit", "preflight.budget"),
    ("context is off", "preflight.context"),
    (NEVER_ALONE, "preflight.context"),
    ("suppressed by [effect]", "effect.withhold_harmful"),
)
"""How a reason begins → the key of ``lessons.toml`` that decides it."""

NOTED, UNNOTED, DRY = "noted", "unnoted", "dry"


@frozen
class Verdict:
    """One card and what became of it."""

    id: str
    title: str = ""
    """"" for a card that is gone."""
    given: bool
    how: str = "prompt"
    """What it was given for: ``prompt``, ``file`` (about to be changed) or ``compaction``."""
    at: float = 0.0
    """When it was given, seconds since the epoch; 0 = with the prompt."""
    reason: str = ""
    rule: str = ""
    """The setting that held it back, as a dotted key."""
    confidence: float | None = None
    changed: bool = False
    """The card reads differently today."""

    @property
    def offered(self) -> bool:
        """Whether its title was offered."""
        return self.reason.startswith(OFFERED)


@frozen
class Why:
    """What one prompt brought, and what its session was given until the next one."""

    source: str
    """``noted`` when it happened; ``unnoted`` for sessions that noted only what was given; ``dry``:
    asked now."""
    session: str = ""
    agent: str = ""
    at: float = 0.0
    prompt: str = ""
    tokens: int = 0
    verdicts: tuple[Verdict, ...] = ()
    """For the prompt: what was given, then what was held back."""
    later: tuple[Verdict, ...] = ()
    """Given since, in order: before a call that touches a guarded file, or after a compaction."""
    named: tuple[Verdict, ...] = ()
    """Named by title before a change: their files have better guards."""
    earlier: tuple[Verdict, ...] = ()
    """Given before this prompt and still in the session's context."""
    withheld: tuple[str, ...] = ()
    """Ids of cards kept from the session by ``[effect] withhold``; told once it is over."""


def explain_prompt(
    brains: Brains,
    prompt: str,
    *,
    session: str | None = None,
    paths: Sequence[str] = (),
    stage: str | None = None,
) -> Why:
    """Return what a prompt would bring now; nothing is journalled.

    With a ``session`` what that session has in its context is held back.
    """
    options = RetrievalOptions(session=session, paths=tuple(paths), stage=stage, context=False)
    block = preflight(brains, prompt, options, fresh=True, remember=False)
    hits = (*block.lessons, *block.offered, *block.withheld)
    titles = {shown_name(hit): hit.card.title for hit in hits}
    noted = map(_make_verdict, list_outcomes(block))
    told = [replace(one, title=titles[one.id]) for one in noted]
    query = Query(text=prompt, stage=stage, paths=tuple(paths), inactive=True)
    for brain, hit in find_lessons(brains, query):
        name, confidence = shown_name(hit), hit.confidence
        if hit.card.status != "active" and confidence >= brain.settings.gate.offer_confidence:
            reason = f"{hit.card.status}; `lessons restore {shell_word(name)}` makes it active"
            verdict = Verdict(id=name, given=False, reason=reason, confidence=confidence)
            told.insert(len(block.lessons) + len(block.offered), verdict)
    return Why(
        source=DRY, session=session or "", prompt=prompt, tokens=block.tokens, verdicts=tuple(told)
    )


def find_why(brains: Brains, session: str | None = None) -> Why | None:
    """Return what the latest prompt of a session brought, by default of the newest session.

    None when the journal knows of no prompt and of no lesson given.
    """
    brains.refresh()
    members, events = brains.members, brains.members[0].journal.events
    if session is None:
        newest = [brain.journal.injections.newest() for brain in members]
        known = [(float(one[1]), one[0]) for one in newest if one is not None]
        known += [(one.at, one.session) for one in events.find(kinds=ASKED, limit=1)]
        if not known:
            return None
        session = max(known)[1]
    asked = next(iter(events.find(session=session, kinds=ASKED, limit=1)), None)
    rows = [(brain, row) for brain in members for row in brain.journal.injections.of(session)]
    if asked is None and not rows:
        return None
    since = asked.at if asked else float(max(row.at for _brain, row in rows))
    turns = {brain: brain.journal.injections.turn(session) for brain in members}
    # Prompts of no session have no number: there the time must do.
    now = [(x, r) for x, r in rows if (r.turn == turns[x] if turns[x] else r.at >= int(since))]
    before = [(x, r) for x, r in rows if r.in_context and (x, r) not in now] if session else []
    compactions = events.find(session=session, kinds=("compaction",), since=since)
    moments = {int(event.at) for event in compactions}
    told = read_outcome(asked) if asked else None
    noted = [*map(_make_verdict, told or ())]
    ids = {verdict.id.rpartition(":")[2] for verdict in noted}
    ids |= {row.card for _brain, row in rows}
    cards = {brain: {card.id: card for card in find_cards(brain, ids)} for brain in members}

    def tell(brain: Brain, row: Injection, how: str = "prompt", reason: str = "") -> Verdict:
        card = cards[brain].get(row.card)
        clashes = sum(row.card in known for known in cards.values()) > 1
        return Verdict(
            id=f"{brain.alias}:{row.card}" if clashes else row.card,
            title=card.title if card else "",
            given=True,
            how=how,
            at=float(row.at),
            reason=reason,
            changed=card is not None and card_digest(card) != row.digest,
        )

    titles = {
        name: card.title
        for brain in reversed(members)  # the nearest wins
        for card in cards[brain].values()
        for name in (card.id, f"{brain.alias}:{card.id}")
    }
    verdicts = [replace(one, title=titles.get(one.id, "")) for one in noted]
    if told is None:
        verdicts = [tell(*one) for one in now]
    waiting = {verdict.id for verdict in verdicts if verdict.given}
    tokens, later = 0, list[Verdict]()
    # ``brain:card:file`` of every guarded file that the session was about to touch.
    shown = [remark.key for remark in read_memory(members[0].journal, session).shown]
    for brain, row in now:
        prefix = f"{brain.alias}:{row.card}:"
        files = [key.removeprefix(prefix) for key in shown if key.startswith(prefix)]
        if (name := tell(brain, row).id) in waiting:
            waiting.remove(name)
            tokens += row.tokens
        elif row.at in moments:
            reason = "active before the context was compacted"
            later.append(tell(brain, row, "compaction", reason))
        else:
            reason = f"guards {', '.join(files[:_MAX_FILES]) or 'a file at hand'}"
            later.append(tell(brain, row, "file", reason))
    return Why(
        source=UNNOTED if told is None else NOTED,
        session=session,
        agent=asked.agent if asked else "",
        at=since,
        prompt=asked.text if asked else "",
        tokens=tokens,
        verdicts=tuple(verdicts),
        later=tuple(later),
        named=tuple(_find_named(members, shown)),
        earlier=tuple(tell(brain, row) for brain, row in before),
        withheld=_find_withheld(members, session),
    )


def _find_named(brains: Sequence[Brain], shown: Sequence[str]) -> Iterator[Verdict]:
    """Yield the cards of which a change of their file brought the title alone."""
    for brain in brains:
        prefix = f"{TITLE} {brain.alias}:"
        for key in shown:
            if key.startswith(prefix):
                card, _, file = key.removeprefix(prefix).partition(":")
                reason = f"guards {file}, which other lessons guard better: named by its title"
                yield Verdict(id=card, given=False, how="file", reason=reason)


def find_withheld_before(brains: Sequence[Brain], since: float) -> tuple[str, tuple[str, ...]]:
    """Return the last session that something was withheld from, and what, once it is over."""
    rows = (one for brain in brains for one in brain.hook_journal.ledger.find())
    kept = [one for one in rows if one.told == WITHHELD and one.at > since]
    session = max(kept, key=lambda one: one.at).session.partition("/")[0] if kept else ""
    return session, _find_withheld(brains, session)


def _find_withheld(brains: Sequence[Brain], session: str) -> tuple[str, ...]:
    """Return what was withheld from a session, nothing while it may go on: it could be told."""
    last = brains[0].journal.events.find(session=session, limit=1)
    if not last or session_of()[0] == session or time.time() - last[0].at < _OVER_SECONDS:
        return ()
    due = (one for brain in brains for one in brain.journal.ledger.find(session=session))
    return tuple(one.card for one in due if one.told == WITHHELD)


def find_rule(reason: str) -> str:
    """Return the setting that a reason for holding back goes by, "" when none does."""
    if reason.startswith(OFFERED):
        return find_rule(reason.removeprefix(OFFERED)) or GATE
    return next((key for begin, key in _RULES if reason.startswith(begin)), "")


def _make_verdict(card: CardOutcome) -> Verdict:
    """Return what an event's record says of a card."""
    return Verdict(
        id=card.id,
        given=card.given,
        reason=card.reason,
        rule="" if card.given else find_rule(card.reason),
        confidence=card.confidence,
    )


def find_prompt(brains: Brains, card: Card) -> str:
    """Return the latest prompt that was given a card, "" if none is remembered."""
    names = {card.id, *(f"{brain.alias}:{card.id}" for brain in brains.members)}
    asked = brains.members[0].journal.events.find(kinds=ASKED, limit=_LOOKED_AT)
    given = (
        event
        for event in reversed(asked)
        for one in map(_make_verdict, read_outcome(event) or ())
        if one.given and one.id in names
    )
    return next((event.text for event in given), "")


_LARGEST = 1 << 20


def find_least_budget(block: Preflight, attempt: Callable[[int], Preflight]) -> int | None:
    """Return the least budget, in tokens, with which ``attempt`` gives a lesson.

    0 where no budget does, for ``model_context`` is a limit too; None where ``block`` lacks no
    lesson for its budget's sake alone. Some twenty attempts.
    """
    crowded = (find_rule(hit.reason) for hit in block.withheld if hit.card.kind != NOTE)
    if block.lessons or "preflight.budget" not in crowded:
        return None
    if not attempt(_LARGEST).lessons:
        return 0
    return bisect_left(range(_LARGEST), True, key=lambda budget: bool(attempt(budget).lessons))
