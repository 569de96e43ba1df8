"""Lessons that the prompt did not bring, but a change or an error of its turn does."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Sequence

from lessons_kb.brain.detection import Detected, is_card_file
from lessons_kb.brain.injected import card_digest
from lessons_kb.brain.layer import Layer
from lessons_kb.brain.layers import Layers
from lessons_kb.detect.matcher import Change, Match
from lessons_kb.guards.file_names import relative_path, show_path
from lessons_kb.guards.tool_calls import digest_arguments
from lessons_kb.model import SERVED, Card, Hit, Preflight
from lessons_kb.preflight.block import shown_name
from lessons_kb.relevance.gate import is_sure
from lessons_kb.session.record_event import find_message
from lessons_kb.session.state import (
    Capabilities,
    HookEvent,
    TurnState,
    now,
    pack_known,
    read_state,
    turn_state,
)
from lessons_kb.store.journal import Journal
from lessons_kb.text.redact import redact
from lessons_kb.text.sanitize import defang_line

MOST = 2
"""Lessons given so in one turn."""
_MAX_TEXT = 6_000
"""Characters of a change that are searched for: a few hundred words say what it is about."""
_LOOKED_AT = 3

Found = tuple[Layer, Card]


def describe(brain: Layers, changes: Iterable[Change]) -> str:
    """Return the text of changes to search for; those of the brains' own cards do not count."""
    wanted = (change for change in changes if not is_card_file(brain, change.path))
    pieces = (f"{change.path}\n{change.before}\n{change.after}\n" for change in wanted)
    text = ""
    for piece in pieces:
        text += piece[: _MAX_TEXT - len(text)]
        if len(text) >= _MAX_TEXT:
            break
    return text


def find_sure(brain: Layers, text: str, state: TurnState) -> list[Found]:
    """Return the lesson that a text brings, if any, for a turn in which few were given so."""
    if state.late >= MOST or not text.strip() or not brain.layers[0].settings.hooks.during_turn:
        return []
    for layer in brain.layers:
        layer.prepare()
    if any(layer.state is None for layer in brain.layers):
        return []  # a hook does not wait for a whole index
    near = {name: float(confidence) for name, confidence in state.near}
    for layer, hit in brain.find_lessons(text, limit=_LOOKED_AT):
        if hit.passed and is_sure(hit.confidence, at_prompt=near.get(shown_name(hit), 0.0)):
            return [(layer, hit.card)]
    return []


def give(
    brain: Layers,
    hook_event: HookEvent,
    capabilities: Capabilities,
    found: Sequence[Found],
) -> tuple[Preflight, list[list[str]]]:
    """Return the block of some cards, and [root, card id] of each; the journal notes them.

    Those that the session has in its context are left out.
    """
    settings = brain.layers[0].settings.preflight
    hits: list[Hit] = []
    homes: dict[str, tuple[Layer, int]] = {}
    known: set[str] = set()
    ids = [card.id for _layer, card in found]
    for layer, card in found:
        alias = layer.alias if ids.count(card.id) > 1 else ""
        hit = Hit(card=card, score=1.0, bm25=0.0, passed=True, brain=alias)
        turn = layer.session_journal.next_turn(hook_event.context, by=0)
        since = turn - settings.reinject_after
        given = layer.session_journal.in_context(hook_event.context, since_turn=since)
        if (card.id, card_digest(card)) in given:
            known.add(shown_name(hit))
        homes[shown_name(hit)] = (layer, turn)
        hits.append(hit)
    missing = [hit for hit in hits if shown_name(hit) not in known]
    block = pack_known(missing, settings, capabilities)
    for rank, hit in enumerate(block.lessons, 1):
        layer, turn = homes[shown_name(hit)]
        tokens = block.tokens // len(block.lessons)
        row = (hit.card.id, card_digest(hit.card), tokens)
        layer.session_journal.record_injections(
            hook_event.context, turn=turn, at=int(now(hook_event)), cards=[row], ranks=[rank]
        )
    return block, [[homes[shown_name(hit)][0].root, hit.card.id] for hit in block.lessons]


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


UNNAMED = ("copilot-cli", "gemini-cli")
"""Agents whose payloads name no message."""


def note_begun(journal: Journal, hook_event: HookEvent) -> None:
    """Count a call to those that have begun since one ended."""
    if hook_event.agent not in UNNAMED:
        return
    call = name_call(hook_event)
    with turn_state(journal, hook_event.context) as state:
        if state.ended:
            state.batch += 1
            state.ended = False
        state.steps.pop(call, None)  # the latest stands last
        state.steps[call] = f"batch {state.batch}"


def note_ended(state: TurnState, hook_event: HookEvent) -> None:
    """Let the next call that begins be of another message."""
    if hook_event.agent in UNNAMED:
        state.ended = True


def find_step(journal: Journal, hook_event: HookEvent) -> str:
    """Return what a call that ended has in common with those made together with it, "" if unknown.

    What began is asked first: a subagent's calls have the message in common that called it.
    """
    if hook_event.agent not in UNNAMED:
        return ""
    begun = read_state(journal, hook_event.context).steps.get(name_call(hook_event), "")
    return begun or find_message(hook_event)
