"""Read exported review comments, and find the mistakes that they name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from lessons_kb.calls.failure_signs import one_line
from lessons_kb.errors import InputError
from lessons_kb.mining.triggers import (
    AGREED,
    CAUSE,
    REQUESTED,
    RESOLVED,
    REVIEW,
    REVIEWED,
    SUGGESTED,
    Sighting,
)
from lessons_kb.text.error_signature import shows
from lessons_kb.text.sanitize import clean_line
from lessons_kb.text.sentences import split_sentences
from lessons_kb.text.times import read_time

_SUGGESTION = re.compile(r"```suggestion[^\n]*\n(.*?)\n?```", re.DOTALL)
_CODE_SPAN = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_MARKUP = re.compile(r"<!--.*?(?:-->|\Z)|<[^<>\n]{1,200}>|!\[[^\]]*\]\([^)]*\)|[*_`#>]", re.DOTALL)
_REQUESTED = "CHANGES_REQUESTED"
_LEAST_WORDS = 4
_MAX_DEPTH = 8
_BETWEEN = re.compile(r"[ \t\r\n,]*")
_TIMES = ("created_at", "createdAt", "submitted_at", "submittedAt")
_LATEST = 4e9
"""The latest valid date, in seconds since the epoch. Later dates are ignored, because Python cannot
show them in every time zone.
"""
_MAX_QUOTE = 300
_MAX_TITLE = 160
_MAX_CODE = 20
"""The maximum number of lines of a suggested change."""
_MAX_HUNK = 6
"""The maximum number of lines of code up to the commented line."""


class _Comment(NamedTuple):
    data: Mapping[str, Any]
    """The comment as it was exported."""
    request: str
    """The pull request or merge request of the comment."""
    parent: str
    """The id of the comment that it answers, or "" if it does not answer a comment."""


def read_comments(text: str, *, name: str) -> list[Sighting]:
    """Return the comments of an export that name a mistake, as sightings.

    Praise, questions without a cause and matters of taste are left out. A reply that agrees
    supports the comment that it answers. ``name`` is the name of the file, for messages. Raises
    InputError if the text is not an export of comments.
    """
    comments: list[_Comment] = []
    for data in _documents(text, name):
        comments += _walk(data, name)
    if not comments:
        raise InputError(f"{name}: no review comments; export them as GitHub or GitLab do")
    agreed = {one.parent for one in comments if shows("agrees", one.data["body"].lower())}
    agreed.discard("")
    sightings = []
    for comment in comments:
        if comment.parent:
            continue
        is_agreed = _text(comment.data.get("id")) in agreed
        sighting = _sighting(comment.data, comment.request, is_agreed=is_agreed)
        if sighting is not None:
            sightings.append(sighting)
    return sightings


def _documents(text: str, name: str) -> Iterator[Any]:
    """Yield the JSON documents of a text, which may be a single document, one document per line, or
    concatenated pages.
    """
    decoder = json.JSONDecoder()
    position = 0
    text = text.strip()
    while position < len(text):
        try:
            data, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            line = text.count("\n", 0, position) + 1
            raise InputError(f"{name}:{line}: not JSON; export the comments as JSON") from None
        yield data
        between = _BETWEEN.match(text, position)
        if between:
            position = between.end()


def _walk(data: Any, request: str, depth: int = 0) -> Iterator[_Comment]:
    """Yield the comments anywhere in exported data."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(data, list):
        yield from _walk_list(data, request, depth)
    elif isinstance(data, dict):
        request = _text(data.get("pull_request_url")) or _text(data.get("url")) or request
        if "isResolved" in data and isinstance(data.get("comments"), dict):
            yield from _walk_thread(data, request, depth)
            return
        if isinstance(data.get("body"), str) and not data.get("system"):
            merge = data.get("noteable_id")
            own_request = f"merge request {merge}" if merge else request
            yield _Comment(data, own_request, _text(data.get("in_reply_to_id")))
        for value in data.values():
            if isinstance(value, (list, dict)):
                yield from _walk(value, request, depth + 1)


