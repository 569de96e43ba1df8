"""Text indexes behind one protocol, by the name that ``lessons.toml`` gives them."""

from __future__ import annotations

from lessons_kb.errors import InputError
from lessons_kb.search.engine_protocol import Engine
from lessons_kb.search.tantivy_engine import TantivyEngine

_FORMATS = {"tantivy": 4, "rank-bm25": 1}


def open_engine(name: str, directory: str, *, create: bool) -> Engine:
    """Open the index in ``directory``, or make an empty one there if ``create``.

    Raises InputError for an unknown name, IndexBroken for a directory without a usable index
    (missing while ``create`` is false, corrupt, or another engine's or format's), StorageError
    where the directory cannot be written.
    """
    if name == "tantivy":
        return TantivyEngine(directory, create=create)
    if name == "rank-bm25":
        from lessons_kb.search.rank_bm25_engine import RankBM25Engine

        return RankBM25Engine(directory, create=create)
    raise InputError(f"unknown engine {name!r}; choose one of {', '.join(_FORMATS)}")


def engine_format(name: str) -> int:
    """Return the version of what this engine writes; another one means a rebuild."""
    if name not in _FORMATS:
        raise InputError(f"unknown engine {name!r}; choose one of {', '.join(_FORMATS)}")
    return _FORMATS[name]
