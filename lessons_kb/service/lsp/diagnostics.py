"""Diagnostics: what `lint` finds in a card, and what `detect` finds in source code."""

from __future__ import annotations

from itertools import islice

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
from lessons_kb.detect.matcher import MAX_CHARS, Match
from lessons_kb.model import Finding
from lessons_kb.service.lsp.documents import Document, uri_of
from lessons_kb.service.lsp.files import CardFile, DraftFile, Files, Located, SourceFile
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
        return [show_finding(document.text, one) for one in findings]
    if isinstance(found, DraftFile):
        return _of_draft(found, document.text)
    if found is None or not detect:
        return []
    matches = find_matches(found, document.text)
    files.matches[document.uri] = document, matches
    return [_of_match(one) for one in matches]


def matches_of(files: Files, document: Document) -> list[Located]:
    """Return what was found in a document when its diagnostics were made, if it is still so."""
    of, matches = files.matches.get(document.uri, (None, []))
    return matches if of is document else []


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
    detected = find_detected(file.brain, [Change(path=file.path, after=plain)])
    homes = {id(one.card): one.layer for one in detected}
    placed = Text(plain) if "\r" in plain else text
    return [
        Located(layer=homes[id(one.card)], card=one.card, where=place_match(placed, one.match))
        for one in flatten(detected)
    ]


def place_match(text: Text, match: Match) -> Range:
    """Return where a match stands in a text without CR LF."""
    line, column, end = match.line - 1, match.column - 1, match.column - 1 + match.length
    if "\r" not in text.whole:
        return Range(start=text.position(line, column), end=text.position(line, end))
    # The matcher counts lines that end at LF, the protocol those that end at a lone CR too.
    begin = sum(len(one) + 1 for one in islice(text.whole.split("\n"), line))
    return Range(start=text.position_at(begin + column), end=text.position_at(begin + end))


def _of_match(one: Located) -> Diagnostic:
    card = one.card
    uri = uri_of(f"{one.layer.root}/{card.id}")
    title = clean_line(card.title)
    why = clean_line(card.why)
    start = Range(start=Position(0, 0), end=Position(0, 0))
    return Diagnostic(
        range=one.where,
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


def show_finding(text: Text, finding: Finding) -> Diagnostic:
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
