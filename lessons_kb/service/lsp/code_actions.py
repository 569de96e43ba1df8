"""Code actions: quick fixes of findings, and what is often done with a card."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lsprotocol.types import (
    CodeAction,
    CodeActionKind,
    CodeActionParams,
    CodeLens,
    CodeLensParams,
    Command,
    Diagnostic,
    Location,
    Position,
    PrepareRenameParams,
    Range,
    ReferenceParams,
    RenameFile,
    RenameFilesParams,
    RenameParams,
    TextDocumentEdit,
    TextEdit,
    WorkspaceEdit,
)

from lessons_kb.brain.layer import Layer
from lessons_kb.brain.rename import find_links_to, find_relinks, keep_record, read_file
from lessons_kb.cards.check_card import find_quick_fixes
from lessons_kb.cards.edit import edit_header
from lessons_kb.cards.links import slug
from lessons_kb.cards.sections import normal_newlines
from lessons_kb.errors import CardNotFound, EditRefused, InputError
from lessons_kb.model import NOTE
from lessons_kb.service.lsp.diagnostics import (
    check_card_file,
    find_pattern,
    find_patterns,
    matches_of,
    show_finding,
    try_pattern,
)
from lessons_kb.service.lsp.documents import (
    CardFile,
    Documents,
    DraftFile,
    Files,
    OpenDocument,
    SourceFile,
    Text,
    edit_document,
    edit_file,
    edit_to,
    parse,
    path_of,
    splice,
    uri_of,
)
from lessons_kb.service.lsp.hover import (
    describe_cards,
    describe_effect,
    summarise_effect,
    title_line,
)
from lessons_kb.text.sanitize import clean_line, counted

BUMP, STATUS, STATS = "lessons.bump", "lessons.setStatus", "lessons.showStats"
TEST, GUARDS, OPEN = "lessons.testPattern", "lessons.showGuards", "lessons.openCard"
ACCEPT, DISCARD = "lessons.acceptDraft", "lessons.discardDraft"
_SHOWN = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandResult:
    """What the editor shall do."""

    message: str = ""
    """Shown to the user."""
    edit: TextDocumentEdit | None = None
    """Made in the open document; what is open is never changed on the disk."""
    then: Callable[[], object] | None = None
    """Called once the edit is made."""
    show: str = ""
    """Path of the file to open."""
    result: Any = None


def _bump(files: Files, documents: Documents, uri: str) -> CommandResult:
    file, document = _card(files, uri), documents.at(path_of(uri))
    cards = file.brain.cards
    if document is None:
        card = cards.bump(file.name)[0]
        return CommandResult(message=f"{card.id} seen {card.occurrences}×")
    new = cards.bump_text(file.layer, file.id, document.text.whole)
    return CommandResult(
        edit=edit_document(document, [edit_to(document.text, new)]),
        then=lambda: cards.note_bump(file.layer, file.id),
    )


def _set_status(files: Files, documents: Documents, uri: str, status: str) -> CommandResult:
    file, document = _card(files, uri), documents.at(path_of(uri))
    if document is None:
        file.brain.cards.set_status(status, file.name)
        return CommandResult(message=f"{file.id} is {status} now")
    new = edit_header(document.text.whole, {"status": status})
    return CommandResult(edit=edit_document(document, [edit_to(document.text, new)]))


def _show_stats(files: Files, _documents: Documents, uri: str) -> CommandResult:
    file = _card(files, uri)
    return CommandResult(message="\n".join(describe_effect(file.brain.stats.recorded(file.name))))


def _test_pattern(files: Files, documents: Documents, uri: str, line: int) -> CommandResult:
    path = path_of(uri)
    file, document = files.find(path), documents.at(path)
    if document is None or not isinstance(file, CardFile | DraftFile):
        raise InputError("no open card; open the card whose pattern is to be tested")
    places = try_pattern(file, find_pattern(document.text.whole, line))
    shown = [
        f"{path_of(one.uri).removeprefix(file.brain.directory)[1:]}:{one.range.start.line + 1}"
        for one in places[:_SHOWN]
    ]
    more = ["…"] if len(places) > _SHOWN else []
    told = counted(len(places), "match", "matches")
    return CommandResult(message=": ".join((told, ", ".join(shown + more))), result=places)


def _show_guards(files: Files, _documents: Documents, uri: str) -> CommandResult:
    file = files.find(path_of(uri))
    cards = file.brain.find_guarding(file.path) if isinstance(file, SourceFile) else []
    return CommandResult(message="\n".join(describe_cards(card for _layer, card in cards)).strip())


def _open_card(_files: Files, _documents: Documents, uri: str) -> CommandResult:
    return CommandResult(show=path_of(uri))


def _accept(files: Files, documents: Documents, uri: str) -> CommandResult:
    file = _draft(files, documents, uri)
    card = file.brain.drafts.accept(file.id)
    return CommandResult(message=f"accepted as {card.id}", show=f"{file.layer.root}/{card.id}")


def _discard(files: Files, documents: Documents, uri: str) -> CommandResult:
    file = _draft(files, documents, uri)
    return CommandResult(message=f"discarded {file.brain.drafts.discard(file.id).title}")


def _card(files: Files, uri: str) -> CardFile:
    file = files.find(path_of(uri))
    if not isinstance(file, CardFile):
        raise InputError("not a card of a trusted brain")
    return file


def _draft(files: Files, documents: Documents, uri: str) -> DraftFile:
    path = path_of(uri)
    file, document = files.find(path), documents.at(path)
    if not isinstance(file, DraftFile):
        raise InputError("not a draft; see `lessons review --list`")
    saved = file.brain.drafts.get(file.id).text
    if document and normal_newlines(document.text.whole) != normal_newlines(saved):
        raise InputError("the draft has changes that are not saved; save it first")
    return file


COMMANDS: Mapping[str, Callable[..., CommandResult]] = {
    BUMP: _bump,
    STATUS: _set_status,
    STATS: _show_stats,
    TEST: _test_pattern,
    GUARDS: _show_guards,
    OPEN: _open_card,
    ACCEPT: _accept,
    DISCARD: _discard,
}
"""Command → what runs it with the open documents and the arguments."""


_STATUSES = {"Activate": "active", "Ignore": "ignored", "Archive": "archived"}


def find_lenses(files: Files, document: OpenDocument, _params: CodeLensParams) -> list[CodeLens]:
    """Return the lenses of an open document."""
    file = files.find(document.path)
    if isinstance(file, SourceFile):
        return _of_source(file, document) if files.show_guards else []
    return [] if file is None else find_card_lenses(file, document)


def find_card_lenses(file: CardFile | DraftFile, document: OpenDocument) -> list[CodeLens]:
    """Return the lenses of a card or a draft."""
    if isinstance(file, CardFile):
        return [*_lenses_of_card(file, document), *_of_patterns(document)]
    accept = _lens(0, "Accept this draft", ACCEPT, document.uri)
    discard = _lens(0, "Discard this draft", DISCARD, document.uri)
    return [accept, discard, *_of_patterns(document)]


def _lenses_of_card(file: CardFile, document: OpenDocument) -> list[CodeLens]:
    parsed = parse(file, document.text.whole)
    if parsed.card is None or parsed.card.kind == NOTE:
        return []
    line, uri = title_line(file, document), document.uri
    try:
        summary = summarise_effect(file.brain.stats.recorded(file.name))
    except CardNotFound:
        summary = "not saved yet"
    status = parsed.card.status
    return [
        _lens(line, summary, STATS, uri),
        _lens(line, "Count the mistake once more", BUMP, uri),
        *(
            _lens(line, title, STATUS, uri, other)
            for title, other in _STATUSES.items()
            if other != status
        ),
    ]


def _of_patterns(document: OpenDocument) -> list[CodeLens]:
    return [
        _lens(line, "Test this pattern", TEST, document.uri, line)
        for line, _end, pattern in find_patterns(document.text.whole)
        if pattern.kind != "command"
    ]


def _of_source(file: SourceFile, document: OpenDocument) -> list[CodeLens]:
    cards = [card for _layer, card in file.brain.find_guarding(file.path)]
    if not cards:
        return []
    verb = "guards" if len(cards) == 1 else "guard"
    lens = _lens(0, f"{counted(len(cards), 'lesson')} {verb} this file", GUARDS, document.uri)
    if lens.command:
        lens.command.tooltip = "\n".join(describe_cards(cards)).strip()
    return [lens]


def _lens(line: int, title: str, command: str, *arguments: str | int) -> CodeLens:
    where = Range(start=Position(line, 0), end=Position(line, 0))
    return CodeLens(
        range=where, command=Command(title=title, command=command, arguments=list(arguments))
    )


KINDS = (CodeActionKind.QuickFix, CodeActionKind.Refactor)
_PHRASE = "TODO: a phrase of a future task"
_MAX_PHRASE = 200


def find_actions(
    files: Files, document: OpenDocument, params: CodeActionParams
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


def _fixes(
    file: CardFile, document: OpenDocument, params: CodeActionParams
) -> Iterator[CodeAction]:
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
    file: CardFile | DraftFile, document: OpenDocument, params: CodeActionParams
) -> Iterator[CodeAction]:
    """Yield the commands of the card's lenses, and the addition of a symptom."""
    line = params.range.start.line
    patterns = find_patterns(document.text.whole)
    here = [document.uri, *(first for first, end, _one in patterns if first <= line < end)]
    for lens in find_card_lenses(file, document):
        command = lens.command
        if command is None or command.command == STATS:
            continue
        if command.command != TEST or command.arguments == here:
            yield CodeAction(title=command.title, kind=CodeActionKind.Refactor, command=command)
    if (symptom := _add_symptom(file, document, params)) is not None:
        yield _edit(document, "Add a symptom", symptom, kind=CodeActionKind.Refactor)


