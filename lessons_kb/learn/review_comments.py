"""What reviewers said of changes, as GitHub and GitLab export it.

Of GitHub the comments of pull requests (``gh api --paginate repos/O/R/pulls/comments``) and the
reviews of one (``gh pr view N --json reviews``), of GitLab the discussions of a merge request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from lessons_kb.errors import InputError
from lessons_kb.learn.fix_commits import gives_cause
from lessons_kb.learn.session_signals import (
    AGREED,
    CAUSE,
    REQUESTED,
    REVIEW,
    REVIEWED,
    SUGGESTED,
    Sighting,
)
from lessons_kb.text.sanitize import clean_line
from lessons_kb.text.sentences import split_sentences

_SUGGESTION = re.compile(r"```suggestion[^\n]*\n(.*?)\n?```", re.DOTALL)
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_MARKUP = re.compile(r"<!--.*?(?:-->|\Z)|<[^<>\n]{1,200}>|!\[[^\]]*\]\([^)]*\)|[*_`#>]", re.DOTALL)
_MINOR = re.compile(
    r"^\W*(?:nits?\b|nitpick|optional\b|minor\b|typo|style\b|question\b|thanks|thank you|lgtm"
    r"|nice\b|great\b|love\b|looks good|done\b|fixed\b|addressed\b)",
    re.IGNORECASE,
)
"""How a comment opens that asks for nothing, or for a matter of taste."""
_AGREES = re.compile(
    r"\b(?:good (?:catch|point|call|spot)|nice catch|fixed|addressed|done|you(?:'re| are) right"
    r"|updated|agreed?|makes sense)\b|수정했|맞네요|반영",
    re.IGNORECASE,
)
_REQUESTED = "CHANGES_REQUESTED"
_LEAST_WORDS = 4
_MAX_DEPTH = 8
_BETWEEN = re.compile(r"[ \t\r\n,]*")
_LATEST = 4e9
"""Seconds since the epoch; a date that no calendar of Python can show in every zone is none."""
_MAX_QUOTE = 300
_MAX_TITLE = 160
_MAX_CODE = 20
"""Lines of a change."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Comment:
    """One comment, whoever keeps it."""

    id: str
    parent: str
    body: str
    where: str
    """The pull or merge request."""
    at: float
    path: str
    hunk: str
    lines: int
    """How many lines of the hunk's end it is about."""
    requested: bool


def read_comments(text: str, *, name: str) -> list[Sighting]:
    """Return the comments of an export that name a mistake, as sightings; ``name`` for messages.

    Praise, questions without a cause and matters of taste are left out; a reply that agrees
    counts for what it answers. Raises InputError for what is no such export.
    """
    comments = [one for data in _documents(text, name) for one in _walk(data, name)]
    if not comments:
        raise InputError(f"{name}: no review comments; export them as GitHub or GitLab do")
    agreed = {one.parent for one in comments if one.parent and _AGREES.search(one.body)}
    found = []
    for one in comments:
        if one.parent or (seen := _sighting(one)) is None:
            continue
        if one.id and one.id in agreed:
            seen = replace(seen, signals=(*seen.signals, AGREED))
        found.append(seen)
    return found


def _documents(text: str, name: str) -> Iterator[Any]:
    """Yield the documents of a text: one, one a line, or one behind the other, as pages are."""
    decoder, place = json.JSONDecoder(), 0
    text = text.strip()
    while place < len(text):
        try:
            data, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            line = text.count("\n", 0, place) + 1
            raise InputError(f"{name}:{line}: not JSON; export the comments as JSON") from None
        yield data
        if between := _BETWEEN.match(text, place):
            place = between.end()


def _walk(data: Any, where: str, depth: int = 0) -> Iterator[_Comment]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(data, list):
        parent = ""
        for one in data:
            for comment in _walk(one, where, depth + 1):
                # GitLab keeps a thread as a list of notes.
                threaded = isinstance(one, dict) and "noteable_id" in one
                yield replace(comment, parent=parent) if threaded and parent else comment
                parent = parent or (comment.id if threaded else "")
    elif isinstance(data, dict):
        where = _text(data.get("pull_request_url")) or _text(data.get("url")) or where
        if isinstance(data.get("body"), str) and not data.get("system"):
            yield _comment(data, where)
        for value in data.values():
            if isinstance(value, (list, dict)):
                yield from _walk(value, where, depth + 1)


def _comment(data: Mapping[str, Any], where: str) -> _Comment:
    position = data.get("position")
    place = position if isinstance(position, Mapping) else {}
    first, last = (data.get(key) for key in ("start_line", "line"))
    lines = last - first + 1 if isinstance(first, int) and isinstance(last, int) else 1
    if data.get("noteable_id"):
        where = f"merge request {data['noteable_id']}"
    return _Comment(
        id=_text(data.get("id")),
        parent=_text(data.get("in_reply_to_id")),
        body=data["body"],
        where=where,
        at=_seconds(data),
        path=clean_line(_text(data.get("path") or place.get("new_path"))),
        hunk=_text(data.get("diff_hunk")),
        lines=max(lines, 1),
        requested=data.get("state") == _REQUESTED,
    )


def _sighting(one: _Comment) -> Sighting | None:
    if not one.path and not one.requested:
        return None  # part of a conversation, or a bot's summary
    prose = _MARKUP.sub("", _CODE.sub(" ", one.body)).strip()
    sentences = [line for line in map(clean_line, split_sentences(prose)) if line]
    if not sentences or _MINOR.match(prose) or len(prose.split()) < _LEAST_WORDS:
        return None
    cause = gives_cause(prose.lower())
    suggestion = _SUGGESTION.search(one.body)
    if not cause and not suggestion and not one.requested and prose.rstrip().endswith("?"):
        return None
    signals = [REVIEWED]
    signals += [CAUSE] if cause else []
    signals += [SUGGESTED] if suggestion else []
    signals += [REQUESTED] if one.requested else []
    return Sighting(
        session=one.where,
        agent=REVIEW,
        at=one.at,
        title=_shortened(sentences[0], _MAX_TITLE),
        signals=tuple(signals),
        quote=_shortened(clean_line(prose), _MAX_QUOTE),
        paths=(one.path,) if one.path else (),
        diff=_change(one, suggestion[1]) if suggestion else "",
    )


def _change(one: _Comment, suggestion: str) -> str:
    """Return what a suggestion replaces as a diff without places."""
    shown = [line[1:] for line in one.hunk.splitlines() if line[:1] in ("+", " ")]
    before = shown[-one.lines :][:_MAX_CODE]
    after = suggestion.splitlines()[:_MAX_CODE]
    rows = [*(f"-{line}" for line in before), *(f"+{line}" for line in after)]
    head = f"--- a/{one.path}\n+++ b/{one.path}\n@@ -1,{len(before)} +1,{len(after)} @@"
    return "\n".join((head, *rows))


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _text(value: Any) -> str:
    return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else ""


def _seconds(data: Mapping[str, Any]) -> float:
    for key in ("created_at", "createdAt", "submitted_at", "submittedAt"):
        try:
            at = datetime.fromisoformat(str(data.get(key))).timestamp()
        except (ValueError, OverflowError):
            continue
        if 0 <= at < _LATEST:
            return at
    return 0.0
