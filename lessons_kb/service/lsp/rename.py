"""Renaming a card: its title, the file that is named after it, and the links to it; references."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Mapping

from lsprotocol.types import (
    Location,
    PrepareRenameParams,
    Range,
    ReferenceParams,
    RenameFile,
    RenameFilesParams,
    RenameParams,
    TextDocumentEdit,
    WorkspaceEdit,
)

from lessons_kb.brain.card_links import find_links_to, find_relinks, read_file
from lessons_kb.brain.layer import Layer
from lessons_kb.brain.rename import keep_record
from lessons_kb.cards.edit import edit_header
from lessons_kb.cards.slugs import slug
from lessons_kb.errors import InputError
from lessons_kb.model import NOTE
from lessons_kb.service.lsp.documents import Document, Documents, path_of, uri_of
from lessons_kb.service.lsp.edits import edit_document, edit_file, edit_to, splice
from lessons_kb.service.lsp.files import CardFile, DraftFile, Files, parse
from lessons_kb.service.lsp.hover import title_line
from lessons_kb.service.lsp.patterns import find_patterns, try_pattern
from lessons_kb.service.lsp.text import Text


def prepare_rename(files: Files, document: Document, params: PrepareRenameParams) -> Range | None:
    """Return the range of the title under the cursor, None anywhere else."""
    file = files.find(document.path)
    if not isinstance(file, CardFile | DraftFile):
        return None
    found = _find_title(file, document)
    return found if found and found.start.line == params.position.line else None


def rename(files: Files, document: Document, params: RenameParams) -> WorkspaceEdit | None:
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
    files: Files, document: Document, params: ReferenceParams
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


def _find_title(file: CardFile | DraftFile, document: Document) -> Range | None:
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


def _retitled(file: CardFile | DraftFile, document: Document, title: str) -> str:
    whole = document.text.whole
    if "title" in parse(file, whole).key_lines:
        return edit_header(whole, {"title": title})
    where = _find_title(file, document)
    if where is None:
        return whole
    start, end = (document.text.offset(at) for at in (where.start, where.end))
    return whole[:start] + title + whole[end:]
