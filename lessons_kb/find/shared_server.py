"""Lessons of a server that the user shares with others, asked while the local brain is searched.

What a server says is not trusted more than a card that somebody else wrote: it is bounded here,
and made harmless where a block is packed. What it may ask for and look for is the user's to allow.
"""

from __future__ import annotations

import json
import math
import os
import queue
import re
import socket
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lessons_kb.brain.discovery import is_settings_moved
from lessons_kb.cards.keys import parse_pattern
from lessons_kb.detect.matcher import Change, Match, Matcher, Rule
from lessons_kb.errors import ConfigError, InputError, LessonsError
from lessons_kb.model import GATES, KINDS, NO_GATE, SERVED, SEVERITIES, Card, Hit, Pattern, as_data
from lessons_kb.store.files import is_inside
from lessons_kb.store.secrets import read_key
from lessons_kb.store.server_backoff import note_failure, read_backoff
from lessons_kb.store.user_settings import ServerSettings, read_user_settings
from lessons_kb.text.patterns import compile_globs, match_globs
from lessons_kb.text.sanitize import clean_line
from lessons_kb.version import __version__

if TYPE_CHECKING:
    import http.client
    import ssl
from lessons_kb.text.addresses import parse_address

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
    try:
        compile_globs(hit.card.paths)
    except InputError:
        gate = False
    if not gate:
        told.update(gate=NO_GATE, paths=[])
    if detect:
        told["detect"] = [data for data, _pattern in _patterns(lesson.get("detect"))]
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
        gate=told["gate"] if told.get("gate") in GATES else NO_GATE,
        detect=tuple(pattern for _data, pattern in _patterns(told.get("detect", ()))),
    )


