"""Lessons that are withheld from a session to see what becomes without them."""

from __future__ import annotations

import hmac
import os
import time
from collections.abc import Iterable
from contextlib import suppress

from lessons_kb.brain.brain import Brain
from lessons_kb.errors import ConfigError, StorageError
from lessons_kb.model import NO_GATE, NOTE, RULE, WITHHELD, Card
from lessons_kb.store.journal import read_arm
from lessons_kb.store.locations import user_settings_path
from lessons_kb.store.secrets import withhold_key
from lessons_kb.store.user_settings import WithholdSettings, read_user_settings


def read_withholding() -> WithholdSettings:
    """Return what the user has withheld: nothing in a trial, nor where the settings are wrong."""
    if os.path.exists(user_settings_path()):
        with suppress(ConfigError):  # doctor says so
            settings = read_user_settings(WithholdSettings)
            if settings.withhold and not read_arm(os.environ):
                return settings
    return WithholdSettings()


def find_withheld(
    brain: Brain, cards: Iterable[Card], session: str, *, occasion: str = "", at: float = 0.0
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
    journal, held = brain.hook_journal, set[str]()
    given = journal.outcomes.given(session)
    for card in cards:
        is_weighty = card.gate != NO_GATE or card.severity == "high"
        spared = (is_weighty and not settings.withhold_high) or card.id in given
        about = f"{session.partition('/')[0]}\0{card.id}".encode("utf-8", "replace")
        drawn = int.from_bytes(hmac.digest(key, about, "sha256")[:8])
        if spared or card.kind == NOTE or card.source == RULE or drawn >= settings.withhold * 2**64:
            continue
        held.add(card.id)
        if occasion:
            due = {"session": session, "card": card.id, "at": at or time.time()}
            journal.ledger.note(**due, occasion=occasion, told=WITHHELD)
    return held


def is_withheld(
    brain: Brain, card: Card, session: str, *, occasion: str = "", at: float = 0.0
) -> bool:
    """Tell whether one lesson is withheld, as `find_withheld` does of several."""
    return bool(find_withheld(brain, [card], session, occasion=occasion, at=at))
