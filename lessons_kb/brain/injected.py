"""What a session was given, has in its context, was offered, or is kept from by an experiment."""

from __future__ import annotations

import hmac
import os
import sqlite3
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from lessons_kb.brain.layer import Layer
from lessons_kb.errors import ConfigError, StorageError
from lessons_kb.model import (
    ACT_TOLD,
    BLOCK_TOLD,
    NO_GATE,
    NOTE,
    OFFER_TOLD,
    WITHHELD,
    Card,
    Event,
    Hit,
    Preflight,
)
from lessons_kb.preflight.block import IN_CONTEXT, shown_name
from lessons_kb.store.journal import ASKED, OFFER, read_arm
from lessons_kb.store.settings import WithholdSettings, read_user_settings
from lessons_kb.store.user_state import user_settings_path, withhold_key

SESSION_VARIABLES: Mapping[str, str] = {
    "LESSONS_SESSION": "",
    "CLAUDE_CODE_SESSION_ID": "claude-code",
    "CODEX_THREAD_ID": "codex",
    "GEMINI_SESSION_ID": "gemini-cli",
    "OPENCODE_SESSION_ID": "opencode",
}
"""Variables in which agents tell a command its session → the agent."""


def session_of() -> tuple[str, str]:
    """Return the session in which this process runs and its agent, "" where nobody says so."""
    for name, agent in SESSION_VARIABLES.items():
        if session := os.environ.get(name, ""):
            return session, agent
    return "", ""


def posted_session(user: str, session: str) -> str:
    """Return the name here of a session that a server's user has on another machine.

    No user can name the session of another: names of users hold no space.
    """
    return f"{_POSTED}{user} {session}"


def is_posted(session: str) -> bool:
    """Tell whether a session is that of a server's user: its paths are names, and nothing here."""
    return session.startswith(_POSTED)


_POSTED = "@"


def find_given(layers: Sequence[Layer], session: str | None = None) -> list[Card]:
    """Return the lessons that the latest prompt of a session, or of any, was given or had already.

    Those given since, before a guarded file was touched, are among them. A prompt that was given
    nothing has none, whatever an earlier one was given. Where nobody noted what came of a prompt,
    those of the latest block are returned; a journal that cannot be used knows none.
    """
    try:
        chosen = _find_since_asked(layers, session)
    except (sqlite3.Error, StorageError):
        chosen = None
    if chosen is None:
        chosen = {layer: set(layer.hook_journal.last_injected(session)) for layer in layers}
    return [
        card
        for layer, ids in chosen.items()
        if ids
        for card in layer.read(lambda one: one.catalogue.all_cards())
        if card.id in ids and card.kind != NOTE
    ]


def _find_since_asked(layers: Sequence[Layer], session: str | None) -> dict[Layer, set[str]] | None:
    asked = next(iter(layers[0].journal.events.find(session=session, kinds=ASKED, limit=1)), None)
    noted = read_outcome(asked) if asked else None
    if asked is None or noted is None:
        return None
    for layer in layers:  # something may have been given since, for a prompt that nobody noted
        newest = layer.journal.injections.newest()
        if newest is None or newest[1] <= int(asked.at):
            continue
        if session is None if newest[0] != asked.session else not newest[0]:
            return None
    names = {
        str(one.get("id", ""))
        for one in noted
        if one.get("given") is True or str(one.get("reason", "")).startswith(IN_CONTEXT)
    }
    chosen = {}
    for layer in layers:
        ids = {name.removeprefix(f"{layer.alias}:") for name in names}
        rows = layer.journal.injections.of(asked.session) if asked.session else ()
        chosen[layer] = ids.union(row.card for row in rows if row.at > int(asked.at))
    return chosen


