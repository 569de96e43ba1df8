"""Who is asking, by the tokens there are: every answer is given on behalf of one caller."""

from __future__ import annotations

import datetime as dt
import os
from contextvars import ContextVar
from dataclasses import dataclass, field

from lessons_kb.brain.injected import posted_session
from lessons_kb.errors import StorageError
from lessons_kb.service.web.shared import Shared
from lessons_kb.store.settings import (
    METRICS,
    PROPOSE,
    READ,
    ServerToken,
    find_token,
    read_tokens,
    tokens_path,
)
from lessons_kb.store.user_state import log_trouble

_SCHEME = b"bearer "


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


class Tokens:
    """The tokens of this user's state, read again when the file changes."""

    def __init__(self, shared: Shared, *, required: bool) -> None:
        self._stamp: tuple[int, ...] | None = None
        """Of the file as it was read, () where there was none."""
        self._known: tuple[ServerToken, ...] = ()
        self._shared = shared
        if required:
            shared.closed.value = 1

    def find_caller(self, authorization: bytes) -> Caller | None:
        """Return who sent this header, None where that is nobody we know.

        Once there was a token, a request without one is nobody's, even after it is removed: a
        server does not become open by a change of a file.
        """
        if self.is_open():
            return local_caller()
        if authorization[: len(_SCHEME)].lower() != _SCHEME:
            return None
        token = find_token(self.read(), authorization[len(_SCHEME) :].strip().decode("latin-1"))
        return None if token is None else caller_of(token)

    def is_open(self) -> bool:
        """Tell whether whoever reaches the server may ask: there never was a token."""
        if self.read():
            self._shared.closed.value = 1
        return not self._shared.closed.value

    def read(self) -> tuple[ServerToken, ...]:
        """Return the tokens there are; none where their file is damaged."""
        stamp: tuple[int, ...] | None
        try:
            info = os.stat(tokens_path())
            stamp = (info.st_mtime_ns, info.st_ctime_ns, info.st_ino, info.st_size)
        except FileNotFoundError:
            stamp = ()
        except OSError:
            stamp = None
        if stamp is None or stamp != self._stamp:
            try:
                self._known = read_tokens()
            except StorageError as error:
                log_trouble("server", "tokens", str(error))
                self._known, self._shared.closed.value = (), 1  # it lets nobody in
            self._stamp = stamp
        return self._known
