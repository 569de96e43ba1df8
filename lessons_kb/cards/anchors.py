"""Find the anchors of a card: the names of files, symbols and tests that refer to code.

This module does not know whether such a name ever existed; `freshness` asks git.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Iterator

from lessons_kb.cards.sections import CAUSE, PREVENTION, Checklist, Sections
from lessons_kb.model import FILE, GLOB, NOTE, SYMBOL, Anchor, Document
from lessons_kb.text.paths import EXTENSIONS, FILE_NAMES
from lessons_kb.values import frozen

MAX_ANCHORS = 100
"""The number of names of a text that are used. A text with more names is an inventory."""
_SHORTEST_SYMBOL = 4
"""In characters. A shorter word occurs in every project, so it is not evidence."""
_SHORTEST_NAME = 6
"""In characters. A name of several words that is shorter is seldom particular to a project."""
_CHANGED_LINE = re.compile(r"[-+](?![-+]{2} )")
_CODE_SPAN = re.compile(r"(?<![`\\])`([^`\n]{2,200})`(?!`)")
_FENCE = re.compile(r"[ \t]{0,3}(?:[-*+] +|\d+[.)] +)?(```+|~~~+)")
_QUOTE = re.compile(r"[ \t]*>|\t| {4}(?![ \t]*(?:[-*+]|\d+[.)]) )")
"""Matches a line of a block quote or of indented code, which is quoted output."""
_LINE_NUMBER = re.compile(r"(?::\d+(?:[-:]\d+)*|#L\d+(?:-L?\d+)?)$")
_FILE = re.compile(r"[\w.@+()\[\]-]+(?:/[\w.@+()\[\]-]+)*")
_SYMBOL = re.compile(r"(?:[\w$]+(?:\.|::|#|->))*([^\W\d][\w$]*)(?:\([^()]*\))?")
_IDENTIFIER_SIGN = re.compile(r"[_(.#:]|->|[^\W\d_A-Z][A-Z]|[A-Z]{2}")
"""Matches the signs of an identifier. A plain word such as `pending` may mean anything."""
_NAME = re.compile(
    r"(?<![\w$])(?:[a-z]\w*?[a-z0-9][A-Z]\w*|[^\W\d_]\w*?_\w*[^\W_]\w*|[A-Z]\w*?[a-z0-9][A-Z]\w*)"
)
"""Matches a name of several words, such as `readLine`, `read_line`, `READ_LINE` or `LineReader`."""
_OTHER_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+[:@#]")


def find_anchors(
    title: str, paths: Iterable[str], body: str, sections: Sections, checklist: Checklist
) -> tuple[Anchor, ...]:
    """Return the anchors of a card, each once.

    The anchors in its title, its cause and its checklist are core anchors.
    """
    anchors = {(GLOB, path): True for path in paths if not path.startswith("!")}
    core_lines = _find_core_lines(sections, checklist)
    named = [(kind, name, True) for kind, name in _read_spans(title)]
    for number, line in _list_prose(body):
        is_core = number in core_lines
        named += [(kind, name, is_core) for kind, name in _read_spans(line)]
    for kind, name, is_core in named:
        anchors[kind, name] = anchors.get((kind, name), False) or is_core
    found = [Anchor(kind=kind, name=name, is_core=core) for (kind, name), core in anchors.items()]
    return tuple(found[:MAX_ANCHORS])


def find_names_in_code(body: str) -> frozenset[str]:
    """Return the names of several words that the code in a text contains.

    Code is what stands in backticks or in a fenced block. Of a diff, only the lines that it removes
    or adds count.
    """
    found: set[str] = set()
    for _number, line, language in _list_lines(body):
        if language is None:
            for span in _CODE_SPAN.findall(line):
                found.update(_NAME.findall(span))
        elif not language.startswith("diff") or _CHANGED_LINE.match(line):
            found.update(_NAME.findall(line))
    return frozenset(name for name in found if len(name) >= _SHORTEST_NAME)


def _find_core_lines(sections: Sections, checklist: Checklist) -> set[int]:
    """Return the line numbers, from 0, of the title, the cause and the checklist."""
    lines = {item.line for item in checklist.items}
    if sections.title:
        lines.add(sections.title_line)
    for part in sections.parts:
        if part.role in (CAUSE, PREVENTION):
            lines.update(range(part.line, part.line + part.text.count("\n") + 1))
    return lines


def _list_prose(body: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a body that are neither code nor quotations, with numbers from 0."""
    for number, line, language in _list_lines(body):
        if language is None and not _QUOTE.match(line):
            yield number, line


