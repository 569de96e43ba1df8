"""Settings: of a brain, of its user, of other programs, and the tokens of a server."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import hmac
import json
import os
import re
import secrets
import stat
import time
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, TypeVar

from lessons_kb.config import MAX_CONFIG_BYTES, Settings, parse_settings
from lessons_kb.errors import ConfigError, InputError, StorageError
from lessons_kb.store.files import (
    list_folder,
    open_regular,
    read_json,
    read_regular,
    replace_whole,
    shown,
    storage_errors,
    write_unsynced,
)
from lessons_kb.store.scan import IGNORE_NAME
from lessons_kb.store.user_state import (
    CONFIG_NAME,
    brain_key,
    forget_older,
    locked,
    make_private,
    read_private,
    state_home,
    user_settings_path,
    write_private,
)
from lessons_kb.text.patterns import Globs, check_pattern, check_sum, compile_globs
from lessons_kb.text.redact import redact
from lessons_kb.text.sanitize import shell_word


def read_settings(root: str) -> tuple[Settings, dict[str, str]]:
    """Return the settings of the brain at ``root`` and the origin of each key it sets.

    Raises ConfigError naming the line.
    """
    text = _read(root, CONFIG_NAME)
    settings, origins = parse_settings(text, name=CONFIG_NAME)
    if settings.brain and not find_named(root, settings.brain):
        raise ConfigError(
            f"{origins['brain']}: brain must be a folder below that of this file, "
            f"not {settings.brain!r}"
        )
    patterns = settings.triggers.patterns
    for pattern in patterns:
        if why := check_pattern(pattern):
            at = _find_item(pattern, origins["triggers.patterns"], text)
            raise ConfigError(f"{at}: the pattern {pattern[:60]!r} is not usable: {why}")
    if patterns and (why := check_sum(patterns)):
        raise ConfigError(f"{origins['triggers.patterns']}: {why}")
    return settings, origins


def find_named(root: str, brain: str) -> str:
    """Return the real path of a folder strictly below ``root``, "" if it is none."""
    found = os.path.realpath(os.path.join(root, brain))
    below = found.startswith(os.path.realpath(root).rstrip(os.sep) + os.sep)
    return found if below and os.path.isdir(found) else ""


def read_ignored(root: str) -> Globs:
    """Return the compiled globs of ``.lessonsignore``; ConfigError when one is malformed."""
    try:
        return compile_globs(_read(root, IGNORE_NAME).splitlines())
    except InputError as error:
        raise ConfigError(f"{IGNORE_NAME}: {error}") from None


def _find_item(pattern: str, where: str, text: str) -> str:
    """Return ``name:line`` of an item of the list that begins at ``where``, or ``where``."""
    name, _, first = where.rpartition(":")
    written = (pattern, pattern.replace("\\", "\\\\"))
    for number, line in enumerate(text.splitlines(), 1):
        if number >= int(first) and any(form and form in line for form in written):
            return f"{name}:{number}"
    return where


def _read(root: str, name: str) -> str:
    path = os.path.join(root, name)
    try:
        with open_regular(path) as file:
            data = file.read(MAX_CONFIG_BYTES + 1)
    except (FileNotFoundError, StorageError):
        return ""
    except OSError as error:
        raise ConfigError(f"{name}: {error.strerror}; grant yourself read access") from None
    if len(data) > MAX_CONFIG_BYTES:
        raise ConfigError(f"{name}: more than {MAX_CONFIG_BYTES:,} bytes; shorten it")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{name}:{line}: not UTF-8; save the file as UTF-8") from None


DEFAULT_SECONDS, _MAX_SECONDS = 30.0, 600.0
_MAX_KEY_BYTES = 10_000


@dataclass(frozen=True, kw_only=True, slots=True)
class UserSettings:
    """A table of the user's own settings."""

    table: ClassVar[str]


Section = TypeVar("Section", bound=UserSettings)


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeSettings(UserSettings):
    """``[check]`` of the user's settings: a program that judges checklist items."""

    table = "check"
    command: str = ""
    """A command line; "" = none."""
    seconds: float = DEFAULT_SECONDS
    """Until it is ended."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WriterSettings(UserSettings):
    """``[writer]`` of the user's settings: what completes drafts where ``--with`` names nobody."""

    table = "writer"
    command: str = ""
    """An agent such as ``claude``, with its options, or what reads a prompt on stdin."""
    seconds: float = 300.0
    """For one draft, until it is ended."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterSettings(UserSettings):
    """``[cluster]`` of the user's settings: where a brain with the engine ``qdrant`` is asked."""

    table = "cluster"
    url: str = ""
    """A server, or a folder; "" = nowhere, and the local index answers."""
    key_file: str = ""
    """A file with the server's key, readable by this user alone; "" = the server asks for none."""
    seconds: float = 0.3
    """Until the local index answers in its place."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerSettings(UserSettings):
    """``[server]`` of the user's settings: a shared brain that is asked at each prompt."""

    table = "server"
    url: str = ""
    """Of the brain, ``https://HOST/v1/brains/NAME``; "" = none."""
    token_file: str = ""
    """A file with the token, readable by this user alone."""
    ca_file: str = ""
    """Certificates (PEM) of the authorities to believe; "" = those that this machine believes."""
    seconds: float = 0.5
    """Until the local brain answers alone; at most a quarter of a hook's deadline."""
    folders: tuple[str, ...] = ()
    """Only the prompts of projects in these are sent; empty = those of all projects."""
    gate: bool = False
    """The ``gate`` of its lessons may ask before a change, or refuse it once."""
    detect: bool = False
    """Its lessons' ``detect`` patterns are looked for in changes and commands, here."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WithholdSettings(UserSettings):
    """``[effect]`` of the user's settings: lessons kept back to see what becomes without them."""

    table = "effect"
    withhold: float = 0.0
    """Share of sessions that each lesson is withheld from."""
    withhold_high: bool = False
    """Cards of high severity and those with a gate, too."""


