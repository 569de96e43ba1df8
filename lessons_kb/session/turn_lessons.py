"""Lessons that the prompt did not bring, but a change or an error of its turn does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lessons_kb.brain.detect_in_change import is_card_file
from lessons_kb.brain.injected import card_digest
from lessons_kb.brain.layer import Layer
from lessons_kb.brain.layers import Layers
from lessons_kb.detect.added_code import Change
from lessons_kb.model import Card, Hit, Preflight
from lessons_kb.preflight.block import shown_name
from lessons_kb.relevance.turn_evidence import is_sure
from lessons_kb.session.event import Capabilities, HookEvent
from lessons_kb.session.state import TurnState, now, pack_known

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
