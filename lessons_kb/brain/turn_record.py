"""What an agent's own record tells beyond its hooks, read from where the last hook ended."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from lessons_kb.brain.turn import Occasion
    from lessons_kb.brain.turn_state import TurnState
    from lessons_kb.exchange.results import Result

RECORDS: Mapping[str, str] = {"claude-code": "claude_tail", "codex": "codex_tail"}
"""Agent → module of ``exchange`` that reads its record."""
MAX_TAIL_BYTES = 1_000_000
LOOK_BACK_BYTES = 65_536
"""Read before the offset where a result's call was not found behind it."""
_WAIT_SECONDS = 0.08
_POLL_SECONDS = 0.008


def read_missed(occasion: Occasion, state: TurnState) -> list[Result]:
    """Return the results that the agent's record has gained since the last hook.

    Where this call's outcome stands only in the record, wait a moment for it to be written.
    """
    name = RECORDS.get(occasion.agent)
    if not name or not occasion.transcript:
        return []
    if state.transcript != occasion.transcript:
        from lessons_kb.storage.tail import read_tail

        first = occasion.what in ("start", "prompt")
        state.transcript = occasion.transcript
        end = read_tail(occasion.transcript, None, limit=0)[1]
        state.offset = end if first else max(end - LOOK_BACK_BYTES, 0)
    results = _gained(name, occasion, state)
    if occasion.what == "after" and occasion.outcome == "unknown":
        until = time.monotonic() + _WAIT_SECONDS
        while occasion.id not in {r.id for r in results} and time.monotonic() < until:
            time.sleep(_POLL_SECONDS)
            results += _gained(name, occasion, state)
    return results


def _gained(name: str, occasion: Occasion, state: TurnState) -> list[Result]:
    from lessons_kb.storage.tail import read_tail

    data, start = read_tail(occasion.transcript, state.offset, limit=MAX_TAIL_BYTES)
    if not data:
        state.offset = start
        return []
    read_results = __import__(f"lessons_kb.exchange.{name}", fromlist=["read_results"]).read_results
    found, used = read_results(data)
    if any(not result.tool for result in found):
        before = max(start - LOOK_BACK_BYTES, 0)
        more, begun = read_tail(occasion.transcript, before, limit=start - before + len(data))
        wanted = {result.id for result in found}
        if more and begun == before:
            found = [result for result in read_results(more)[0] if result.id in wanted]
    # A line longer than what is read at once would never end: pass over it.
    state.offset = start + (used or (len(data) if len(data) >= MAX_TAIL_BYTES else 0))
    results: list[Result] = found
    return results
