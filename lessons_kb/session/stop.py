"""Handle the end of a turn or session: run the post-check, and start the drafting of lessons."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.discovery import is_settings_moved
from lessons_kb.ledger.given import find_cards
from lessons_kb.ledger.session_memory import BLOCK
from lessons_kb.model import CONTRADICTED, DENIED, Card, Check, Evidence
from lessons_kb.on_demand import ALL_CARDS, RENDER, SHARED_SERVER, load
from lessons_kb.outcome.post_check import (
    check_answer,
    count_items,
    judge,
    note_checked,
    settle,
)
from lessons_kb.outcome.session_evidence import find_session_evidence, is_change
from lessons_kb.postcheck.ignored_items import MOST, find_ignored
from lessons_kb.session.agent_record import find_answer
from lessons_kb.session.draft_process import start_drafting
from lessons_kb.session.event_types import NOTHING, Answer
from lessons_kb.session.record_event import journal_events, read_missed
from lessons_kb.session.state import Hook
from lessons_kb.store.journal import AFTER_IGNORED, redact_event
from lessons_kb.values import replace

if TYPE_CHECKING:
    from lessons_kb.session.all_cards import AllCards

_JUDGE_SECONDS = 1.2
"""Time limit, in seconds, of the user's program for checks. The hook has to answer within two
seconds.
"""


def answer(hook: Hook) -> Answer:
    """Check the turn against its lessons, and start the drafting of new lessons.

    Drafting starts at each end of a turn, because not every agent reports the end of a session.
    """
    hook.open_brains()
    result = NOTHING
    if hook.event.what == "stop":
        hook.event.text = hook.event.text or find_answer(hook)
        result = _end_turn(hook)
    start_drafting(hook)
    return result


def _end_turn(hook: Hook) -> Answer:
    """Journal the answer, mention new drafts, and check the turn against its lessons."""
    event, journal, brains = hook.event, hook.journal, hook.brains
    missed = read_missed(hook)
    row = redact_event(hook.as_event("answer", text=event.text))
    with hook.transaction() as state:
        missed.note(state)
        journal_events(hook, state, missed.events)
        if not journal.events.write(row, within=event.within):
            return NOTHING
        lines = state.tell_drafted(hook.can)
        # The model has not seen lessons that are still waiting for an event.
        waits = any(text.about == BLOCK for text in state.waiting)
        cards = [] if waits else state.cards
    all_cards = load(ALL_CARDS).pack_all(hook) if event.moment == AFTER_IGNORED else None
    if all_cards is not None:
        cards = all_cards.cards
    look = "" if event.posted else hook.scope
    settle(brains, journal, event.session, folder=look)
    result = Answer(lines=lines)
    if not cards or not event.text:
        return result
    card_ids = {card_id for _root, card_id in cards}
    served = [data for data in state.served if data.get("id") in card_ids]
    given: list[tuple[Brain, Card]] = []
    for brain in brains.members:
        ids = {card_id for root, card_id in cards if root == brain.root}
        given += ((brain, card) for card in find_cards(brain, ids))
    if served:  # the journal of the nearest brain contains the lessons of a server
        read_card = load(SHARED_SERVER).read_card
        given += [(brains.members[0], read_card(data)) for data in served]
    numbered = _find_numbered(hook, given)
    evidence = find_session_evidence(journal, event.session, brains.members, after=state.after)
    given_cards = [card for _brain, card in given]
    check = check_answer(brains, event.text, given_cards, evidence, numbered, look=not event.posted)
    is_changed = is_change(evidence)
    # On a server, the client's directory is not read.
    if is_changed and (event.posted or not is_settings_moved(brains.directory)):
        check = judge(check, event.text, evidence, within=_JUDGE_SECONDS)
    count_items(given, check, at=hook.now)
    note_checked(journal, row, cards, numbered, served)
    result = replace(result, trouble=check.trouble)
    if not is_changed:
        return result
    if event.text.rstrip().endswith("?"):
        # The agent asks the user a question, so the work continues. Only contradictions are worth a
        # line.
        wrong = tuple(item for item in check.items if item.state == CONTRADICTED)
        check = replace(check, items=wrong)
    elif not any(item.state in (CONTRADICTED, DENIED) for item in check.items):
        check = _find_ignored_items(hook, check, evidence)
    is_reported = any(item.state in (CONTRADICTED, DENIED) for item in check.items)
    if not (is_reported or check.ignored):
        return result
    result = replace(result, check=check)
    if all_cards is not None and hook.can.go_on:
        result = _go_on(hook, result, all_cards, check)
    return result


def _go_on(hook: Hook, result: Answer, all_cards: AllCards, check: Check) -> Answer:
    """Let the model go on with the line of the check and the cards, once in a session."""
    if all_cards.brain.hook_journal.outcomes.given(hook.event.context_id):
        return result
    line = load(RENDER).check_line(check)
    return replace(result, go_on=f"{line}\n\n{all_cards.give(hook)}")


def _find_ignored_items(hook: Hook, check: Check, evidence: Evidence) -> Check:
    """Return a check with the items that were provably ignored. Each item is named once in a
    session.
    """
    ignored = find_ignored(check, evidence)[:MOST]
    if not ignored:
        return check
    with hook.transaction() as state:
        new = [item for item in ignored if f"{item.card.id} {item.item}" not in state.ignored]
        state.ignored += [f"{item.card.id} {item.item}" for item in new]
    return replace(check, ignored=tuple(new))


def _find_numbered(hook: Hook, given: Iterable[tuple[Brain, Card]]) -> dict[int, str]:
    """Return a mapping from numbers in the block to card ids, for the numbers that denote these
    cards.

    Return {} unless the block asks for a closing line, which uses these numbers.
    """
    brains = hook.brains.members
    if not brains[0].settings.hooks.close:
        return {}
    ranked = find_ranked(brains, hook.event.context_id)
    ids = [(brain, card.id) for brain, card in given]
    numbered = {}
    for rank, lessons in ranked.items():
        if len(lessons) == 1 and lessons[0] in ids:
            numbered[rank] = lessons[0][1]
    return numbered


def find_ranked(brains: Iterable[Brain], session: str) -> dict[int, list[tuple[Brain, str]]]:
    """Return a mapping from each number in the latest blocks of a session to (brain, card id)
    pairs.

    Each brain counts turns from its own first one, so the numbers of turns since then are compared.
    """
    rows = []
    for brain in brains:
        rows += [(brain, *row) for row in brain.hook_journal.injections.ranked(session)]
    latest = min((since for _brain, since, _rank, _card in rows), default=0)
    ranked: dict[int, list[tuple[Brain, str]]] = {}
    for brain, since, rank, card in rows:
        if since == latest:
            ranked.setdefault(rank, []).append((brain, card))
    return ranked
