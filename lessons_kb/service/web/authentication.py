"""Authentication by a token or the cookie of a login, and the rate limit of each caller.

Every answer is for one caller. The cookie of a login does not contain the token. The cookie is
signed with the token's digest, so that it survives a restart of the server and becomes invalid with
the token.
"""

from __future__ import annotations

import hashlib
import hmac
import multiprocessing
import os
import secrets
import time
from contextvars import ContextVar
from dataclasses import asdict

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
from lessons_kb.values import field, frozen

LOGIN_SECONDS = 12 * 3_600
_BURST_SECONDS = 5
"""The number of seconds whose requests a caller may send at once."""
_SLOTS = 65_536
_ROUNDING = 1e-9
_spawn = multiprocessing.get_context("spawn")


class Shared:
    """State that all processes of a server share. A change by one is visible to all at once."""

    def __init__(self) -> None:
        self.secret = secrets.token_hex(32)
        """Key that signs the forms of callers without a token."""
        self.closed = _spawn.RawValue("b", 0)
        """Whether there ever was a token. From then on, every request needs a token."""
        self.metrics = ""
        """Folder in which each worker stores its metrics, or "" if there is only one process."""
        self.full_at = _spawn.RawArray("d", _SLOTS)
        """For each place among the tokens, the time at which its token bucket is full again."""

    def take(self, slot: int, rate: float, now: float) -> float:
        """Count one request of a caller. Return 0, or the seconds to wait if the limit is exceeded.

        This is a token bucket: a caller may send ``rate`` requests per second, and the requests of
        ``_BURST_SECONDS`` at once. Processes that count requests of one caller in the same
        microsecond may count one too few.
        """
        slot %= _SLOTS
        full_at = max(self.full_at[slot], now) + 1 / rate
        wait = float(full_at - now - max(_BURST_SECONDS, 1 / rate))
        if wait > _ROUNDING:
            return wait
        self.full_at[slot] = full_at
        return 0.0


@frozen
class Caller(ServerToken):
    """The sender of a request, its token, and the reasons recorded while the request was answered.

    The caller without a token, whose digest is "", may use every brain.
    """

    place: int = 0
    """The caller's place among the tokens, from 1. If a token is removed, the next one gets its
    bucket.
    """
    mark: str = ""
    """CSRF token in each form of a login."""
    stale: list[str] = field(default_factory=list)
    """The reasons why the answer may be older than the files."""

    def session(self, name: str) -> str:
        """Return the caller's own name for a session. No other caller can use this name."""
        return posted_session(self.name, name)


CALLER: ContextVar[Caller] = ContextVar("caller")
"""The caller of the request that this task, or one of its threads, answers."""


class Tokens:
    """The tokens in this user's state folder, and their logins. A changed file is read again."""

    def __init__(self, shared: Shared, *, required: bool) -> None:
        """``required`` states that a request needs a token even if there never was one."""
        self._stamp: tuple[int, ...] | None = None
        """Stamp of the file that was read, or () if there was no file."""
        self._tokens: tuple[ServerToken, ...] = ()
        self._shared = shared
        if required:
            shared.closed.value = 1

    def find_caller(self, authorization: str) -> Caller | None:
        """Return the caller that an ``Authorization`` header identifies, or None if it is invalid.

        If there ever was a token, a request without one is refused, even after all tokens are
        removed: a change to a file must not open the server.
        """
        if self._is_open():
            return self._local_caller()
        scheme, _, secret = authorization.partition(" ")
        token = find_token(self._read(), secret.strip()) if scheme.lower() == "bearer" else None
        return None if token is None else self._caller(token)

    def begin_login(self, secret: str) -> str | None:
        """Return a new cookie for the secret of a token, or None if there is no such token."""
        token = find_token(self._read(), secret.strip())
        if token is None:
            return None
        claims = f"{token.name}:{int(time.time()) + LOGIN_SECONDS}:{secrets.token_hex(16)}"
        return f"{claims}:{_sign(token.digest, 'login', claims)}"

    def find_login(self, cookie: str) -> Caller | None:
        """Return the caller that a cookie identifies, or None if it is invalid, expired or
        ended.
        """
        if self._is_open():
            return self._local_caller()
        claims, _, signature = cookie.rpartition(":")
        name, _, rest = claims.partition(":")
        token = next((token for token in self._read() if token.name == name), None)
        if token is None:
            return None
        expected = _sign(token.digest, "login", claims)
        if not hmac.compare_digest(expected.encode(), signature.encode()):
            return None
        if int(rest.partition(":")[0]) <= time.time() or has_ended(cookie):
            return None
        return self._caller(token, _sign(token.digest, "form", cookie))

    def end_login(self, cookie: str) -> None:
        """Make a cookie invalid, here and in every other server that uses this state folder."""
        if self.find_login(cookie) is not None:
            note_ended(cookie, before=time.time() - LOGIN_SECONDS)

    def _local_caller(self) -> Caller:
        # This caller may not review, because no person would be responsible for an accepted card.
        may, mark = (READ, PROPOSE, METRICS), _sign(self._shared.secret, "form", "")
        return Caller(name="local", digest="", brains=(), may=may, mark=mark)

    def _caller(self, token: ServerToken, mark: str = "") -> Caller:
        return Caller(**asdict(token), place=self._tokens.index(token) + 1, mark=mark)

    def _is_open(self) -> bool:
        """Return whether requests need no token, because there never was one."""
        if self._read():
            self._shared.closed.value = 1
        return not self._shared.closed.value

    def _read(self) -> tuple[ServerToken, ...]:
        """Return the tokens, or () if their file is damaged."""
        stamp: tuple[int, ...] | None
        try:
            info = os.stat(tokens_path())
            stamp = (info.st_mtime_ns, info.st_ctime_ns, info.st_ino, info.st_size)
        except OSError as error:  # ``read_tokens`` reports it
            stamp = () if isinstance(error, FileNotFoundError) else None
        if stamp is None or stamp != self._stamp:
            try:
                self._tokens = read_tokens()
            except StorageError as error:
                log_trouble("server", "tokens", str(error))
                self._tokens, self._shared.closed.value = (), 1  # a damaged file admits nobody
            self._stamp = stamp
        return self._tokens


def _sign(key: str, purpose: str, text: str) -> str:
    """Return the signature of a text, which is valid for one purpose only."""
    return hmac.new(key.encode(), f"{purpose}:{text}".encode(), hashlib.sha256).hexdigest()
