"""Diagnostics: the findings of `lint` in a card, and the matches of `detect` in source code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
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

from lessons_kb.cards.detect_key import read_patterns
from lessons_kb.cards.keys import canonical, split_header
from lessons_kb.cards.read_header import read_header
from lessons_kb.collection.lint import (
    check_document,
    check_places,
    check_standing_of,
    check_syntax_of,
)
from lessons_kb.detect.change import Change
from lessons_kb.detect.matcher import MAX_CHARS, Match, Matcher, Rule
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
from lessons_kb.values import replace

SOURCE = "lessons"
NOTHING, LINES, PROJECT = "nothing", "lines", "project"
"""The part that was not checked: nothing, the lines that did not change, or the project's files."""
_MAX_CHANGED_LINES = 200
"""If more lines changed, the whole text is checked."""
MOST_MATCHES = 500
_SEVERITIES = {
    "error": DiagnosticSeverity.Error,
    "warning": DiagnosticSeverity.Warning,
    "info": DiagnosticSeverity.Information,
}


def diagnose(
    files: Files, document: OpenDocument, *, detect: bool, whole: bool
) -> tuple[list[Diagnostic], str]:
    """Return the diagnostics of an open document, in order, and the part that was not checked.

    ``detect`` states whether source code is checked. Unless ``whole`` is true, only the changed
    lines of source code are checked, and the project is not searched for matches of a card's
    patterns. Both would take too long while the user types.
    """
    file = files.find(document.path)
    text = document.text
    if isinstance(file, CardFile):
        if file.draft:
            return _diagnose_draft(file, text), NOTHING
        diagnostics = _diagnose_card(file, document, detect=detect, whole=whole)
        return diagnostics, NOTHING if whole or "detect" not in text.whole else PROJECT
    if file is None or not detect:
        return [], NOTHING
    marks, unchecked = None, NOTHING
    earlier = None if whole else files.matches.get(document.uri)
    if earlier is not None:
        earlier_document, earlier_marks = earlier
        marks = _update_marks(file, earlier_document.text, earlier_marks, text)
        unchecked = NOTHING if marks is None else LINES
    if marks is None:
        marks = _mark_all(file, text)
    files.matches[document.uri] = document, marks
    return [mark.shown for mark in marks], unchecked


def _diagnose_card(
    file: CardFile, document: OpenDocument, *, detect: bool, whole: bool
) -> list[Diagnostic]:
    """Return the findings of `lint` in a card or note, and the matches of `detect` in a note."""
    text = document.text
    findings = check_card_file(file, text.whole, whole=whole)
    diagnostics = [show_finding(text, finding) for finding in findings]
    path = relative(file.brains.directory, document.path)
    if detect and not is_card_file(file.brains, path):
        # A note may quote code; it is checked like any other file of the project.
        marks = _mark_all(SourceFile(brains=file.brains, path=path), text)
        diagnostics += [mark.shown for mark in marks]
    return diagnostics


def _diagnose_draft(file: CardFile, text: Text) -> list[Diagnostic]:
    """Return one diagnostic for each missing part of a draft."""
    return [
        Diagnostic(
            range=text.span(0),
            severity=DiagnosticSeverity.Information,
            source=SOURCE,
            code="incomplete-draft",
            message=f"before this draft can be accepted, add {missing}",
        )
        for missing in file.brains.drafts.find_missing(file.draft, text.whole)
    ]


def find_marks(files: Files, document: OpenDocument, lines: range) -> list[Mark]:
    """Return the marks that start in some lines, or [] if the document changed since its
    diagnosis.
    """
    marked_document, marks = files.matches.get(document.uri, (None, []))
    if marked_document is not document:
        return []
    return [mark for mark in marks if mark.shown.range.start.line in lines]


def check_card_file(file: CardFile, text: str, *, whole: bool) -> list[Finding]:
    """Return the findings of `lint` for a file of a brain with this text, sorted by line.

    If ``whole`` is true, the project is also searched for matches of the card's patterns.
    """
    limit = file.brain.settings.index.max_file_bytes
    size = len(text) if len(text) > limit else len(text.encode("utf-8", "replace"))
    if size > limit:
        return [tell_too_large(file.id, size, limit)]
    document = file.parse(text)
    findings = check_document(document)
    if document.card is not None:
        known = file.brain.read(lambda brain: brain.catalogue.find_standing(file.id))
        findings += check_standing_of(replace(document.card, standing=known), document)
    if document.card is not None and document.card.detect:
        cards = [(document.card, document)]
        findings += check_syntax_of(cards)
        if whole:
            findings += check_places(cards, file.brain.root, file.brains.directory)
    return sorted(findings, key=attrgetter("line", "rule"))


