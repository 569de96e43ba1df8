"""When a turn or a session ends: the post-check for the user, drafts for the reviewer."""

from __future__ import annotations

from collections.abc import Iterable

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.discovery import is_settings_moved
from lessons_kb.find.shared_server import read_card
from lessons_kb.ledger.given import find_cards
from lessons_kb.ledger.session_memory import BLOCK
from lessons_kb.model import CONTRADICTED, DENIED, Card
from lessons_kb.outcome.post_check import (
    check_answer,
    count_items,
    find_session_evidence,
    is_change,
    judge,
    note_checked,
    settle,
)
from lessons_kb.session.draft_process import start_drafting
from lessons_kb.session.event_types import NOTHING, Answer
from lessons_kb.session.record_event import find_answer, journal_events, read_missed
from lessons_kb.session.state import Hook
from lessons_kb.store.journal import redact_event
from lessons_kb.values import replace

_JUDGE_SECONDS = 1.2
"""For the user's program; the hook itself has to answer within two."""


def answer(hook: Hook) -> Answer:
    """Check the turn against its lessons, and have what it taught become drafts.

    Not every agent tells that a session ends.
    """
    hook.open_brains()
    said = NOTHING
    if hook.event.what == "stop":
        hook.event.text = hook.event.text or find_answer(hook)
        said = _end_turn(hook)
    start_drafting(hook)
    return said


def _end_turn(hook: Hook) -> Answer:
    """Journal the answer, tell of drafts made since, and check the turn against its lessons."""
    event, journal, brains = hook.event, hook.journal, hook.brains
    missed = read_missed(hook)
    row = redact_event(hook.as_event("answer", text=event.text))
    with hook.transaction() as state:
        missed.note(state)
        journal_events(hook, state, missed.events)
        if not journal.events.write(row, within=event.within):
            return NOTHING
        lines = state.tell_drafted(hook.can)
        # Lessons that still wait for an event were never before the model.
        waits = any(text.about == BLOCK for text in state.waiting)
        cards = [] if waits else state.cards
    look = "" if event.posted else hook.scope
    settle(brains, journal, event.session, folder=look)
    said = Answer(lines=lines)
    if not cards or not event.text:
        return said
    served = [one for one in state.served if one.get("id") in {card_id for _root, card_id in cards}]
    given: list[tuple[Brain, Card]] = []
    for brain in brains.members:
        ids = {card_id for root, card_id in cards if root == brain.root}
        given += ((brain, card) for card in find_cards(brain, ids))
    given += [(brains.members[0], read_card(one)) for one in served]  # whose journal remembers them
    settings = brains.members[0].settings
    ranked = find_ranked(brains.members, event.context_id) if settings.hooks.close else {}
    numbered = {
        rank: card.id
        for rank, found in ranked.items()
        for brain, card in given
        if found == [(brain, card.id)]
    }
    evidence = find_session_evidence(journal, event.session, brains.members, after=state.after)
    told = [card for _brain, card in given]
    check = check_answer(brains, event.text, told, evidence, numbered, look=not event.posted)
    is_changed = is_change(evidence)
    # What a client names as its directory is not looked up on a server.
    if is_changed and (event.posted or not is_settings_moved(brains.directory)):
        check = judge(check, event.text, evidence, within=_JUDGE_SECONDS)
    count_items(given, check, at=hook.now)
    note_checked(journal, row, cards, numbered, served)
    said = replace(said, trouble=check.trouble)
    if not is_changed:
        return said
    if event.text.rstrip().endswith("?"):
        # The turn goes on, and the user is asked: only what is wrong by now is worth a line.
        wrong = tuple(item for item in check.items if item.state == CONTRADICTED)
        check = replace(check, items=wrong)
    # Where nothing is known there is nothing to say.
    known = any(item.state in (CONTRADICTED, DENIED) for item in check.items)
    return replace(said, check=check) if known else said


def find_ranked(brains: Iterable[Brain], session: str) -> dict[int, list[tuple[Brain, str]]]:
    """Return the lessons by their number in the blocks of the latest turn that had any.

    Each brain counts turns from when it was first asked: how many came since is comparable.
    """
    rows = [(x, *row) for x in brains for row in x.hook_journal.injections.ranked(session)]
    latest = min((since for _brain, since, _rank, _card in rows), default=0)
    ranked: dict[int, list[tuple[Brain, str]]] = {}
    for brain, since, rank, card in rows:
        if since == latest:
            ranked.setdefault(rank, []).append((brain, card))
    return ranked