def _add_symptom(
    file: CardFile | DraftFile, document: OpenDocument, params: CodeActionParams
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


def _of_matches(
    files: Files, document: OpenDocument, params: CodeActionParams
) -> Iterator[CodeAction]:
    """Yield what can be done about the mistakes that were found at a place."""
    lines = range(params.range.start.line, params.range.end.line + 1)
    found = [one for one in matches_of(files, document) if one.where.start.line in lines]
    for layer, card in {one.card.id: (one.layer, one.card) for one in found}.values():
        uri, title = uri_of(f"{layer.root}/{card.id}"), clean_line(card.title)
        for what, command in (("Open", OPEN), ("Count once more", BUMP)):
            name = f"{what}: {title}"
            run = Command(title=name, command=command, arguments=[uri])
            yield CodeAction(title=name, kind=CodeActionKind.QuickFix, command=run)


def _edit(
    document: OpenDocument,
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


def prepare_rename(
    files: Files, document: OpenDocument, params: PrepareRenameParams
) -> Range | None:
    """Return the range of the title under the cursor, None anywhere else."""
    file = files.find(document.path)
    if not isinstance(file, CardFile | DraftFile):
        return None
    found = _find_title(file, document)
    return found if found and found.start.line == params.position.line else None


def rename(files: Files, document: OpenDocument, params: RenameParams) -> WorkspaceEdit | None:
    """Return what gives a card another title.

    The file is renamed if it is named after the title, and then the links to it follow.
    """
    file = files.find(document.path)
    title = " ".join(params.new_name.split())
    if not isinstance(file, CardFile | DraftFile):
        return None
    where = _find_title(file, document)
    if where is None or where.start.line != params.position.line:
        return None
    if not title:
        raise InputError("a title needs at least one word")
    edits = {
        document.path: edit_document(
            document, [edit_to(document.text, _retitled(file, document, title))]
        )
    }
    card = parse(file, document.text.whole).card
    if not isinstance(file, CardFile) or card is None or not files.renames_files:
        return WorkspaceEdit(document_changes=list(edits.values()))
    folder, name = posixpath.split(file.id)
    stem, suffix = posixpath.splitext(name)
    new = posixpath.join(folder, slug(title) + suffix)
    if stem != slug(card.title) or new == file.id:
        return WorkspaceEdit(document_changes=list(edits.values()))
    if os.path.lexists(os.path.join(file.layer.root, new)):
        raise InputError(f"{new} exists; choose another title")
    for path, edit in relink_files(files.documents, file.layer, {file.id: new}).items():
        if path in edits:
            edits[path].edits = [*edits[path].edits, *edit.edits]
        else:
            edits[path] = edit
    moved = RenameFile(old_uri=document.uri, new_uri=uri_of(f"{file.layer.root}/{new}"))
    return WorkspaceEdit(document_changes=[*edits.values(), moved])


def relink_files(
    documents: Documents, layer: Layer, moves: Mapping[str, str]
) -> dict[str, TextDocumentEdit]:
    """Return path → the edits of links that lead to cards, or stand in cards, which move."""
    read = _reader(documents, layer)
    found = {}
    for name, edits in find_relinks(layer, moves, read).items():
        path = os.path.join(layer.root, *name.split("/"))
        document = documents.at(path)
        text = document.text if document else Text(read(name))
        made = [splice(text, start, end, new) for start, end, new in edits]
        found[path] = edit_document(document, made) if document else edit_file(path, made)
    return found


def relink_moved(files: Files, params: RenameFilesParams) -> WorkspaceEdit | None:
    """Return the edits of links that follow files which the user moves in the editor."""
    moves: dict[str, tuple[Layer, dict[str, str]]] = {}
    for one in params.files:
        old, new = path_of(one.old_uri), path_of(one.new_uri)
        file = files.find(old)
        if isinstance(file, CardFile) and new.startswith(file.layer.root + os.sep):
            own = moves.setdefault(file.layer.root, (file.layer, {}))[1]
            own[file.id] = os.path.relpath(new, file.layer.root).replace(os.sep, "/")
    edits = [
        edit
        for layer, own in moves.values()
        for edit in relink_files(files.documents, layer, own).values()
    ]
    return WorkspaceEdit(document_changes=edits) if edits else None


def keep_records(files: Files, params: RenameFilesParams) -> None:
    """Let what was counted of cards follow files that the editor has moved."""
    for one in params.files:
        places = path_of(one.old_uri), path_of(one.new_uri)
        brain = files.brain_of(os.path.dirname(places[1]))
        for layer in brain.layers if brain else ():
            if all(place.startswith(layer.root + os.sep) for place in places):
                old, new = (os.path.relpath(p, layer.root).replace(os.sep, "/") for p in places)
                keep_record(layer, old, new)


def find_references(
    files: Files, document: OpenDocument, params: ReferenceParams
) -> list[Location] | None:
    """Return where the pattern under the cursor is found, or what links to the card."""
    file = files.find(document.path)
    if not isinstance(file, CardFile | DraftFile):
        return None
    line = params.position.line
    for first, end, pattern in find_patterns(document.text.whole):
        if first <= line < end:
            return try_pattern(file, pattern)
    if not isinstance(file, CardFile) or line != title_line(file, document):
        return None
    read = _reader(files.documents, file.layer)
    found = []
    for name, link in find_links_to(file.layer, file.id, read):
        text = Text(read(name))
        where = Range(start=text.position_at(link.start), end=text.position_at(link.end))
        found.append(Location(uri=uri_of(f"{file.layer.root}/{name}"), range=where))
    return found


def _reader(documents: Documents, layer: Layer) -> Callable[[str], str]:
    def read(name: str) -> str:
        document = documents.at(os.path.join(layer.root, *name.split("/")))
        return document.text.whole if document else read_file(layer, name)

    return read


def _find_title(file: CardFile | DraftFile, document: OpenDocument) -> Range | None:
    """Return where the title is written, None where the file's name is the title."""
    text, parsed = document.text, parse(file, document.text.whole)
    if parsed.card is None or (parsed.card.kind == NOTE and "title" not in parsed.key_lines):
        return None
    line = title_line(file, document)
    content = text.line(line)
    start = content.find(":") + 1 if "title" in parsed.key_lines else len("#")
    if "title" not in parsed.key_lines and not content.startswith("# "):
        return None
    start += len(content[start:]) - len(content[start:].lstrip())
    quoted = content[start : start + 1] in ("'", '"')
    end = len(content.rstrip()) - quoted
    return Range(start=text.position(line, start + quoted), end=text.position(line, end))


def _retitled(file: CardFile | DraftFile, document: OpenDocument, title: str) -> str:
    whole = document.text.whole
    if "title" in parse(file, whole).key_lines:
        return edit_header(whole, {"title": title})
    where = _find_title(file, document)
    if where is None:
        return whole
    start, end = (document.text.offset(at) for at in (where.start, where.end))
    return whole[:start] + title + whole[end:]
