"""Withhold lessons from some sessions. These form the control group that shows the effect of
lessons.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from lessons_kb.brain.brain import Brain
from lessons_kb.errors import ConfigError, StorageError
from lessons_kb.model import NO_GATE, NOTE, RULE, WITHHELD, Card
from lessons_kb.on_demand import KEYED_HASHES, SECRETS, USER_SETTINGS, load
from lessons_kb.store.journal import read_arm
from lessons_kb.store.locations import user_settings_path

if TYPE_CHECKING:
    from lessons_kb.store.user_settings import WithholdSettings


def is_withholding() -> bool:
    """Return whether the user withholds lessons from some sessions."""
    return _read_settings() is not None


def _read_settings() -> WithholdSettings | None:
    """Return the user's settings for withholding. Return None if no lesson is withheld, as in a
    trial, or if the settings are invalid.
    """
    if not os.path.exists(user_settings_path()):
        return None
    user_settings = load(USER_SETTINGS)
    with suppress(ConfigError):  # `lessons doctor` reports it
        settings: WithholdSettings = user_settings.read_user_settings(
            user_settings.WithholdSettings
        )
        if settings.withhold and not read_arm(os.environ):
            return settings
    return None


def find_withheld(
    brain: Brain, cards: Iterable[Card], session: str, *, occasion: str = "", at: float = 0.0
) -> set[str]:
    """Return the ids of the lessons that are withheld from a session.

    A keyed hash of session and card decides, so that nobody can choose without the user's secret. A
    subagent belongs to the session of its parent. With an ``occasion``, the ledger records the
    withheld lessons. A lesson that was already given in the session is not withheld.
    """
    settings = _read_settings() if session else None
    if settings is None:
        return set()
    try:
        key = load(SECRETS).withhold_key()
    except (StorageError, OSError):
        return set()
    journal = brain.hook_journal
    withheld = set[str]()
    given = journal.outcomes.given(session)
    for card in cards:
        is_weighty = card.gate != NO_GATE or card.severity == "high"
        is_exempt = (is_weighty and not settings.withhold_high) or card.id in given
        message = f"{session.partition('/')[0]}\0{card.id}".encode("utf-8", "replace")
        number = int.from_bytes(load(KEYED_HASHES).digest(key, message, "sha256")[:8])
        is_no_lesson = card.kind == NOTE or card.source == RULE
        if is_exempt or is_no_lesson or number >= settings.withhold * 2**64:
            continue
        withheld.add(card.id)
        if occasion:
            due = {"session": session, "card": card.id, "at": at or time.time()}
            journal.ledger.note(**due, occasion=occasion, told=WITHHELD)
    return withheld


def is_withheld(
    brain: Brain, card: Card, session: str, *, occasion: str = "", at: float = 0.0
) -> bool:
    """Return whether one lesson is withheld from a session; see `find_withheld`."""
    return bool(find_withheld(brain, [card], session, occasion=occasion, at=at))
