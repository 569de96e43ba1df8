"""The drafts of a brain, in the user's state folder.

A draft consists of its text, ``drafts/NAME.md``, and of facts about it, ``NAME.json``. The facts
are still stored after the text was removed.
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
"""The maximum size of a text that is written. A file from another program may be larger."""
_MAX_BYTES = 1_000_000
_RETENTION_SECONDS = 400 * 86_400
"""The time for which the facts of a settled draft are stored. It exceeds that of the journal."""


class DraftFacts(TypedDict, total=False):
    """Facts about a draft, which are stored longer than its text.

    A field is missing only if its description says so, or if an older version wrote the file.
    """

    kind: str
    """The kind of its trigger; see ``collection.draft_lookup.Draft``."""
    key: str
    """A key that is equal for drafts of the same mistake, proposed title or mined candidate."""
    ids: list[str]
    """The ids of the observations behind the draft; see ``mining.triggers.Trigger``. For a mined
    draft, they are the ids of the commits."""
    at: float
    """The time at which the draft was last written or counted, or a mined mistake was last seen, in
    seconds since the epoch."""
    seen: int
    """The number of times that the mistake was seen."""
    state: str
    """``open``, ``accepted``, ``merged`` or ``discarded``."""
    digest: str
    """A digest of the composed text. If the text has another digest, a user or an agent edited
    it."""
    card: str
    """The id of the card that the draft became. For an open draft, it is the card that an earlier
    draft of this mistake became. It is missing or "" if there is no such card."""
    place: int
    """The rank among the mined drafts; missing for other drafts."""
    by: str
    """The user of a server who proposed the draft; missing for other drafts."""
    evidence: list[str]
    """The digests of the blocks of evidence; see ``mining.draft_evidence``. The list is empty for a
    draft whose text a person or an agent proposed."""
    settled: float
    """The time at which the draft was accepted, merged or discarded; missing until then."""


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
    "place": int,
    "by": str,
    "evidence": list,
    "settled": _NUMBER,
}


class DraftFolder:
    """The drafts of the brain at ``root``.

    The methods that write raise StorageError, or InputError for a text larger than MAX_DRAFT_BYTES.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._folder = os.path.join(state_dir(root, create=False), _FOLDER)
        self._cache: dict[str, tuple[str, DraftFacts | None]] = {}
        """A mapping from each id to the signature of its file of facts, and the facts.

        There may be thousands.
        """

    def locked(self) -> AbstractContextManager[object]:
        """Lock the folder against other processes that write drafts."""
        return locked(self._folder)

    def path(self, name: str) -> str:
        """Return the path of a draft's Markdown file.

        If a user put a file with another ending into the folder, its full name is its id.
        """
        markdown = os.path.join(self._folder, name + _TEXT)
        other = os.path.join(self._folder, name)
        is_other = bool(name) and not os.path.lexists(markdown) and os.path.lexists(other)
        return other if is_other else markdown

    def ids(self) -> list[str]:
        """Return the sorted ids of all drafts in the folder, without reading any file.

        Every file is a draft, except the files of facts, temporary files of a current write, and
        the files that an editor keeps beside an open file.
        """
        names = list_folder(self._folder)
        texts = [name for name in names if not name.startswith((TEMP_PREFIX, ".#", "#"))]
        texts = [name for name in texts if not name.endswith((_FACTS, "~", ".swp", ".swo"))]
        return sorted({name.removesuffix(_TEXT) for name in texts})

    def facts(self) -> dict[str, DraftFacts]:
        """Return a mapping from the id of each draft to its facts, in the order of ids.

        Settled drafts are included.

        A repeated call reads only files that have changed.
        """
        cache = {}
        for name in sorted(self._list(_FACTS)):
            with contextlib.suppress(OSError):
                stamp = signature(os.lstat(os.path.join(self._folder, name + _FACTS)))
                cached = self._cache.get(name)
                if cached is None or cached[0] != stamp:
                    cached = (stamp, self.facts_of(name))
                cache[name] = cached
        self._cache = cache
        return {name: facts for name, (_stamp, facts) in cache.items() if facts is not None}

    def facts_of(self, name: str) -> DraftFacts | None:
        """Return the facts of one draft, or None if there are none.

        A field of a wrong type is left out, as if it were missing.
        """
        data = read_json(os.path.join(self._folder, name + _FACTS), limit=_MAX_BYTES)
        if not data:
            return None
        defaults: DraftFacts = {"kind": "", "key": "", "ids": [], "at": 0.0, "seen": 1}
        facts: dict[str, object] = {**defaults}
        for field, kinds in _FACT_TYPES.items():
            value = data.get(field)
            if isinstance(value, kinds):
                facts[field] = read_time(value) if kinds == _NUMBER else value
        for field in ("ids", "evidence"):
            if field in facts:
                items = cast(list[object], facts[field])
                facts[field] = [item for item in items if isinstance(item, str)]
        return cast(DraftFacts, facts)

    def read(self, name: str) -> str | None:
        """Return the text of a draft, or None if it does not exist or cannot be read."""
        try:
            return self.read_text(name)
        except (OSError, StorageError):
            return None

    def read_text(self, name: str) -> str:
        """Return the text of a draft. Raises OSError or StorageError if it cannot be read.

        A link is not followed, because its target may be a file that is not a draft.
        """
        path = self.path(name)
        if os.path.islink(path):
            raise StorageError(f"{os.path.basename(path)} is a link, and is not followed")
        data = read_regular(path, limit=_MAX_BYTES, name=os.path.basename(path))
        return data.decode("utf-8", "replace")

    def written_at(self, name: str) -> float:
        """Return the time at which a draft's file was last written, in seconds since the epoch.

        Return 0 if the file is missing.
        """
        try:
            return os.lstat(self.path(name)).st_mtime
        except OSError:
            return 0.0

    def write(self, name: str, text: str, facts: DraftFacts, *, over: str | None = None) -> None:
        """Write a draft. The replaced text goes to the trash, unless it equals ``over``."""
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
        """Write the facts of a draft; its text is not changed."""
        text = json.dumps(redact_data(facts), ensure_ascii=False, indent=1)
        write_private(os.path.join(self._folder, name + _FACTS), text.encode("utf-8", "replace"))

    def settle(self, name: str, facts: DraftFacts, *, now: float, over: str | None = None) -> None:
        """Remove the text of a draft but not its facts, and delete the facts of very old drafts.

        A text that differs from ``over`` goes to the trash, even if it is saved late. Temporary
        files that a killed process left in the folder also go to the trash.
        """
        self.note(name, {**facts, "settled": now})
        temp = os.path.join(self._folder, TEMP_PREFIX + os.urandom(8).hex())
        path = self.path(name)
        with storage_errors(path), contextlib.suppress(FileNotFoundError):
            os.rename(path, temp)
            why = f"its draft was {facts.get('state', 'reviewed')}"
            self._put_aside(name, temp, over, why=why)
        adopt_leftovers(self._root, self._folder, called="lessons")
        for settled in set(self._list(_FACTS)) - set(self.ids()):
            path = os.path.join(self._folder, settled + _FACTS)
            with contextlib.suppress(OSError):
                if os.lstat(path).st_mtime < now - _RETENTION_SECONDS:
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
