"""Fetch lessons from a server that the user shares with others, while local brains are searched.

A server's lessons are not trusted more than a card that somebody else wrote. Their size is limited
here, and they are sanitized when a block is packed. The user's settings say whether they may ask
for permission and whether their patterns are used.
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
from lessons_kb.cards.detect_key import parse_pattern
from lessons_kb.detect.change import Change
from lessons_kb.detect.matcher import Match, Matcher, Rule
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

ServedLesson = dict[str, Any]
"""A lesson of a server as JSON data, whose size ``read_lesson`` limits."""


_MAX_ITEMS = 30


_MAX_CHARS = 500
"""The maximum number of characters of a title, a reason or an item."""


_KEYS = (
    *("id", "kind", "title", "severity", "occurrences", "why", "checklist", "shown_by"),
    *("conditional", "paths", "gate", "detect", "score", "confidence"),
)


def read_lesson(answer: Mapping[str, Any], *, name: str, gate: bool, detect: bool) -> ServedLesson:
    """Return a lesson of limited size from a server's answer. ``name`` is the name of the server's
    brain.

    ``gate`` and ``detect`` say whether the lesson may ask for permission and whether its patterns
    are used. Raises ValueError, TypeError, KeyError or OverflowError if it is not a valid lesson.
    """
    named = {**answer, "id": f"{name}{SERVED}{_clean_line(answer['id'])}", "detect": ()}
    hit = read_hit(named)
    lesson: ServedLesson = {
        **as_data(hit.card),
        "score": hit.score,
        "confidence": hit.confidence,
    }
    try:
        compile_globs(hit.card.paths)  # raises InputError for an invalid glob
    except InputError:
        gate = False
    if not gate:
        lesson.update(gate=NO_GATE, paths=[])
    if detect:
        lesson["detect"] = [data for data, _pattern in _parse_patterns(answer.get("detect"))]
    return {key: lesson[key] for key in _KEYS}


def read_card(lesson: ServedLesson) -> Card:
    """Return the card of a server's lesson. Raises the same errors as ``read_lesson``."""
    checklist = _clean_lines(lesson["checklist"])
    shown_by = tuple(str(text) for text in lesson.get("shown_by", ()))
    if len(shown_by) != len(checklist) or any(len(text) > _MAX_CHARS for text in shown_by):
        shown_by = ()
    patterns = _parse_patterns(lesson.get("detect", ()))
    return Card(
        id=_clean_line(lesson["id"]),
        kind=lesson["kind"] if lesson["kind"] in KINDS else KINDS[0],
        title=_clean_line(lesson["title"]),
        severity=lesson["severity"] if lesson["severity"] in SEVERITIES else "medium",
        occurrences=min(max(int(lesson["occurrences"]), 1), 1_000_000),
        why=_clean_line(lesson["why"]),
        checklist=checklist,
        shown_by=shown_by,
        conditional=lesson.get("conditional") is True,
        paths=_clean_lines(lesson.get("paths", ())),
        gate=lesson["gate"] if lesson.get("gate") in GATES else NO_GATE,
        detect=tuple(pattern for _data, pattern in patterns),
    )


def read_hit(lesson: ServedLesson) -> Hit:
    """Return a server's lesson as a hit that passed. Raises the same errors as ``read_lesson``."""
    score, confidence = float(lesson["score"]), float(lesson["confidence"])
    if not (math.isfinite(score) and score >= 0 and 0 <= confidence <= 1):
        raise ValueError("no score")
    card = read_card(lesson)
    reason = "the server gives it"
    return Hit(
        card=card, score=score, bm25=score, confidence=confidence, passed=True, reason=reason
    )


