"""Which files a session read and modified: what a compacted context would otherwise forget."""

from __future__ import annotations

import posixpath
from collections.abc import Collection

from lessons_kb.guards.counting_guard import StatefulGuard
from lessons_kb.model import DONE, Event, Signal
from lessons_kb.text.paths import escape, parse_path, show_path
from lessons_kb.text.token_estimate import count_bytes

READ_TITLE = "Files Read"
MODIFIED_TITLE = "Files Modified"
_TOUCHES = {"read": "read", "edit": "modified", "create": "modified", "remove": "modified"}
_BULLETS = ("-", "*", "+", "•")
_NOTHING = ("none", "(none)", "_none_", "n/a")


class FileLedger(StatefulGuard):
    """Two sets of paths that outlive any compaction; the order of events does not matter."""

    SHAPE = {"read": [""], "modified": [""]}  # noqa: RUF012 never changed

    def __init__(self, *, scope: str = "", max_bytes: int = 4000) -> None:
        """Name files of ``scope`` as they are and others in full; hold texts to ``max_bytes``."""
        super().__init__()
        self._scope = scope
        self._max_bytes = max_bytes

    @property
    def read(self) -> tuple[str, ...]:
        """Files looked at, sorted."""
        return tuple(self._state["read"])

    @property
    def modified(self) -> tuple[str, ...]:
        """Files edited, written or removed, sorted."""
        return tuple(self._state["modified"])

    def see(self, event: Event) -> Signal | None:
        """Take in one event; return the files as a note when the context was compacted.

        A compaction's ``text`` is the summary that stands in the place of what was cut.
        """
        if event.kind == "compaction":
            self.merge(event.text)
            if text := self.format():
                record = {"kind": "file_ledger", **self.to_state()}
                return Signal(guard="files", level="note", message=text, record=record)
        elif event.outcome in DONE and (what := _TOUCHES.get(event.kind)):
            folder = "" if event.scope in ("", self._scope) else event.scope
            self._add(what, {posixpath.join(folder, target) for target in event.targets if target})
        return None

    def merge(self, summary: str) -> None:
        """Add the files that an earlier summary lists under our two headings."""
        for what, paths in zip(self.SHAPE, parse_ledger(summary), strict=True):
            self._add(what, paths)

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

    def _add(self, what: str, paths: set[str]) -> None:
        self._state[what] = sorted({*self._state[what], *paths})


def parse_ledger(summary: str) -> tuple[set[str], set[str]]:
    """Return the files read and modified that a text lists under our headings.

    A summary may have been rewritten by a model: any heading level and case, any bullet,
    names in backticks.
    """
    found: dict[str, set[str]] = {READ_TITLE.lower(): set(), MODIFIED_TITLE.lower(): set()}
    listed: set[str] | None = None
    begun = False
    for text in filter(None, map(str.strip, summary.splitlines())):
        name = text.strip("#:* ").lower()
        if name in found or text.startswith("#"):
            listed, begun = found.get(name), False
            continue
        mark, _, item = text.partition(" ")
        if mark not in _BULLETS and not (mark[:-1].isdigit() and mark[-1] in ".)"):
            listed = None if begun else listed  # other text ends a list
            continue
        begun = True
        item = item.strip()
        if item.startswith("`"):
            item = item[1:].partition("`")[0]
        if (
            listed is not None
            and item
            and not item.startswith("…")
            and item.lower() not in _NOTHING
        ):
            listed.add(parse_path(item))
    return found[READ_TITLE.lower()], found[MODIFIED_TITLE.lower()]


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
    """Return a path so that it is not taken for what ``parse_ledger`` skips."""
    shown = show_path(path)
    if shown.startswith(("`", "…")) or shown.lower() in _NOTHING:
        return escape(shown[0]) + shown[1:]
    return shown
