"""The drafts of a brain, in the user's state folder.

A draft is ``drafts/NAME.md``, its text, and ``NAME.json``, what is noted of it, which outlives the
text.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TypedDict, cast

from lessons_kb.errors import InputError, StorageError
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
from lessons_kb.store.trash import adopt_leftovers, put_aside
from lessons_kb.text.redact import redact_data
from lessons_kb.text.times import read_time

_FOLDER = "drafts"
_TEXT, _FACTS = ".md", ".json"
MAX_DRAFT_BYTES = 200_000
"""Of a text that is written; what another program left there may be larger and is read."""
_MAX_BYTES = 1_000_000
_KEPT_SECONDS = 400 * 86_400
"""How long a settled draft is remembered: longer than the journal keeps its events."""


class DraftFacts(TypedDict, total=False):
    """What is noted of a draft beside its text, for longer than that stands there.

    All of it is there but what may be missing; an older version may have written less.
    """

    kind: str
    """What called for it, see ``collection.draft_lookup.Draft``."""
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


_NUMBER = (int, float)
_FACT_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "kind": str,
    "key": str,
    "ids": list,
    "at": _NUMBER,
    "seen": int,
    "state": str,
    "digest": str,
    "card": str,
    "fix": str,
    "place": int,
    "by": str,
    "settled": _NUMBER,
}


class DraftFolder:
    """The drafts of the brain at ``root``.

    Writing raises StorageError, and InputError for a text larger than MAX_DRAFT_BYTES.
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
        """Return the path of a draft's Markdown file.

        A file with another ending that somebody put into the folder is a draft of its full name.
        """
        markdown = os.path.join(self._folder, name + _TEXT)
        other = os.path.join(self._folder, name)
        is_other = bool(name) and not os.path.lexists(markdown) and os.path.lexists(other)
        return other if is_other else markdown

    def ids(self) -> list[str]:
        """Return the id of each file in the folder that is a draft, in order, without reading any.

        All are, but for our facts and for the temporary files of a write that is under way.
        """
        names = list_folder(self._folder)
        texts = [name for name in names if not name.startswith(TEMP_PREFIX)]
        texts = [name for name in texts if not name.endswith(_FACTS)]
        return sorted({name.removesuffix(_TEXT) for name in texts})

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
        """Return what is known of one draft, None when nothing is.

        A field of another type than it should have is left out, as if it were missing.
        """
        noted = read_json(os.path.join(self._folder, name + _FACTS), limit=_MAX_BYTES)
        if not noted:
            return None
        usual: DraftFacts = {"kind": "", "key": "", "ids": [], "at": 0.0, "seen": 1}
        facts: dict[str, object] = {**usual}
        for field, kinds in _FACT_TYPES.items():
            value = noted.get(field)
            if isinstance(value, kinds):
                facts[field] = read_time(value) if kinds == _NUMBER else value
        facts["ids"] = [one for one in cast(list[object], facts["ids"]) if isinstance(one, str)]
        return cast(DraftFacts, facts)

    def read(self, name: str) -> str | None:
        """Return the text of a draft, None when there is no such file or it cannot be read."""
        try:
            return self.read_text(name)
        except (OSError, StorageError):
            return None

    def read_text(self, name: str) -> str:
        """Return the text of a draft; OSError or StorageError says why it cannot be read.

        A link is not followed: what it names may be a file that is no draft.
        """
        path = self.path(name)
        if os.path.islink(path):
            raise StorageError(f"{os.path.basename(path)} is a link, and is not followed")
        data = read_regular(path, limit=_MAX_BYTES, name=os.path.basename(path))
        return data.decode("utf-8", "replace")

    def written_at(self, name: str) -> float:
        """Return when a draft's file was last written; 0 if it is not there."""
        try:
            return os.lstat(self.path(name)).st_mtime
        except OSError:
            return 0.0

    def write(self, name: str, text: str, facts: DraftFacts, *, over: str | None = None) -> None:
        """Write a draft, new or anew: what stands there goes to the trash unless it is ``over``."""
        check_draft_size(text)
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

        A text that is not ``over``, and one that is saved late, goes to the trash. So does what a
        killed process left in the folder.
        """
        self.note(name, {**facts, "settled": now})
        temp = os.path.join(self._folder, TEMP_PREFIX + os.urandom(8).hex())
        path = self.path(name)
        with storage_errors(path), contextlib.suppress(FileNotFoundError):
            os.rename(path, temp)
            why = f"its draft was {facts.get('state', 'reviewed')}"
            self._put_aside(name, temp, over, why=why)
        adopt_leftovers(self._root, self._folder, called="lessons")
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
        if os.path.islink(os.path.join(self._folder, name)):
            return None
        try:
            return read_regular(os.path.join(self._folder, name), limit=_MAX_BYTES, name=name)
        except (OSError, StorageError):
            return None


def check_draft_size(text: str) -> None:
    """Raise InputError if a text is too large for a draft."""
    if len(text.encode("utf-8", "replace")) > MAX_DRAFT_BYTES:
        raise InputError(f"a draft has at most {MAX_DRAFT_BYTES:,} bytes; shorten it")
