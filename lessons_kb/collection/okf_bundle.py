"""Write the files of a brain as a bundle of the Open Knowledge Format, and read a bundle."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator, Mapping
from urllib.parse import quote

from lessons_kb.brain.brains import Brains
from lessons_kb.cards.file_names import numbered_names
from lessons_kb.cards.keys import split_header
from lessons_kb.cards.okf import RESERVED, format_index, from_okf, to_okf
from lessons_kb.cards.parse import parse_card
from lessons_kb.collection.compose_card import redact_card
from lessons_kb.config import KNOWN_FOLDERS
from lessons_kb.errors import EditRefused, InputError, LessonsError
from lessons_kb.importers.incoming import Imported, Incoming, PassedOver, make_origin
from lessons_kb.importers.whole_documents import read_texts
from lessons_kb.store import card_files
from lessons_kb.store.files import read_source, write_export
from lessons_kb.text.redact import redact
from lessons_kb.text.sanitize import clean_line, counted, shorten
from lessons_kb.values import frozen

OKF = "okf"
_INDEX = "index.md"
_MAX_DESCRIPTION = 200


@frozen
class Concept:
    """A file of a bundle."""

    path: str
    """The POSIX path in the bundle."""
    title: str
    description: str
    text: str


def write_bundle(brains: Brains, folder: str) -> tuple[Concept, ...]:
    """Write a bundle with every card and note to a new folder, and return its concepts.

    Secrets are removed. Raises InputError for a folder that has files or is within a brain.
    """
    full = os.path.realpath(folder)
    if os.path.lexists(full) and (not os.path.isdir(full) or os.listdir(full)):
        raise InputError(f"{folder} is not empty; name a new folder")
    for brain in brains.members:
        if f"{full}{os.sep}".startswith(f"{os.path.realpath(brain.root)}{os.sep}"):
            raise InputError(f"{folder} is inside the brain {brain.alias}; name another folder")
    concepts = tuple(_list_concepts(brains))
    for concept in concepts:
        _write(full, concept.path, concept.text)
    for path, text in _build_indexes(concepts).items():
        _write(full, path, text)
    return concepts


def _write(folder: str, path: str, text: str) -> None:
    write_export(os.path.join(folder, *path.split("/")), text.removesuffix("\n").split("\n"))


def _list_concepts(brains: Brains) -> Iterator[Concept]:
    brains.refresh()
    taken: set[str] = set()
    for brain in brains.members:
        limit = brain.settings.index.max_file_bytes
        cards = brain.read(lambda brain: brain.catalogue.all_cards())
        prefix = f"{brain.alias}/" if len(brains.members) > 1 else ""
        paths: dict[str, str] = {}
        for card in cards:
            paths[card.id] = _choose_path(prefix + card.id, taken)
            taken.add(paths[card.id])
        names = _list_names(paths)
        for card in cards:
            data = card_files.read_bytes(brain.root, card.id, limit=limit)
            text = _without_secrets(data.decode("utf-8", "replace"))
            safe = parse_card(text, path=card.id, folders=brain.settings.folders).card or card
            yield Concept(
                path=paths[card.id],
                title=clean_line(safe.title),
                description=shorten(clean_line(safe.why), _MAX_DESCRIPTION),
                text=to_okf(text, safe, find_path=names.get),
            )


def _without_secrets(text: str) -> str:
    try:
        return redact_card(text)
    except EditRefused:  # its header is no header that could be edited
        return redact(text)


def _choose_path(path: str, taken: set[str]) -> str:
    """Return the path of a file in the bundle, which differs only if OKF reserves its name."""
    folder, name = posixpath.split(path)
    stem = posixpath.splitext(path)[0]
    if name.casefold() in RESERVED:
        stem = posixpath.join(folder, f"{posixpath.splitext(name)[0]}-note")
    return next(one for one in numbered_names(stem) if one not in taken)


def _list_names(paths: Mapping[str, str]) -> dict[str, str]:
    """Return a mapping from each possible name of a card to its path in the bundle."""
    names: dict[str, str] = {}
    for card_id, path in paths.items():
        stem = posixpath.splitext(card_id)[0]
        for name in (card_id, stem, posixpath.basename(card_id), posixpath.basename(stem)):
            names.setdefault(name, path)
    return names


def _build_indexes(concepts: tuple[Concept, ...]) -> dict[str, str]:
    """Return a mapping from the path of each folder's index to its text."""
    inside: dict[str, list[Concept]] = {"": []}
    folders: dict[str, set[str]] = {"": set()}
    for concept in concepts:
        folder = posixpath.dirname(concept.path)
        inside.setdefault(folder, []).append(concept)
        while folder:
            above = posixpath.dirname(folder)
            folders.setdefault(above, set()).add(folder)
            folder = above
    indexes = {}
    for folder in sorted({*inside, *folders}):
        entries = []
        for below in sorted(folders.get(folder, ())):
            name = posixpath.basename(below)
            count = sum(concept.path.startswith(f"{below}/") for concept in concepts)
            entries.append((name, f"{quote(name)}/{_INDEX}", counted(count, "concept")))
        for concept in inside.get(folder, ()):
            address = quote(posixpath.basename(concept.path))
            entries.append((concept.title, address, concept.description))
        title = posixpath.basename(folder) or "Lessons"
        indexes[posixpath.join(folder, _INDEX)] = format_index(title, entries, is_root=not folder)
    return indexes


def read_bundle(folder: str) -> Imported:
    """Return the concepts of a bundle. Raises InputError if the folder has none."""
    if not os.path.isdir(folder):
        raise InputError(f"{folder} is not a folder; name the root folder of a bundle")
    lessons: list[Incoming] = []
    passed: list[PassedOver] = []
    for path in _list_files(folder):
        try:
            lesson = _read_concept(read_source(os.path.join(folder, *path.split("/"))), path)
        except LessonsError as error:
            passed.append(PassedOver(title=path, where=path, reason=str(error)))
            continue
        lessons.append(lesson)
    if not (lessons or passed):
        raise InputError(f"{folder} holds no concept (*.md); give the root of a bundle")
    return Imported(lessons=tuple(lessons), passed_over=tuple(passed))


def _list_files(folder: str) -> list[str]:
    """Return the Markdown files of a bundle that may be concepts, as POSIX paths within it."""
    paths: list[str] = []
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            is_concept = name.endswith((".md", ".markdown")) and name.casefold() not in RESERVED
            if is_concept and not name.startswith("."):
                full = os.path.join(place, name)
                paths.append(os.path.relpath(full, folder).replace(os.sep, "/"))
    return sorted(paths)


def _read_concept(text: str, path: str) -> Incoming:
    """Return a concept as a card or a note. Raises LessonsError if it is neither."""
    text = from_okf(text)
    if not read_texts(split_header(text)).get("type"):
        raise InputError("it has no `type`, so it is not a concept")
    card = parse_card(text, path=path, folders=KNOWN_FOLDERS).card
    if card is None:
        raise InputError("its header cannot be read")
    return Incoming(
        title=card.title,
        where=path,
        origin=make_origin(OKF, path, path, card.title),
        kind=card.kind,
        occurrences=card.occurrences,
        last_seen=card.last_seen,
        examples=card.examples,
        id=path,
        text=text,
    )
