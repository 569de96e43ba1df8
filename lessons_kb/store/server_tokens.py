"""The tokens of a shared server, and the logins that have ended."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from lessons_kb.errors import InputError, StorageError
from lessons_kb.store.locations import state_home
from lessons_kb.store.locks import locked
from lessons_kb.store.private_files import read_private, write_private
from lessons_kb.store.session_notes import forget_older
from lessons_kb.values import frozen

READ, PROPOSE, REVIEW, METRICS = "read", "propose", "review", "metrics"


SCOPES = (READ, PROPOSE, REVIEW, METRICS)


NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""The pattern of the name of a token or a served brain.

Such a name needs no escape in a URL, and it is not a path.
"""


_PERSON = re.compile(r"[^\s<>](?:[^<>\x00-\x1f\x7f]{0,98}[^\s<>])?")


_EMAIL = re.compile(r"[^\s<>@\x00-\x1f\x7f]{1,100}@[^\s<>@\x00-\x1f\x7f]{1,100}")
"""The pattern of a person's name and address. Git must be able to write them into a commit."""


_PREFIX = "lsn_"
"""The prefix by which secret scanners recognise a committed token."""


_SECRET_BYTES = 32


_MAX_TOKEN_BYTES = 4_000_000


@frozen
class ServerToken:
    """A token's owner, brains and scopes. The secret itself is not stored."""

    name: str
    digest: str
    """SHA-256 of the secret, in hexadecimal."""
    brains: tuple[str, ...]
    """Names under which a server serves the brains."""
    may: tuple[str, ...]
    """The scopes of the token, a subset of SCOPES."""
    person: str = ""
    """The name of the reviewer, who is the author of commits with accepted drafts; "" without
    REVIEW."""
    email: str = ""
    """Email address of the reviewer."""


def tokens_path() -> str:
    """Return the path of the file with the tokens."""
    return os.path.join(state_home(), "server", "tokens.json")


def read_tokens() -> tuple[ServerToken, ...]:
    """Return all tokens.

    Raises StorageError if the file is damaged, or if other users can read it.
    """
    path = tokens_path()
    try:
        data = json.loads(read_private(path, limit=_MAX_TOKEN_BYTES))
        return tuple(map(_parse, data))
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise StorageError(f"{path} cannot be read ({error}); restore it or remove it") from None


def add_token(
    name: str, *, brains: Sequence[str], may: Sequence[str], person: str = "", email: str = ""
) -> str:
    """Store a new token and return its secret, which cannot be read again.

    ``person`` and ``email`` are the author of commits with accepted drafts. The scope REVIEW needs
    both. Raises InputError for a value that cannot be used or a name that is taken.
    """
    _check_token(name, brains, may, person, email)
    secret = _PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
    with locked(tokens_path()):
        tokens = read_tokens()
        if any(token.name == name for token in tokens):
            raise InputError(f"a token {name} exists; remove it first, or choose another name")
        new_token = ServerToken(
            name=name,
            digest=_digest(secret),
            brains=tuple(dict.fromkeys(brains)),
            may=tuple(scope for scope in SCOPES if scope in may),
            person=person,
            email=email,
        )
        _write_tokens([*tokens, new_token])
    return secret


def _check_token(
    name: str, brains: Sequence[str], may: Sequence[str], person: str, email: str
) -> None:
    """Raise InputError for the first value of a new token that cannot be used."""
    for word in (name, *brains):
        if not NAME.fullmatch(word):
            raise InputError(
                f"{word!r} cannot be a name; use letters, digits, dots, dashes (64 at most)"
            )
    if not brains:
        raise InputError("a token without a brain gives access to nothing; add --brain NAME")
    for scope in may:
        if scope not in SCOPES:
            raise InputError(f"--may {scope!r} must be one of {', '.join(SCOPES)}")
    if REVIEW in may and not (person and email):
        raise InputError("a reviewer signs what is accepted; add --name and --email")
    if person and not _PERSON.fullmatch(person):
        raise InputError(
            f"--name {person!r} cannot sign a commit; use at most 100 characters, without < >"
        )
    if email and not _EMAIL.fullmatch(email):
        raise InputError(
            f"--email {email!r} is not an address; write it in the form you@example.org"
        )


def remove_token(name: str) -> None:
    """Remove a token. A running server refuses it from the next request on.

    Raises InputError if there is no token of that name.
    """
    with locked(tokens_path()):
        tokens = read_tokens()
        remaining = [token for token in tokens if token.name != name]
        if len(remaining) == len(tokens):
            raise InputError(f"no token named {name!r}; see `lessons serve token list`")
        _write_tokens(remaining)


def find_token(tokens: Sequence[ServerToken], secret: str) -> ServerToken | None:
    """Return the token with this secret, or None. The time of the search reveals no secret."""
    digest = _digest(secret).encode()
    # Compares with all tokens, even after a match.
    matches = [token for token in tokens if hmac.compare_digest(token.digest.encode(), digest)]
    return matches[0] if matches else None


def has_ended(cookie: str) -> bool:
    """Return whether the user has logged out of the login with this cookie."""
    return os.path.lexists(_ended_path(cookie))


def note_ended(cookie: str, *, before: float) -> None:
    """Mark a login as ended, and delete the marks that were written before ``before``.

    Raises StorageError if the mark cannot be written.
    """
    path = _ended_path(cookie)
    write_private(path, b"")
    forget_older(os.path.dirname(path), before)


def _ended_path(cookie: str) -> str:
    return os.path.join(state_home(), "server", "ended", _digest(cookie))


def _digest(secret: str) -> str:
    # A slow hash for passwords would have no benefit, because nobody can guess 256 random bits. It
    # would only make each request slower.
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _parse(data: dict[str, Any]) -> ServerToken:
    token = ServerToken(**{**data, "brains": tuple(data["brains"]), "may": tuple(data["may"])})
    if not all(isinstance(text, str) for text in (token.name, token.digest)):
        raise TypeError("a token without a name or digest")
    return token


def _write_tokens(tokens: Sequence[ServerToken]) -> None:
    path = tokens_path()
    data = json.dumps([asdict(token) for token in tokens], indent=1)
    write_private(path, data.encode())
