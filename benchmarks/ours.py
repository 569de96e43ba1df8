"""lessons_kb as a user meets it: a folder of cards, ``Brain.open``, ``search``, ``preflight``."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.brains import write_brain
from lessons_kb.model import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.data import Doc
    from lessons_kb import Brain
    from lessons_kb.model import Hit

_VARIABLES = (
    "LESSONS_STATE_HOME",
    "XDG_STATE_HOME",
    "XDG_DATA_HOME",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
)


class Ours:
    """An open brain made of documents, asked by text and answering with document ids."""

    def __init__(self, brain: Brain, ids: Mapping[str, str]) -> None:
        self.brain = brain
        self.names = ids
        """Card id → document id."""

    def search(self, text: str, limit: int) -> list[str]:
        """Return the ranking without the gate."""
        return self._documents(self.brain.search(text, kinds=KINDS, limit=limit))

    def keep(self, text: str, limit: int) -> list[str]:
        """Return those of the first in the ranking that pass the gate."""
        hits = self.brain.search(text, kinds=KINDS, limit=limit)
        return self._documents([hit for hit in hits if hit.passed])

    def inject(self, text: str) -> list[str]:
        """Return what is put in front of the agent: at most two that pass the gate."""
        return self._documents(self.brain.preflight(text, context=False).lessons)

    def explain(self, text: str) -> list[Hit]:
        """Return judged hits, for looking into a figure."""
        return self.brain.search(text, kinds=KINDS)

    def _documents(self, hits: Sequence[Hit]) -> list[str]:
        return [self.names[hit.card.id] for hit in hits if hit.card.id in self.names]


@contextmanager
def open_ours(docs: Sequence[Doc], *, engine: str = "tantivy") -> Iterator[Ours]:
    """Write the documents as cards to a temporary brain, index it and open it."""
    with tempfile.TemporaryDirectory(prefix="lessons-bench-") as name, private_state(Path(name)):
        folder = Path(name) / "brain"
        ids = write_brain(folder, docs, engine=engine)
        with open_indexed(folder) as brain:
            yield Ours(brain, ids)


@contextmanager
def open_indexed(folder: Path) -> Iterator[Brain]:
    """Open a brain folder, its index brought up to date."""
    from lessons_kb import Brain

    own_brain(folder)
    with Brain.open(folder, directory=folder) as brain:
        brain.refresh()
        for layer in brain.members:
            layer.encode()
        yield brain


def own_brain(folder: Path) -> Path:
    """Make a folder a brain of this user, as ``lessons init`` does; return where its index lies.

    An index of an earlier run is removed: its state is gone, so nothing would read it.
    """
    from lessons_kb.store.trust import cache_dir, read_record, trust

    if read_record(str(folder)) is None:
        shutil.rmtree(folder / ".lessons", ignore_errors=True)
        trust(str(folder), made=True)
    return Path(cache_dir(str(folder)))


@contextmanager
def private_state(folder: Path) -> Iterator[None]:
    """Keep journal, trust and caches of a benchmark out of the user's own folders."""
    before = {name: os.environ.get(name) for name in _VARIABLES}
    for name in _VARIABLES:
        os.environ[name] = str(folder / name.lower())
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
