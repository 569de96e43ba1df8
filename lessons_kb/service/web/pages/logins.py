"""Who is logged in: a cookie that names a token and is signed, and the mark of that login's forms.

The cookie does not hold the token. It is signed with the token's digest, so that it outlives a
restart of the server and ends with the token.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from lessons_kb.service.web.callers import Caller, Tokens, caller_of, local_caller
from lessons_kb.store.settings import (
    find_token,
    has_ended,
    note_ended,
)

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
