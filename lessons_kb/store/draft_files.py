"""The drafts of a brain, in the user's state folder.

A draft is ``drafts/NAME.md``, its text, and ``NAME.json``, what is noted of it, which outlives the
text.
"""

from __future__ import annotations

import contextlib
import json
import os
from contextlib import AbstractContextManager
from typing import TypedDict, cast

from lessons_kb.errors import StorageError
from lessons_kb.store.files import (
    TEMP_PREFIX,
    exchange,
    list_folder,
    read_json,
    read_regular,
    rename_new,
    storage_errors,
    sync_folder,
    write_temp,
)
from lessons_kb.store.locks import locked
from lessons_kb.store.private_files import make_private, write_private
from lessons_kb.store.scan import signature
from lessons_kb.store.state_folder import state_dir
from lessons_kb.store.trash import put_aside
from lessons_kb.text.redact import redact_data

_FOLDER = "drafts"
_TEXT, _FACTS = ".md", ".json"
_MAX_BYTES = 1_000_000
_KEPT_SECONDS = 400 * 86_400
"""How long a settled draft is remembered: longer than the journal keeps its events."""


class DraftFacts(TypedDict, total=False):
    """What is noted of a draft beside its text, for longer than that stands there.

    All of it is there but what may be missing; an older version may have written less.
    """

    kind: str
    """What called for it, see ``collection.drafts.Draft``."""
    key: str
    """Equal for the same mistake, proposed title or find of the past."""
    ids: list[str]
    """The observations that it stands for, see ``learn.triggers.Trigger``; of one that was mined,
    commits."""
    at: float
    """When it was last drafted or counted, of a find of the past when that was last seen; seconds
    since the epoch."""
    seen: int
    """How often."""
    state: str
    """``open``, or what became of it: ``accepted``, ``merged``, ``discarded``."""
    digest: str
    """Of the text as we composed it: another one was edited, by hand or by ``rewrite``."""
    card: str
    """The card that it became, of an open one that which an earlier draft became; missing or ""
    where there is none."""
    fix: str
    """What put the mistake right when it came back; missing until it did."""
    place: int
    """Among the drafts of the past; missing for others."""
    by: str
    """Which user of a server proposed it; missing where none did."""
    settled: float
    """When it stopped being open; missing until then."""


class DraftFolder:
    """The drafts of the brain at ``root``; writing raises StorageError, and what cannot be read is
    None.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._folder = os.path.join(state_dir(root, create=False), _FOLDER)
        self._known: dict[str, tuple[str, DraftFacts | None]] = {}
        """Id → the stamp of its file of facts, and what that said: there may be thousands."""

    def locked(self) -> AbstractContextManager[object]:
        """Hold the folder against other processes that write drafts."""
        return locked(self._folder)

    def path(self, name: str) -> str:
        """Return the path of a draft's Markdown file."""
        return os.path.join(self._folder, name + _TEXT)

    def ids(self) -> list[str]:
        """Return the ids of the drafts that have a text, in order, without reading any."""
        return sorted(self._list(_TEXT))

    def facts(self) -> dict[str, DraftFacts]:
        """Return what is known of each draft, settled ones included, by id in order.

        Asked again, only files that have changed are read.
        """
        known = {}
        for name in sorted(self._list(_FACTS)):
            with contextlib.suppress(OSError):
                stamp = signature(os.lstat(os.path.join(self._folder, name + _FACTS)))
                old = self._known.get(name)
                known[name] = old if old and old[0] == stamp else (stamp, self.facts_of(name))
        self._known = known
        return {name: facts for name, (_stamp, facts) in known.items() if facts is not None}

    def facts_of(self, name: str) -> DraftFacts | None:
        """Return what is known of one draft, None when nothing is."""
        path = os.path.join(self._folder, name + _FACTS)
        return cast(DraftFacts | None, read_json(path, limit=_MAX_BYTES) or None)

    def read(self, name: str) -> str | None:
        """Return the text of a draft, None when there is no such file."""
        data = self._read(name + _TEXT)
        return None if data is None else data.decode("utf-8", "replace")

    def write(self, name: str, text: str, facts: DraftFacts, *, over: str | None = None) -> None:
        """Write a draft, new or anew: what stands there goes to the trash unless it is ``over``."""
        make_private(self._folder)
        full = self.path(name)
        with storage_errors(full):
            temp = write_temp(self._folder, text.encode("utf-8", "replace"), private=True)
            try:
                rename_new(temp, full)
            except FileExistsError:
                exchange(temp, full)
                self._put_aside(name, temp, over, why="a newer draft replaced it")
            sync_folder(self._folder)
        self.note(name, facts)

    def note(self, name: str, facts: DraftFacts) -> None:
        """Write what is known of a draft; its text stays."""
        text = json.dumps(redact_data(facts), ensure_ascii=False, indent=1)
        write_private(os.path.join(self._folder, name + _FACTS), text.encode("utf-8", "replace"))

    def settle(self, name: str, facts: DraftFacts, *, now: float, over: str | None = None) -> None:
        """Remove the text of a draft and remember what became of it; forget what is very old.

        A text that is not ``over``, and one that is saved late, goes to the trash.
        """
        self.note(name, {**facts, "settled": now})
        temp = os.path.join(self._folder, TEMP_PREFIX + os.urandom(8).hex())
        with storage_errors(self.path(name)), contextlib.suppress(FileNotFoundError):
            os.rename(self.path(name), temp)
            why = f"its draft was {facts.get('state', 'reviewed')}"
            self._put_aside(name, temp, over, why=why)
        for old in set(self._list(_FACTS)) - set(self.ids()):
            path = os.path.join(self._folder, old + _FACTS)
            with contextlib.suppress(OSError):
                if os.lstat(path).st_mtime < now - _KEPT_SECONDS:
                    os.unlink(path)

    def _put_aside(self, name: str, temp: str, over: str | None, *, why: str) -> None:
        expected = None if over is None else over.encode()
        if self._read(os.path.basename(temp)) != expected:
            expected = None
        put_aside(self._root, f"lessons/{name}{_TEXT}", temp, expected=expected, why=why)

    def _list(self, ending: str) -> list[str]:
        names = list_folder(self._folder)
        return [name.removesuffix(ending) for name in names if name.endswith(ending)]

    def _read(self, name: str) -> bytes | None:
        try:
            return read_regular(os.path.join(self._folder, name), limit=_MAX_BYTES, name=name)
        except (OSError, StorageError):
            return None
