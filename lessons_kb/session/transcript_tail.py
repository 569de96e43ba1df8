"""What an agent's own record tells beyond its hooks, read from where the last hook ended."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from lessons_kb.session.event import HookEvent
from lessons_kb.session.state import TurnState, read_state
from lessons_kb.store.file_tail import read_tail
from lessons_kb.store.journal import Journal
from lessons_kb.transcripts.entries import CALL, INTERRUPT, OK, UNKNOWN, Entry

RECORDED = ("claude-code", "codex")
"""Agents whose record tells of calls that fire no hook."""
_NAMING = "codex"
"""The agent whose record names the session that one is a copy of."""
_WRITTEN_FIRST = "gemini-cli"
"""The agent whose record holds a message before the calls that it makes begin."""
_ANSWERING = "copilot-cli"
"""The agent whose record alone tells what was answered."""
MAX_TAIL_BYTES = 1_000_000
LOOK_BACK_BYTES = 65_536
"""Read before the offset where a result's call was not found behind it."""
_WAIT_SECONDS = 0.08
_POLL_SECONDS = 0.008
_ANSWER_SECONDS = 0.4
"""Copilot CLI 1.0.102 writes its record up to 0.1 s behind, while the hook runs."""
_ANSWER_POLL_SECONDS = 0.02


@dataclass(frozen=True, kw_only=True, slots=True)
class Missed:
    """What an agent's record has gained since the last hook."""

    results: tuple[Entry, ...] = ()
    """Calls that ended, and interrupts by the user."""
    transcript: str = ""
    offset: int = 0
    """Where the next reading begins."""
    steps: Mapping[str, str] = field(default_factory=dict)
    """Call → what the calls of one message have in common, the latest last."""

    def note(self, state: TurnState) -> None:
        """Let the next hook begin where this reading ended.

        A hook that read less at the same time may set it back: what is read twice is journalled
        once.
        """
        if self.transcript:
            state.transcript, state.offset = self.transcript, self.offset
            state.steps |= self.steps


def read_missed(journal: Journal, hook_event: HookEvent) -> Missed:
    """Return the results that the agent's record has gained since the last hook.

    Where this call's outcome stands only in the record, wait a moment for it to be written.
    """
    agent = hook_event.agent
    if agent not in RECORDED or not hook_event.transcript:
        return Missed()
    state = read_state(journal, hook_event.context)
    offset = state.offset
    if state.transcript != hook_event.transcript:
        end = skip_record(hook_event).offset
        offset = end if hook_event.what in ("start", "prompt") else max(end - LOOK_BACK_BYTES, 0)
    results, offset, steps = _gained(agent, hook_event.transcript, offset)
    if hook_event.what == "after" and hook_event.outcome == "unknown":
        until = time.monotonic() + _WAIT_SECONDS
        while hook_event.id not in {r.id for r in results} and time.monotonic() < until:
            time.sleep(_POLL_SECONDS)
            more, offset, later = _gained(agent, hook_event.transcript, offset)
            results += more
            steps |= later
    return Missed(
        results=tuple(results),
        transcript=hook_event.transcript,
        offset=offset,
        steps={**state.steps, **steps},
    )


def skip_record(hook_event: HookEvent) -> Missed:
    """Return nothing of what the agent's record holds by now."""
    end = read_tail(hook_event.transcript, None, limit=0)[1] if hook_event.transcript else 0
    return Missed(transcript=hook_event.transcript, offset=end)


def find_answer(journal: Journal, hook_event: HookEvent) -> str:
    """Return the answer that ended the turn, "" where no record tells it.

    Wait for it: the record is written a moment behind.
    """
    if hook_event.agent != _ANSWERING or not hook_event.transcript:
        return ""
    from lessons_kb.transcripts.reader import read_answer

    asked = journal.events.find(session=hook_event.session, kinds=("prompt",), limit=1)
    since = asked[0].at if asked else 0.0
    until = time.monotonic() + _ANSWER_SECONDS
    while True:
        data, _start = read_tail(hook_event.transcript, 0, limit=MAX_TAIL_BYTES)
        answer = read_answer(_ANSWERING, data)
        if answer is not None and answer.at >= since:  # else that of the turn before
            return answer.text
        if time.monotonic() > until:
            return ""
        time.sleep(_ANSWER_POLL_SECONDS)


def find_message(hook_event: HookEvent) -> str:
    """Return the id of the message that the model wrote last, "" where no record tells it."""
    if hook_event.agent != _WRITTEN_FIRST or not hook_event.transcript:
        return ""
    from lessons_kb.transcripts.gemini_cli import read_message

    return read_message(read_tail(hook_event.transcript, 0, limit=LOOK_BACK_BYTES)[0])


def find_origin(journal: Journal, hook_event: HookEvent) -> str:
    """Return the session that this one is a whole copy of, "" where no record says so.

    A copy of a part may lack a lesson, and one that comes twice is better than one that is lost.
    """
    if hook_event.agent != _NAMING or not hook_event.transcript:
        return ""
    from lessons_kb.transcripts.codex import read_number, read_origin

    data, start = read_tail(hook_event.transcript, 0, limit=MAX_TAIL_BYTES)
    origin, end = ("", 0) if start else read_origin(data.partition(b"\n")[0])
    if not origin:
        return ""
    copied, _start = read_tail(read_state(journal, origin).transcript, 0, limit=LOOK_BACK_BYTES)
    last = read_number(copied.rstrip().rpartition(b"\n")[2])
    return origin if last is not None and last < end else ""


def _gained(agent: str, transcript: str, offset: int) -> tuple[list[Entry], int, dict[str, str]]:
    """Return the results behind an offset, the next one, and the steps of calls."""
    data, start = read_tail(transcript, offset, limit=MAX_TAIL_BYTES)
    if not data:
        return [], start, {}
    found, used, steps = _read_results(agent, data)
    if any(result.kind == CALL and not result.tool for result in found):
        before = max(start - LOOK_BACK_BYTES, 0)
        more, begun = read_tail(transcript, before, limit=start - before + len(data))
        wanted = {result.id for result in found}
        if more and begun == before:
            found = [result for result in _read_results(agent, more)[0] if result.id in wanted]
    # A line longer than what is read at once would never end: pass over it.
    return found, start + (used or (len(data) if len(data) >= MAX_TAIL_BYTES else 0)), steps


def _read_results(agent: str, data: bytes) -> tuple[list[Entry], int, dict[str, str]]:
    """Return calls that are known to have ended, and interrupts, with the bytes of whole lines."""
    from lessons_kb.transcripts.reader import read_tail as read_entries

    entries, used, steps = read_entries(agent, data)
    known = [e for e in entries if e.kind in (CALL, INTERRUPT) and e.ended != UNKNOWN]
    return [e for e in known if e.kind == CALL or e.ended == OK], used, dict(steps)
