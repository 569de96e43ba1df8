"""Parse the text of a file into a Document, without an exception for any content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lessons_kb.cards.anchors import find_anchors
from lessons_kb.cards.check_header import check_header
from lessons_kb.cards.file_kinds import in_mapped_folder, is_note_name, kind_of
from lessons_kb.cards.keys import Split, canonical, find, read_keys, split_header
from lessons_kb.cards.read_header import read_header
from lessons_kb.cards.sections import (
    MISTAKE,
    SITUATION,
    Sections,
    is_unfilled,
    normal_newlines,
    one_line,
    read_checklist,
    read_paths,
    read_sections,
    read_topics,
    read_why,
    text_of,
)
from lessons_kb.cards.sources import read_sources
from lessons_kb.model import KINDS, NOTE, Card, Document, Finding
from lessons_kb.text.sanitize import without
from lessons_kb.values import replace

_HEAD = 4_000
"""The number of characters of a note that are searched for its title first."""
_HEADERS_OF_CARDS = ("unreadable-header", "toml-header", "dashes-header")
"""Rules about text in a note that looks like a header but may be something else."""
_CLOSING = {"[": "]", "{": "}", '"': '"', "'": "'"}
_MARKERS = ("<<<<<<< ", "||||||| ", ">>>>>>> ")
_CONFLICT = (
    *("conflict-markers", "unresolved conflict markers from a merge"),
    "resolve the conflict and remove the lines <<<<<<<, ======= and >>>>>>>",
)
"""A rule, a message and a fix."""


def parse_bytes(
    data: bytes, *, path: str, folders: Mapping[str, str], skip_notes: bool = False
) -> Document:
    """Parse the bytes of a file. See ``parse_card``.

    Bytes that are not UTF-8, or that include NUL, give a Document with a finding but without a
    card.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            return _unusable(path, 1, "not-utf-8", "the file is UTF-16, not UTF-8")
        line = 1 + data.count(b"\n", 0, error.start)
        return _unusable(path, line, "not-utf-8", f"byte 0x{data[error.start]:02x} is not UTF-8")
    return parse_card(text, path=path, folders=folders, skip_notes=skip_notes)


def _unusable(path: str, line: int, rule: str, message: str) -> Document:
    finding = find(line, rule, message, "save the file as UTF-8 text", "error")
    return Document(card=None, fields={}, findings=(replace(finding, path=path),))


def parse_card(
    text: str, *, path: str, folders: Mapping[str, str], skip_notes: bool = False
) -> Document:
    """Parse a Markdown file for the catalogue and the index.

    ``path`` is the POSIX path of the file relative to its brain, and becomes the id of the card.
    ``folders`` maps folders to kinds (``Settings.folders``). Never raises: a file that cannot be
    parsed gives a Document whose ``card`` is None and whose first finding is the reason. A note
    gets no findings about requirements of cards. With ``skip_notes``, the sections of a note are
    not parsed, and its Document has only its id, its kind, and its file name as title.
    """
    if "\0" in text:
        line = 1 + text.count("\n", 0, text.index("\0"))
        return _unusable(path, line, "nul-bytes", "the file contains NUL bytes")
    if not text.isascii():
        try:
            text.encode("utf-8")  # raises UnicodeEncodeError for a lone surrogate
        except UnicodeEncodeError as error:
            line = 1 + text.count("\n", 0, error.start)
            return _unusable(path, line, "not-utf-8", "the text contains half of a character")
    split = split_header(text)
    reading = read_header(split)
    values, problems, lines = read_keys(reading.entries, path.rpartition("/")[0])
    kind = values.pop("kind", None)
    if kind is None and reading.reader == "none":
        # A line `type: lesson` of an unreadable header still shows that a card was meant.
        head = split.header.lines if split.header else text[:_HEAD].splitlines()
        pairs = (line.partition(":") for line in head)
        types = (value for key, colon, value in pairs if colon and canonical(key) == "type")
        kind = canonical(next(types, "").strip().strip("\"'"))
        kind = kind if kind in KINDS else None
    first = split.header.line if split.header else 1
    kind = kind or kind_of(path, folders)
    if is_note_name(path.rpartition("/")[2]) and in_mapped_folder(path, folders):
        kind = NOTE  # the README of a folder describes the folder
    if kind == NOTE and skip_notes:
        return Document(card=Card(id=path, kind=NOTE, title=_stem(path)), fields={})
    if kind == NOTE:
        # Many notes begin with a thematic break, which is not a damaged header.
        softened = [replace(problem, level="warning") for problem in reading.problems]
        softened = [problem for problem in softened if problem.rule not in _HEADERS_OF_CARDS]
        return replace(_note(path, split, values), findings=_place(softened, path, first))
    problems += check_header(split, reading.entries)
    findings = _place([*reading.problems, *problems, *_find_conflict(split, first)], path, first)
    if reading.reader == "none":
        return Document(card=None, fields={}, findings=findings, body=split.body)
    if reading.reader == "lenient" and "title" in values:
        values["title"] = _drop_open_mark(values["title"])
        if not values["title"]:
            del values["title"]
    search = values.pop("search", ())
    body = normal_newlines(split.body)
    sections = read_sections(body)
    title_has_problem = lines.get("title") in [problem.line for problem in problems]
    is_title_lost = title_has_problem and not sections.title and "title" not in values
    values.setdefault("title", sections.title or _stem(path))
    values["topics"] = values.get("topics") or read_topics(sections)
    values["paths"] = values.get("paths") or read_paths(sections)
    checklist = read_checklist(sections)
    items = checklist.items
    patterns = tuple(item.shown_by for item in items)
    card = Card(
        id=path,
        kind=kind,
        why=read_why(sections),
        checklist=tuple(item.text for item in items),
        shown_by=patterns if any(patterns) else (),
        conditional=checklist.conditional,
        template=(
            not items and not values.get("detect") and (is_title_lost or is_unfilled(split.body))
        ),
        **values,
    )
    return Document(
        card=card,
        fields=_fields(card, split.body, sections, search),
        findings=findings,
        body=split.body,
        checklist_lines=tuple(split.body_line + item.line for item in items),
        key_lines={name: first + line for name, line in lines.items()},
        body_line=split.body_line,
        anchors=find_anchors(card.title, card.paths, body, sections, checklist),
        sources=read_sources(reading.entries),
    )


