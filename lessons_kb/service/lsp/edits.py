"""Changes of texts as an editor takes them: nothing is replaced that stays the same."""

from __future__ import annotations

from collections.abc import Iterable

from lsprotocol.types import (
    OptionalVersionedTextDocumentIdentifier,
    Range,
    TextDocumentEdit,
    TextEdit,
)

from lessons_kb.service.lsp.documents import Document, uri_of
from lessons_kb.service.lsp.text import Text


def edit_to(text: Text, new: str) -> TextEdit:
    """Return the one edit that makes a text another, without what is alike at both ends."""
    old = text.whole
    start = _alike(old, new)
    end = min(_alike(old[::-1], new[::-1]), min(len(old), len(new)) - start)
    # No position lies between a CR and its LF.
    start -= old[:start].endswith("\r")
    end -= end > 0 and old[-end] == "\n"
    return splice(text, start, len(old) - end, new[start : len(new) - end])


def _alike(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def splice(text: Text, start: int, end: int, new: str) -> TextEdit:
    """Return the edit that puts a text in the place of another; offsets are in characters."""
    where = Range(start=text.position_at(start), end=text.position_at(end))
    return TextEdit(range=where, new_text=new)


def edit_document(document: Document, edits: Iterable[TextEdit]) -> TextDocumentEdit:
    """Return edits of an open document, refused by the editor if it was changed meanwhile."""
    identifier = OptionalVersionedTextDocumentIdentifier(uri=document.uri, version=document.version)
    return TextDocumentEdit(text_document=identifier, edits=list(edits))


def edit_file(path: str, edits: Iterable[TextEdit]) -> TextDocumentEdit:
    """Return edits of a file that is not open."""
    identifier = OptionalVersionedTextDocumentIdentifier(uri=uri_of(path), version=None)
    return TextDocumentEdit(text_document=identifier, edits=list(edits))