def read_user_settings(kind: type[Section]) -> Section:
    """Return a table of the user's settings, the defaults without a file.

    Raises ConfigError for one that is not usable.
    """
    name = kind.table
    path = user_settings_path()
    try:
        data = read_regular(path, limit=MAX_CONFIG_BYTES, name=path)
    except FileNotFoundError:
        return kind()
    except (OSError, StorageError) as error:
        raise ConfigError(f"{path}: {error}; grant yourself read access") from None
    try:
        table = tomllib.loads(data.decode("utf-8-sig")).get(name, {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{path}: {error}; fix or remove the line") from None
    defaults: dict[str, Any] = {one.name: one.default for one in fields(kind)}
    if not isinstance(table, dict) or table.keys() - defaults.keys():
        *keys, last = defaults
        known = f"{', '.join(keys)} and {last}"
        raise ConfigError(f"{path}: [{name}] knows {known}; remove the other keys")
    values = dict(table)
    for key, value in table.items():
        known_type = type(defaults[key])
        expected = {tuple: "a list of folders", str: "text", bool: "true or false"}.get(known_type)
        fits = type(value) is known_type
        if known_type is tuple:
            fits = isinstance(value, list) and all(isinstance(one, str) for one in value)
        elif key == "withhold":
            fits, expected = type(value) in (int, float) and 0 <= value <= 1, "from 0 to 1"
        elif known_type is float:
            fits = type(value) in (int, float) and 0 < value <= _MAX_SECONDS
            expected = f"more than 0 and at most {_MAX_SECONDS:.0f}"
        if not fits:
            raise ConfigError(f"{path}: {name}.{key} must be {expected}, not {value!r}")
        values[key] = known_type(value)
    return kind(**values)


def read_key(path: str) -> str:
    """Return the key in a file, "" for no path; ConfigError where others could read it."""
    if not path:
        return ""
    try:
        data = read_private(os.path.expanduser(path), limit=_MAX_KEY_BYTES)
        key = data.decode("ascii").strip()
    except StorageError as error:
        raise ConfigError(str(error)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}; give a file that holds the key") from None
    if not key.isprintable() or " " in key:
        raise ConfigError(f"{path} holds more than a key; give a file with the key alone")
    return key


MAX_BYTES = 50_000_000
KEPT_BACKUPS = 5

_RECORD = "record.json"
_ORIGINAL = "original"
_BACKUP = "backup-"
_INSTALLS = "installs"
"""Folder of the state folder, with a folder for each file of another program that we changed."""


def read_settings_file(path: str) -> bytes | None:
    """Return the bytes of a file, None when there is none.

    Links are followed. Raises StorageError for what cannot be read or is no regular file.
    """
    with storage_errors(path), contextlib.suppress(FileNotFoundError):
        return read_regular(path, limit=MAX_BYTES, name=path)
    if os.path.islink(path):
        raise StorageError(f"{shown(path)}: a broken link; fix or remove it")
    return None


def check_writable(path: str) -> None:
    """Raise StorageError when ``path`` cannot be replaced or made; nothing is touched.

    A file whose owner has taken its write permission away counts as one that must stay.
    """
    full = os.path.realpath(path)
    with storage_errors(path), contextlib.suppress(FileNotFoundError):
        if not os.stat(full).st_mode & stat.S_IWUSR:
            raise StorageError(f"{shown(path)}: read-only; run `chmod u+w {shell_word(path)}`")
    folder = os.path.dirname(full)
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    if not os.path.isdir(folder):
        raise StorageError(f"{shown(folder)}: not a folder; move it away")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise StorageError(
            f"{shown(folder)}: permission denied; grant yourself access to the folder"
        )


def replace_settings_file(path: str, data: bytes | None, *, expected: bytes | None) -> list[str]:
    """Put ``data`` in the place of ``expected``, in one step; None stands for "no file".

    Mode and owner stay, a link is followed to its target. Returns the folders that were made,
    outermost first. Raises StorageError, also when the file is not as expected any more.
    """
    full = os.path.realpath(path)
    folder = os.path.dirname(full)
    made: list[str] = []
    while not os.path.isdir(folder) and os.path.dirname(folder) != folder:
        made.insert(0, folder)
        folder = os.path.dirname(folder)
    with storage_errors(path), locked(full):
        os.makedirs(os.path.dirname(full), exist_ok=True)
        if read_settings_file(full) != expected:
            raise StorageError(f"{shown(path)}: changed by another program; run this again")
        if data is not None:
            replace_whole(full, data, fresh=expected is None)
        elif expected is not None:
            os.unlink(full)
    return made


@dataclass(frozen=True, kw_only=True, slots=True)
class FileChange:
    """What is or would be done to one file, or to a key of git's configuration."""

    path: str
    action: str
    """``created``, ``changed``, ``unchanged``, ``removed`` (the file), ``kept`` (another agent
    uses the same entries) or ``foreign`` (a file of somebody else's stands in its place)."""
    diff: str = ""
    """Unified, without secrets."""
    backup: str = ""
    """Where the file's former content is kept."""


def show_change(path: str, before: bytes | None, after: bytes | None) -> str:
    """Return a change of a file as a unified diff, without secrets."""
    old, new = ((data or b"").decode("utf-8", "replace").splitlines() for data in (before, after))
    was, is_now = (os.devnull if data is None else path for data in (before, after))
    return redact("\n".join(difflib.unified_diff(old, new, was, is_now, lineterm="", n=2)))


def overwrite(path: str, data: bytes) -> None:
    """Write into a temporary file of another program, which waits for us to end.

    Raises StorageError; then it may hold a part, and our exit code has to say so.
    """
    with storage_errors(path), open(path, "r+b") as file:
        file.write(data)
        file.truncate()


def remove_empty(folders: list[str]) -> None:
    """Remove those folders, innermost first, that hold nothing."""
    for folder in sorted(folders, key=len, reverse=True):
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def back_up(path: str, data: bytes) -> str:
    """Keep ``data``, what ``path`` holds now, and return where; the last few are kept."""
    folder = _folder(path)
    name = f"{_BACKUP}{time.time_ns():020d}-{os.path.basename(path)}"
    write_private(os.path.join(folder, name), data)
    backups = sorted(entry for entry in os.listdir(folder) if entry.startswith(_BACKUP))
    for old in backups[:-KEPT_BACKUPS]:
        os.unlink(os.path.join(folder, old))
    return os.path.join(folder, name)


def read_change(path: str) -> tuple[dict[str, Any], bytes | None]:
    """Return what is remembered of our change of a file, ({}, None) when nothing is.

    The second is what the file held before, None when there was no file.
    """
    folder = _folder(path)
    record = read_json(os.path.join(folder, _RECORD), limit=MAX_BYTES)
    original = os.path.join(folder, _ORIGINAL)
    with contextlib.suppress(OSError, StorageError):
        existed = record.get("existed")
        return record, read_regular(original, limit=MAX_BYTES, name=original) if existed else None
    return {}, None


def remember_change(path: str, record: dict[str, Any], original: bytes | None) -> None:
    """Keep ``record`` (plain JSON data) and what the file held before it was changed first."""
    folder = _folder(path)
    if original is not None:
        write_private(os.path.join(folder, _ORIGINAL), original)
    kept = {**record, "path": os.path.realpath(path), "existed": original is not None}
    write_private(os.path.join(folder, _RECORD), json.dumps(kept).encode())


def forget_change(path: str) -> None:
    """Forget what ``remember_change`` kept; backups stay."""
    for name in (_RECORD, _ORIGINAL):
        with storage_errors(path), contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(_folder(path), name))


def list_changed() -> list[str]:
    """Return the files that we changed and that are still there, by path."""
    installs = os.path.join(state_home(), _INSTALLS)
    records = [
        read_json(os.path.join(installs, name, _RECORD), limit=MAX_BYTES)
        for name in list_folder(installs)
    ]
    paths = [str(record.get("path", "")) for record in records]
    return sorted(path for path in paths if os.path.exists(path))


def _folder(path: str) -> str:
    return os.path.join(state_home(), _INSTALLS, brain_key(path))


SECONDS = 30.0
"""For how long a server is left alone after it failed."""
_MAX_BYTES = 10_000
_MAX_CHARS = 300


def read_backoff(url: str) -> str:
    """Return why a server is not asked now, "" where it may be."""
    data = read_json(_path(), limit=_MAX_BYTES)
    at = data.get("at")
    recent = isinstance(at, float) and 0 <= time.time() - at < SECONDS
    return str(data.get("why", "")) if data.get("url") == url and recent else ""


def note_failure(url: str, why: str) -> None:
    """Leave a server alone for a while; never raises."""
    data = json.dumps({"url": url, "at": time.time(), "why": redact(why)[:_MAX_CHARS]}).encode()
    with contextlib.suppress(OSError, StorageError):
        make_private(state_home())
        write_unsynced(_path(), data)


def forget_failure() -> None:
    """Let the server be asked at once."""
    with contextlib.suppress(OSError):
        os.unlink(_path())


def _path() -> str:
    return os.path.join(state_home(), "server-backoff.json")


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
