"""Is everything in order? One line each, with the mend."""

from __future__ import annotations

import os
import sqlite3

from lessons_kb.brain.census import count_files
from lessons_kb.brain.discovery import look
from lessons_kb.errors import LessonsError
from lessons_kb.storage.locate import CACHE_NAME
from lessons_kb.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lessons_kb.brain.brain import Brain
    from lessons_kb.brain.layer import Layer

MARKS = {"ok": "✓", "warning": "⚠", "error": "✗"}


class Health(Value):
    """One line of the doctor's report."""

    level: str
    """``ok``, ``warning`` or ``error``."""
    what: str
    detail: str
    mend: str = ""


def check_health(brain: Brain | None, directory: str) -> list[Health]:
    """Examine the brains that are open and those that wait at ``directory``; nothing is raised."""
    lines = [*_waiting(directory), *_hooks()]
    if brain is None:
        mend = "`lessons init` makes one here, `lessons init --user` one for everywhere"
        return [*lines, Health(level="error", what="brain", detail="none here", mend=mend)]
    for layer in brain.layers:
        lines.append(Health(level="ok", what="brain", detail=f"{layer.root} ({layer.alias})"))
        for check in (_settings, _index, _meaning, _files, _cache, _journal):
            lines += _safely(check, layer)
    return lines


def _safely(check: Callable[[Layer], Iterator[Health]], layer: Layer) -> list[Health]:
    """A check that fails is itself a finding."""
    what = check.__name__.strip("_")
    try:
        return list(check(layer))
    except LessonsError as error:
        detail, _, mend = str(error).partition("; ")
        return [Health(level="error", what=what, detail=detail, mend=mend)]
    except (OSError, sqlite3.Error) as error:
        mend = "check the disk and the permissions of the folder"
        return [Health(level="error", what=what, detail=str(error), mend=mend)]


def _waiting(directory: str) -> Iterator[Health]:
    try:
        roots = look(directory).untrusted
    except LessonsError as error:
        detail, _, mend = str(error).partition("; ")
        yield Health(level="error", what="discovery", detail=detail, mend=mend)
        return
    for root in roots:
        mend = f"read its cards, then run `lessons trust {root}`"
        yield Health(level="warning", what="trust", detail=f"{root} is silent", mend=mend)


def _hooks() -> Iterator[Health]:
    from lessons_kb.storage.hook_log import read_troubles

    troubles = read_troubles(1_000)
    if not troubles:
        yield Health(level="ok", what="hooks", detail="no errors logged")
        return
    last = troubles[-1]
    more = f" ({len(troubles)} in the log)" if len(troubles) > 1 else ""
    detail = f"last error {last.at}, {last.agent} {last.occasion}: {last.message}{more}"
    mend = "the agent went on without lessons; mend what it names, then delete hook.log"
    yield Health(level="warning", what="hooks", detail=detail, mend=mend)


def _settings(layer: Layer) -> Iterator[Health]:
    settings = layer.settings
    detail = f"engine {settings.index.engine}, language {settings.language}"
    yield Health(level="ok", what="settings", detail=detail)


def _index(layer: Layer) -> Iterator[Health]:
    done = layer.refresh()
    if done.stale:
        mend = "`lessons index` waits for it and finishes the rest"
        yield Health(level="warning", what="index", detail=done.stale, mend=mend)
    count = count_files(layer)
    detail = f"{count.files} files: {count.cards} cards, {count.notes} notes"
    yield Health(level="ok", what="index", detail=detail)


def _meaning(layer: Layer) -> Iterator[Health]:
    from lessons_kb.recall.semantic.model import INSTALL, find_absent_libraries

    what, meaning = "semantic", layer.meaning
    if meaning is None:
        absent = find_absent_libraries()
        detail = f"off, {', '.join(absent)} absent ({INSTALL})" if absent else "off"
        yield Health(level="ok", what=what, detail=f"{detail}: cards are found by their words")
    elif meaning.trouble:
        detail, _, mend = meaning.trouble.partition("; ")
        yield Health(level="warning", what=what, detail=f"off: {detail}", mend=mend)
    else:
        left = meaning.refresh(limit=0)
        mend = "`lessons index` encodes them" if left else ""
        detail = f"on, {left} files have no vectors yet" if left else "on, every file has vectors"
        level = "warning" if left else "ok"
        yield Health(level=level, what=what, detail=detail, mend=mend)


def _files(layer: Layer) -> Iterator[Health]:
    from lessons_kb.brain.linting import lint

    findings = [finding for finding in lint(layer) if finding.level == "error"]
    for finding in findings:
        where = f"{finding.path}:{finding.line}" if finding.line else finding.path
        detail = f"{where}: {finding.message}"
        yield Health(level="error", what="file", detail=detail, mend=finding.mend)
    if not findings:
        yield Health(level="ok", what="files", detail="every file can be used")


def _cache(layer: Layer) -> Iterator[Health]:
    if os.access(layer.root, os.W_OK):
        yield Health(level="ok", what="write access", detail=layer.root)
    else:
        mend = "cards cannot be bumped or created here; get write access if you want to"
        yield Health(level="warning", what="write access", detail="read-only", mend=mend)
    if not layer.cache.startswith(os.path.join(layer.root, CACHE_NAME)):
        yield Health(level="ok", what="cache", detail=f"kept in {layer.cache}")


def _journal(layer: Layer) -> Iterator[Health]:
    from lessons_kb.storage.database import find_set_aside
    from lessons_kb.storage.journal import JOURNAL_NAME
    from lessons_kb.storage.state import state_dir

    layer.journal.last_injected(None)
    yield Health(level="ok", what="journal", detail="can be written")
    for kept in find_set_aside(os.path.join(state_dir(layer.root), JOURNAL_NAME)):
        mend = "a fresh one was begun; delete it, or try `sqlite3 FILE .recover`"
        yield Health(level="warning", what="journal", detail=f"{kept} was damaged", mend=mend)
