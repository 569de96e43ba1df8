"""What is said of a mistake that was found in a call, before it is made and after."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable
from typing import TYPE_CHECKING

from lessons_kb.guards.file_names import relative_path, show_path
from lessons_kb.guards.tool_calls import digest_arguments
from lessons_kb.model import SERVED, Card
from lessons_kb.session.event import HookEvent
from lessons_kb.text.redact import redact
from lessons_kb.text.sanitize import defang_line

if TYPE_CHECKING:  # the event after a call needs but the names of calls
    from lessons_kb.brain.detect_in_change import Detected
    from lessons_kb.brain.layer import Layer
    from lessons_kb.detect.matcher import Match

_MAX_LINES = 5
_MAX_TITLE = 160


def tell_before(detected: Iterable[Detected], directory: str, *, given: Container[str] = ()) -> str:
    """Return the lines that a call is about to add or run, each with its lesson.

    The titles of the cards that are ``given`` stand in the block that comes with it.
    """
    lines = [
        f"- {name_place(match)} — {name_card(one.layer, one.card, directory, given=given)}"
        for one in detected
        for match in one.matches
    ]
    more = [f"- … {len(lines) - _MAX_LINES} more"] if len(lines) > _MAX_LINES else []
    return "\n".join(["This is a mistake that a lesson describes:", *lines[:_MAX_LINES], *more])


def tell_after(one: Detected, directory: str) -> str:
    """Return what is said when the change was made all the same."""
    places = ", ".join(map(name_place, one.matches[:_MAX_LINES]))
    return (
        f"The change went in with {places}, a mistake that a lesson describes: "
        f"{name_card(one.layer, one.card, directory)}. Fix it, or say why it is right here."
    )


def name_place(match: Match) -> str:
    """Return ``src/run.py:12: `shell=True` ``, a command without a file; secrets are hidden."""
    line = f":{match.line}" if match.line else ""
    place = f"{show_path(match.path)}{line}: " if match.path else ""
    return f"{place}`{defang_line(redact(match.text))}`"


def name_card(layer: Layer, card: Card, directory: str, *, given: Container[str] = ()) -> str:
    """Return a card's title and where its file lies, that alone of a card that is ``given``."""
    place = card.id if SERVED in card.id else os.path.join(layer.root, card.id)
    place = show_path(relative_path(place, directory))
    title = defang_line(card.title)[:_MAX_TITLE]
    return place if card.id in given else f"“{title}” ({place})"


def name_call(hook_event: HookEvent) -> str:
    """Return what tells a call from others before and after it, whether it has an id or not."""
    return hook_event.id or digest_arguments(hook_event.arguments)
