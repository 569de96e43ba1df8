"""Diagnostics: what `lint` finds in a card, and what `detect` finds in source code."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol.types import (
    CodeDescription,
    Diagnostic,
    DiagnosticRelatedInformation,
    DiagnosticSeverity,
    Location,
    Position,
    Range,
)

from lessons_kb.brain.detect_in_project import flatten, is_binary
from lessons_kb.brain.detection import find_detected
from lessons_kb.brain.lint import check_document, check_places, check_syntax_of
from lessons_kb.cards.parse import parse_card
from lessons_kb.detect.changes import Change
from lessons_kb.detect.matcher import MAX_CHARS
from lessons_kb.model import Card, Finding
from lessons_kb.service.lsp.documents import Document, uri_of
from lessons_kb.service.lsp.files import CardFile, DraftFile, Files, SourceFile
from lessons_kb.service.lsp.text import Text
from lessons_kb.store.scan import tell_too_large
from lessons_kb.text.sanitize import clean_line

SOURCE = "lessons"
_SEVERITIES = {
    "error": DiagnosticSeverity.Error,
    "warning": DiagnosticSeverity.Warning,
    "info": DiagnosticSeverity.Information,
}


def diagnose(files: Files, document: Document, *, detect: bool, whole: bool) -> list[Diagnostic]:
    """Return what is wrong in an open document, in its order.

    ``detect`` says whether source code is looked at, ``whole`` whether the project is searched for
    patterns of a card that find too much, which takes longer than a person types.
    """
    found = files.find(document.path)
    if isinstance(found, CardFile):
        findings = check_card_file(found, document.text.whole, whole=whole)
        return [_of_finding(document.text, one) for one in findings]
    if isinstance(found, DraftFile):
        return _of_draft(found, document.text)
    return find_matches(found, document.text) if found is not None and detect else []


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


def find_matches(file: SourceFile, text: Text) -> list[Diagnostic]:
    """Return the mistakes that cards describe in a file that holds this text."""
    whole = text.whole
    if len(whole) > MAX_CHARS or is_binary(whole):
        return []
    plain = whole.replace("\r\n", "\n")
    if len(plain.encode("utf-8", "replace")) > MAX_CHARS:
        return []
    detected = find_detected(file.brain, [Change(path=file.path, after=plain)])
    homes = {id(one.card): one.layer for one in detected}
    # The matcher counts lines that end at LF, the protocol those that end at a lone CR too.
    starts = _starts(plain) if "\r" in plain else None
    placed = text if starts is None else Text(plain)
    found = []
    for one in flatten(detected):
        line, column, length = one.match.line - 1, one.match.column - 1, one.match.length
        if starts is None:
            where = Range(
                start=placed.position(line, column), end=placed.position(line, column + length)
            )
        else:
            offset = starts[line] + column
            where = Range(
                start=placed.position_at(offset), end=placed.position_at(offset + length)
            )
        uri = uri_of(f"{homes[id(one.card)].root}/{one.card.id}")
        found.append(_of_match(one.card, uri, where))
    return found


def _starts(text: str) -> Sequence[int]:
    found = [0]
    for line in text.split("\n"):
        found.append(found[-1] + len(line) + 1)
    return found


def _of_match(card: Card, uri: str, where: Range) -> Diagnostic:
    title = clean_line(card.title)
    why = clean_line(card.why)
    start = Range(start=Position(0, 0), end=Position(0, 0))
    return Diagnostic(
        range=where,
        severity=DiagnosticSeverity.Warning,
        source=SOURCE,
        code=card.id,
        code_description=CodeDescription(href=uri),
        message=f"{title}: {why}" if why and why != title else title,
        related_information=[
            DiagnosticRelatedInformation(
                location=Location(uri=uri, range=start), message=f"The lesson: {title}"
            )
        ],
    )


def _of_finding(text: Text, finding: Finding) -> Diagnostic:
    return Diagnostic(
        range=text.span(max(finding.line - 1, 0)),
        severity=_SEVERITIES[finding.level],
        source=SOURCE,
        code=finding.rule,
        message=f"{finding.message}; {finding.mend}",
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
