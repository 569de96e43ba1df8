"""Diagnostics: what `lint` finds in a card, and what `detect` finds in source code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from itertools import islice
from operator import attrgetter

from lsprotocol.types import (
    CodeDescription,
    Diagnostic,
    DiagnosticSeverity,
    Location,
    Position,
    Range,
)

from lessons_kb.cards.keys import canonical, read_patterns, split_header
from lessons_kb.cards.read_header import read_header
from lessons_kb.collection.lint import check_document, check_places, check_syntax_of
from lessons_kb.detect.matcher import MAX_CHARS, Change, Match, Matcher, Rule
from lessons_kb.errors import InputError
from lessons_kb.find.detection import find_detected, is_card_file
from lessons_kb.find.project_detection import find_in_tree, flatten, is_binary, read_source
from lessons_kb.model import Finding, Pattern
from lessons_kb.service.lsp.documents import (
    CardFile,
    Files,
    Mark,
    OpenDocument,
    SourceFile,
    Text,
    count_alike,
    uri_of,
)
from lessons_kb.store.files import relative
from lessons_kb.store.scan import tell_too_large
from lessons_kb.text.patterns import compile_globs
from lessons_kb.text.sanitize import clean_line

SOURCE = "lessons"
NOTHING, LINES, PROJECT = "nothing", "lines", "project"
"""What was not looked at: nothing; the lines that did not change; the project's files."""
_MOST_NEAR = 200
"""Lines that changed: with more the whole text is looked at."""
MOST_MATCHES = 500
_SEVERITIES = {
    "error": DiagnosticSeverity.Error,
    "warning": DiagnosticSeverity.Warning,
    "info": DiagnosticSeverity.Information,
}


def diagnose(
    files: Files, document: OpenDocument, *, detect: bool, whole: bool
) -> tuple[list[Diagnostic], str]:
    """Return what is wrong in an open document, in its order, and what was not looked at.

    ``detect`` says whether source code is looked at. Unless ``whole``, only the changed lines of
    source code are looked at, and the project is not searched for patterns of a card that find too
    much: both take longer than a person types.
    """
    file, text = files.find(document.path), document.text
    if isinstance(file, CardFile) and not file.draft:
        findings = check_card_file(file, text.whole, whole=whole)
        shown = [show_finding(text, one) for one in findings]
        path = relative(file.brains.directory, document.path)
        if detect and not is_card_file(file.brains, path):
            # A note may quote code, and counts as any other file of the project.
            marks = _mark_all(SourceFile(brains=file.brains, path=path), text)
            shown += [one.shown for one in marks]
        return shown, NOTHING if whole or "detect" not in text.whole else PROJECT
    if isinstance(file, CardFile):
        return [
            Diagnostic(
                range=text.span(0),
                severity=DiagnosticSeverity.Information,
                source=SOURCE,
                code="incomplete-draft",
                message=f"before this draft can be accepted, add {missing}",
            )
            for missing in file.brains.drafts.find_missing(file.draft, text.whole)
        ], NOTHING
    if file is None or not detect:
        return [], NOTHING
    known = None if whole else files.matches.get(document.uri)
    near = known and _find_near(file, known[0].text, known[1], text)
    marks = _mark_all(file, text) if near is None else near
    files.matches[document.uri] = document, marks
    return [one.shown for one in marks], NOTHING if near is None else LINES


def find_marks(files: Files, document: OpenDocument, lines: range) -> list[Mark]:
    """Return what was found in lines when their diagnostics were made, if it is still so."""
    known, marks = files.matches.get(document.uri, (None, []))
    return [one for one in marks if known is document and one.shown.range.start.line in lines]


def check_card_file(file: CardFile, text: str, *, whole: bool) -> list[Finding]:
    """Return what `lint` says of a file of a brain that holds this text, by line."""
    limit = file.brain.settings.index.max_file_bytes
    size = len(text) if len(text) > limit else len(text.encode("utf-8", "replace"))
    if size > limit:
        return [tell_too_large(file.id, size, limit)]
    document = file.parse(text)
    found = check_document(document)
    if document.card is not None and document.card.detect:
        detecting = [(document.card, document)]
        found += check_syntax_of(detecting)
        if whole:
            found += check_places(detecting, file.brain.root, file.brains.directory)
    return sorted(found, key=attrgetter("line", "rule"))


