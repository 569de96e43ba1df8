"""The tokens of a shared server, and logins that have ended."""

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
"""Of a token or a served brain: plain in an address, and no path."""


_PERSON = re.compile(r"[^\s<>](?:[^<>\x00-\x1f\x7f]{0,98}[^\s<>])?")


_EMAIL = re.compile(r"[^\s<>@\x00-\x1f\x7f]{1,100}@[^\s<>@\x00-\x1f\x7f]{1,100}")
"""What git can write into a commit, and no more is asked of a person's name and address."""


_PREFIX = "lsn_"
"""Lets scanners of repositories recognise a token that was committed."""


_SECRET_BYTES = 32


_MAX_TOKEN_BYTES = 4_000_000


@frozen
class ServerToken:
    """Who holds it, and what it opens; the secret itself is kept nowhere."""

    name: str
    digest: str
    """SHA-256 of the secret, hexadecimal."""
    brains: tuple[str, ...]
    """Names under which a server serves them."""
    may: tuple[str, ...]
    """Some of SCOPES."""
    person: str = ""
    """The name of who reviews with it, the author of what is accepted; "" = nobody does."""
    email: str = ""
    """Of the same."""


def tokens_path() -> str:
    """Return where the tokens are kept."""
    return os.path.join(state_home(), "server", "tokens.json")


def read_tokens() -> tuple[ServerToken, ...]:
    """Return all tokens; StorageError for a file that others can read, or that is damaged."""
    path = tokens_path()
    try:
        data = json.loads(read_private(path, limit=_MAX_TOKEN_BYTES))
        return tuple(_parse(one) for one in data)
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise StorageError(f"{path} cannot be read ({error}); restore it or remove it") from None


def add_token(
    name: str, *, brains: Sequence[str], may: Sequence[str], person: str = "", email: str = ""
) -> str:
    """Note a new token and return its secret, which is shown this once.

    ``person`` and ``email`` sign what is accepted with it; whoever may review has both. Raises
    InputError for a name that is taken or unusable.
    """
    bad = next((one for one in (name, *brains) if not NAME.fullmatch(one)), None)
    unknown = next((one for one in may if one not in SCOPES), None)
    email_fits = not email or _EMAIL.fullmatch(email)
    for fits, message in (
        (bad is None, f"{bad!r} is no name; use letters, digits, dots, dashes (64 at most)"),
        (brains, "a token opens nothing without a brain; add --brain NAME"),
        (unknown is None, f"--may {unknown!r} is none of {', '.join(SCOPES)}"),
        (
            REVIEW not in may or (person and email),
            "a reviewer signs what is accepted; add --name and --email",
        ),
        (
            not person or _PERSON.fullmatch(person),
            f"--name {person!r} cannot sign a commit; use no < >, 100 characters",
        ),
        (email_fits, f"--email {email!r} is no address; write it as in you@example.org"),
    ):
        if not fits:
            raise InputError(message)
    secret = _PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
    with locked(tokens_path()):
        known = read_tokens()
        if any(token.name == name for token in known):
            raise InputError(f"a token {name} exists; remove it first, or choose another name")
        made = ServerToken(
            name=name,
            digest=_digest(secret),
            brains=tuple(dict.fromkeys(brains)),
            may=tuple(one for one in SCOPES if one in may),
            person=person,
            email=email,
        )
        _write_tokens([*known, made])
    return secret


def remove_token(name: str) -> None:
    """Forget a token: a running server refuses it from its next request on.

    Raises InputError where there is none of that name.
    """
    with locked(tokens_path()):
        known = read_tokens()
        left = [token for token in known if token.name != name]
        if len(left) == len(known):
            raise InputError(f"no token named {name!r}; see `lessons serve token list`")
        _write_tokens(left)


def find_token(tokens: Sequence[ServerToken], secret: str) -> ServerToken | None:
    """Return the token with this secret; how long it takes tells nothing about the others'."""
    digest = _digest(secret).encode()  # held against all, whichever fits
    fitting = [one for one in tokens if hmac.compare_digest(one.digest.encode(), digest)]
    return fitting[0] if fitting else None


def has_ended(cookie: str) -> bool:
    """Tell whether somebody logged out of the login that this cookie stands for."""
    return os.path.lexists(_ended_path(cookie))


def note_ended(cookie: str, *, before: float) -> None:
    """Keep the mark of a login that ended, and forget those noted ``before`` some time.

    Raises StorageError where it cannot be kept.
    """
    path = _ended_path(cookie)
    write_private(path, b"")
    forget_older(os.path.dirname(path), before)


def _ended_path(cookie: str) -> str:
    return os.path.join(state_home(), "server", "ended", _digest(cookie))


def _digest(secret: str) -> str:
    # A fast hash is right here: 256 random bits cannot be guessed, so that there is nothing for
    # a slow one, made for passwords, to slow down; and each request is spared its time.
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