def _clean_line(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return clean_line(value[: 4 * _MAX_CHARS])[:_MAX_CHARS]


def _clean_lines(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        raise TypeError("no list")
    return tuple(map(_clean_line, value[:_MAX_ITEMS]))


def _parse_patterns(value: object) -> Iterator[tuple[object, Pattern]]:
    """Yield each valid pattern of a lesson, both as JSON data and parsed."""
    if not value or not isinstance(value, list):
        return

    for data in value[:_MAX_ITEMS]:
        with suppress(InputError, AttributeError):
            yield data, parse_pattern(data)


def find_in_call(
    cards: Sequence[Card], files: Sequence[str], changes: Iterable[Change], commands: Sequence[str]
) -> tuple[list[tuple[Card, tuple[str, ...]]], list[tuple[Card, tuple[Match, ...]]]]:
    """Return the cards with a gate on files of a call, and the cards whose mistake is in the call.

    ``files`` are relative to the project root. The first list contains each card with its files,
    and the second list contains each card with its matches.
    """
    guarded: list[tuple[Card, tuple[str, ...]]] = []
    for card in cards:
        if card.gate != NO_GATE:
            globs = compile_globs(card.paths)
            card_files = tuple(file for file in files if match_globs(globs, file))
            if card_files:
                guarded.append((card, card_files))
    matches: dict[str, list[Match]] = {}
    with suppress(InputError):  # the patterns may be too large together
        for match in _match_call(cards, changes, commands):
            matches.setdefault(match.rule.card, []).append(match)
    return guarded, [(card, tuple(matches[card.id])) for card in cards if card.id in matches]


def _match_call(
    cards: Sequence[Card], changes: Iterable[Change], commands: Sequence[str]
) -> list[Match]:
    """Return all matches of the cards' patterns. Raises InputError if these are too large."""
    matcher = Matcher(
        Rule(card=card.id, pattern=pattern, globs=compile_globs(pattern.files))
        for card in cards
        for pattern in card.detect
    )
    matches: list[Match] = []
    for change in changes:
        matches += matcher.find_added(change)
    matches += matcher.find_in_commands(commands)
    return matches


_PATH = re.compile(r"(?:/[^?#]*)?/v1/brains/([A-Za-z0-9][A-Za-z0-9._-]{0,63})/?")


_MAX_BYTES = 400_000
"""The maximum number of bytes of an answer."""


_MAX_LESSONS = 8
"""The maximum number of lessons that are used from an answer."""


_MAX_STALE = 300
"""The maximum number of characters of a server's reason why its lessons may be outdated."""


_PROBE_SECONDS = 5.0


_GARBAGE = "gives no answer that is understood"


_INVALID = (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError)


_STATUS_FAULTS: Mapping[int, str] = {
    401: "does not accept the token",
    403: "does not let this token read",
    404: "has no such brain for this token",
    429: "is asked too often with this token",
}


class Unanswered(LessonsError):
    """A server gave no usable answer. The message continues a sentence that begins with the
    server's name.
    """


class ServerQuery:
    """A running request for lessons. It never raises an error; ``trouble`` contains the reason of a
    failure.
    """

    def __init__(
        self,
        settings: ServerSettings,
        prompt: str,
        project: str,
        *,
        seconds: float,
        trouble: str = "",
    ) -> None:
        self._settings = settings
        self._seconds = seconds
        self._until = time.monotonic() + seconds
        self._answers: queue.SimpleQueue[list[ServedLesson] | Unanswered] = queue.SimpleQueue()
        self._open: list[http.client.HTTPConnection] = []
        self.lessons: list[ServedLesson] = []
        """The lessons of the answer, for the session to remember."""
        backoff = read_backoff(settings.url) if settings.url else ""
        self.trouble = trouble or backoff
        self.is_new = not backoff
        """Whether ``trouble`` is new in this request."""
        if not self.trouble:
            thread = threading.Thread(
                target=self._work, args=(prompt, project), name="server", daemon=True
            )
            try:
                thread.start()
            except RuntimeError as error:  # no more threads
                self.trouble = f"cannot be asked ({error})"

    def collect(self) -> tuple[Hit, ...]:
        """Wait for the answer until the deadline; return the server's lessons, best first.

        The lessons are also stored in ``lessons``. On a failure the result is (), and ``trouble``
        says what failed.
        """
        if self.trouble:
            return ()
        try:
            answer = self._answers.get(timeout=max(self._until - time.monotonic(), 0.0))
        except queue.Empty:
            answer = Unanswered("does not answer in time")
            # Close the connection, because a server that sends byte by byte would occupy the
            # thread.
            for connection in self._open:
                # AttributeError: a connection that is being made has no socket yet. Connecting has
                # a time limit of its own.
                with suppress(OSError, AttributeError):
                    connection.sock.shutdown(socket.SHUT_RDWR)
        if isinstance(answer, Unanswered):  # from the thread, or from above
            self.trouble = str(answer)
            note_failure(self._settings.url, self.trouble)
            return ()
        self.lessons = answer
        return tuple(map(read_hit, answer))

    def describe_trouble(self) -> str:
        """Return a line for the user about ``trouble``, or "" if there is none."""
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
            _read_certificates.cache_clear()  # the file may have other certificates next time
            self._answers.put(error)
        else:
            self._answers.put(answer)


def ask_server(
    prompt: str, *, directory: str, project: str | None, seconds: float
) -> ServerQuery | None:
    """Start a request for lessons to the user's server. Return None if no server is set for
    ``directory``.

    ``prompt`` is sent unchanged, so the caller redacts secrets first. The time limit is ``seconds``
    or the limit in the user's settings, whichever is shorter.
    """
    try:
        settings = read_user_settings(ServerSettings)
        folders = [os.path.realpath(os.path.expanduser(folder)) for folder in settings.folders]
        applies = not folders or any(is_inside(directory, folder) for folder in folders)
        if not (settings.url and prompt.strip() and applies) or is_settings_moved(directory):
            return None
        name_server(settings.url)  # raises InputError
    except (ConfigError, InputError) as error:
        return ServerQuery(ServerSettings(), "", "", seconds=0, trouble=str(error))
    return ServerQuery(settings, prompt, project or "", seconds=min(settings.seconds, seconds))


def name_server(url: str) -> str:
    """Return the name of the brain at an address. Raises InputError if the address is invalid."""
    parts = parse_address(url, instead="give a file with --token-file")
    match = _PATH.fullmatch(parts.path)
    if match is None or parts.query or parts.fragment:
        raise InputError(
            f"{url} names no brain; give the address that `lessons serve` prints, "
            "https://HOST/v1/brains/NAME"
        )
    return match[1]


def probe_server(settings: ServerSettings) -> str:
    """Send one request to a server. Return why its lessons may be outdated, or "" if they are up to
    date.

    Raises Unanswered.
    """
    return _ask(settings, "lesson", "", _PROBE_SECONDS, [])[1]


def _ask(
    settings: ServerSettings,
    prompt: str,
    project: str,
    seconds: float,
    connections: list[http.client.HTTPConnection],
) -> tuple[list[ServedLesson], str]:
    """Return the lessons for a prompt, and the reason why they may be outdated, or "" if they are
    up to date.

    The connection is added to ``connections``, so that another thread can close it. Raises
    Unanswered.
    """
    import http.client  # imported only here, since it takes a third of a hook's time
    import ssl

    try:
        name = name_server(settings.url)
        key = read_key(settings.token_file)
        parts = parse_address(settings.url, instead="")
        host = parts.hostname or ""
        port = parts.port
        if parts.scheme == "http":
            connection = http.client.HTTPConnection(host, port, timeout=seconds)
        else:
            context = _read_certificates(settings.ca_file)
            connection = http.client.HTTPSConnection(host, port, timeout=seconds, context=context)
        connections.append(connection)
        headers = {"Content-Type": "application/json", "Connection": "close"}
        headers |= {"User-Agent": f"lessons-kb/{__version__}"}
        headers |= {"Authorization": f"Bearer {key}"} if key else {}
        body = json.dumps({"prompt": prompt, "directory": f"/{project}"}).encode()
        with closing(connection):
            connection.request("POST", f"{parts.path.rstrip('/')}/match", body, headers)
            with connection.getresponse() as response:
                status = response.status
                data = response.read(_MAX_BYTES + 1)
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
    except ValueError as error:  # an invalid host name, or a token that no header can carry
        raise Unanswered(f"cannot be asked ({type(error).__name__}: {error})") from error
    if len(data) > _MAX_BYTES:
        raise Unanswered(_GARBAGE)
    if status != HTTPStatus.OK:
        raise Unanswered(_STATUS_FAULTS.get(status, f"answers with status {status}"))
    try:
        lessons = [
            read_lesson(lesson, name=name, gate=settings.gate, detect=settings.detect)
            for lesson in json.loads(data)["lessons"][:_MAX_LESSONS]
        ]
    except _INVALID as error:
        raise Unanswered(_GARBAGE) from error
    return lessons, stale


@lru_cache(maxsize=1)
def _read_certificates(ca_file: str) -> ssl.SSLContext:
    """Return a TLS context that trusts a file's certificates.

    Without a file, it trusts the certificates of OpenSSL, which reads SSL_CERT_FILE.
    """
    import ssl

    try:
        return ssl.create_default_context(cafile=os.path.expanduser(ca_file) or None)
    except OSError as error:
        raise ConfigError(f"{ca_file}: {error}; give a file of certificates (PEM)") from None
