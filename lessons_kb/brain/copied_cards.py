"""Find cards that the index omits because another file contains the same card."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from lessons_kb.cards.copies import CardFile, Copy, find_copies, name_original
from lessons_kb.model import Finding
from lessons_kb.store.catalogue import Catalogue, CatalogueEntry


def report_copy(copy: Copy) -> Finding:
    """Return the finding for a file that contains the card of another file."""
    if copy.is_same:
        message, fix = f"the same as {copy.original}, byte for byte", "remove one of the two"
    else:
        message = f"a copy of {copy.original}, by its name"
        fix = "move what it says beyond that into the original, and remove it"
    return Finding(
        path=copy.path, line=0, rule="copied-card", message=message, fix=fix, level="warning"
    )


def find_freed_copies(catalogue: Catalogue, changed: Collection[str]) -> list[str]:
    """Return the copies whose originals are among these changed or removed files.

    They must be read again, because each may now be the original.
    """
    copies = catalogue.copies()
    return [path for path, original in copies.items() if original in changed]


def find_new_copies(
    catalogue: Catalogue, entries: Sequence[CatalogueEntry], unread: Collection[str]
) -> list[CatalogueEntry]:
    """Return the catalogue entries of the files that become copies once ``entries`` are stored.

    Files that are ``unread`` or gone count as absent. Copies that the catalogue already lists as
    copies are left out.
    """
    known = catalogue.copies()
    fresh = {
        entry.path: CardFile(path=entry.path, content=entry.digest, title=entry.title_key)
        for entry in entries
        if entry.title_key
    }
    absent = {*unread, *(entry.path for entry in entries)}
    files = dict(fresh)
    digests = [entry.digest for entry in entries]
    for file in _read_files(catalogue.find_copied(digests)):
        if file.path not in absent:
            files[file.path] = file
    originals = {name_original(path) for path in files}
    for file in _read_files(catalogue.find_titled(originals - files.keys() - absent)):
        files[file.path] = file
    copies = []
    for copy in find_copies(files.values()):
        if copy.path in fresh or known.get(copy.path) != copy.original:
            file = files[copy.path]
            copies.append(
                CatalogueEntry(
                    path=copy.path,
                    digest=str(file.content),
                    title_key=file.title,
                    findings=(report_copy(copy),),
                    original=copy.original,
                )
            )
    return copies


def _read_files(rows: Sequence[tuple[str, str, str]]) -> list[CardFile]:
    return [CardFile(path=path, content=digest, title=title) for path, digest, title in rows]
