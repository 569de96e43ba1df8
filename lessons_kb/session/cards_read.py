"""Cards that the agent reads by itself: the titles that it is offered, and those it has opened."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Sequence

from lessons_kb.brain.catalogue import build_catalogue
from lessons_kb.brain.injected import card_digest, find_cards
from lessons_kb.brain.layers import Layers, freshen
from lessons_kb.errors import ConfigError, StorageError
from lessons_kb.model import DONE, Event
from lessons_kb.session.state import Hook, TurnState, turn_state
from lessons_kb.session.turn_lessons import Found
from lessons_kb.store.journal import OPENED
from lessons_kb.store.scan import SUFFIXES

_SHOW = r"\blessons show ([^\s;&|-][^\s;&|]*)"


def find_titles(hook: Hook, brain: Layers | None = None) -> str:
    """Return the titles of the cards that the agent can open, "" where it can open none.

    ``brain`` was looked at for changed files just now.
    """
    if hook.event.posted:
        return ""
    can = hook.can
    try:
        return build_catalogue(
            brain or freshen(hook.brain)[0],
            hook.event.directory,
            outside=can.reads_outside,
            most=can.tokens,
            counter=can.count_tokens,
        )
    except (ConfigError, StorageError):  # told where a prompt is answered
        return ""


def find_opened(hook: Hook, calls: Iterable[Event]) -> list[Found]:
    """Return the cards whose files some calls have read, or that ``lessons show`` has printed."""
    files: list[str] = []
    names: set[str] = set()
    for call in calls:
        if call.outcome in DONE and call.kind == "read":
            paths = (os.path.expanduser(path) for path in call.targets if path.endswith(SUFFIXES))
            files += (os.path.realpath(os.path.join(hook.scope, path)) for path in paths)
        elif call.outcome in DONE and "lessons show" in call.text:
            names |= {name.strip("\"'") for name in re.findall(_SHOW, call.text)}
    found: list[Found] = []
    for layer in hook.brain.layers if (files or names) and not hook.event.posted else ():
        below = [path for path in files if path.startswith(layer.root + os.sep)]
        ids = {os.path.relpath(path, layer.root).replace(os.sep, "/") for path in below}
        known = layer.read(lambda one: one.catalogue.numbers()) if names else ()
        ids |= {path for path in known if not names.isdisjoint(_names(path))}
        found += [(layer, card) for card in find_cards(layer, ids)]
    return found


def _names(path: str) -> tuple[str, ...]:
    """Return what a card can be called: its path or its file, with or without their ending."""
    file = posixpath.basename(path)
    return path, posixpath.splitext(path)[0], file, posixpath.splitext(file)[0]


def note_opened(state: TurnState, session: str, found: Sequence[Found], *, at: float) -> None:
    """Note that a session has read cards: they count as given in this turn.

    Those that may not be given are passed over.
    """
    for layer, card in found:
        if not card.is_injectable:
            continue
        journal, row = layer.session_journal, (card.id, card_digest(card))
        turn = journal.injections.turn(session)
        if row not in journal.in_context(session, since_turn=turn):
            journal.record_injections(
                session, turn=turn, at=int(at), cards=[(*row, 0)], ranks=[0], source=OPENED
            )
        state.note_given([[layer.root, card.id]])


def note_shown(brain: Layers, session: str, found: Found, *, at: float) -> None:
    """Note that a command or tool of ours has shown a session a card."""
    with turn_state(brain.layers[0].session_journal, session) as state:
        note_opened(state, session, [found], at=at)
