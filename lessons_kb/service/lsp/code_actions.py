"""Code actions, code lenses and commands: quick fixes, and frequent changes to cards and drafts."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from lsprotocol.types import (
    CodeAction,
    CodeActionKind,
    CodeActionParams,
    CodeLens,
    CodeLensParams,
    Command,
    Location,
    Position,
    PrepareRenameParams,
    Range,
    ReferenceParams,
    RenameFile,
    RenameFilesParams,
    RenameParams,
    TextDocumentEdit,
    WorkspaceEdit,
)

from lessons_kb.brain.brain import Brain
from lessons_kb.cards.check_card import find_quick_fixes
from lessons_kb.cards.edit import edit_header
from lessons_kb.cards.links import slug
from lessons_kb.cards.rule_files import format_comment
from lessons_kb.cards.sections import normal_newlines
from lessons_kb.collection.card_links import find_links_to, find_relinks
from lessons_kb.collection.rename_card import move_records
from lessons_kb.detect.matcher import language_of
from lessons_kb.errors import CardNotFound, EditRefused, InputError
from lessons_kb.model import NOTE, Card
from lessons_kb.service.lsp.diagnostics import (
    check_card_file,
    find_marks,
    find_pattern,
    find_patterns,
    show_finding,
    try_pattern,
)
from lessons_kb.service.lsp.documents import (
    CardFile,
    Documents,
    Files,
    OpenDocument,
    SourceFile,
    is_inside,
    path_of,
    uri_of,
)
from lessons_kb.service.lsp.hover import describe_cards, describe_effect, list_effect, title_line
from lessons_kb.store.files import relative
from lessons_kb.text.sanitize import clean_line, counted
from lessons_kb.values import frozen

BUMP, STATUS, STATS = "lessons.bump", "lessons.setStatus", "lessons.showStats"
TEST, GUARDS, OPEN = "lessons.testPattern", "lessons.showGuards", "lessons.openCard"
ACCEPT, DISCARD = "lessons.acceptDraft", "lessons.discardDraft"
KINDS = (CodeActionKind.QuickFix, CodeActionKind.Refactor)
_STATUSES = {"Activate": "active", "Ignore": "ignored", "Archive": "archived"}
_PHRASE = "TODO: a phrase of a future task"
_MAX_PHRASE = 200
_MAX_PLACES = 5


@frozen
class CommandResult:
    """The outcome of a command, which the editor applies."""

    message: str = ""
    """Text that is shown to the user."""
    edit: TextDocumentEdit | None = None
    """An edit of the open document. Open documents are never changed on the disk."""
    then: Callable[[], object] | None = None
    """Function that is called after the edit."""
    show: str = ""
    """Path of the file that the editor opens."""
    result: Any = None


def _bump(files: Files, uri: str) -> CommandResult:
    file, document = _get_card(files, uri)
    cards = file.brains.cards
    if document is None:
        card = cards.bump(file.name)[0]
        return CommandResult(message=f"{card.id} seen {card.occurrences}×")
    new = cards.bump_text(file.brain, file.id, document.text.whole)
    return CommandResult(
        edit=document.rewrite(new), then=lambda: cards.note_bump(file.brain, file.id)
    )


def _set_status(files: Files, uri: str, status: str) -> CommandResult:
    file, document = _get_card(files, uri)
    if document is None:
        file.brains.cards.set_status(status, file.name)
        return CommandResult(message=f"{file.id} is {status} now")
    new = edit_header(document.text.whole, {"status": status})
    return CommandResult(edit=document.rewrite(new))


def _show_stats(files: Files, uri: str) -> CommandResult:
    file, _document = _get_card(files, uri)
    return CommandResult(
        message="\n".join(describe_effect(file.brains.stats.effect(file.name, look=False)))
    )


def _test_pattern(files: Files, uri: str, line: int) -> CommandResult:
    path = path_of(uri)
    file = files.find(path)
    document = files.documents.at(path)
    if document is None or not isinstance(file, CardFile):
        raise InputError("no open card; open the card whose pattern is to be tested")
    pattern = find_pattern(document.text.whole, line)
    if pattern is None:
        raise InputError("no usable pattern on this line; see its diagnostic")
    locations = try_pattern(file, pattern)
    root = file.brains.directory
    places = [
        f"{relative(root, path_of(location.uri))}:{location.range.start.line + 1}"
        for location in locations[:_MAX_PLACES]
    ]
    if len(locations) > _MAX_PLACES:
        places.append("…")
    count = counted(len(locations), "match", "matches")
    return CommandResult(message=f"{count}: {', '.join(places)}", result=locations)


def _show_guards(files: Files, uri: str) -> CommandResult:
    file = files.find(path_of(uri))
    guards = file.guards if isinstance(file, SourceFile) else []
    return CommandResult(message="\n".join(describe_cards(guards)).strip())


def _accept(files: Files, uri: str) -> CommandResult:
    file = _get_draft(files, uri)
    card = file.brains.drafts.accept(file.draft)
    return CommandResult(message=f"accepted as {card.id}", show=f"{file.brain.root}/{card.id}")


def _discard(files: Files, uri: str) -> CommandResult:
    file = _get_draft(files, uri)
    return CommandResult(message=f"discarded {file.brains.drafts.discard(file.draft).title}")


def _get_card(files: Files, uri: str) -> tuple[CardFile, OpenDocument | None]:
    """Return a card and its open document. Raises InputError if the URI names no card."""
    path = path_of(uri)
    file = files.find(path)
    if not isinstance(file, CardFile) or file.draft:
        raise InputError("not a card of a trusted brain")
    return file, files.documents.at(path)


def _get_draft(files: Files, uri: str) -> CardFile:
    """Return a draft. Raises InputError if it is not a draft, or has unsaved changes."""
    path = path_of(uri)
    file = files.find(path)
    document = files.documents.at(path)
    if not isinstance(file, CardFile) or not file.draft:
        raise InputError("not a draft; see `lessons review --list`")
    saved = file.brains.drafts.get(file.draft).text
    if document and normal_newlines(document.text.whole) != normal_newlines(saved):
        raise InputError("the draft has changes that are not saved; save it first")
    return file


COMMANDS: Mapping[str, Callable[..., CommandResult]] = {
    BUMP: _bump,
    STATUS: _set_status,
    STATS: _show_stats,
    TEST: _test_pattern,
    GUARDS: _show_guards,
    OPEN: lambda _files, uri: CommandResult(show=path_of(uri)),
    ACCEPT: _accept,
    DISCARD: _discard,
}
"""Mapping from each command to its function. The function gets the URI of a file and the command's
other arguments.
"""


def find_lenses(files: Files, document: OpenDocument, _params: CodeLensParams) -> list[CodeLens]:
    """Return the code lenses of an open document."""
    file = files.find(document.path)
    commands = list[tuple[int, Command]]()
    if isinstance(file, CardFile):
        commands = find_card_commands(file, document)
    elif file and files.show_guards:
        guards = file.guards
        if guards:
            commands = [(0, _guards_command(document, guards))]
    lenses = []
    for line, command in commands:
        start = Position(line, 0)
        lenses.append(CodeLens(range=Range(start, start), command=command))
    return lenses


def _guards_command(document: OpenDocument, guards: Sequence[Card]) -> Command:
    """Return the command that shows the cards that guard a source file."""
    title = f"{counted(len(guards), 'lesson')} {'guards' if len(guards) == 1 else 'guard'}"
    command = Command(f"{title} this file", GUARDS, arguments=[document.uri])
    command.tooltip = "\n".join(describe_cards(guards)).strip()
    return command


def find_card_commands(file: CardFile, document: OpenDocument) -> list[tuple[int, Command]]:
    """Return the commands for a card or a draft, each with the line that offers it."""
    commands: list[tuple[int, Command]] = []

    def add(line: int, title: str, command: str, *arguments: object) -> None:
        commands.append((line, Command(title, command, arguments=[document.uri, *arguments])))

    if file.draft:
        add(0, "Accept this draft", ACCEPT)
        add(0, "Discard this draft", DISCARD)
    card = None if file.draft else file.parse(document.text.whole).card
    if card is not None and card.kind != NOTE:
        line = title_line(file, document)
        try:
            summary = " · ".join(list_effect(file.brains.stats.effect(file.name, look=False)))
        except CardNotFound:
            summary = "not saved yet"
        add(line, summary, STATS)
        add(line, "Count the mistake once more", BUMP)
        for title, status in _STATUSES.items():
            if status != card.status:
                add(line, title, STATUS, status)
    for lines, pattern in find_patterns(document.text.whole):
        if pattern.kind in ("regex", "ast"):
            add(lines.start, "Test this pattern", TEST, lines.start)
    return commands


def find_actions(
    files: Files, document: OpenDocument, params: CodeActionParams
) -> list[CodeAction] | None:
    """Return the code actions of the requested kinds at a range of an open document."""
    file = files.find(document.path)
    if file is None:
        return None
    if isinstance(file, SourceFile):
        actions = [*_find_match_actions(files, document, params)]
    else:
        fixes = [] if file.draft else _find_fixes(file, document, params)
        actions = [*fixes, *_find_card_actions(file, document, params)]
    kinds = params.context.only
    if kinds is None:
        return actions
    prefixes = tuple(f"{kind}." for kind in kinds)
    return [action for action in actions if f"{action.kind}.".startswith(prefixes)]


def _find_match_actions(
    files: Files, document: OpenDocument, params: CodeActionParams
) -> Iterator[CodeAction]:
    """Yield the actions for the marked mistakes in a range of source code. Each card has its
    actions once.
    """
    lines = range(params.range.start.line, params.range.end.line + 1)
    marks = {mark.card.id: mark for mark in find_marks(files, document, lines)}
    for mark in marks.values():
        uri = uri_of(f"{mark.brain.root}/{mark.card.id}")
        title = clean_line(mark.card.title)
        for verb, command in (("Open", OPEN), ("Count once more", BUMP)):
            name = f"{verb}: {title}"
            run = Command(name, command, arguments=[uri])
            yield CodeAction(title=name, kind=CodeActionKind.QuickFix, command=run)
        stem = posixpath.splitext(posixpath.basename(mark.card.id))[0]
        language = language_of(document.path)
        comment = format_comment(language, f"lessons: ignore {stem}") if language else ""
        if comment:
            line = mark.shown.range.start.line
            end = document.text.offset(Position(line, len(document.text.line(line)) * 2))
            yield _fix(f"Ignore here: {title}", document.edit((end, end, f"  {comment}")))


def _fix(title: str, edit: TextDocumentEdit, **more: Any) -> CodeAction:
    whole = WorkspaceEdit(document_changes=[edit])
    return CodeAction(title=title, kind=CodeActionKind.QuickFix, edit=whole, **more)


def _find_fixes(
    file: CardFile, document: OpenDocument, params: CodeActionParams
) -> Iterator[CodeAction]:
    text = document.text
    lines = range(params.range.start.line, params.range.end.line + 1)
    for finding in check_card_file(file, text.whole, whole=False):
        if max(finding.line - 1, 0) not in lines:
            continue
        fixes = find_quick_fixes(text.whole, finding, folders=file.brain.settings.folders)
        for place, fix in enumerate(fixes):
            edit = document.edit((fix.splice.start, fix.splice.end, fix.splice.text))
            shown = [show_finding(text, finding)]
            yield _fix(fix.title, edit, diagnostics=shown, is_preferred=place == 0)


def _find_card_actions(
    file: CardFile, document: OpenDocument, params: CodeActionParams
) -> Iterator[CodeAction]:
    """Yield the commands of the card's lenses, and an action that adds a symptom.

    The symptom has the selected words, or a placeholder if nothing is selected.
    """
    text, kind = document.text, CodeActionKind.Refactor
    line = params.range.start.line
    here = [lines.start for lines, _pattern in find_patterns(text.whole) if line in lines]
    for _line, command in find_card_commands(file, document):
        if command.command == TEST and command.arguments != [document.uri, *here]:
            continue
        if command.command != STATS:
            yield CodeAction(title=command.title, kind=kind, command=command)
    card = file.parse(text.whole).card
    if card is None or card.kind == NOTE:
        return
    chosen = text.whole[text.offset(params.range.start) : text.offset(params.range.end)]
    phrase = " ".join(chosen.split())[:_MAX_PHRASE] or _PHRASE
    if phrase in card.symptoms:
        return
    with suppress(EditRefused):
        new = edit_header(text.whole, {"symptoms": (*card.symptoms, phrase)})
        edit = WorkspaceEdit(document_changes=[document.rewrite(new)])
        yield CodeAction(title="Add a symptom", kind=kind, edit=edit)


def prepare_rename(
    files: Files, document: OpenDocument, params: PrepareRenameParams | RenameParams
) -> Range | None:
    """Return the range of the title under the cursor, or None if the cursor is not in the title.

    A card whose title is its file name has no such range.
    """
    file = files.find(document.path)
    line = params.position.line
    if not isinstance(file, CardFile) or line != title_line(file, document):
        return None
    text = document.text
    parsed = file.parse(document.text.whole)
    is_key = "title" in parsed.key_lines
    content = text.line(line)
    if parsed.card is None or not (is_key or content.startswith("# ")):
        return None
    if parsed.card.kind == NOTE and not is_key:
        return None
    start = content.find(":") + 1 if is_key else len("#")
    start += len(content[start:]) - len(content[start:].lstrip())
    quoted = content[start : start + 1] in ("'", '"')
    end = len(content.rstrip()) - quoted
    return Range(start=text.position(line, start + quoted), end=text.position(line, end))


def rename(files: Files, document: OpenDocument, params: RenameParams) -> WorkspaceEdit | None:
    """Return the edit that gives a card another title.

    If the file is named after the title, it is renamed as well and the links to it are updated.
    """
    file = files.find(document.path)
    text = document.text
    where = prepare_rename(files, document, params)
    if where is None or not isinstance(file, CardFile):
        return None
    title = " ".join(params.new_name.split())
    if not title:
        raise InputError("a title needs at least one word")
    parsed = file.parse(text.whole)
    if "title" in parsed.key_lines:
        whole = edit_header(text.whole, {"title": title})
    else:
        whole = text.replace(where, title).whole
    own = document.rewrite(whole)
    changes: list[TextDocumentEdit | RenameFile] = [own]
    folder, name = posixpath.split(file.id)
    stem, suffix = posixpath.splitext(name)
    new = posixpath.join(folder, slug(title) + suffix)
    moves_file = parsed.card is not None and stem == slug(parsed.card.title) and new != file.id
    if moves_file and files.renames_files and not file.draft:
        target = f"{file.brain.root}/{new}"
        if os.path.lexists(target):
            raise InputError(f"{new} exists; choose another title")
        relinked = relink_files(files.documents, file.brain, {file.id: new})
        if (links := relinked.pop(document.path, None)) is not None:
            own.edits = [*own.edits, *links.edits]
        moved = RenameFile(old_uri=document.uri, new_uri=uri_of(target))
        changes += [*relinked.values(), moved]
    return WorkspaceEdit(document_changes=changes)


def relink_files(
    documents: Documents, brain: Brain, moves: Mapping[str, str]
) -> dict[str, TextDocumentEdit]:
    """Return the edits of links to and in cards that move, as a mapping from the path of each file
    to its edits.

    ``moves`` maps each old id to the new id.
    """
    relinks = find_relinks(brain, moves, lambda name: documents.load(brain, name).text.whole)
    edits_by_path = {}
    for name, edits in relinks.items():
        document = documents.load(brain, name)
        edits_by_path[document.path] = document.edit(*edits)
    return edits_by_path


def relink_moved(files: Files, params: RenameFilesParams) -> WorkspaceEdit | None:
    """Return the edits that update links to the files that the user moves in the editor."""
    brains: dict[str, Brain] = {}
    moves: dict[str, dict[str, str]] = {}
    for moved in params.files:
        old, new = path_of(moved.old_uri), path_of(moved.new_uri)
        file = files.find(old)
        if isinstance(file, CardFile) and not file.draft and is_inside(new, file.brain.root):
            root = file.brain.root
            brains[root] = file.brain
            moves.setdefault(root, {})[file.id] = relative(root, new)
    edits: list[TextDocumentEdit] = []
    for root, brain in brains.items():
        edits += relink_files(files.documents, brain, moves[root]).values()
    return WorkspaceEdit(document_changes=edits) if edits else None


def keep_records(files: Files, params: RenameFilesParams) -> None:
    """Move the records of cards whose files the editor has moved."""
    for moved in params.files:
        old, new = path_of(moved.old_uri), path_of(moved.new_uri)
        brains = files.brain_of(os.path.dirname(new))
        for brain in brains.members if brains else ():
            if is_inside(old, brain.root) and is_inside(new, brain.root):
                move_records(brain, relative(brain.root, old), relative(brain.root, new))


def find_references(
    files: Files, document: OpenDocument, params: ReferenceParams
) -> list[Location] | None:
    """Return the matches of the pattern under the cursor, or the links to the card."""
    file = files.find(document.path)
    line = params.position.line
    if not isinstance(file, CardFile):
        return None
    pattern = find_pattern(document.text.whole, line)
    if pattern is not None:
        return try_pattern(file, pattern)
    if file.draft or line != title_line(file, document):
        return None
    load = partial(files.documents.load, file.brain)
    return [
        Location(
            uri=uri_of(f"{file.brain.root}/{name}"),
            range=load(name).text.range(link.start, link.end),
        )
        for name, link in find_links_to(file.brain, file.id, lambda name: load(name).text.whole)
    ]
