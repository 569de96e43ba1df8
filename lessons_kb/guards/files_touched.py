"""Which files a session read and modified: what a compacted context would otherwise forget."""

from __future__ import annotations

import posixpath
from collections.abc import Collection
from typing import Any, Self

from lessons_kb.guards.counting_guard import check_state
from lessons_kb.guards.file_names import escape, parse_path, show_path
from lessons_kb.model import DONE, Event, Signal
from lessons_kb.text.token_estimate import count_bytes

READ_TITLE = "Files Read"
MODIFIED_TITLE = "Files Modified"
_READS = ("read",)
_MODIFIES = ("edit", "create", "remove")
_BULLETS = ("-", "*", "+", "•")
_NOTHING = ("none", "(none)", "_none_", "n/a")


class FileLedger:
    """Two sets of paths that outlive any compaction; the order of events does not matter."""

    def __init__(self, *, scope: str = "", max_bytes: int = 4000) -> None:
        """Name files of ``scope`` as they are and others in full; hold texts to ``max_bytes``."""
        self._scope = scope
        self._max_bytes = max_bytes
        self._read: set[str] = set()
        self._modified: set[str] = set()

    @property
    def read(self) -> tuple[str, ...]:
        """Files looked at, sorted."""
        return tuple(sorted(self._read))

    @property
    def modified(self) -> tuple[str, ...]:
        """Files edited, written or removed, sorted."""
        return tuple(sorted(self._modified))

    def see(self, event: Event) -> Signal | None:
        """Take in one event; return the files as a note when the context was compacted.

        A compaction's ``text`` is the summary that stands in the place of what was cut.
        """
        if event.kind == "compaction":
            self.merge(event.text)
            return self._note()
        if event.outcome in DONE:
            paths = {self._path(target, event.scope) for target in event.targets if target}
            if event.kind in _READS:
                self._read |= paths
            elif event.kind in _MODIFIES:
                self._modified |= paths
        return None

    def merge(self, summary: str) -> None:
        """Add the files that an earlier summary lists under our two headings."""
        read, modified = parse_ledger(summary)
        self._read |= read
        self._modified |= modified

    def format(self, max_bytes: int | None = None) -> str:
        """Return both lists under their headings, or "" when there is nothing to list.

        Never longer than ``max_bytes``: modified files come first for room, at least half
        of it, and a cut list says how many more there are.
        """
        room = self._max_bytes if max_bytes is None else max_bytes
        read = _format_list(READ_TITLE, self.read, room)
        modified = _format_list(MODIFIED_TITLE, self.modified, room)
        if read and modified and count_bytes(read) + count_bytes(modified) + 2 > room:
            left = max(room // 2, room - count_bytes(read) - 2)
            modified = _format_list(MODIFIED_TITLE, self.modified, left) or modified
            read = _format_list(READ_TITLE, self.read, room - count_bytes(modified) - 2)
        return "\n\n".join(part for part in (read, modified) if part)

    def to_state(self) -> dict[str, Any]:
        """Return what is remembered as JSON data."""
        return {"read": list(self.read), "modified": list(self.modified)}

    @classmethod
    def from_state(cls, state: object, *, scope: str = "", max_bytes: int = 4000) -> Self:
        """Go on from ``to_state()``; InputError when it is something else."""
        checked = check_state(state, {"read": [""], "modified": [""]})
        ledger = cls(scope=scope, max_bytes=max_bytes)
        ledger._read, ledger._modified = set(checked["read"]), set(checked["modified"])
        return ledger

    def _path(self, target: str, scope: str) -> str:
        return target if scope in ("", self._scope) else posixpath.join(scope, target)

    def _note(self) -> Signal | None:
        text = self.format()
        if not text:
            return None
        record: dict[str, object] = {"kind": "file_ledger", **self.to_state()}
        return Signal(guard="files", level="note", message=text, record=record)


def parse_ledger(summary: str) -> tuple[set[str], set[str]]:
    """Return the files read and modified that a text lists under our headings.

    A summary may have been rewritten by a model: any heading level and case, any bullet,
    names in backticks.
    """
    found: dict[str, set[str]] = {READ_TITLE.lower(): set(), MODIFIED_TITLE.lower(): set()}
    listed: set[str] | None = None
    begun = False
    for line in summary.splitlines():
        text = line.strip()
        name = text.strip("#:* ").lower()
        if name in found or text.startswith("#"):
            listed, begun = found.get(name), False
        elif text and listed is not None:
            path = _parse_item(text)
            if path:
                listed.add(path)
            if path is None and begun:
                listed = None
            begun = begun or path is not None
    return found[READ_TITLE.lower()], found[MODIFIED_TITLE.lower()]


def _parse_item(line: str) -> str | None:
    """Return the path of a list item, "" for an item that names none, None for other text."""
    mark, _, text = line.partition(" ")
    if mark not in _BULLETS and not (mark[:-1].isdigit() and mark[-1] in ".)"):
        return None
    text = text.strip()
    if text.startswith("`"):
        text = text[1:].partition("`")[0]
    if text.startswith("…") or text.lower() in _NOTHING:
        return ""
    return parse_path(text)


def _format_list(title: str, paths: Collection[str], room: int) -> str:
    """Return a heading and as many items as fit, "" if not even one does."""
    text = f"## {title}"
    items = [f"\n- {_show(path)}" for path in paths]
    if items and count_bytes(text) + sum(map(count_bytes, items)) <= room:
        return text + "".join(items)
    for index, item in enumerate(items):
        more = f"\n- … {len(items) - index} more"
        if count_bytes(text) + count_bytes(item) + count_bytes(more) > room:
            return text + more if index else ""
        text += item
    return ""


def _show(path: str) -> str:
    """Return a path so that it is not taken for what ``_parse_item`` skips."""
    shown = show_path(path)
    if shown.startswith(("`", "…")) or shown.lower() in _NOTHING:
        return escape(shown[0]) + shown[1:]
    return shown