def _mark_all(file: SourceFile, text: Text) -> list[Mark]:
    """Return the marks of a file with this text, sorted by line."""
    if is_binary(text.whole) or len(text.whole.encode("utf-8", "replace")) > MAX_CHARS:
        return []
    return _mark_lines(file, text, 0, len(text.lines))


def _update_marks(
    file: SourceFile, old: Text, marks: Sequence[Mark], text: Text
) -> list[Mark] | None:
    """Return the marks of an earlier text at their new lines, and the marks of the changed lines.

    Returns None if too many lines changed. Misses matches that reach beyond the changed lines.
    """
    first, same = count_alike(old.lines, text.lines)
    old_end = len(old.lines) - same
    end = len(text.lines) - same
    if end - first > _MAX_CHANGED_LINES:
        return None
    above = [mark for mark in marks if mark.shown.range.end.line < first]
    below = [mark for mark in marks if mark.shown.range.start.line >= old_end]
    if end != old_end:
        below = [_move_mark(mark, end - old_end) for mark in below]
    return [*above, *_mark_lines(file, text, first, end), *below]


def _move_mark(mark: Mark, lines: int) -> Mark:
    """Return a mark that is moved down by some lines, or up if the number is negative."""
    start, end = mark.shown.range.start, mark.shown.range.end
    shown = copy(mark.shown)
    shown.range = Range(
        Position(start.line + lines, start.character), Position(end.line + lines, end.character)
    )
    return mark._replace(shown=shown)


def _mark_lines(file: SourceFile, text: Text, first: int, end: int) -> list[Mark]:
    """Return the marks of some lines of a text."""
    change = Change(path=file.path, after=_plain(text.lines[first:end]), line=first + 1)
    detected = find_detected(file.brains, [change])
    brains = {id(detection.card): detection.brain for detection in detected}
    marks = []
    for card, match in flatten(detected):
        brain = brains[id(card)]
        title = clean_line(card.title)
        why = clean_line(card.why)
        shown = Diagnostic(
            range=_match_range(text, match),
            severity=DiagnosticSeverity.Warning,
            source=SOURCE,
            code=card.id,
            code_description=CodeDescription(href=uri_of(f"{brain.root}/{card.id}")),
            message=f"{title}: {why}" if why and why != title else title,
        )
        marks.append(Mark(shown, brain, card))
    return marks


def _plain(lines: Sequence[str]) -> str:
    """Return lines as one text in which every line ends with a line feed, as the matcher needs."""
    whole = "".join(lines)
    return whole.replace("\r\n", "\n").replace("\r", "\n") if "\r" in whole else whole


def _match_range(text: Text, match: Match) -> Range:
    """Return the range of a match in a text."""
    start = match.column - 1
    return text.part(match.line - 1, start, start + match.length)


def show_finding(text: Text, finding: Finding) -> Diagnostic:
    """Return a finding of `lint` as a diagnostic."""
    return Diagnostic(
        range=text.span(max(finding.line - 1, 0)),
        severity=_SEVERITIES[finding.level],
        source=SOURCE,
        code=finding.rule,
        message=f"{finding.message}; {finding.fix}",
    )


def find_patterns(text: str) -> Iterator[tuple[range, Pattern]]:
    """Yield each pattern of a card with its lines, from 0 in the file."""
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
    """Return the pattern on a line of a card, or None if there is no valid pattern."""
    return next((pattern for lines, pattern in find_patterns(text) if line in lines), None)


def try_pattern(file: CardFile, pattern: Pattern) -> list[Location]:
    """Return the matches of a pattern in the project, at most ``MOST_MATCHES``.

    Raises InputError for a pattern of commands, which cannot be searched for in files.
    """
    if pattern.kind not in ("regex", "ast"):
        raise InputError(f"a pattern of kind {pattern.kind} is not looked for in files")
    directory = file.brains.directory
    rule = Rule(card=file.id, pattern=pattern, globs=compile_globs(pattern.files))
    matches = find_in_tree(directory, Matcher([rule]), root=file.brain.root)
    texts: dict[str, Text] = {}
    locations = []
    for match in islice(matches, MOST_MATCHES):
        path = f"{directory}/{match.path}"
        if path not in texts:
            texts[path] = Text(read_source(path))
        locations.append(Location(uri=uri_of(path), range=_match_range(texts[path], match)))
    return locations
