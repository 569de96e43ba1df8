"""Measure the cost of our text from the journals and from the records of agents."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Collection, Iterator

from lessons_kb.brain.brains import Brains
from lessons_kb.errors import StorageError
from lessons_kb.ledger.cost import MEASURED, Costs, SessionCost, add_up, measure_session
from lessons_kb.mining.mine_project import Source, find_sources, is_subagent, read_usage
from lessons_kb.store.journal import SentText
from lessons_kb.transcripts.session_records import Entry

NO_RECORD = "no record of the session was found"
NO_USAGE = "its record has no usage"
NO_TEXTS = "it is older than this measurement"
DAY_SECONDS = 86_400


def measure_costs(brains: Brains, *, days: int, now: float, rebuilt: Collection[str] = ()) -> Costs:
    """Return the cost of our text in the sessions of the last ``days``.

    ``rebuilt`` are the agents that build their context anew for each request.
    """
    since = now - days * DAY_SECONDS
    texts_by_session: dict[str, list[SentText]] = {}
    given: set[str] = set()
    for brain in brains.members:
        try:
            texts, sessions = brain.journal.sent.since(since), brain.journal.sessions_since(since)
        except StorageError:
            continue  # an unreadable journal counts as an empty one, as in the other statistics
        given |= sessions
        for text in texts:
            texts_by_session.setdefault(text.session, []).append(text)
    measured: dict[str, SessionCost] = {}
    for source in _find_records(brains.directory, texts_by_session, since):
        entries = read_usage(source, MEASURED)
        session = _find_context(source, entries)
        if session not in texts_by_session or session in measured:
            continue
        measured[session] = measure_session(
            session,
            source.agent,
            entries,
            texts_by_session[session],
            is_rebuilt=source.agent in rebuilt,
        )
    unknown = Counter[str]()
    for session, sent in texts_by_session.items():
        if session not in measured:
            unknown[NO_RECORD] += 1
            measured[session] = measure_session(session, _find_agent(brains, session), (), sent)
        elif measured[session].input is None:
            unknown[NO_USAGE] += 1
    older = given - texts_by_session.keys()
    if older:
        unknown[NO_TEXTS] = len(older)
    return add_up([*measured.values()], unknown, days=days)


def _find_agent(brains: Brains, session: str) -> str:
    """Return the agent of a session without a record, by its events, or "" if it has none."""
    with contextlib.suppress(StorageError):
        for event in brains.members[0].journal.events.find(session=session, limit=1):
            return event.agent
    return ""


def _find_records(directory: str, sessions: Collection[str], since: float) -> Iterator[Source]:
    """Yield the records whose names contain the id of one of these sessions."""
    ids = {session.partition("/")[0] for session in sessions}
    if not ids:
        return
    for source in find_sources(directory, everywhere=True):
        if source.at >= since and any(session in source.path for session in ids):
            yield source


def _find_context(source: Source, entries: list[Entry]) -> str:
    """Return the id of the context that a record is about; "" if it names no session."""
    session = next((entry.session for entry in entries if entry.session), "")
    if not session or not is_subagent(source):
        return session
    name = os.path.basename(source.path).removesuffix(".jsonl")
    return f"{session}/{name.removeprefix('agent-')}"
