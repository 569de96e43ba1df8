"""Diagnostics: what `lint` finds in a card, and what `detect` finds in source code."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from lsprotocol.types import (
    CodeDescription,
    Diagnostic,
    DiagnosticSeverity,
    Location,
    Position,
    Range,
)

from lessons_kb.brain.detection import (
    find_detected,
    find_in_tree,
    flatten,
    is_binary,
    is_card_file,
    read_source,
)
from lessons_kb.brain.lint import check_document, check_places, check_syntax_of
from lessons_kb.cards.keys import canonical, read_patterns, split_header
from lessons_kb.cards.parse import parse_card
from lessons_kb.cards.read_header import read_header
from lessons_kb.detect.matcher import MAX_CHARS, Change, Match, Matcher, Rule
from lessons_kb.errors import InputError
from lessons_kb.model import Finding, Pattern
from lessons_kb.service.lsp.documents import (
    CardFile,
    DraftFile,
    Files,
    Located,
    OpenDocument,
    SourceFile,
    Text,
    uri_of,
)
from lessons_kb.store.scan import tell_too_large
from lessons_kb.text.patterns import compile_globs
from lessons_kb.text.sanitize import clean_line

SOURCE = "lessons"
NOTHING, LINES, PROJECT = LEFT = ("nothing", "lines", "project")
"""What was not looked at: nothing; the lines that did not change; the project's files."""
_MOST_NEAR = 200
"""Lines that changed: with more the whole text is looked at."""
_SEVERITIES = {
    "error": DiagnosticSeverity.Error,
    "warning": DiagnosticSeverity.Warning,
    "info": DiagnosticSeverity.Information,
}


def diagnose(
    files: Files, document: OpenDocument, *, detect: bool, whole: bool
) -> tuple[list[Diagnostic], str]:
    """Return what is wrong in an open document, in its order, and what was left: one of LEFT.

    ``detect`` says whether source code is looked at. Unless the ``whole`` is wanted, of source
    code the changed lines are looked at alone, and the project is not searched for patterns of a
    card that find too much: both take longer than a person types.
    """
    found = files.find(document.path)
    if isinstance(found, CardFile):
        findings = check_card_file(found, document.text.whole, whole=whole)
        shown = [show_finding(document.text, one) for one in findings]
        left = NOTHING if whole or "detect" not in document.text.whole else PROJECT
        path = os.path.relpath(document.path, found.brain.directory).replace(os.sep, "/")
        if not detect or is_card_file(found.brain, path):
            return shown, left
        # A note may quote code, and counts as any other file of the project.
        note = SourceFile(brain=found.brain, path=path)
        return [*shown, *map(_of_match, find_matches(note, document.text))], left
    if isinstance(found, DraftFile):
        return _of_draft(found, document.text), NOTHING
    if found is None or not detect:
        return [], NOTHING
    known = None if whole else files.matches.get(document.uri)
    near = known and _find_near(found, known[0].text, known[1], document.text)
    matches = find_matches(found, document.text) if near is None else near
    files.matches[document.uri] = document, matches
    return [_of_match(one) for one in matches], NOTHING if near is None else LINES


def matches_of(files: Files, document: OpenDocument) -> list[Located]:
    """Return what was found in a document when its diagnostics were made, if it is still so."""
    known = files.matches.get(document.uri)
    return known[1] if known and known[0] is document else []


def check_card_file(file: CardFile, text: str, *, whole: bool) -> list[Finding]:
    """Return what `lint` says of a file of a brain that holds this text, by line."""
    settings = file.layer.settings
    limit = settings.index.max_file_bytes
    size = len(text) if len(text) > limit else len(text.encode("utf-8", "replace"))
    if size > limit:
        return [tell_too_large(file.id, size, limit)]
    document = parse_card(text, path=file.id, folders=settings.folders)
    found = check_document(document)
    if document.card is not None and document.card.detect:
        detecting = [(document.card, document)]
        found += check_syntax_of(detecting)
        if whole:
            found += check_places(detecting, file.layer.root, file.brain.directory)
    return sorted(found, key=lambda finding: (finding.line, finding.rule))


def find_matches(file: SourceFile, text: Text) -> list[Located]:
    """Return the mistakes that cards describe in a file that holds this text, by line."""
    whole = text.whole
    if len(whole) > MAX_CHARS or is_binary(whole):
        return []
    plain = whole.replace("\r\n", "\n")
    if len(plain.encode("utf-8", "replace")) > MAX_CHARS:
        return []
    placed = Text(plain) if "\r" in plain else text
    return _locate(file, Change(path=file.path, after=plain), placed)


