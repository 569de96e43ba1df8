"""Code actions: quick fixes of findings, and what is often done with a card."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol.types import (
    CodeAction,
    CodeActionKind,
    CodeActionParams,
    Command,
    Diagnostic,
    TextEdit,
    WorkspaceEdit,
)

from lessons_kb.cards.edit import edit_header
from lessons_kb.cards.quick_fixes import find_quick_fixes
from lessons_kb.errors import EditRefused
from lessons_kb.model import NOTE
from lessons_kb.service.lsp import commands
from lessons_kb.service.lsp.diagnostics import check_card_file, matches_of, show_finding
from lessons_kb.service.lsp.documents import Document, uri_of
from lessons_kb.service.lsp.edits import edit_document, edit_to, splice
from lessons_kb.service.lsp.files import CardFile, DraftFile, Files, SourceFile, parse
from lessons_kb.service.lsp.lenses import find_card_lenses
from lessons_kb.service.lsp.patterns import find_patterns
from lessons_kb.text.sanitize import clean_line

KINDS = (CodeActionKind.QuickFix, CodeActionKind.Refactor)
_PHRASE = "TODO: a phrase of a future task"
_MAX_PHRASE = 200


def find_actions(
    files: Files, document: Document, params: CodeActionParams
) -> list[CodeAction] | None:
    """Return what can be done at a place of an open document."""
    file = files.find(document.path)
    if file is None:
        return None
    found: list[CodeAction] = []
    if isinstance(file, SourceFile):
        found += _of_matches(files, document, params)
    else:
        if isinstance(file, CardFile):
            found += _fixes(file, document, params)
        found += _of_card(file, document, params)
    only = params.context.only
    return [
        one
        for one in found
        if only is None or any(f"{one.kind}.".startswith(f"{kind}.") for kind in only)
    ]


def _fixes(file: CardFile, document: Document, params: CodeActionParams) -> Iterator[CodeAction]:
    text = document.text.whole
    lines = range(params.range.start.line, params.range.end.line + 1)
    for finding in check_card_file(file, text, whole=False):
        if max(finding.line - 1, 0) not in lines:
            continue
        fixes = find_quick_fixes(text, finding, folders=file.layer.settings.folders)
        for place, fix in enumerate(fixes):
            one = fix.splice
            yield _edit(
                document,
                fix.title,
                splice(document.text, one.start, one.end, one.text),
                kind=CodeActionKind.QuickFix,
                diagnostics=[show_finding(document.text, finding)],
                is_preferred=place == 0,
            )


def _of_card(
    file: CardFile | DraftFile, document: Document, params: CodeActionParams
) -> Iterator[CodeAction]:
    """Yield the commands of the card's lenses, and the addition of a symptom."""
    line = params.range.start.line
    patterns = find_patterns(document.text.whole)
    here = [document.uri, *(first for first, end, _one in patterns if first <= line < end)]
    for lens in find_card_lenses(file, document):
        command = lens.command
        if command is None or command.command == commands.STATS:
            continue
        if command.command != commands.TEST or command.arguments == here:
            yield CodeAction(title=command.title, kind=CodeActionKind.Refactor, command=command)
    if (symptom := _add_symptom(file, document, params)) is not None:
        yield _edit(document, "Add a symptom", symptom, kind=CodeActionKind.Refactor)


def _add_symptom(
    file: CardFile | DraftFile, document: Document, params: CodeActionParams
) -> TextEdit | None:
    """Return the edit that makes the selected words a symptom, or begins one."""
    text, card = document.text, parse(file, document.text.whole).card
    if card is None or card.kind == NOTE:
        return None
    chosen = text.whole[text.offset(params.range.start) : text.offset(params.range.end)]
    phrase = " ".join(chosen.split())[:_MAX_PHRASE] or _PHRASE
    if phrase in card.symptoms:
        return None
    try:
        return edit_to(text, edit_header(text.whole, {"symptoms": (*card.symptoms, phrase)}))
    except EditRefused:
        return None


def _of_matches(files: Files, document: Document, params: CodeActionParams) -> Iterator[CodeAction]:
    """Yield what can be done about the mistakes that were found at a place."""
    lines = range(params.range.start.line, params.range.end.line + 1)
    found = [one for one in matches_of(files, document) if one.where.start.line in lines]
    for layer, card in {one.card.id: (one.layer, one.card) for one in found}.values():
        uri, title = uri_of(f"{layer.root}/{card.id}"), clean_line(card.title)
        for what, command in (("Open", commands.OPEN), ("Count once more", commands.BUMP)):
            name = f"{what}: {title}"
            run = Command(title=name, command=command, arguments=[uri])
            yield CodeAction(title=name, kind=CodeActionKind.QuickFix, command=run)


def _edit(
    document: Document,
    title: str,
    edit: TextEdit,
    *,
    kind: CodeActionKind,
    diagnostics: list[Diagnostic] | None = None,
    is_preferred: bool | None = None,
) -> CodeAction:
    change = WorkspaceEdit(document_changes=[edit_document(document, [edit])])
    return CodeAction(
        title=title, kind=kind, edit=change, diagnostics=diagnostics, is_preferred=is_preferred
    )
