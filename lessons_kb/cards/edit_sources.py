"""Write and check the `sources` of a card."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence

from lessons_kb.cards.edit import format_scalar
from lessons_kb.cards.keys import (
    Header,
    HeaderEntry,
    Split,
    Value,
    canonical,
    line_starts,
    split_header,
)
from lessons_kb.cards.read_header import read_header
from lessons_kb.cards.sources import (
    FIELDS,
    KEY,
    MAX_SOURCES,
    find_entry,
    read_source,
    read_sources,
    read_sources_of,
)
from lessons_kb.errors import EditRefused
from lessons_kb.model import (
    COMMIT_SOURCE,
    FILE_SOURCE,
    REQUEST_SOURCE,
    SESSION_SOURCE,
    Document,
    Finding,
    Source,
)
from lessons_kb.text.redact import redact
from lessons_kb.text.sanitize import clean_line, shorten
from lessons_kb.values import replace

MAX_QUOTE = 200
"""In characters."""
MAX_TITLE = 120
_COMMIT_DIGITS = 12
_HASHED = re.compile(r"[0-9a-f]{16}")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:$|[T ])", re.ASCII)
_QUOTE_LINE = re.compile(r"(?P<indent>[ \t]*)(?P<dash>-[ \t]+)?[\"']?quote[\"']?[ \t]*:")


def make_quote(text: str) -> str:
    """Return a text as a quote of one line, without secrets, of at most MAX_QUOTE characters."""
    return shorten(clean_line(redact(text)).strip(), MAX_QUOTE)


def make_commit_source(commit: str, subject: str, at: str, quote: str = "") -> Source:
    """Return a source that is a commit. ``at`` is an ISO date, with or without a time."""
    title = shorten(clean_line(redact(subject)).strip(), MAX_TITLE)
    resource = f"{COMMIT_SOURCE}:{commit[:_COMMIT_DIGITS]}"
    return Source(resource=resource, title=title, last_modified=at, quote=make_quote(quote))


def make_session_source(session: str, at: str = "", quote: str = "") -> Source:
    """Return a source that is a session.

    It contains a hash of the id of the session, because the id names private records.
    """
    resource = f"{SESSION_SOURCE}:{hash_session(session)}"
    return Source(resource=resource, last_modified=at, quote=make_quote(quote))


def make_request_source(name: str, at: str = "", quote: str = "") -> Source:
    """Return a source that is a pull request. ``name`` is its address, or its name in an export."""
    name = clean_line(redact(name)).strip()
    is_address = name.startswith(("https://", "http://"))
    resource = name if is_address else f"{REQUEST_SOURCE}:{name}"
    return Source(resource=resource, last_modified=at, quote=make_quote(quote))


def make_file_source(path: str, line: int = 0, quote: str = "") -> Source:
    """Return a source that is a place in a file. ``path`` is relative to the project."""
    place = f"{clean_line(redact(path))}#L{line}" if line else clean_line(redact(path))
    return Source(resource=f"{FILE_SOURCE}:{place}", quote=make_quote(quote))


def hash_session(session: str) -> str:
    """Return the hash that names a session in a card."""
    return hashlib.blake2b(session.encode("utf-8", "replace"), digest_size=8).hexdigest()


def add_sources(text: str, sources: Sequence[Source]) -> str:
    """Return the text of a card with more sources. No other byte changes.

    A source is left out if the card already has its ``resource``. Raises EditRefused if the present
    sources are written in a form to which nothing can be added.
    """
    split = split_header(text)
    reading = read_header(split)
    if reading.reader == "none":
        raise EditRefused(f"{reading.problems[0].message}; {reading.problems[0].fix}")
    present = read_sources(reading.entries)
    known = {source.resource for source in present}
    new: list[Source] = []
    for source in sources:
        if source.resource not in known:
            known.add(source.resource)
            new.append(source)
    new = new[: max(MAX_SOURCES - len(present), 0)]
    if not new:
        return text
    if split.header is None:
        lines = [f"{KEY}:", *_format_items(new, "  ")]
        return "\n".join(["---", *lines, "---", text])
    result = _insert(text, split.header, reading.entries, new)
    after = read_header(split_header(result)).entries
    others = [(entry.key, entry.texts) for entry in reading.entries if canonical(entry.key) != KEY]
    others_after = [(entry.key, entry.texts) for entry in after if canonical(entry.key) != KEY]
    if read_sources(after) != (*present, *new) or others != others_after:
        raise EditRefused(_BY_HAND)
    return result


def copy_sources(text: str, other: str) -> str:
    """Return the text of a card with the sources of another text, but no quotes of sessions.

    The text stays as it is if nothing can be added to its sources.
    """
    try:
        return add_sources(text, read_sources_of(drop_session_quotes(other)))
    except EditRefused:
        return text


_BY_HAND = "`sources` cannot be changed safely; write it as a list of mappings, by hand"


def _insert(
    text: str, header: Header, entries: Sequence[HeaderEntry], sources: Sequence[Source]
) -> str:
    """Return the text with the lines of more sources in its header."""
    entry = find_entry(entries)
    indent = " " * (entries[0].column if entries else 0)
    starts = _find_line_starts(text, header)
    if entry is None:
        lines = [f"{indent}{KEY}:", *_format_items(sources, f"{indent}  ")]
        offset = header.end
    elif not any(source.text or source.holds for source in entry.values):
        # `sources:` or `sources: []`: write the key anew.
        lines = [f"{indent}{KEY}:", *_format_items(sources, f"{indent}  ")]
        offset = starts[entry.line]
        text = text[:offset] + text[starts[entry.end] :]
    elif entry.shape == "list" and not entry.flow and not entry.is_alias:
        first = header.lines[entry.values[0].span[0]]
        own_indent = first[: len(first) - len(first.lstrip())]
        lines = _format_items(sources, own_indent)
        offset = starts[entry.end]
    else:
        raise EditRefused(_BY_HAND)
    return text[:offset] + "".join(line + header.eol for line in lines) + text[offset:]


def _find_line_starts(text: str, header: Header) -> list[int]:
    """Return the offset of each line of a header, and the offset of its closing fence."""
    return [header.start + offset for offset in line_starts(text[header.start : header.end])]


def _format_items(sources: Iterable[Source], indent: str) -> list[str]:
    lines: list[str] = []
    for source in sources:
        lines.append(f"{indent}- resource: {format_scalar(source.resource)}")
        for name in FIELDS:
            value = getattr(source, name)
            if value:
                written = format_scalar(value, typed=name == "last_modified")
                lines.append(f"{indent}  {name}: {written}")
    return lines


def drop_session_quotes(text: str) -> str:
    """Return the text of a card without the quotes of its session sources. No other byte changes.

    Raises EditRefused if such a quote cannot be removed safely.
    """
    split = split_header(text)
    entry = find_entry(read_header(split).entries)
    sources = read_sources_of(text)
    if split.header is None or entry is None or not any(map(_is_session_quote, sources)):
        return text
    removed: set[int] = set()
    for value in entry.values:
        if _is_session_quote(read_source(value)):
            removed.update(_find_quote_lines(split, entry, value))
    starts = _find_line_starts(text, split.header)
    kept = [
        text[starts[number] : starts[number + 1]]
        for number in range(len(split.header.lines))
        if number not in removed
    ]
    result = text[: split.header.start] + "".join(kept) + text[split.header.end :]
    intended = tuple(
        replace(source, quote="") if _is_session_quote(source) else source for source in sources
    )
    if read_sources_of(result) != intended:
        raise EditRefused("the quote of a session cannot be removed safely; remove it by hand")
    return result


def _is_session_quote(source: Source) -> bool:
    return source.scheme == SESSION_SOURCE and bool(source.quote)


def _find_quote_lines(split: Split, entry: HeaderEntry, value: Value) -> Iterator[int]:
    """Yield the lines of a header that contain the quote of one source."""
    lines = split.header.lines if split.header else ()
    after = [other.span[0] for other in entry.values if other.span[0] > value.span[0]]
    end = min(after, default=entry.end)
    depth = -1
    for number in range(value.span[0], end):
        line = lines[number]
        indent = len(line) - len(line.lstrip())
        match = _QUOTE_LINE.match(line)
        if match and not match["dash"]:
            depth = indent
            yield number
        elif depth >= 0 and (indent > depth or not line.strip()):
            yield number
        else:
            depth = -1


def list_session_quotes(text: str) -> list[str]:
    """Return the quotes from sessions in a card's text."""
    return [source.quote for source in read_sources_of(text) if _is_session_quote(source)]


