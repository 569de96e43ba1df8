"""What an agent's own record of a session tells, the same for every agent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

PROMPT, ANSWER, CALL = "prompt", "answer", "call"
COMPACTION, INTERRUPT = "compaction", "interrupt"

OK, FAILED, CANCELLED, UNKNOWN = "ok", "failed", "cancelled", "unknown"

MAX_OUTPUT = 20_000
"""Characters of an output that are kept: its end, where tools say how it went."""
MAX_KEPT = 2_000
"""Calls that wait for their results, or were told; older ones are forgotten."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One observation of a session, in order."""

    kind: str
    at: float = 0.0
    """Seconds since the epoch, 0 when the record does not say."""
    session: str = ""
    id: str = ""
    """As the agent's hooks have it, "" where they have none."""
    cwd: str = ""
    text: str = ""
    """What was asked, answered or summed up."""
    tool: str = ""
    arguments: Mapping[str, Any] | str = ""
    ended: str = OK
    """How a call ended: ``ok``, ``failed``, ``cancelled`` or ``unknown``."""
    output: str = ""
    step: str = ""
    """Of a call: names the message that made it, "" if not known."""


def mapping(value: object) -> Mapping[str, Any]:
    """Return a JSON object, {} in place of anything else."""
    return value if isinstance(value, dict) else {}


def texts_of(content: object) -> str:
    """Return the text of a content: a text, or a list of parts of which some have one."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    found = (part if isinstance(part, str) else mapping(part).get("text") for part in parts)
    return "\n".join(text for text in found if text and isinstance(text, str))


class RecordReader:
    """Reads the record of one agent, object by object; ``finish`` yields what waited for more."""

    def __init__(self) -> None:
        self.steps: dict[str, str] = {}
        """Call → what the calls of one message have in common; {} where the record does not say."""
        self._calls: dict[str, dict[str, Any]] = {}
        """Call → the fields of its entry that its begin tells."""
        self._told: dict[str, None] = {}
        self._answer: Entry | None = None

    def read(self, data: Mapping[str, Any]) -> Iterator[Entry]:
        """Yield what one object of the record tells."""
        raise NotImplementedError

    def finish(self) -> Iterator[Entry]:
        """Yield the answer that nothing followed."""
        if self._answer is not None:
            yield self._answer
        self._answer = None

    def _begin(self, number: str, step: str = "", **call: Any) -> None:
        """Keep a call until its result comes."""
        remember(self._calls, number, call)
        if step:
            remember(self.steps, number, step)
        self._answer = None

    def _end(self, base: Entry, number: str, ended: str, output: str, **call: Any) -> Entry:
        """Return a call with its result; of one whose begin was not seen the tool is unknown."""
        return replace(
            base,
            kind=CALL,
            id=number,
            step=self.steps.get(number, ""),
            ended=ended,
            output=output[-MAX_OUTPUT:],
            **{**self._calls.pop(number, {}), **call},
        )

    def _is_new(self, number: str) -> bool:
        """Tell whether something with this id was not told yet."""
        new = not number or number not in self._told
        if new and number:
            remember(self._told, number, None)
        return new


def remember(known: dict[str, Any], key: str, value: object) -> None:
    """Keep a value; forget the oldest of too many."""
    known[key] = value
    while len(known) > MAX_KEPT:
        del known[next(iter(known))]
