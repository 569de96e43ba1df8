"""The block for a prompt: find candidates, pack them, and record the given lessons."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.brain.current_session import session_of
from lessons_kb.config import PreflightSettings, Settings
from lessons_kb.find.search import HIT_LIMIT, Found, complete_query, find_hits
from lessons_kb.ledger.given import (
    Homes,
    find_known,
    find_no_offer_reason,
    is_in_context,
    note_given,
    note_offered,
    note_preflight,
)
from lessons_kb.ledger.withheld import find_withheld
from lessons_kb.model import NOTE, Card, Hit, Preflight, Query
from lessons_kb.on_demand import CALIBRATE, load
from lessons_kb.preflight.block import CLOSING_REQUEST, pack
from lessons_kb.preflight.offers import NO_OFFERS, Offers, shown_name
from lessons_kb.relevance.project_words import FEW_DOCUMENTS
from lessons_kb.text.token_estimate import TokenCounter, estimate_tokens
from lessons_kb.values import frozen, replace


@frozen
class RetrievalOptions:
    """The options of one retrieval."""

    stage: str | None = None
    paths: tuple[str, ...] = ()
    """Files at hand, relative to the project root. Files that the prompt names are added."""
    session: str | None = None
    """The session. It gets a lesson again after ``reinject_after`` prompts, or once the lesson has
    changed.
    """
    asked_by: str = ""
    """The session whose withheld lessons are left out, by default ``session``."""
    occasion: str = "prompt"
    """The occasion under which the ledger records withheld lessons. With "" it records none."""

    budget: int | None = None
    """The maximum number of tokens, as counted by ``counter``. None uses ``lessons.toml``."""
    max_chars: int | None = None
    counter: TokenCounter = estimate_tokens
    context: bool | None = None
    """Whether excerpts of notes are added. None uses ``lessons.toml``."""
    alone: bool | None = None
    """Whether notes may appear without a lesson. By default, this is so only if ``context`` is
    True.
    """

    served: Callable[[], Sequence[Hit]] | None = None
    """Returns the lessons of a server, which are merged with the local ones. It is called last."""
    name: Callable[[Brain, Hit], str] | None = None
    """Returns the name of a card in the block, by default its id."""
    place: Callable[[Brain, Hit], str] | None = None
    """Returns the file that an agent can open to read an offered card, or "" if there is none."""
    titled: bool = False
    """Whether the agent already has the titles of all cards in its context."""
    lasting: bool = True
    """Whether texts stay in the agent's context, so that a title is offered only once in a
    session.
    """


def preflight(
    brains: Brains, prompt: str, options: RetrievalOptions, *, fresh: bool, remember: bool
) -> Preflight:
    """Return the block for ``prompt``. Its text is "" if no lesson applies.

    If ``fresh`` is true, the indexes are refreshed first. Otherwise the last commit is searched.
    ``remember`` writes the result to the journal.
    """
    if fresh:
        brains.refresh_for_search()
        load(CALIBRATE).calibrate(brains)
    options = replace(options, occasion="prompt" if remember else "")
    block, homes = find_block(brains, prompt, options)
    if remember:
        _note_block(brains, prompt, block, homes, options.session)
    return block


def find_block(brains: Brains, prompt: str, options: RetrievalOptions) -> tuple[Preflight, Homes]:
    """Return the block for ``prompt``, and the brain of each of its lessons and offers.

    It searches the last commit. It journals only the lessons that are withheld from the session,
    under ``options.occasion``.
    """
    candidates = _find_candidates(brains, prompt, options)
    session = options.asked_by or options.session or ""
    if not session and options.occasion:
        session = session_of()[0]
    while True:
        block = _pack(brains, prompt, candidates, options)
        withheld = _find_withheld(block, candidates.homes, session, options.occasion)
        if not withheld:
            return block, candidates.homes
        candidates = candidates.without(withheld)


@frozen
class _Candidates:
    """The judged hits for a prompt, from which a block is packed."""

    found: Found
    notes: list[tuple[Brain, Hit]]
    homes: Homes
    settings: Mapping[Brain, Settings]
    """The settings of each brain, read only once because each reading checks the files."""
    preflight: PreflightSettings
    """The settings of the nearest brain with the caller's options applied."""

    def without(self, withheld: Mapping[Brain, set[str]]) -> _Candidates:
        """Return the candidates without withheld cards and without the notes that those cards
        cite.
        """
        hits = []
        for brain, hit in self.found.hits:
            if hit.card.id not in withheld.get(brain, ()):
                hits.append((brain, hit))
        sources: set[str] = set()
        for brain, ids in withheld.items():
            for card_id in ids:
                sources.update(brain.read_sources(card_id))
        notes = []
        for brain, hit in self.notes:
            file_name = hit.card.id.rpartition("/")[2]
            if file_name not in sources:
                notes.append((brain, hit))
        return replace(self, found=self.found._replace(hits=hits), notes=notes)