def _list_lines(body: str) -> Iterator[tuple[int, str, str | None]]:
    """Yield the lines of a body but for the marks of fenced blocks, with numbers from 0.

    The third value is the language of the fenced block, which may be "", or None outside of one.
    """
    fence, language = "", None
    for number, line in enumerate(body.split("\n")):
        mark = _FENCE.match(line)
        if fence and mark and mark[1].startswith(fence) and not line.strip(" \t`~"):
            fence, language = "", None
        elif mark and not fence:
            fence, language = mark[1], line[mark.end() :].strip()
        else:
            yield number, line, language


def _read_spans(text: str) -> Iterator[tuple[str, str]]:
    """Yield the kind and the name of each anchor in backticks in a text."""
    for span in _CODE_SPAN.findall(text):
        yield from _read_name(span.strip())


def _read_name(span: str) -> Iterator[tuple[str, str]]:
    if "://" in span or any(character.isspace() for character in span):
        return
    path, _, test = span.partition("::")
    path = _LINE_NUMBER.sub("", path.removeprefix("./"))
    if _is_file(path):
        yield FILE, path
        span = test.rpartition("::")[2]
    elif _OTHER_REPOSITORY.match(span):
        return
    symbol = _SYMBOL.fullmatch(span)
    is_identifier = _IDENTIFIER_SIGN.search(span) is not None
    if symbol and is_identifier and len(symbol[1]) >= _SHORTEST_SYMBOL:
        yield SYMBOL, symbol[1]


def _is_file(name: str) -> bool:
    if not _FILE.fullmatch(name) or name.startswith(("@", "-", "../")):
        return False
    last = name.rpartition("/")[2]
    extension = last.rpartition(".")[2].casefold() if "." in last[1:] else ""
    return last in FILE_NAMES or extension in EXTENSIONS or ("/" in name and bool(extension))


@frozen
class Claims:
    """The anchors of a card, and the days from which they must exist."""

    path: str
    """The path of the card, relative to its brain."""
    created: str = ""
    confirmed: str = ""
    anchors: tuple[Anchor, ...] = ()
    when: tuple[str, ...] = ()
    """Its conditions, as the card writes them."""


def format_claims(document: Document) -> str:
    """Return the claims of a card as a line of JSON.

    The result is "" for a note and for a file without a card. The second line is a checksum of the
    patterns of the card, of its ``contradicts`` and of the names in its code: they decide about the
    card as well, but not about the code that the card names.
    """
    card = document.card
    if card is None or card.kind == NOTE:
        return ""
    anchors = [[anchor.kind, anchor.name, int(anchor.is_core)] for anchor in document.anchors]
    lines = [card.project or "", *card.contradicts]
    for pattern in card.detect:
        lines += [pattern.text, *pattern.good]
    lines += sorted(find_names_in_code(document.body))
    digest = zlib.crc32("\n".join(lines).encode("utf-8", "replace"))
    values = [card.id, card.created or "", card.confirmed or "", anchors, card.when]
    claims = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    return f"{claims}\n{digest}"


def parse_claims(text: str) -> Claims:
    """Parse claims that ``format_claims`` wrote."""
    path, created, confirmed, rows, when = json.loads(text.partition("\n")[0])
    anchors = [Anchor(kind=kind, name=name, is_core=bool(core)) for kind, name, core in rows]
    return Claims(
        path=path,
        created=created,
        confirmed=confirmed,
        anchors=tuple(anchors),
        when=tuple(when),
    )