def _find_near(
    file: SourceFile, old: Text, known: Sequence[Located], text: Text
) -> list[Located] | None:
    """Return what was found in an older text, moved, and what is found in the lines that changed.

    None where too much of the text is another. What reaches beyond these lines is missed.
    """
    before, after = old.lines, text.lines
    most = min(len(before), len(after))
    first = next((n for n in range(most) if before[n] != after[n]), most)
    same = next((n for n in range(most - first) if before[-1 - n] != after[-1 - n]), most - first)
    last, end = len(before) - same, len(after) - same
    if end - first > _MOST_NEAR or "\r" in "".join(after[first:end]).replace("\r\n", "\n"):
        return None
    kept = [one for one in known if one.where.end.line < first]
    below = [_move(one, end - last) for one in known if one.where.start.line >= last]
    piece = "".join(after[first:end]).replace("\r\n", "\n")
    change = Change(path=file.path, after=piece, line=first + 1)
    return [*kept, *_locate(file, change, text), *below]


def _move(one: Located, lines: int) -> Located:
    where = Range(
        start=Position(one.where.start.line + lines, one.where.start.character),
        end=Position(one.where.end.line + lines, one.where.end.character),
    )
    return replace(one, where=where)


def _locate(file: SourceFile, change: Change, text: Text) -> list[Located]:
    detected = find_detected(file.brain, [change])
    homes = {id(one.card): one.layer for one in detected}
    return [
        Located(layer=homes[id(one.card)], card=one.card, where=place_match(text, one.match))
        for one in flatten(detected)
    ]


def place_match(text: Text, match: Match) -> Range:
    """Return where a match stands in a text whose lines end in one way."""
    line, column, end = match.line - 1, match.column - 1, match.column - 1 + match.length
    if text.ends_alike:
        return Range(start=text.position(line, column), end=text.position(line, end))
    # The matcher counts lines that end at LF, the protocol those that end at a lone CR too.
    begin = sum(len(one) + 1 for one in islice(text.whole.split("\n"), line))
    return Range(start=text.position_at(begin + column), end=text.position_at(begin + end))


def _of_match(one: Located) -> Diagnostic:
    card = one.card
    uri = uri_of(f"{one.layer.root}/{card.id}")
    title = clean_line(card.title)
    why = clean_line(card.why)
    return Diagnostic(
        range=one.where,
        severity=DiagnosticSeverity.Warning,
        source=SOURCE,
        code=card.id,
        code_description=CodeDescription(href=uri),
        message=f"{title}: {why}" if why and why != title else title,
    )


def show_finding(text: Text, finding: Finding) -> Diagnostic:
    """Return a finding of ``lint`` as the protocol has it."""
    return Diagnostic(
        range=text.span(max(finding.line - 1, 0)),
        severity=_SEVERITIES[finding.level],
        source=SOURCE,
        code=finding.rule,
        message=f"{finding.message}; {finding.fix}",
    )


def _of_draft(file: DraftFile, text: Text) -> list[Diagnostic]:
    return [
        Diagnostic(
            range=text.span(0),
            severity=DiagnosticSeverity.Information,
            source=SOURCE,
            code="incomplete-draft",
            message=f"before this draft can be accepted, add {missing}",
        )
        for missing in file.brain.drafts.find_missing(file.id, text.whole)
    ]


MOST_MATCHES = 500


def find_patterns(text: str) -> Iterator[tuple[int, int, Pattern]]:
    """Yield first line, the line after the last (both from 0, in the file) and each pattern."""
    split = split_header(text)
    if split.header is None:
        return
    first = split.header.line - 1
    for entry in read_header(split).entries:
        if canonical(entry.key) != "detect" or not entry.mappings:
            continue
        ends = [*(span[0] for span in entry.spans[1:]), entry.end]
        for place, span in enumerate(entry.spans):
            one = slice(place, place + 1)
            alone = replace(
                entry,
                texts=entry.texts[one],
                spans=entry.spans[one],
                styles=entry.styles[one],
                mappings=entry.mappings[one],
            )
            for pattern in read_patterns(alone)[0]:
                yield first + span[0], first + max(ends[place], span[0] + 1), pattern


def find_pattern(text: str, line: int) -> Pattern:
    """Return the pattern that stands on a line of a card; InputError without a usable one."""
    for first, end, pattern in find_patterns(text):
        if first <= line < end:
            return pattern
    raise InputError("no usable pattern on this line; see its diagnostic")


def try_pattern(file: CardFile | DraftFile, pattern: Pattern) -> list[Location]:
    """Return where a pattern is found in the project, at most MOST_MATCHES places.

    Raises InputError for a pattern of commands, which are in no file.
    """
    if pattern.kind == "command":
        raise InputError("a command pattern is looked for in commands, not in files")
    directory = file.brain.directory
    rule = Rule(card=file.id, pattern=pattern, globs=compile_globs(pattern.files))
    matches = find_in_tree(directory, Matcher([rule]), root=file.layer.root)
    texts: dict[str, Text] = {}
    found = []
    for match in islice(matches, MOST_MATCHES):
        path = f"{directory}/{match.path}"
        if path not in texts:
            texts[path] = Text(read_source(path))
        where = place_match(texts[path], match)
        found.append(Location(uri=uri_of(path), range=where))
    return found
