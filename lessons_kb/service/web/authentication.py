"""Who is asking, by a token or the cookie of a login, and how often each may.

Every answer is given on behalf of one caller. The cookie of a login does not hold the token: it is
signed with the token's digest, so that it outlives a restart of the server and ends with the token.
"""

from __future__ import annotations

import hashlib
import hmac
import multiprocessing
import os
import secrets
import time
from contextvars import ContextVar
from dataclasses import asdict, field

from lessons_kb.brain.current_session import posted_session
from lessons_kb.errors import StorageError
from lessons_kb.store.error_log import log_trouble
from lessons_kb.store.server_tokens import (
    METRICS,
    PROPOSE,
    READ,
    ServerToken,
    find_token,
    has_ended,
    note_ended,
    read_tokens,
    tokens_path,
)
from lessons_kb.values import frozen

LOGIN_SECONDS = 12 * 3_600
_BURST_SECONDS = 5
"""Seconds' worth of requests that a caller may send at once."""
_SLOTS = 65_536
_ROUNDING = 1e-9
_spawn = multiprocessing.get_context("spawn")


class Shared:
    """What all processes of a server know; whatever they change the others see at once."""

    def __init__(self) -> None:
        self.secret = secrets.token_hex(32)
        """Signs the forms of whoever needs no token."""
        self.closed = _spawn.RawValue("b", 0)
        """Whether there was a token once: without one nobody may ask any more."""
        self.metrics = ""
        """Folder in which each worker keeps its figures; "" where there is but one process."""
        self.full_at = _spawn.RawArray("d", _SLOTS)
        """When the bucket of each place among the tokens is full again."""

    def take(self, place: int, rate: float, now: float) -> float:
        """Take one request out of a caller's bucket; return the seconds until there is one.

        A caller may send ``rate`` requests a second, and some seconds' worth at once. Processes
        that count one caller's requests in the same microsecond may count one too few.
        """
        place %= _SLOTS
        full_at = max(self.full_at[place], now) + 1 / rate
        wait = float(full_at - now - max(_BURST_SECONDS, 1 / rate))
        if wait > _ROUNDING:
            return wait
        self.full_at[place] = full_at
        return 0.0


@frozen
class Caller(ServerToken):
    """Whoever sent a request, with which token, and what came up while it was answered.

    The caller without a token, whose digest is "", may ask every brain.
    """

    place: int = 0
    """Among the tokens, from 1; one that is removed gives its bucket to the next."""
    mark: str = ""
    """What each form of a login carries: no other site's page can know it."""
    stale: list[str] = field(default_factory=list)
    """Why the answer may be older than the files; several reasons are possible."""

    def session(self, name: str) -> str:
        """Return the caller's own session of a name: no other caller can name it."""
        return posted_session(self.name, name)


CALLER: ContextVar[Caller] = ContextVar("caller")
"""The caller of the request that this task, or the thread that works for it, answers."""


class Tokens:
    """The tokens of this user's state, read again when the file changes, and their logins."""

    def __init__(self, shared: Shared, *, required: bool) -> None:
        self._stamp: tuple[int, ...] | None = None
        """Of the file as it was read, () where there was none."""
        self._known: tuple[ServerToken, ...] = ()
        self._shared = shared
        if required:
            shared.closed.value = 1

    def find_caller(self, authorization: str) -> Caller | None:
        """Return who sent this header, None where that is nobody we know.

        Once there was a token, a request without one is nobody's, even after it is removed: a
        server does not become open by a change of a file.
        """
        if self._is_open():
            return self._local_caller()
        scheme, _, secret = authorization.partition(" ")
        token = find_token(self._read(), secret.strip()) if scheme.lower() == "bearer" else None
        return None if token is None else self._caller(token)

    def begin_login(self, secret: str) -> str:
        """Return a cookie for whoever has a token's secret, "" for anybody else."""
        token = find_token(self._read(), secret.strip())
        if token is None:
            return ""
        told = f"{token.name}:{int(time.time()) + LOGIN_SECONDS}:{secrets.token_hex(16)}"
        return f"{told}:{_sign(token.digest, 'login', told)}"

    def find_login(self, cookie: str) -> Caller | None:
        """Return who has a cookie, None where that is nobody, or not any more."""
        if self._is_open():
            return self._local_caller()
        told, _, signature = cookie.rpartition(":")
        name, _, rest = told.partition(":")
        token = next((one for one in self._read() if one.name == name), None)
        if token is None:
            return None
        right = hmac.compare_digest(_sign(token.digest, "login", told).encode(), signature.encode())
        if not right or int(rest.partition(":")[0]) <= time.time() or has_ended(cookie):
            return None
        return self._caller(token, _sign(token.digest, "form", cookie))

    def end_login(self, cookie: str) -> None:
        """Refuse a cookie from now on, here and in each other server of this user's state."""
        if self.find_login(cookie) is not None:
            note_ended(cookie, before=time.time() - LOGIN_SECONDS)

    def _local_caller(self) -> Caller:
        # Not to review: nobody would answer for what is accepted.
        may, mark = (READ, PROPOSE, METRICS), _sign(self._shared.secret, "form", "")
        return Caller(name="local", digest="", brains=(), may=may, mark=mark)

    def _caller(self, token: ServerToken, mark: str = "") -> Caller:
        return Caller(**asdict(token), place=self._known.index(token) + 1, mark=mark)

    def _is_open(self) -> bool:
        """Tell whether whoever reaches the server may ask: there never was a token."""
        if self._read():
            self._shared.closed.value = 1
        return not self._shared.closed.value

    def _read(self) -> tuple[ServerToken, ...]:
        """Return the tokens there are; none where their file is damaged."""
        stamp: tuple[int, ...] | None
        try:
            info = os.stat(tokens_path())
            stamp = (info.st_mtime_ns, info.st_ctime_ns, info.st_ino, info.st_size)
        except OSError as error:  # reading it will tell
            stamp = () if isinstance(error, FileNotFoundError) else None
        if stamp is None or stamp != self._stamp:
            try:
                self._known = read_tokens()
            except StorageError as error:
                log_trouble("server", "tokens", str(error))
                self._known, self._shared.closed.value = (), 1  # it lets nobody in
            self._stamp = stamp
        return self._known


def _sign(key: str, purpose: str, told: str) -> str:
    return hmac.new(key.encode(), f"{purpose}:{told}".encode(), hashlib.sha256).hexdigest()