def _place(problems: Sequence[Finding], path: str, first: int) -> tuple[Finding, ...]:
    """Return problems as findings about lines of the file, errors first.

    ``first`` is the number of the header's first line.
    """
    ordered = sorted(problems, key=lambda problem: (problem.level != "error", problem.line))
    return tuple(
        replace(problem, path=path, line=first + problem.line, message=one_line(problem.message))
        for problem in ordered
    )


def _drop_open_mark(title: str) -> str:
    """Return a title without a first bracket, brace or quotation mark that is never closed."""
    first = title[:1]
    if first in _CLOSING and _CLOSING[first] not in title[1:]:
        return title[1:].lstrip()
    return title


def _find_conflict(split: Split, first: int) -> list[Finding]:
    """Find an unresolved conflict: the first marker in the header or outside code fences.

    One marker is enough because people often remove the others. A lone ``=======`` is a heading.
    """
    lines = list(enumerate(split.header.lines)) if split.header else []
    header = "\n".join(line for _number, line in lines)
    if not any(marker in header or marker in split.body for marker in _MARKERS):
        return []
    fenced = False
    for number, line in enumerate(normal_newlines(split.body).split("\n")):
        fenced ^= line.startswith(("```", "~~~"))
        if not fenced:
            lines.append((split.body_line + number - first, line))
    for number, line in lines:
        if line.startswith(_MARKERS):
            return [find(number, *_CONFLICT)]
    return []


def _note(path: str, split: Split, values: Mapping[str, Any]) -> Document:
    body = normal_newlines(split.body)
    titles = (read_sections(start).title for start in dict.fromkeys((body[:_HEAD], body)))
    card = Card(
        id=path,
        kind=NOTE,
        title=values.get("title") or next(filter(None, titles), "") or _stem(path),
        topics=values.get("topics", ()),
        symptoms=values.get("symptoms", ()),
    )
    return Document(card=card, fields=_fields(card, split.body, None, ()), body=split.body)


def _stem(path: str) -> str:
    name = path.rpartition("/")[2]
    return one_line(name.rpartition(".")[0] or name) or "untitled"


def _fields(
    card: Card, body: str, sections: Sections | None, search: Sequence[str]
) -> dict[str, str]:
    """Return the text to index by field. The field ``body`` repeats the other fields."""
    tags = " ".join(card.topics)
    symptoms = "\n".join((*card.symptoms, *card.examples))
    fields = {"title": card.title, "tags": tags, "symptoms": symptoms}
    if sections is not None:
        fields["checklist"] = "\n".join(card.checklist)
        situation = text_of(sections, (SITUATION, MISTAKE))
        fields["situation"] = without(situation, "<!--", "-->").strip()
    head = "\n".join(part for part in (card.title, tags, symptoms, *search) if part)
    # The comments of a template are guidance for its author, not content of the card.
    fields["body"] = f"{head}\n\n{without(body, '<!--', '-->')}"
    return {name: text for name, text in fields.items() if text}
