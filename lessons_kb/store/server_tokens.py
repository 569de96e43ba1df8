"""Tokens of the organisation's server: who may ask which brains, kept in a private file."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass

from lessons_kb.errors import InputError, StorageError
from lessons_kb.store.locate import state_home
from lessons_kb.store.locks import locked
from lessons_kb.store.user_state import make_private, read_private, write_private

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
_MAX_BYTES = 4_000_000
_FIELDS = ("name", "digest", "brains", "may")


@dataclass(frozen=True, kw_only=True, slots=True)
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
        data = json.loads(read_private(path, limit=_MAX_BYTES))
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
    for one in (name, *brains):
        if not NAME.fullmatch(one):
            raise InputError(f"{one!r} is no name; use letters, digits, dots, dashes (64 at most)")
    if not brains:
        raise InputError("a token opens nothing without a brain; add --brain NAME")
    if unknown := [one for one in may if one not in SCOPES]:
        raise InputError(f"--may {unknown[0]!r} is none of {', '.join(SCOPES)}")
    if REVIEW in may and not (person and email):
        raise InputError("a reviewer signs what is accepted; add --name and --email")
    if person and not _PERSON.fullmatch(person):
        raise InputError(f"--name {person!r} cannot sign a commit; use no < >, 100 characters")
    if email and not _EMAIL.fullmatch(email):
        raise InputError(f"--email {email!r} is no address; write it as in you@example.org")
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
        _write([*known, made])
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
        _write(left)


def find_token(tokens: Sequence[ServerToken], secret: str) -> ServerToken | None:
    """Return the token with this secret; how long it takes tells nothing about the others'."""
    digest, found = _digest(secret), None
    for token in tokens:  # all of them, whichever fits
        if hmac.compare_digest(token.digest.encode(), digest.encode()):
            found = token
    return found


def has_ended(cookie: str) -> bool:
    """Tell whether somebody logged out of the login that this cookie stands for."""
    return os.path.lexists(_ended_path(cookie))


def note_ended(cookie: str, *, before: float) -> None:
    """Keep the mark of a login that ended, and forget those noted ``before`` some time.

    Raises StorageError where it cannot be kept.
    """
    path = _ended_path(cookie)
    folder = os.path.dirname(path)
    make_private(folder)
    write_private(path, b"")
    with os.scandir(folder) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):  # another server forgets it at the same time
                if entry.stat(follow_symlinks=False).st_mtime < before:
                    os.unlink(entry.path)


def _ended_path(cookie: str) -> str:
    return os.path.join(state_home(), "server", "ended", _digest(cookie))


def _digest(secret: str) -> str:
    # A fast hash is right here: 256 random bits cannot be guessed, so that there is nothing for
    # a slow one, made for passwords, to slow down; and each request is spared its time.
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _parse(data: dict[str, object]) -> ServerToken:
    name, digest, brains, may = (data[field] for field in _FIELDS)
    person, email = (str(data.get(field, "")) for field in ("person", "email"))
    if not (isinstance(name, str) and isinstance(digest, str)):
        raise TypeError("a token without a name or digest")
    if not (isinstance(brains, list) and isinstance(may, list)):
        raise TypeError(f"token {name} without brains or scopes")
    return ServerToken(
        name=name,
        digest=digest,
        brains=tuple(map(str, brains)),
        may=tuple(map(str, may)),
        person=person,
        email=email,
    )


def _write(tokens: Sequence[ServerToken]) -> None:
    path = tokens_path()
    make_private(os.path.dirname(path))
    data = json.dumps([asdict(token) for token in tokens], indent=1)
    write_private(path, data.encode())
