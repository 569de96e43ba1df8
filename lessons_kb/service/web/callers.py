"""Who is asking, by a token or the cookie of a login, and how often each may.

Every answer is given on behalf of one caller. The cookie of a login does not hold the token: it is
signed with the token's digest, so that it outlives a restart of the server and ends with the token.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import multiprocessing
import os
import secrets
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache

from lessons_kb.brain.injected import posted_session
from lessons_kb.errors import StorageError
from lessons_kb.store.settings import (
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
from lessons_kb.store.user_state import log_trouble

_SLOTS = 65_536
"""Callers whose requests are counted."""
_BURST_SECONDS = 5
"""Seconds' worth of requests that a caller may send at once."""
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
        self.full_at = _spawn.RawArray("d", 2 * _SLOTS)
        """In pairs: the number of a caller, and when its bucket is full again."""


class Buckets:
    """How many requests each caller may send: so many a second, and some seconds' worth at once.

    Processes that count one caller's requests in the same microsecond may count one too few.
    """

    def __init__(
        self, rate: float, shared: Shared, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._each = 1 / rate
        self._most = max(_BURST_SECONDS, self._each)
        self._clock = clock
        self._table = shared.full_at

    def take(self, name: str) -> float:
        """Take one request out of a caller's bucket; return the seconds until there is one."""
        now, place = self._clock(), self._find(name)
        full_at = max(float(self._table[place]), now) + self._each
        wait = full_at - now - self._most
        if wait > _ROUNDING:
            return wait
        self._table[place] = full_at
        return 0.0

    def _find(self, name: str) -> int:
        """Return the place of a caller's bucket: the first free one, where it has none."""
        number = _number(name)
        for slot in range(int(number), int(number) + _SLOTS):
            place = slot % _SLOTS * 2
            if not self._table[place]:
                self._table[place] = number
            if self._table[place] == number:
                return place + 1
        return 1


@lru_cache(maxsize=_SLOTS)
def _number(name: str) -> float:
    return 1.0 + int.from_bytes(hashlib.blake2b(name.encode(), digest_size=6).digest(), "big")


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


LOGIN_SECONDS = 12 * 3_600
_PARTS = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Login:
    """Somebody who may look at pages."""

    caller: Caller
    mark: str
    """What each form of this login carries: no other site's page can know it."""
    named: bool
    """Whether there is a cookie to be removed."""


class Logins:
    """The logins of a server; ``clock`` gives seconds since the epoch."""

    def __init__(self, tokens: Tokens, *, own: str, clock: Callable[[], float] = time.time) -> None:
        """``own`` signs the forms of whoever needs no token."""
        self._tokens = tokens
        self._clock = clock
        self._own = own

    def begin(self, secret: str) -> str:
        """Return a cookie for whoever has a token's secret, "" for anybody else."""
        token = find_token(self._tokens.read(), secret.strip())
        if token is None:
            return ""
        until = int(self._clock()) + LOGIN_SECONDS
        told = f"{token.name}:{until}:{secrets.token_hex(16)}"
        return f"{told}:{_sign(token.digest, 'login', told)}"

    def find(self, cookie: str) -> Login | None:
        """Return who has a cookie, None where that is nobody, or not any more."""
        if self._tokens.is_open():
            mark = _sign(self._own, "form", "")
            return Login(caller=local_caller(), mark=mark, named=False)
        told, _, signature = cookie.rpartition(":")
        parts = cookie.split(":")
        token = next((one for one in self._tokens.read() if one.name == parts[0]), None)
        if token is None or len(parts) != _PARTS:
            return None
        right = hmac.compare_digest(_sign(token.digest, "login", told).encode(), signature.encode())
        if not right or int(parts[1]) <= self._clock() or has_ended(cookie):
            return None
        return Login(caller=caller_of(token), mark=_sign(token.digest, "form", cookie), named=True)

    def end(self, cookie: str) -> None:
        """Refuse a cookie from now on, here and in each other server of this user's state."""
        if self.find(cookie) is not None:
            note_ended(cookie, before=self._clock() - LOGIN_SECONDS)


def _sign(key: str, purpose: str, told: str) -> str:
    return hmac.new(key.encode(), f"{purpose}:{told}".encode(), hashlib.sha256).hexdigest()
