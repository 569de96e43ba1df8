"""What ``lessons doctor --fix`` puts right: only what we made ourselves and can make again."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator

from lessons_kb.brain.doctor.health import Health
from lessons_kb.brain.layer import Layer
from lessons_kb.store import cleanup
from lessons_kb.store.folder_rights import close_folder, find_open_folders
from lessons_kb.store.trash import prune
from lessons_kb.text.plurals import counted

_DAY_SECONDS = 86_400


def fix_state(_about: object) -> Iterator[Health]:
    """Close the state folders that others may look into."""
    for folder in find_open_folders():
        close_folder(folder)
        yield _fixed("state", f"{folder} is private again")


def fix_folders(layer: Layer) -> Iterator[Health]:
    """Close the state folders of a brain, and keep its cache out of git."""
    for folder in find_open_folders(layer.root):
        close_folder(folder)
        yield _fixed("state", f"{folder} is private again")
    for path in cleanup.find_missing_ignores(layer.root, layer.cache):
        cleanup.write_ignore(path)
        yield _fixed("cache", f"wrote {path}")


def fix_watcher(layer: Layer) -> Iterator[Health]:
    """Remove the leases of watchers that are gone, and end what killed processes left running."""
    for path in cleanup.find_stale_leases(layer.cache):
        os.unlink(path)
        yield _fixed("watcher", f"removed {path}")
    if ended := layer.journal.runs.end_abandoned():
        yield _fixed("journal", f"ended {counted(ended, 'command')} whose process no longer exists")


def fix_index(layer: Layer) -> Iterator[Health]:
    """Rebuild an index that does not hold what the catalogue says; remove former ones."""
    before = layer.state
    done = layer.refresh()
    state = layer.state
    if state is None or done.stale:
        return
    if before is None:
        yield _fixed("index", "built; the old one was missing or unusable")
    elif before.generation != state.generation:
        yield _fixed("index", "rebuilt")
    size = layer.read(lambda one: one.engine.size() if one.engine else 0)
    if size != state.cards + state.notes:
        layer.refresh(rebuild=True)
        yield _fixed("index", f"rebuilt; it held {size} of {state.cards + state.notes}")
        state = layer.state or state
    for folder in cleanup.find_old_generations(layer.cache, layer.engine_directory(state)):
        shutil.rmtree(folder)
        yield _fixed("index", f"removed {folder}")


def fix_journal(layer: Layer) -> Iterator[Health]:
    """Forget what is older than the journal's retention."""
    days = layer.settings.journal.retention_days
    if gone := layer.journal.upkeep.prune(time.time() - days * _DAY_SECONDS):
        yield _fixed("journal", f"removed {counted(gone, 'row')} older than {counted(days, 'day')}")


def fix_trash(layer: Layer) -> Iterator[Health]:
    """Remove deleted cards that are older or more than the settings keep."""
    if gone := prune(layer.root, layer.settings.trash):
        yield _fixed("trash", f"removed {counted(len(gone), 'file')} beyond the limits")


def _fixed(what: str, detail: str) -> Health:
    return Health(level="fixed", what=what, detail=detail)


AROUND: tuple[Callable[[object], Iterator[Health]], ...] = (fix_state,)
FIXES: tuple[Callable[[Layer], Iterator[Health]], ...] = (
    fix_folders,
    fix_watcher,
    fix_index,
    fix_journal,
    fix_trash,
)
