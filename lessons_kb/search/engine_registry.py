"""Open the engine that ``lessons.toml`` names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lessons_kb.errors import InputError
from lessons_kb.on_demand import ENGINES, load
from lessons_kb.search.engine_protocol import Engine

if TYPE_CHECKING:
    from lessons_kb.search.qdrant_engine import QdrantEngine

CLUSTER_ENGINE = "qdrant"
CLUSTER_EXTRA = "cluster"
"""The extra of the package that `qdrant` needs."""
_FORMATS = {"tantivy": 5, "rank-bm25": 1, "qdrant": 2}
"""A mapping from each engine to the version of its files."""


def open_engine(name: str, directory: str, *, create: bool) -> Engine:
    """Open the index in ``directory``, or create an empty index there if ``create`` is true.

    Raises InputError for an unknown name, and StorageError if the directory cannot be written.
    Raises IndexBroken for a directory without a usable index: it is missing while ``create`` is
    false, it is damaged, or it belongs to another engine or format.
    """
    engine_format(name)  # raises InputError
    if name == CLUSTER_ENGINE:
        return open_qdrant(directory, create=create)
    module, engine_class = ENGINES[name]
    engine: Engine = getattr(load(module), engine_class)(directory, create=create)
    return engine


def open_qdrant(
    location: str, *, create: bool, collection: str = "lessons", key: str = ""
) -> QdrantEngine:
    """Open a collection in a folder or, for a URL, on a server; see ``QdrantEngine``.

    Raises InputError if the extra is not installed, and the errors of ``open_engine``.
    """
    try:
        from lessons_kb.search.qdrant_engine import QdrantEngine  # the import takes a second
    except ImportError as error:
        raise InputError(
            f"the engine qdrant needs the extra {CLUSTER_EXTRA} ({error}); install it"
        ) from None
    return QdrantEngine(location, create=create, collection=collection, key=key)


def local_engine(name: str) -> str:
    """Return the engine of the local index of a brain whose settings name the engine ``name``.

    A cluster has no local index. The default engine answers while the cluster does not.
    """
    return "tantivy" if name == CLUSTER_ENGINE else name


def engine_format(name: str) -> int:
    """Return the version of the files that an engine writes. Another version needs a rebuild.

    Raises InputError for an unknown name.
    """
    if name not in _FORMATS:
        raise InputError(f"unknown engine {name!r}; choose one of {', '.join(_FORMATS)}")
    return _FORMATS[name]