def find_cards(layer: Layer, ids: set[str]) -> list[Card]:
    """Return the cards of a brain by their ids, by path; those that are gone are left out."""
    if not ids or not layer.ensure_indexed():
        return []

    def fetch(one: Layer) -> list[Card]:
        # One by one: a session was given a few, the brain may have twelve thousand.
        rows = [row for path in ids for row in one.catalogue.numbers(path).values()]
        numbers = [number for number, _digest in rows]
        return sorted(one.catalogue.cards(numbers).values(), key=lambda card: card.id)

    return layer.read(fetch)


OUTCOME = "lessons"
"""Key of an event's record under which `outcome` stands."""
MAX_OUTCOME = 8
"""Cards told of a block: those given, then the best of those held back."""


TAKEN = "offer taken"
"""What is counted, once a session, of a card whose title was offered, and then opened or given."""
_DOUBLED_AFTER = 10
_TAKEN_WEIGHS = 3


def find_held(layer: Layer, session: str | None, hit: Hit, least: float) -> str:
    """Return why the title of a hit is not offered now, "" where it is.

    Ten sessions in which nobody opened it double the confidence that an offer takes, one in which
    somebody did makes up for three of them. A card of which the gate is sure is always offered.
    """
    outcomes = layer.hook_journal.outcomes
    if session and outcomes.is_noted(session, hit.card.id, OFFER):
        return "offered already in this session"
    totals = outcomes.totals([hit.card.id]).get(hit.card.id, {})
    offered, taken = totals.get(OFFER, 0), totals.get(TAKEN, 0)
    ignored = max(offered - (1 + _TAKEN_WEIGHS) * taken, 0)
    takes = least * (1 + ignored / _DOUBLED_AFTER)
    if hit.passed or hit.confidence >= takes:
        return ""
    return f"offered in {offered} sessions, taken in {taken}: an offer takes {takes:.2f} by now"


def note_offered(homes: Homes, block: Preflight, session: str, *, at: float) -> None:
    """Count that the titles of cards were offered to a session."""
    for hit in block.offered if session else ():
        journal = homes[hit.brain, hit.card.id].hook_journal
        journal.outcomes.note(session, hit.card.id, OFFER, at=at)
        due = {"session": session, "card": hit.card.id, "at": at}
        journal.ledger.note(**due, occasion="prompt", told=OFFER_TOLD)


def note_taken(layer: Layer, session: str, card: str, *, at: float) -> None:
    """Count that a session opened, or was given, a card whose title it was offered."""
    outcomes = layer.hook_journal.outcomes
    if session and outcomes.is_noted(session, card, OFFER):
        outcomes.note(session, card, TAKEN, at=at)


def read_withholding() -> WithholdSettings:
    """Return what the user has withheld: nothing in a trial, nor where the settings are wrong."""
    if os.path.exists(user_settings_path()):
        with suppress(ConfigError):  # doctor says so
            settings = read_user_settings(WithholdSettings)
            if settings.withhold and not read_arm(os.environ):
                return settings
    return WithholdSettings()


def find_withheld(
    layer: Layer, cards: Iterable[Card], session: str, *, occasion: str = "", at: float = 0.0
) -> set[str]:
    """Return the ids of the lessons that are kept from a session to see what becomes without them.

    A keyed hash of session and card decides, which nobody can steer who does not know the user's
    secret; a subagent's session is its parent's. At an ``occasion`` the ledger notes them. A lesson
    that the session has been given is not withheld.
    """
    settings = read_withholding() if session else WithholdSettings()
    if not settings.withhold:
        return set()
    try:
        key = withhold_key()
    except (StorageError, OSError):
        return set()
    journal, held = layer.hook_journal, set[str]()
    given = journal.outcomes.given(session)
    for card in cards:
        is_weighty = card.gate != NO_GATE or card.severity == "high"
        spared = (is_weighty and not settings.withhold_high) or card.id in given
        about = f"{session.partition('/')[0]}\0{card.id}".encode("utf-8", "replace")
        drawn = int.from_bytes(hmac.digest(key, about, "sha256")[:8])
        if spared or card.kind == NOTE or drawn >= settings.withhold * 2**64:
            continue
        held.add(card.id)
        if occasion:
            due = {"session": session, "card": card.id, "at": at or time.time()}
            journal.ledger.note(**due, occasion=occasion, told=WITHHELD)
    return held


