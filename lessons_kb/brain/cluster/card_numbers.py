"""Where the cards of a brain are in a cluster, and what they are called there."""

from __future__ import annotations

import hashlib
import re
from importlib.util import find_spec
from typing import TYPE_CHECKING

from lessons_kb.brain.index import Index
from lessons_kb.errors import IndexBroken, InputError, StorageError
from lessons_kb.process.installation import install_command
from lessons_kb.search.engine_registry import CLUSTER_EXTRA, open_qdrant
from lessons_kb.store.user_state import identify
from lessons_kb.text.server_address import parse_address

if TYPE_CHECKING:
    from lessons_kb.search.qdrant_engine import QdrantEngine

KEY_VARIABLE = "LESSONS_SYNC_KEY"
"""Of the environment; an argument would be seen by every process of the machine."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def open_cluster(index: Index, location: str, *, key: str = "", create: bool) -> QdrantEngine:
    """Open the collection of a brain at ``location``, a folder or the URL of a server.

    ``create`` makes it where it is missing, and anew where it is of another version. Raises
    InputError for an address that may not be used and without the extra, EngineUnreachable,
    IndexBroken without ``create``, StorageError.
    """
    check_location(location)
    name = _find_name(index, location)
    if find_spec("qdrant_client") is None:
        command = install_command(CLUSTER_EXTRA)
        raise InputError(f"a cluster needs an extra; run `{command}` and try again")
    try:
        return open_qdrant(location, create=create, collection=name, key=key)
    except IndexBroken as error:
        if not create:
            raise IndexBroken(
                f"{location} holds no usable index {name} ({error}); "
                f"run `lessons sync --to {location}`"
            ) from None
    from lessons_kb.search.qdrant_engine import QdrantEngine

    try:
        QdrantEngine.drop(location, collection=name, key=key)
        return open_qdrant(location, create=True, collection=name, key=key)
    except IndexBroken as error:
        raise StorageError(f"{error}; delete {location} and run this again") from None


def check_location(location: str) -> None:
    """Raise InputError for an address that a card's text, or a key, must not be sent to."""
    if "://" not in location:
        return
    parse_address(location, instead=f"set {KEY_VARIABLE} instead")


def number_card(path: str, *, is_note: bool) -> int:
    """Return the number of a card in a cluster, the same on every machine; notes are below zero.

    Catalogues count files as they come, so that no two agree.
    """
    digest = hashlib.blake2b(path.encode(errors="surrogateescape"), digest_size=8).digest()
    number = int.from_bytes(digest, "big") >> 1 or 1
    return -number if is_note else number


def _find_name(index: Index, location: str) -> str:
    name = index.settings.index.collection
    if name and not _NAME.fullmatch(name):
        raise InputError(
            f"lessons.toml: index.collection {name!r} must be letters, digits, `.`, `_` and `-`"
        )
    if name:
        return name
    if "://" in location:  # what tells brains apart here differs from clone to clone
        raise InputError(
            'name this brain for the cluster: `collection = "…"` under [index] in lessons.toml'
        )
    return f"brain-{hashlib.blake2b(identify(index.root).key.encode(), digest_size=8).hexdigest()}"
