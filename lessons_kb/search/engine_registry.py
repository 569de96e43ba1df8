"""Text indexes behind one protocol, by the name that ``lessons.toml`` gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lessons_kb.errors import InputError
from lessons_kb.on_demand import ENGINES, load
from lessons_kb.search.engine_protocol import Engine

if TYPE_CHECKING:
    from lessons_kb.search.qdrant_engine import QdrantEngine

CLUSTER_ENGINE = "qdrant"
CLUSTER_EXTRA = "cluster"
"""What `qdrant` needs beyond the package."""
_FORMATS = {"tantivy": 5, "rank-bm25": 1, "qdrant": 2}


def open_engine(name: str, directory: str, *, create: bool) -> Engine:
    """Open the index in ``directory``, or make an empty one there if ``create``.

    Raises InputError for an unknown name, IndexBroken for a directory without a usable index
    (missing while ``create`` is false, corrupt, or another engine's or format's), StorageError
    where the directory cannot be written.
    """
    engine_format(name)
    if name == CLUSTER_ENGINE:
        return open_qdrant(directory, create=create)
    module, engine_class = ENGINES[name]
    engine: Engine = getattr(load(module), engine_class)(directory, create=create)
    return engine


def open_qdrant(
    location: str, *, create: bool, collection: str = "lessons", key: str = ""
) -> QdrantEngine:
    """Open a collection in a folder or, for a URL, on a server; see ``QdrantEngine``.

    Raises InputError without the extra, and what ``open_engine`` does.
    """
    try:
        from lessons_kb.search.qdrant_engine import QdrantEngine  # loads for a second
    except ImportError as error:
        raise InputError(
            f"the engine qdrant needs the extra {CLUSTER_EXTRA} ({error}); install it"
        ) from None
    return QdrantEngine(location, create=create, collection=collection, key=key)


def local_engine(name: str) -> str:
    """Return the engine of the index beside the files where a brain is searched with ``name``.

    What a cluster holds is not beside them: the default engine answers while it cannot.
    """
    return "tantivy" if name == CLUSTER_ENGINE else name


def engine_format(name: str) -> int:
    """Return the version of what this engine writes; another one means a rebuild.

    Raises InputError for an unknown name.
    """
    if name not in _FORMATS:
        raise InputError(f"unknown engine {name!r}; choose one of {', '.join(_FORMATS)}")
    return _FORMATS[name]
