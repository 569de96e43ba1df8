"""When a turn ends: what became of the lessons that the session was given, for ``brain.stats``."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Mapping

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.injected import find_cards
from lessons_kb.brain.layer import Layer
from lessons_kb.brain.stats import read_signs
from lessons_kb.learn.lesson_effect import RECURRED, find_marks
from lessons_kb.learn.signs import Sign, is_about, phrases_of
from lessons_kb.process.programs import start_drafts
from lessons_kb.session.state import HookEvent, OpenSession, turn_state
from lessons_kb.store.card_files import DraftFolder
from lessons_kb.store.scan import SUFFIXES
from lessons_kb.store.user_state import log_trouble

_MAX_SIGNS = 300


def note_effects(
    open_session: OpenSession, session: str, answer: str, *, after: int, at: float
) -> None:
    """Note the lessons that the answer judges, and those whose mistake was seen in this turn.

    ``after`` is the number of the turn's prompt among the events.
    """
    layers = open_session.brain.layers
    given = {layer: layer.session_journal.outcomes.given(session) for layer in layers}
    if not session or not any(given.values()):
        return
    _note_words(given, session, answer, at)
    _note_signs(open_session, given, session, after)


def note_return(layer: Layer, session: str, card: str, *, at: float) -> None:
    """Note that a card's mistake was seen again, if the session was given the card before."""
    outcomes = layer.session_journal.outcomes
    if session and card in outcomes.given(session):
        outcomes.note(session, card, RECURRED, at=at)


def _note_words(
    given: Mapping[Layer, Mapping[str, float]], session: str, answer: str, at: float
) -> None:

    for what, mark in find_marks(answer):
        if what.isdecimal():
            named = _numbered(given, session, int(what))
        else:
            named = [(x, card) for x in given for card in given[x] if _is_called(card, what)]
        if len(named) == 1:  # whoever could mean two lessons means none
            layer, card = named[0]
            layer.session_journal.outcomes.note(session, card, mark, at=at)


def _numbered(layers: Iterable[Layer], session: str, rank: int) -> list[tuple[Layer, str]]:
    """Return the lessons of a number in the blocks of the latest turn that had any, of all brains.

    Each brain counts turns from when it was first asked: how many came since is comparable.
    """
    ranked = [(x, one) for x in layers for one in x.session_journal.injections.ranked(session)]
    latest = min((since for _layer, (since, _rank, _card) in ranked), default=0)
    return [
        (layer, card)
        for layer, (since, number, card) in ranked
        if since == latest and number == rank
    ]


def _is_called(card: str, name: str) -> bool:
    bare, wanted = (_bare(text) for text in (card.lower(), name.strip("./")))
    return wanted in (bare, posixpath.basename(bare))


def _bare(name: str) -> str:
    """Return a file's name without its suffix, if it has that of a card: slugs hold dots."""
    return next((name.removesuffix(end) for end in SUFFIXES if name.endswith(end)), name)


def _note_signs(
    open_session: OpenSession, given: Mapping[Layer, Mapping[str, float]], session: str, after: int
) -> None:

    signs = read_signs(open_session.journal.events, session, after=after - 1, limit=_MAX_SIGNS)
    if not signs:
        return
    for layer, firsts in given.items():
        for card in find_cards(layer, set(firsts)):
            phrases = phrases_of(card)
            for sign in signs:
                if _follows(sign, firsts[card.id]) and is_about(sign, phrases):
                    layer.session_journal.outcomes.note(session, card.id, RECURRED, at=sign.at)
                    break


def _follows(sign: Sign, first: float) -> bool:
    """Return whether a sign came after a card was given.

    The journal gives whole seconds; the complaint that brought the card up is no recurrence.
    """
    return sign.at >= first + 1 if sign.spoken else sign.at >= first


def draft_session(mark: str, agent: str, session: str, directory: str, *roots: str) -> None:
    """Turn what a session's events call for into drafts; the session's next prompt tells of them.

    The entry of a process that nobody watches: what goes wrong is logged. ``mark`` is the file
    that holds other runs of the session back until this one begins to read.
    """
    try:
        with Brain.open(*roots, directory=directory) as brain:
            drafts, layer = brain.drafts, brain.layers[0]
            known = set(drafts.ids())
            os.unlink(mark)
            made = drafts.collect(session)
            for draft in made:
                if draft.card:
                    note_return(layer, session, draft.card, at=draft.at)
            if fresh := sum(draft.id not in known for draft in made):
                with turn_state(layer.session_journal, session) as state:
                    state.drafted += fresh
    except Exception as error:
        log_trouble(agent, "drafts", f"{type(error).__name__}: {error}")


def order_drafts(open_session: OpenSession, hook_event: HookEvent) -> None:
    """Start a detached run of ``draft_session``: git and thousands of events take their time."""
    if hook_event.posted or open_session.journal.trouble:
        return  # its repository is elsewhere, or what this session did was not written

    layers = open_session.brain.layers
    roots = [layer.root for layer in layers]
    start_drafts(
        hook_event.agent,
        hook_event.session,
        open_session.directory,
        roots=roots,
        cache=layers[0].cache,
    )


def count_drafts(open_session: OpenSession, hook_event: HookEvent) -> int:
    """Return how many drafts wait for this user; those of a posted session are the server's."""
    return 0 if hook_event.posted else len(DraftFolder(open_session.brain.layers[0].root).ids())
