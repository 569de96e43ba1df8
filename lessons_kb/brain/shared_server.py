"""Lessons of a server that the user shares with others, asked while the local brain is searched.

What a server says is not trusted more than a card that somebody else wrote: it is bounded here,
and made harmless where a block is packed. What it may ask for and look for is the user's to allow.
"""

from __future__ import annotations

import http.client
import json
import math
import os
import queue
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from lessons_kb.brain.discovery import is_settings_moved
from lessons_kb.cards.keys import parse_pattern
from lessons_kb.detect.matcher import Change, Match, Matcher, Rule
from lessons_kb.errors import ConfigError, InputError, LessonsError
from lessons_kb.model import KINDS, SERVED, SEVERITIES, Card, Hit, Pattern, as_data
from lessons_kb.store.settings import (
    ServerSettings,
    note_failure,
    read_backoff,
    read_key,
    read_keychain,
    read_server_settings,
)
from lessons_kb.text.patterns import compile_globs, match_globs
from lessons_kb.text.sanitize import clean_line
from lessons_kb.text.server_address import parse_address
from lessons_kb.version import __version__

Told = dict[str, Any]
"""A lesson as a server told it, bounded: what ``read_card`` takes."""
_MAX_ITEMS = 30
_MAX_CHARS = 500
"""Of a title, a reason or an item."""
_USED = (
    *("id", "kind", "title", "severity", "occurrences", "why", "checklist", "shown_by"),
    *("conditional", "paths", "gate", "detect", "score", "confidence"),
)


def take_card(lesson: Mapping[str, Any], *, name: str, gate: bool, detect: bool) -> Told:
    """Return what is used of a lesson of a server's brain called ``name``.

    The user says whether it may ask for permission (``gate``), and whether its patterns are
    looked for (``detect``). ValueError, TypeError, KeyError, OverflowError for what is no lesson.
    """
    named = {**lesson, "id": f"{name}{SERVED}{_line(lesson['id'])}", "detect": ()}
    hit = read_hit(named)
    told: Told = {**as_data(hit.card), "score": hit.score, "confidence": hit.confidence}
    if not gate or not _is_usable(hit.card.paths):
        told.update(gate="none", paths=[])
    if detect:
        patterns = lesson.get("detect")
        told["detect"] = [data for data, _pattern in _patterns(patterns)]
    return {key: told[key] for key in _USED}


def read_card(told: Told) -> Card:
    """Return the card that was told; raises as ``take_card`` does."""
    checklist = _lines(told["checklist"])
    shown_by = tuple(str(one) for one in told.get("shown_by", ()))
    usable = len(shown_by) == len(checklist) and all(len(one) <= _MAX_CHARS for one in shown_by)
    return Card(
        id=_line(told["id"]),
        kind=told["kind"] if told["kind"] in KINDS else KINDS[0],
        title=_line(told["title"]),
        severity=told["severity"] if told["severity"] in SEVERITIES else "medium",
        occurrences=min(max(int(told["occurrences"]), 1), 1_000_000),
        why=_line(told["why"]),
        checklist=checklist,
        shown_by=shown_by if usable else (),
        conditional=told.get("conditional") is True,
        paths=_lines(told.get("paths", ())),
        gate="ask" if told.get("gate") == "ask" else "none",
        detect=tuple(pattern for _data, pattern in _patterns(told.get("detect", ()))),
    )


def read_hit(told: Told) -> Hit:
    """Return the card that was told as one that passed the gate; raises as ``take_card`` does."""
    score, confidence = float(told["score"]), float(told["confidence"])
    if not (math.isfinite(score) and score >= 0 and 0 <= confidence <= 1):
        raise ValueError("no score")
    return Hit(
        card=read_card(told),
        score=score,
        bm25=score,
        confidence=confidence,
        passed=True,
        reason="the server gives it",
    )


