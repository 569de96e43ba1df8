"""The block for a prompt: find the lessons, decide, pack, and note what was given."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypedDict, Unpack

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.brain.current_session import session_of
from lessons_kb.find.search import HIT_LIMIT, complete_query, find_hits
from lessons_kb.ledger.given import (
    Homes,
    find_held,
    find_known,
    is_in_context,
    note_given,
    note_offered,
    note_preflight,
)
from lessons_kb.ledger.withheld import find_withheld
from lessons_kb.model import NOTE, Card, Hit, Preflight, Query
from lessons_kb.postcheck.item_states import REQUEST
from lessons_kb.preflight.block import NO_OFFERS, Offers, pack, shown_name
from lessons_kb.text.token_estimate import TokenCounter, estimate_tokens


class PreflightOptions(TypedDict, total=False):
    """What may be said of a prompt besides its text."""

    stage: str | None
    paths: Sequence[str]
    """Files at hand, relative to the project root; those named in the prompt are added."""
    session: str | None
    """In which a lesson is given again once it changed, or after ``reinject_after`` prompts."""
    budget: int | None
    """Tokens, as ``counter`` counts, in place of those of ``lessons.toml``."""
    context: bool | None
    """Excerpts of notes, in place of what ``lessons.toml`` says."""
    alone: bool | None
    """Whether notes stand without a lesson; by default only where ``context`` asks for them."""
    counter: TokenCounter
    max_chars: int | None
    served: Callable[[], Sequence[Hit]] | None
    """Gives the lessons of a server, which are merged with those found here; called last."""
    place: Callable[[Brain, Hit], str]
    """Returns what an agent can open to read a card whose title is offered, "" where it cannot."""
    titled: bool
    """The titles of all cards are in the agent's view already."""
    lasting: bool
    """What it is told stays in its view: a title is offered once in a session."""
    asked_by: str
    """The session whose withheld lessons are left out, by default ``session``."""


def preflight(
    brains: Brains,
    prompt: str,
    *,
    fresh: bool = True,
    remember: bool = True,
    **how: Unpack[PreflightOptions],
) -> Preflight:
    """Return the block for ``prompt``; its text is "" when nothing is worth saying.

    Without ``fresh`` the last commit is searched as it is, without ``remember`` nothing is
    journalled; the rest is in ``PreflightOptions``.
    """
    if fresh:
        brains.refresh_for_search()
    block, homes = find_block(brains, prompt, occasion="prompt" if remember else "", **how)
    session = how.get("session")
    if remember:
        for brain in brains.members if session else ():
            brain.hook_journal.next_turn(session or "")
        note_offered(homes, block, session or "", at=time.time())
        note_given(homes, block, session or "", at=time.time())
        if session is not None:
            note_preflight(brains.members[0], session, prompt, block, brains.directory)
    return block


def find_block(
    brains: Brains, prompt: str, *, occasion: str, **how: Unpack[PreflightOptions]
) -> tuple[Preflight, Homes]:
    """Return the block for ``prompt``, and the brain of each of its lessons and offers.

    The last commit is searched as it is, and nothing is journalled but what is withheld from
    the session at an ``occasion``.
    """
    of_each = {brain: brain.settings for brain in brains.members}
    nearest = of_each[brains.members[0]]
    settings = nearest.preflight
    if (budget := how.get("budget")) is not None:
        settings = replace(settings, budget=max(budget, 0))
    if (context := how.get("context")) is not None:
        settings = replace(settings, context=context)
    asked = Query(text=prompt, stage=how.get("stage"), paths=tuple(how.get("paths", ())))
    query = complete_query(brains, replace(asked, limit=HIT_LIMIT))
    hits, frequencies, size = find_hits(brains, query, how.get("served"))
    notes: list[tuple[Brain, Hit]] = []
    if settings.context:
        notes = find_hits(brains, replace(query, kinds=(NOTE,))).hits
    session = how.get("session")
    after = {brain: one.preflight.reinject_after for brain, one in of_each.items()}
    known = find_known(after if session else {}, session or "", coming=1)
    homes = {(hit.brain, hit.card.id): brain for brain, hit in hits}
    offers, heard = NO_OFFERS, session if how.get("lasting", True) else None
    if nearest.hooks.offers:
        least, place = nearest.gate.offer_confidence, how.get("place")
        offers = Offers(
            least=least,
            place=lambda h: place(homes[h.brain, h.card.id], h) if place else shown_name(h),
            titled=how.get("titled", False),
            held=lambda hit: find_held(homes[hit.brain, hit.card.id], heard, hit, least),
        )
    whose = how.get("asked_by") or session or (session_of()[0] if occasion else "")
    alone = how.get("alone")
    while True:
        block = pack(
            [hit for _brain, hit in hits],
            [(hit, brain.read_body(hit.card.id) if hit.passed else "") for brain, hit in notes],
            query=prompt,
            frequencies=frequencies,
            size=size,
            settings=settings,
            counter=how.get("counter", estimate_tokens),
            max_chars=how.get("max_chars"),
            in_context={
                shown_name(hit)
                for brain, hit in hits
                if hit.passed and is_in_context(known, brain, hit.card)
            },
            closings=REQUEST if nearest.hooks.close else "",
            alone=bool(context) if alone is None else alone,
            sources=lambda hit: homes[hit.brain, hit.card.id].read_sources(hit.card.id),
            offers=offers,
        )
        shown: dict[Brain, list[Card]] = {}
        for hit in (*block.lessons, *block.offered):
            shown.setdefault(homes[hit.brain, hit.card.id], []).append(hit.card)
        held = {
            brain: find_withheld(brain, cards, whose, occasion=occasion)
            for brain, cards in shown.items()
        }
        if not any(held.values()):
            return block, homes
        hits = [(brain, hit) for brain, hit in hits if hit.card.id not in held.get(brain, ())]
        told = {
            name
            for brain, ids in held.items()
            for card_id in ids
            for name in brain.read_sources(card_id)
        }
        notes = [pair for pair in notes if pair[1].card.id.rpartition("/")[2] not in told]