def _mark_all(file: SourceFile, text: Text) -> list[Mark]:
    """Return the mistakes that cards describe in a file that holds this text, by line."""
    if is_binary(text.whole) or len(text.whole.encode("utf-8", "replace")) > MAX_CHARS:
        return []
    return _mark_lines(file, text, 0, len(text.lines))


def _find_near(file: SourceFile, old: Text, known: Sequence[Mark], text: Text) -> list[Mark] | None:
    """Return what was found in an older text, moved, and what is found in the lines that changed.

    None where too much of the text is another. What reaches beyond these lines is missed.
    """
    first, same = count_alike(old.lines, text.lines)
    last, end = len(old.lines) - same, len(text.lines) - same
    if end - first > _MOST_NEAR:
        return None
    above = [one for one in known if one.shown.range.end.line < first]
    below = [one for one in known if one.shown.range.start.line >= last]
    for place, one in enumerate(below) if end != last else ():
        shown, places = copy(one.shown), (one.shown.range.start, one.shown.range.end)
        shown.range = Range(*(Position(at.line + end - last, at.character) for at in places))
        below[place] = one._replace(shown=shown)
    return [*above, *_mark_lines(file, text, first, end), *below]


def _mark_lines(file: SourceFile, text: Text, first: int, end: int) -> list[Mark]:
    """Return the marks of some lines of a text."""
    change = Change(path=file.path, after=_plain(text.lines[first:end]), line=first + 1)
    detected = find_detected(file.brains, [change])
    homes = {id(one.card): one.brain for one in detected}
    marks = []
    for card, match in flatten(detected):
        brain, title, why = homes[id(card)], clean_line(card.title), clean_line(card.why)
        shown = Diagnostic(
            range=_place(text, match),
            severity=DiagnosticSeverity.Warning,
            source=SOURCE,
            code=card.id,
            code_description=CodeDescription(href=uri_of(f"{brain.root}/{card.id}")),
            message=f"{title}: {why}" if why and why != title else title,
        )
        marks.append(Mark(shown, brain, card))
    return marks


def _plain(lines: Sequence[str]) -> str:
    """Return lines that all end as the matcher expects it, with a line feed alone."""
    whole = "".join(lines)
    return whole.replace("\r\n", "\n").replace("\r", "\n") if "\r" in whole else whole


def _place(text: Text, match: Match) -> Range:
    start = match.column - 1
    return text.part(match.line - 1, start, start + match.length)


def show_finding(text: Text, finding: Finding) -> Diagnostic:
    """Return a finding of ``lint`` as the protocol has it."""
    return Diagnostic(
        range=text.span(max(finding.line - 1, 0)),
        severity=_SEVERITIES[finding.level],
        source=SOURCE,
        code=finding.rule,
        message=f"{finding.message}; {finding.fix}",
    )


def find_patterns(text: str) -> Iterator[tuple[range, Pattern]]:
    """Yield the lines, from 0 in the file, and the content of each pattern."""
    split = split_header(text)
    if split.header is None:
        return
    first = split.header.line - 1
    for entry in read_header(split).entries:
        if canonical(entry.key) != "detect" or not any(value.holds for value in entry.values):
            continue
        ends = [*(span[0] for span in entry.spans[1:]), entry.end]
        for value, end in zip(entry.values, ends, strict=True):
            start = value.span[0]
            for pattern in read_patterns(replace(entry, values=(value,)))[0]:
                yield range(first + start, first + max(end, start + 1)), pattern


def find_pattern(text: str, line: int) -> Pattern | None:
    """Return the pattern that stands on a line of a card, None without a usable one."""
    return next((pattern for lines, pattern in find_patterns(text) if line in lines), None)


def try_pattern(file: CardFile, pattern: Pattern) -> list[Location]:
    """Return where a pattern is found in the project, at most MOST_MATCHES places.

    Raises InputError for a pattern of commands, which are in no file.
    """
    if pattern.kind not in ("regex", "ast"):
        raise InputError(f"a pattern of kind {pattern.kind} is not looked for in files")
    directory = file.brains.directory
    rule = Rule(card=file.id, pattern=pattern, globs=compile_globs(pattern.files))
    matches = find_in_tree(directory, Matcher([rule]), root=file.brain.root)
    texts: dict[str, Text] = {}
    found = []
    for match in islice(matches, MOST_MATCHES):
        path = f"{directory}/{match.path}"
        if path not in texts:
            texts[path] = Text(read_source(path))
        found.append(Location(uri=uri_of(path), range=_place(texts[path], match)))
    return found
