"""The documents that the editor holds open, as it holds them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote, unquote, urlsplit

from lsprotocol.types import (
    TextDocumentContentChangeEvent,
    TextDocumentContentChangePartial,
)

from lessons_kb.service.lsp.text import Text


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """One open file at one moment."""

    uri: str
    path: str
    """Real path on the disk, where there may be another text or none."""
    version: int
    text: Text


class Documents:
    """Open documents by URI; those that are no files of this machine are not kept."""

    def __init__(self) -> None:
        self._open: dict[str, Document] = {}

    def open(self, uri: str, version: int, text: str) -> None:
        """Note that a document was opened."""
        if path := path_of(uri):
            self._open[uri] = Document(uri=uri, path=path, version=version, text=Text(text))

    def change(
        self, uri: str, version: int, changes: Sequence[TextDocumentContentChangeEvent]
    ) -> None:
        """Make the editor's changes, one after another."""
        if (known := self._open.get(uri)) is None:
            return
        text = known.text
        for change in changes:
            if isinstance(change, TextDocumentContentChangePartial):
                text = text.replace(change.range, change.text)
            else:
                text = Text(change.text)
        self._open[uri] = replace(known, version=version, text=text)

    def close(self, uri: str) -> None:
        """Note that a document was closed."""
        self._open.pop(uri, None)

    def get(self, uri: str) -> Document | None:
        """Return an open document, None for any other."""
        return self._open.get(uri)

    def at(self, path: str) -> Document | None:
        """Return the open document of a real path, None where it is not open."""
        return next((one for one in self.all() if one.path == path), None)

    def all(self) -> list[Document]:
        """Return the open documents."""
        return list(self._open.values())


def path_of(uri: str) -> str:
    """Return the real path that a ``file:`` URI names, "" for any other."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return ""
    path = unquote(parts.path)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or "\0" in path or not path:
        return ""
    if os.name == "nt":
        path = path.lstrip("/")
    return os.path.realpath(path)


def uri_of(path: str) -> str:
    """Return the URI of an absolute path."""
    path = path.replace(os.sep, "/")
    return "file://" + quote(path if path.startswith("/") else f"/{path}")