def read_hit(told: Told) -> Hit:
    """Return the card that was told as one that passed the gate; raises as ``take_card`` does."""
    score, confidence = float(told["score"]), float(told["confidence"])
    if not (math.isfinite(score) and score >= 0 and 0 <= confidence <= 1):
        raise ValueError("no score")
    card, reason = read_card(told), "the server gives it"
    return Hit(
        card=card, score=score, bm25=score, confidence=confidence, passed=True, reason=reason
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


def find_in_call(
    cards: Sequence[Card], files: Sequence[str], changes: Iterable[Change], commands: Sequence[str]
) -> tuple[list[tuple[Card, tuple[str, ...]]], list[tuple[Card, tuple[Match, ...]]]]:
    """Return the cards that hold files of a call, and those whose mistake is in it.

    ``files`` are relative to the project root; each card comes with its files, or its matches.
    """
    globs = [(card, compile_globs(card.paths)) for card in cards if card.gate != NO_GATE]
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


_NO_LESSONS = (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError)


_EXPLAINED: Mapping[int, str] = {
    401: "does not accept the token",
    403: "does not let this token read",
    404: "has no such brain for this token",
    429: "is asked too often with this token",
}


class Unanswered(LessonsError):
    """What a server did wrong, to stand behind its name."""


class Asking:
    """A question to a server that is being answered. Never raises: ``trouble`` says what failed."""

    def __init__(
        self, settings: ServerSettings, asked: tuple[str, str], seconds: float, trouble: str = ""
    ) -> None:
        self._settings = settings
        self._seconds = seconds
        self._until = time.monotonic() + seconds
        self._answers: queue.SimpleQueue[list[Told] | Unanswered] = queue.SimpleQueue()
        self._open: list[http.client.HTTPConnection] = []
        self.told: list[Told] = []
        """The lessons that came, for the session to remember."""
        backoff = read_backoff(settings.url) if settings.url else ""
        self.trouble = trouble or backoff
        self.is_new = not backoff
        """Whether ``trouble`` came up just now."""
        if not self.trouble:
            work = threading.Thread(target=self._work, args=asked, name="server", daemon=True)
            try:
                work.start()
            except RuntimeError as error:  # no more threads
                self.trouble = f"cannot be asked ({error})"

    def collect(self) -> tuple[Hit, ...]:
        """Return the server's lessons, best first; waits for what is left of its time."""
        if self.trouble:
            return ()
        try:
            found = self._answers.get(timeout=max(self._until - time.monotonic(), 0.0))
        except queue.Empty:
            found = Unanswered("does not answer in time")
            # A connection that goes on for ever, byte by byte, is ended, and with it the thread.
            for connection in self._open:
                with suppress(OSError, AttributeError):  # not connected yet: that ends by itself
                    connection.sock.shutdown(socket.SHUT_RDWR)
        if isinstance(found, Unanswered):
            self.trouble = str(found)
            note_failure(self._settings.url, self.trouble)
            return ()
        self.told = found
        return tuple(map(read_hit, found))

    def tell(self) -> str:
        """Return the line for the user, "" where there is no trouble."""
        if not self.trouble:
            return ""
        if not self._settings.url:
            return f"Lessons: no server was asked: {self.trouble}"
        host = urlsplit(self._settings.url).hostname
        return f"Lessons: {host} {self.trouble}; your local lessons answer alone"

    def _work(self, prompt: str, project: str) -> None:
        try:
            answer = _ask(self._settings, prompt, project, self._seconds, self._open)[0]
        except Unanswered as error:
            _trust.cache_clear()  # its certificates may be new ones by the next time
            self._answers.put(error)
        else:
            self._answers.put(answer)


def ask_server(
    prompt: str, *, directory: str, project: str | None, seconds: float
) -> Asking | None:
    """Begin to ask the user's server for lessons, None where there is none for this directory.

    ``prompt`` is sent as it is: without secrets, that is. ``seconds`` bounds what the user allows.
    """
    try:
        settings = read_user_settings(ServerSettings)
        meant = not settings.folders or any(
            is_inside(directory, os.path.realpath(os.path.expanduser(one)))
            for one in settings.folders
        )
        if not (settings.url and prompt.strip() and meant) or is_settings_moved(directory):
            return None
        name_server(settings.url)
    except (ConfigError, InputError) as error:
        return Asking(ServerSettings(), ("", ""), 0, str(error))
    return Asking(settings, (prompt, project or ""), min(settings.seconds, seconds))


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

    Raises Unanswered.
    """
    return _ask(settings, "lesson", "", _PROBE_SECONDS, [])[1]


def _ask(
    settings: ServerSettings,
    prompt: str,
    project: str,
    seconds: float,
    connections: list[http.client.HTTPConnection],
) -> tuple[list[Told], str]:
    """Return the lessons for a prompt, and why they may be old; raises Unanswered.

    The connection is put among ``connections``, so that another thread can end it.
    """
    import http.client  # only where a server is asked: it costs a hook a third of its time
    import ssl

    try:
        name = name_server(settings.url)
        key = read_key(settings.token_file)
        parts = parse_address(settings.url, instead="")
        host, port = parts.hostname or "", parts.port
        if parts.scheme == "http":
            connection = http.client.HTTPConnection(host, port, timeout=seconds)
        else:
            trust = _trust(settings.ca_file)
            connection = http.client.HTTPSConnection(host, port, timeout=seconds, context=trust)
        connections.append(connection)
        headers = {"Content-Type": "application/json", "Connection": "close"}
        headers |= {"User-Agent": f"lessons-kb/{__version__}"}
        headers |= {"Authorization": f"Bearer {key}"} if key else {}
        body = json.dumps({"prompt": prompt, "directory": f"/{project}"}).encode()
        with closing(connection):
            connection.request("POST", f"{parts.path.rstrip('/')}/match", body, headers)
            with connection.getresponse() as response:
                status, data = response.status, response.read(_MAX_BYTES + 1)
                stale = clean_line(response.headers.get("lessons-stale", ""))[:_MAX_STALE]
    except LessonsError as error:
        raise Unanswered(f"was not asked: {error}") from error
    except ssl.SSLCertVerificationError as error:
        why = f"has a certificate that is not trusted ({error.verify_message})"
        raise Unanswered(why) from error
    except TimeoutError as error:
        raise Unanswered("does not answer in time") from error
    except OSError as error:
        raise Unanswered(f"does not answer ({error.strerror or error})") from error
    except http.client.HTTPException as error:
        raise Unanswered(_GARBAGE) from error
    except ValueError as error:  # a name that is none in the DNS, a token that is no header
        raise Unanswered(f"cannot be asked ({type(error).__name__}: {error})") from error
    if len(data) > _MAX_BYTES:
        raise Unanswered(_GARBAGE)
    if status != HTTPStatus.OK:
        raise Unanswered(_EXPLAINED.get(status, f"answers with status {status}"))
    try:
        return [
            take_card(one, name=name, gate=settings.gate, detect=settings.detect)
            for one in json.loads(data)["lessons"][:_MAX_LESSONS]
        ], stale
    except _NO_LESSONS as error:
        raise Unanswered(_GARBAGE) from error


@lru_cache(maxsize=1)
def _trust(ca_file: str) -> ssl.SSLContext:
    """Return whose certificates are believed; without a file OpenSSL's own, SSL_CERT_FILE too."""
    import ssl

    try:
        return ssl.create_default_context(cafile=os.path.expanduser(ca_file) or None)
    except OSError as error:
        raise ConfigError(f"{ca_file}: {error}; give a file of certificates (PEM)") from None