def is_withheld(
    layer: Layer, card: Card, session: str, *, occasion: str = "", at: float = 0.0
) -> bool:
    """Tell whether one lesson is withheld, as `find_withheld` does of several."""
    return bool(find_withheld(layer, [card], session, occasion=occasion, at=at))


Homes = Mapping[tuple[str, str], Layer]
"""A hit's alias and card id → the brain that holds the card; the nearest has a server's."""
Known = Mapping[Layer, set[tuple[str, str]]]
"""Brain → (card id, digest) of the lessons that a session still has in its context."""


def find_known(after: Mapping[Layer, int], session: str, *, coming: int = 0) -> Known:
    """Return what a session still has; ``after``: brain → prompts for which a lesson lasts.

    ``coming`` prompts are about to be counted.
    """
    known = {}
    for layer, prompts in after.items():
        since = layer.hook_journal.injections.turn(session) + coming - prompts
        known[layer] = layer.hook_journal.in_context(session, since_turn=since)
    return known


def is_in_context(known: Known, layer: Layer, card: Card) -> bool:
    """Tell whether a session still has a lesson, as it is now."""
    return (card.id, card_digest(card)) in known.get(layer, ())


def note_given(
    homes: Homes,
    block: Preflight,
    session: str,
    *,
    at: float,
    occasion: str = "prompt",
    counted: bool = True,
) -> list[list[str]]:
    """Journal the lessons of a block; return [root, card id] of each.

    Its tokens are shared out evenly; unless it is ``counted``, it costs nothing.
    """
    rows: dict[Layer, dict[int, tuple[str, str, int]]] = {}
    tokens = block.tokens // max(len(block.lessons), 1) if counted else 0
    for rank, hit in enumerate(block.lessons, 1):
        row = (hit.card.id, card_digest(hit.card), tokens)
        rows.setdefault(homes[hit.brain, hit.card.id], {})[rank] = row
    for layer, cards in rows.items():
        layer.hook_journal.record_injections(
            session,
            turn=layer.hook_journal.injections.turn(session),
            at=at,
            cards=list(cards.values()),
            ranks=list(cards),
            told=BLOCK_TOLD if occasion == "prompt" else ACT_TOLD,
            occasion=occasion,
        )
        for card, *_rest in cards.values():
            note_taken(layer, session, card, at=at)
    return [[homes[hit.brain, hit.card.id].root, hit.card.id] for hit in block.lessons]


def note_preflight(layer: Layer, session: str, prompt: str, block: Preflight, scope: str) -> None:
    """Journal that lessons were asked for, and what came of it."""
    event = Event(
        kind="preflight",
        at=time.time(),
        session=session,
        scope=scope.replace("\\", "/"),
        text=prompt,
        record={OUTCOME: outcome(block)},
    )
    layer.hook_journal.events.append(event)


def outcome(block: Preflight) -> list[dict[str, object]]:
    """Return what a block gave, offered and held back, eight at most, for an event's record."""
    hits = (*block.lessons, *block.notes, *block.offered, *block.withheld)[:MAX_OUTCOME]
    given = len(block.lessons) + len(block.notes)
    return [
        {
            "id": shown_name(hit),
            "given": place < given,
            "confidence": round(hit.confidence, 4),
            "reason": hit.reason,
        }
        for place, hit in enumerate(hits)
    ]


def read_outcome(event: Event) -> list[dict[str, object]] | None:
    """Return what ``outcome`` told of an event, None where nobody noted it."""
    noted = event.record.get(OUTCOME)
    return [one for one in noted if isinstance(one, dict)] if isinstance(noted, list) else None


def card_digest(card: Card) -> str:
    """Return what changes when the card would read differently in a block."""
    return f"{zlib.crc32(repr((card.title, card.why, card.checklist)).encode()):08x}"
