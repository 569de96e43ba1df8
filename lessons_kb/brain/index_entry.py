"""One file → what catalogue and engine keep of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from lessons_kb.cards import origins
from lessons_kb.cards.parse import parse_bytes
from lessons_kb.cards.slugs import normal_title
from lessons_kb.detect.patterns import measure
from lessons_kb.errors import InputError, StorageError
from lessons_kb.model import NOTE, Card, Document, Finding
from lessons_kb.relevance.background_prompts import measure_background
from lessons_kb.store.card_files import read_bytes
from lessons_kb.store.catalogue import Detector, Entry
from lessons_kb.text.analyzer import analyze
from lessons_kb.text.globs import compile_globs


def digest_files(
    root: str, paths: list[str], folders: Mapping[str, str], max_bytes: int
) -> list[Entry]:
    """Read, parse and analyse files; one that cannot be read yields an entry without a card."""
    return [_digest_file(root, path, folders, max_bytes) for path in paths]


def read_document(
    root: str, path: str, folders: Mapping[str, str], max_bytes: int
) -> tuple[bytes, Document]:
    """Read and parse one file of a brain; StorageError when it cannot be read."""
    data = read_bytes(root, path, limit=max_bytes)
    return data, parse_bytes(data, path=path, folders=folders)


def read_body(root: str, path: str, folders: Mapping[str, str], max_bytes: int) -> str:
    """Return the text of a file behind its header, "" if it vanished meanwhile."""
    try:
        return read_document(root, path, folders, max_bytes)[1].body
    except StorageError:
        return ""


def read_sources(root: str, path: str, max_bytes: int) -> frozenset[str]:
    """Return the names of the files that a card was imported from; none where it vanished."""
    try:
        return origins.read_sources(
            read_bytes(root, path, limit=max_bytes).decode(errors="replace")
        )
    except StorageError:
        return frozenset()


def check_globs(document: Document) -> list[Finding]:
    """Return what keeps the ``paths`` of a card from guarding anything; the card stays in use."""
    card = document.card
    try:
        compile_globs(card.paths if card else ())
    except InputError as error:
        message, _, fix = str(error).partition("; ")
        line = document.key_lines.get("paths", 0)
        path = card.id if card else ""
        return [Finding(path=path, line=line, rule="bad-glob", message=message, fix=fix)]
    return []


def build_detectors(card: Card) -> tuple[Detector, ...]:
    """Return what is looked for on behalf of a card: nothing unless it is active."""
    if card.status != "active":
        return ()
    return tuple(
        Detector(pattern=one, globs=compile_globs(one.files), size=measure(one))
        for one in card.detect
    )


def _digest_file(root: str, path: str, folders: Mapping[str, str], max_bytes: int) -> Entry:
    try:
        data, document = read_document(root, path, folders, max_bytes)
    except StorageError as error:
        fix = "grant yourself read access, or remove the file"
        finding = Finding(
            path=path, line=0, rule="unreadable", message=str(error), fix=fix, level="error"
        )
        return Entry(path=path, digest="", card=None, terms={}, findings=(finding,))
    findings = list(document.findings)
    card = document.card
    digest = hashlib.blake2b(data, digest_size=16).hexdigest()
    if card is None:
        return Entry(path=path, digest=digest, card=None, terms={}, findings=tuple(findings))
    globs: tuple[tuple[str, bool], ...] = ()
    if bad := check_globs(document):
        findings += bad
    else:
        globs = compile_globs(card.paths)
    terms = {name: tuple(analyze(text)) for name, text in document.fields.items()}
    return Entry(
        path=path,
        digest=digest,
        card=card,
        title_key="" if card.kind == NOTE else normal_title(card.title),
        globs=globs,
        detectors=build_detectors(card),
        terms=terms,
        background=measure_background(terms.get("body", ())),
        findings=tuple(findings),
    )