def _line(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return clean_line(value[: 4 * _MAX_CHARS])[:_MAX_CHARS]


def _lines(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        raise TypeError("no list")
    return tuple(map(_line, value[:_MAX_ITEMS]))


def _patterns(value: object) -> Iterator[tuple[object, Pattern]]:
    """Yield the usable ones of a card's patterns, as they were told and as they are."""
    if not value or not isinstance(value, list):
        return

    for one in value[:_MAX_ITEMS]:
        with suppress(InputError, AttributeError):
            yield one, parse_pattern(one)


def _is_usable(globs: Sequence[str]) -> bool:
    try:
        compile_globs(globs)
    except InputError:
        return False
    return True


def find_in_call(
    cards: Sequence[Card], files: Sequence[str], changes: Iterable[Change], commands: Sequence[str]
) -> tuple[list[tuple[Card, tuple[str, ...]]], list[tuple[Card, tuple[Match, ...]]]]:
    """Return the cards that ask about files of a call, and those whose mistake is in it.

    ``files`` are relative to the project root; each card comes with its files, or its matches.
    """
    globs = [(card, compile_globs(card.paths)) for card in cards if card.gate == "ask"]
    guarded = [
        (card, found)
        for card, compiled in globs
        if (found := tuple(file for file in files if match_globs(compiled, file)))
    ]
    rules = [
        Rule(card=card.id, pattern=pattern, globs=compile_globs(pattern.files))
        for card in cards
        for pattern in card.detect
    ]
    seen: list[Match] = []
    with suppress(InputError):  # patterns that are too large together
        matcher = Matcher(rules)
        seen += [match for change in changes for match in matcher.find_added(change)]
        seen += matcher.find_in_commands(commands)
    matches = [(card, tuple(one for one in seen if one.rule.card == card.id)) for card in cards]
    return guarded, [(card, its) for card, its in matches if its]


_PATH = re.compile(r"(?:/[^?#]*)?/v1/brains/([A-Za-z0-9][A-Za-z0-9._-]{0,63})/?")
_MAX_BYTES = 400_000
_MAX_LESSONS = 8
_MAX_STALE = 300
_PROBE_SECONDS = 5.0
_GARBAGE = "gives no answer that is understood"
_TOO_MUCH = (RecursionError, OverflowError)
_EXPLAINED: Mapping[int, str] = {
    401: "does not accept the token",
    403: "does not let this token read",
    404: "has no such brain for this token",
    429: "is asked too often with this token",
}


class Asking:
    """A question to a server that is being answered. Never raises: ``trouble`` says what failed."""

    def __init__(self, settings: ServerSettings, prompt: str, project: str, seconds: float) -> None:
        self._settings = settings
        self._seconds = seconds
        self._until = time.monotonic() + seconds
        self._answers: queue.SimpleQueue[list[Told] | Exception] = queue.SimpleQueue()
        self._open: list[http.client.HTTPConnection] = []
        self.told: list[Told] = []
        """The lessons that came, for the session to remember."""
        self.trouble = read_backoff(settings.url)
        self.is_new = not self.trouble
        """Whether ``trouble`` came up just now."""
        self._host = urlsplit(settings.url).hostname
        if not self.trouble:
            work = threading.Thread(
                target=self._work, args=(prompt, project), name="server", daemon=True
            )
            try:
                work.start()
            except RuntimeError as error:  # no more threads
                self.trouble = explain(error)

    def collect(self) -> tuple[Hit, ...]:
        """Return the server's lessons, best first; waits for what is left of its time."""
        if self.trouble:
            return ()
        try:
            found = self._answers.get(timeout=max(self._until - time.monotonic(), 0.0))
        except queue.Empty:
            found = TimeoutError()
            self._abandon()
        if isinstance(found, Exception):
            self.trouble = explain(found)
            note_failure(self._settings.url, self.trouble)
            return ()
        self.told = found
        return tuple(map(read_hit, found))

    def tell(self) -> str:
        """Return the line for the user, "" where there is no trouble."""
        if not self.trouble:
            return ""
        return f"Lessons: {self._host} {self.trouble}; your local lessons answer alone"

    def _work(self, prompt: str, project: str) -> None:
        answer: list[Told] | Exception
        try:
            answer = _ask(self._settings, prompt, project, self._seconds, self._open)[0]
        except Exception as error:  # a thread's outermost line: whoever waits is told
            answer = error
            _trust.cache_clear()  # its certificates may be new ones by the next time
        self._answers.put(answer)

    def _abandon(self) -> None:
        """End a connection that goes on for ever, byte by byte, and with it the thread."""
        for connection in self._open:
            with suppress(OSError, AttributeError):  # not connected yet: that ends by itself
                connection.sock.shutdown(socket.SHUT_RDWR)


class Unusable(Asking):
    """What stands in for a question where the settings cannot be used."""

    def __init__(self, trouble: str) -> None:
        self.told, self.trouble, self.is_new = [], trouble, True

    def tell(self) -> str:
        """Return the line for the user."""
        return f"Lessons: no server was asked: {self.trouble}"


def ask_server(
    prompt: str, *, directory: str, project: str | None, seconds: float
) -> Asking | None:
    """Begin to ask the user's server for lessons, None where there is none for this directory.

    ``prompt`` is sent as it is: without secrets, that is. ``seconds`` bounds what the user allows.
    """
    try:
        settings = read_server_settings()
        if (
            not (settings.url and prompt.strip())
            or not _is_meant(settings, directory)
            or is_settings_moved(directory)
        ):
            return None
        name_server(settings.url)
    except (ConfigError, InputError) as error:
        return Unusable(str(error))
    return Asking(settings, prompt, project or "", min(settings.seconds, seconds))


def name_server(url: str) -> str:
    """Return the name of the brain at an address; InputError for one that cannot be used."""
    parts = parse_address(url, instead="give a file with --token-file")
    found = _PATH.fullmatch(parts.path)
    if found is None or parts.query or parts.fragment:
        raise InputError(
            f"{url} names no brain; give the address that `lessons serve` prints, "
            "https://HOST/v1/brains/NAME"
        )
    return found[1]


def probe_server(settings: ServerSettings) -> str:
    """Ask a server for lessons once; return why what it holds may be old, "" where it is not.

    Raises whatever asking raises; see `explain`.
    """
    name_server(settings.url)
    return _ask(settings, "lesson", "", _PROBE_SECONDS, [])[1]


def explain(error: Exception) -> str:
    """Return what a server did wrong, to stand behind its name."""
    if isinstance(error, _Refused):
        return str(error)
    if isinstance(error, LessonsError):
        return f"was not asked: {error}"
    if type(error).__name__ == "SSLCertVerificationError":
        why = getattr(error, "verify_message", "")
        return f"has a certificate that is not trusted ({why})"
    if isinstance(error, TimeoutError):
        return "does not answer in time"
    if isinstance(error, OSError):
        return f"does not answer ({error.strerror or error})"
    if type(error).__module__ == "http.client":
        return _GARBAGE
    return f"cannot be asked ({type(error).__name__}: {error})"


class _Refused(Exception):
    """An answer that holds no lessons."""


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    stale: str
    body: bytes


def _ask(
    settings: ServerSettings,
    prompt: str,
    project: str,
    seconds: float,
    connections: list[http.client.HTTPConnection],
) -> tuple[list[Told], str]:
    """Return the lessons for a prompt, and why they may be old.

    The connection is put among ``connections``, so that another thread can end it.
    """
    key = read_key(settings.token_file) or (
        read_keychain(settings.url) if settings.keychain else ""
    )
    body = json.dumps({"prompt": prompt, "directory": f"/{project}"}).encode()
    connection = _connect(settings, seconds)
    connections.append(connection)
    with closing(connection):
        answer = _post(connection, parse_address(settings.url, instead="").path, body, key)
    if answer.status != 200:  # noqa: PLR2004
        raise _Refused(_EXPLAINED.get(answer.status, f"answers with status {answer.status}"))
    try:
        name = name_server(settings.url)
        lessons = json.loads(answer.body)["lessons"]
        found = [
            take_card(one, name=name, gate=settings.gate, detect=settings.detect)
            for one in lessons[:_MAX_LESSONS]
        ]
    except (ValueError, TypeError, KeyError, AttributeError, *_TOO_MUCH) as error:
        raise _Refused(_GARBAGE) from error
    return found, answer.stale


def _connect(settings: ServerSettings, seconds: float) -> http.client.HTTPConnection:
    import http.client  # only where a server is asked: it costs a hook a third of its time

    parts = parse_address(settings.url, instead="")
    host, port = parts.hostname or "", parts.port
    if parts.scheme == "http":
        return http.client.HTTPConnection(host, port, timeout=seconds)
    trust = _trust(settings.ca_file)
    return http.client.HTTPSConnection(host, port, timeout=seconds, context=trust)


@lru_cache(maxsize=1)
def _trust(ca_file: str) -> ssl.SSLContext:
    """Return whose certificates are believed; without a file OpenSSL's own, SSL_CERT_FILE too."""
    import ssl

    try:
        return ssl.create_default_context(cafile=os.path.expanduser(ca_file) or None)
    except OSError as error:
        raise ConfigError(f"{ca_file}: {error}; give a file of certificates (PEM)") from None


def _post(connection: http.client.HTTPConnection, path: str, body: bytes, key: str) -> _Answer:
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"lessons-kb/{__version__}",
        "Connection": "close",
    }
    if key:
        headers["Authorization"] = f"Bearer {key}"
    connection.request("POST", f"{path.rstrip('/')}/match", body, headers)
    with connection.getresponse() as response:
        data = response.read(_MAX_BYTES + 1)
        if len(data) > _MAX_BYTES:
            raise _Refused(_GARBAGE)
        stale = clean_line(response.headers.get("lessons-stale", ""))[:_MAX_STALE]
        return _Answer(response.status, stale, data)


def _is_meant(settings: ServerSettings, directory: str) -> bool:
    """Tell whether the prompts of a directory may be sent."""
    if not settings.folders:
        return True
    here = os.path.realpath(directory) + os.sep
    tops = (os.path.realpath(os.path.expanduser(one)) for one in settings.folders)
    return any(here.startswith(top.rstrip(os.sep) + os.sep) for top in tops)
