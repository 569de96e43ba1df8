"""Decide whether the last commit of the index still knows each card by its name.

A command that changes a card needs the card's name, not its words. Such a command then leaves the
reading of the changed files to the next search, which reads the card anyway.
"""

from __future__ import annotations

from hashlib import blake2b

from lessons_kb.brain.search_index import Look, SearchIndex
from lessons_kb.cards.parse import parse_bytes
from lessons_kb.errors import StorageError
from lessons_kb.model import NOTE
from lessons_kb.store.card_files import read_bytes
from lessons_kb.store.scan import parse_manifest, settings_signature

MOST_EDITED = 8
"""The maximum number of edited files that are compared with the index, because each is parsed."""


def are_names_known(index: SearchIndex, look: Look) -> bool:
    """Return whether only cards were edited since the commit, and none got another name.

    A card is found by the path of its file. The name changes its meaning if a file was added or
    removed, if a card became a note or the reverse, or if a card became or ceased to be a copy of
    another card. A copy has the content or the title of its original.
    """
    state, scan = look.state, look.scan
    if not look.is_valid_for(state, settings_signature(index.root)):
        return False
    indexed = parse_manifest(state.manifest)
    has_same_files = indexed.keys() == scan.files.keys()
    if not has_same_files or (scan.silent, scan.beyond) != (state.silent, state.beyond):
        return False
    edited = [path for path, signature in scan.files.items() if indexed[path] != signature]
    if len(edited) > MOST_EDITED:
        return False
    copies = index.catalogue.copies()
    if not {*copies, *copies.values()}.isdisjoint(edited):
        return False
    files = index.catalogue.numbers()
    digests = {digest for path, (_number, digest) in files.items() if path not in edited}
    for path in edited:
        if path not in files:
            return False
        digest = _read_same_card(index, path, files[path][0])
        if digest is None or digest in digests:
            return False
        digests.add(digest)
    return True


def _read_same_card(index: SearchIndex, path: str, number: int) -> str | None:
    """Return the digest of a card's file, or None if it has no card of the indexed title."""
    indexed = index.catalogue.cards([number]).get(number)
    settings = index.settings
    try:
        data = read_bytes(index.root, path, limit=settings.index.max_file_bytes)
    except StorageError:
        return None
    card = parse_bytes(data, path=path, folders=settings.folders).card
    if card is None or indexed is None or NOTE in (card.kind, indexed.kind):
        return None
    if card.title != indexed.title:
        return None
    return blake2b(data, digest_size=16).hexdigest()
