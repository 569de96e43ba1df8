"""Drafts of one brain: Markdown files in the user's state folder, and what is known of each.

``<id>.md`` is the draft, ``<id>.json`` where it came from. Of a draft that became a card or was
discarded the second stays for a while, so that its events make no other one.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

from lessons_kb.errors import StorageError
from lessons_kb.store.disk import TEMP_PREFIX, read_regular, storage_error, sync_folder, write_temp
from lessons_kb.store.locks import locked
from lessons_kb.store.replace_file import exchange, rename_new
from lessons_kb.store.trash import put_aside
from lessons_kb.store.user_state import make_private, state_dir, write_private
from lessons_kb.text.redact import redact_data

_FOLDER = "drafts"
_TEXT, _FACTS = ".md", ".json"
_MAX_BYTES = 1_000_000
_KEPT_SECONDS = 400 * 86_400
"""How long a settled draft is remembered: longer than the journal keeps its events."""


class DraftFolder:
    """The drafts of the brain at ``root``; everything raises StorageError."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._folder = os.path.join(state_dir(root, create=False), _FOLDER)
        self._known: dict[str, tuple[tuple[int, ...], dict[str, Any] | None]] = {}
        """File of facts → its stamp, and what it said then: a folder may hold thousands."""

    def locked(self) -> AbstractContextManager[object]:
        """Hold the folder against other processes that write drafts."""
        return locked(self._folder)

    def path(self, name: str) -> str:
        """Return the path of a draft's Markdown file."""
        return os.path.join(self._folder, name + _TEXT)

    def ids(self) -> list[str]:
        """Return the ids of the drafts that have a text, in order, without reading any."""
        return sorted(
            name.removesuffix(_TEXT) for name, _info in self._files() if name.endswith(_TEXT)
        )

    def facts(self) -> dict[str, dict[str, Any]]:
        """Return what is known of each draft, settled ones included, by id in order.

        Asked again, only files that have changed are read.
        """
        known = {}
        for name, info in self._files():
            if name.endswith(_FACTS):
                stamp = (info.st_mtime_ns, info.st_ctime_ns, info.st_ino, info.st_size)
                known[name] = self._known.get(name, ((), None))
                if known[name][0] != stamp:
                    known[name] = (stamp, self._parse(name))
        self._known = known
        return {
            name.removesuffix(_FACTS): facts
            for name, (_stamp, facts) in sorted(known.items())
            if facts is not None
        }

    def facts_of(self, name: str) -> dict[str, Any] | None:
        """Return what is known of one draft, None when nothing is."""
        return self._parse(name + _FACTS)

    def read(self, name: str) -> str | None:
        """Return the text of a draft, None when there is no such file."""
        data = self._read(name + _TEXT)
        return None if data is None else data.decode("utf-8", "replace")

    def write(
        self, name: str, text: str, facts: Mapping[str, Any], *, over: str | None = None
    ) -> None:
        """Write a draft, new or anew: what stands there goes to the trash unless it is ``over``."""
        make_private(self._folder)
        full = self.path(name)
        try:
            temp = write_temp(self._folder, text.encode("utf-8", "replace"), private=True)
            try:
                rename_new(temp, full)
            except FileExistsError:
                exchange(temp, full)
                self._put_aside(name, temp, over, why="a newer draft replaced it")
            sync_folder(self._folder)
        except OSError as error:
            raise storage_error(error, full) from None
        self.note(name, facts)

    def note(self, name: str, facts: Mapping[str, Any]) -> None:
        """Write what is known of a draft; its text stays."""
        make_private(self._folder)
        data = json.dumps(redact_data(facts), ensure_ascii=False, indent=1).encode(
            "utf-8", "replace"
        )
        write_private(os.path.join(self._folder, name + _FACTS), data)

    def settle(
        self, name: str, facts: Mapping[str, Any], *, now: float, over: str | None = None
    ) -> None:
        """Remove the text of a draft and remember what became of it; forget what is very old.

        A text that is not ``over``, and one that is saved late, goes to the trash.
        """
        self.note(name, {**facts, "settled": now})
        temp = os.path.join(self._folder, TEMP_PREFIX + os.urandom(8).hex())
        with contextlib.suppress(FileNotFoundError):
            try:
                os.rename(self.path(name), temp)
            except FileNotFoundError:
                raise
            except OSError as error:
                raise storage_error(error, self.path(name)) from None
            why = f"its draft was {facts.get('state', 'reviewed')}"
            self._put_aside(name, temp, over, why=why)
        waiting = set(self.ids())
        for file, info in self._files():
            other = file.removesuffix(_FACTS)
            if file != other and other not in waiting and info.st_mtime < now - _KEPT_SECONDS:
                self._remove(file)

    def _put_aside(self, name: str, temp: str, over: str | None, *, why: str) -> None:
        expected = None if over is None else over.encode()
        if self._read(os.path.basename(temp)) != expected:
            expected = None
        put_aside(self._root, f"lessons/{name}{_TEXT}", temp, expected=expected, why=why)

    def _files(self) -> Iterator[tuple[str, os.stat_result]]:
        try:
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    with contextlib.suppress(FileNotFoundError):
                        yield entry.name, entry.stat(follow_symlinks=False)
        except OSError:
            return

    def _parse(self, name: str) -> dict[str, Any] | None:
        data = self._read(name)
        return None if data is None else _parse(data)

    def _read(self, name: str) -> bytes | None:
        try:
            return read_regular(os.path.join(self._folder, name), limit=_MAX_BYTES, name=name)
        except (OSError, StorageError):
            return None

    def _remove(self, name: str) -> None:
        try:
            os.unlink(os.path.join(self._folder, name))
        except OSError:
            return


def _parse(data: bytes) -> dict[str, Any] | None:
    try:
        facts = json.loads(data)
    except ValueError:
        return None
    return facts if isinstance(facts, dict) else None