def _walk_list(data: list[Any], request: str, depth: int) -> Iterator[_Comment]:
    """Yield the comments of a list. GitLab stores a thread as a list of notes."""
    first = ""
    for item in data:
        is_note = isinstance(item, dict) and "noteable_id" in item
        for comment in _walk(item, request, depth + 1):
            yield comment._replace(parent=first) if is_note and first else comment
            if is_note and not first:
                first = _text(comment.data.get("id"))


def _walk_thread(data: Mapping[str, Any], request: str, depth: int) -> Iterator[_Comment]:
    """Yield the comments of a thread of GitHub's GraphQL API, which all answer the first one.

    They share the position of the thread.
    """
    shared = {key: value for key, value in data.items() if key != "comments"}
    nodes = [node for node in data["comments"].get("nodes") or () if isinstance(node, dict)]
    for number, node in enumerate(nodes):
        reply: dict[str, Any] = {"in_reply_to_id": nodes[0].get("id")} if number else {}
        yield from _walk({**shared, **node, **reply}, request, depth + 1)


def _sighting(data: Mapping[str, Any], request: str, *, is_agreed: bool) -> Sighting | None:
    """Return the mistake that a comment names, or None if it does not name a mistake."""
    position = data.get("position")
    body = data["body"]
    place = position if isinstance(position, Mapping) else {}
    path = clean_line(_text(data.get("path") or place.get("new_path")))
    requested = data.get("state") == _REQUESTED
    if not path and not requested:
        return None  # part of a conversation, or a bot's summary
    prose = _MARKUP.sub("", _CODE_SPAN.sub(" ", body)).strip()
    sentences = [line for line in map(clean_line, split_sentences(prose)) if line]
    if not sentences or shows("minor", prose.lower()) or len(prose.split()) < _LEAST_WORDS:
        return None
    suggestion = _SUGGESTION.search(body)
    signals = {
        CAUSE: shows("cause", prose.lower()),
        SUGGESTED: suggestion is not None,
        REQUESTED: requested,
    }
    if not any(signals.values()) and prose.rstrip().endswith("?"):
        return None
    signals[AGREED] = is_agreed
    signals[RESOLVED] = bool(data.get("isResolved") or data.get("resolved"))
    diff = ""
    hunk = (_text(data.get("diff_hunk")) or _text(data.get("diffHunk"))).splitlines()
    if suggestion:
        first, last = data.get("start_line"), data.get("line")
        count = 1
        if isinstance(first, int) and isinstance(last, int):
            count = max(last - first + 1, 1)
        code = [line[1:] for line in hunk if line[:1] in ("+", " ")]
        before = code[-count:][:_MAX_CODE]  # the suggestion replaces the end of the hunk
        after = suggestion[1].splitlines()[:_MAX_CODE]
        diff = show_replacement(path, before, after)
    times = [read_time(data.get(name)) for name in _TIMES]
    return Sighting(
        session=request,
        agent=REVIEW,
        at=next((at for at in times if 0 < at < _LATEST), 0.0),
        title=one_line(sentences[0], _MAX_TITLE),
        signals=(REVIEWED, *(signal for signal, is_present in signals.items() if is_present)),
        quote=one_line(prose, _MAX_QUOTE),
        paths=(path,) if path else (),
        excerpt="\n".join(line[:_MAX_QUOTE] for line in hunk[1:][-_MAX_HUNK:]),
        diff=diff,
    )


def show_replacement(path: str, old: Sequence[str], new: Sequence[str]) -> str:
    """Return a diff in which new lines of a file replace old ones. Line numbers are not real."""
    head = f"--- a/{path}\n+++ b/{path}\n@@ -1,{len(old)} +1,{len(new)} @@"
    return "\n".join((head, *(f"-{line}" for line in old), *(f"+{line}" for line in new)))


def _text(value: Any) -> str:
    return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else ""
