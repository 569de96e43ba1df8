"""Who is asking: every answer of the server is given on behalf of one caller."""

from __future__ import annotations

import datetime as dt
from contextvars import ContextVar
from dataclasses import dataclass, field

from lessons_kb.brain.current_session import posted_session
from lessons_kb.store.server_tokens import METRICS, PROPOSE, READ, ServerToken


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """Whoever sent a request, and what came up while it was answered."""

    name: str
    may: tuple[str, ...]
    brains: tuple[str, ...] | None
    """Names of the brains it may ask; None = all that are served."""
    person: str = ""
    """Name of the reviewer, "" for whoever may not review."""
    email: str = ""
    stale: list[str] = field(default_factory=list)
    """Why the answer may be older than the files; several reasons are possible."""

    def may_ask(self, brain: str) -> bool:
        """Tell whether a brain of this name is the caller's to ask."""
        return self.brains is None or brain in self.brains

    def session(self, name: str) -> str:
        """Return the caller's own session of a name: no other caller can name it."""
        return posted_session(self.name, name)

    def day(self) -> str:
        """Return the session of what a caller says without naming one: a day is one."""
        return self.session(dt.datetime.now(tz=dt.UTC).date().isoformat())


CALLER: ContextVar[Caller] = ContextVar("caller")
"""The caller of the request that this task, or the thread that works for it, answers."""


def local_caller() -> Caller:
    """Return whoever asks a server on this machine that has no tokens."""
    # Not to review: nobody would answer for what is accepted.
    return Caller(name="local", may=(READ, PROPOSE, METRICS), brains=None)


def caller_of(token: ServerToken) -> Caller:
    """Return the caller that holds a token."""
    return Caller(
        name=token.name,
        may=token.may,
        brains=token.brains,
        person=token.person,
        email=token.email,
    )