def check_sources(document: Document) -> Iterator[Finding]:
    """Yield the lint findings about the sources of a card."""
    line = document.key_lines.get(KEY, 0)
    if line and not document.sources:
        fix = 'write each as `- resource: "commit:1a2b3c4d"`'
        yield _find(document, line, "sources has no entry with a `resource`", fix)
    for source in document.sources:
        for message, fix in _find_problems(source):
            yield _find(document, line, f"sources: {message}", fix)


def _find_problems(source: Source) -> Iterator[tuple[str, str]]:
    name = shorten(source.resource, 60)
    if source.scheme == SESSION_SOURCE and not _HASHED.fullmatch(source.name):
        yield f"{name} names a session by its id", "write a hash, or remove the entry"
    if len(source.quote) > MAX_QUOTE:
        message = f"the quote of {name} has {len(source.quote)} characters"
        yield message, f"keep the {MAX_QUOTE} that matter"
    if redact(source.quote) != source.quote:
        yield f"the quote of {name} holds a secret", "remove it here, and change the secret"
    if source.last_modified and not _DATE.match(source.last_modified):
        message = f"last_modified of {name} is {source.last_modified[:40]!r}"
        yield message, "write a date such as 2026-01-31"


def _find(document: Document, line: int, message: str, fix: str) -> Finding:
    path = document.card.id if document.card else ""
    return Finding(path=path, line=line, rule="bad-source", message=message, fix=fix)