def _find_candidates(brains: Brains, prompt: str, options: RetrievalOptions) -> _Candidates:
    settings = {brain: brain.settings for brain in brains.members}
    preflight = settings[brains.members[0]].preflight
    if options.budget is not None:
        preflight = replace(preflight, budget=max(options.budget, 0))
    if options.context is not None:
        preflight = replace(preflight, context=options.context)
    asked = Query(text=prompt, stage=options.stage, paths=options.paths, limit=HIT_LIMIT)
    query = complete_query(brains, asked)
    found = find_hits(brains, query, options.served)
    notes: list[tuple[Brain, Hit]] = []
    if preflight.context:
        notes = find_hits(brains, replace(query, kinds=(NOTE,))).hits
    homes = {(hit.brain, hit.card.id): brain for brain, hit in found.hits}
    return _Candidates(
        found=found, notes=notes, homes=homes, settings=settings, preflight=preflight
    )


def _pack(
    brains: Brains, prompt: str, candidates: _Candidates, options: RetrievalOptions
) -> Preflight:
    homes, found = candidates.homes, candidates.found
    notes = []
    for brain, hit in candidates.notes:
        notes.append((hit, brain.read_body(hit.card.id) if hit.passed else ""))
    nearest = candidates.settings[brains.members[0]]
    alone = bool(options.context) if options.alone is None else options.alone
    hits = [hit for _brain, hit in found.hits]
    # The rank depends on how rare a word is among the documents, which few documents do not show.
    # In a brain of 80 cards, the rank is the better order.
    if found.size < FEW_DOCUMENTS:
        hits.sort(key=lambda hit: hit.confidence, reverse=True)
    return pack(
        hits,
        notes,
        query=prompt,
        frequencies=found.frequencies,
        size=found.size,
        settings=candidates.preflight,
        counter=options.counter,
        max_chars=options.max_chars,
        in_context=_find_in_context(candidates, options.session),
        closings=CLOSING_REQUEST if nearest.hooks.close else "",
        alone=alone,
        sources=lambda hit: homes[hit.brain, hit.card.id].read_sources(hit.card.id),
        offers=_make_offers(nearest, homes, options),
        name=_make_names(candidates, options),
    )


def _make_names(candidates: _Candidates, options: RetrievalOptions) -> Callable[[Hit], str] | None:
    """Return the function that names the cards and notes in the block, or None for their ids."""
    name = options.name
    if name is None:
        return None
    homes = {(hit.brain, hit.card.id): brain for brain, hit in candidates.notes}
    homes |= candidates.homes
    return lambda hit: name(homes[hit.brain, hit.card.id], hit)


def _find_in_context(candidates: _Candidates, session: str | None) -> set[str]:
    """Return the names of the hits that the session still has in its context."""
    if not session:
        return set()
    prompts = {
        brain: settings.preflight.reinject_after for brain, settings in candidates.settings.items()
    }
    given = find_known(prompts, session, coming=1)
    names = set()
    for brain, hit in candidates.found.hits:
        if hit.passed and is_in_context(given, brain, hit.card):
            names.add(shown_name(hit))
    return names


def _make_offers(nearest: Settings, homes: Homes, options: RetrievalOptions) -> Offers:
    """Return the rules for offering titles, and the files that the agent can open."""
    if not nearest.hooks.offers:
        return NO_OFFERS
    session = options.session if options.lasting else None
    place = options.place

    def find_place(hit: Hit) -> str:
        return place(homes[hit.brain, hit.card.id], hit) if place else shown_name(hit)

    def find_reason(hit: Hit) -> str:
        return find_no_offer_reason(homes[hit.brain, hit.card.id], session, hit)

    return Offers(place=find_place, titled=options.titled, why_not_now=find_reason)


def _find_withheld(
    block: Preflight, homes: Homes, session: str, occasion: str
) -> dict[Brain, set[str]]:
    """Return a mapping from each brain to the ids of the block's cards that are withheld from the
    session.
    """
    shown: dict[Brain, list[Card]] = {}
    for hit in (*block.lessons, *block.offered):
        shown.setdefault(homes[hit.brain, hit.card.id], []).append(hit.card)
    withheld = {}
    for brain, cards in shown.items():
        ids = find_withheld(brain, cards, session, occasion=occasion)
        if ids:
            withheld[brain] = ids
    return withheld


def _note_block(
    brains: Brains, prompt: str, block: Preflight, homes: Homes, session: str | None
) -> None:
    """Journal the lessons given and offered, and the outcome of the prompt."""
    now = time.time()
    if session:
        for brain in brains.members:
            brain.hook_journal.next_turn(session)
    note_offered(homes, block, session or "", at=now)
    note_given(homes, block, session or "", at=now)
    if session is not None:
        note_preflight(brains.members[0], session, prompt, block, brains.directory)
