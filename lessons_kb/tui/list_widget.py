"""A list that draws only the lines one sees: twelve thousand rows cost as much as twenty."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from lessons_kb.tui.rows import BROKEN, Column, Row, cells

_GAP = " "
_COLOURED = {"high": "list--loud", BROKEN: "list--bad", "harms": "list--bad", "helps": "list--good"}
"""Cells that are coloured, by what stands in them."""
_MOVES: dict[str, Callable[[RowList], int]] = {
    **dict.fromkeys(("up", "k"), lambda rows: rows.cursor - 1),
    **dict.fromkeys(("down", "j"), lambda rows: rows.cursor + 1),
    **dict.fromkeys(("home", "g"), lambda _rows: 0),
    **dict.fromkeys(("end", "G"), lambda rows: len(rows.rows) - 1),
    "pageup": lambda rows: rows.cursor - rows.page,
    "pagedown": lambda rows: rows.cursor + rows.page,
}
"""Keys that move the cursor, and where to."""


class RowList(ScrollView, can_focus=True):
    """Rows under a cursor. Posts Moved when another row is under it, Chosen on a double click."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "list--cursor",
        "list--dim",
        "list--loud",
        "list--bad",
        "list--good",
    }
    DEFAULT_CSS = """
    RowList { overflow-x: hidden; background: $surface; scrollbar-size-vertical: 1; }
    RowList .list--cursor { background: $panel; }
    RowList:focus .list--cursor { background: $primary; color: $text; text-style: bold; }
    RowList .list--dim { color: $text-muted; }
    RowList .list--loud { color: $text-warning; }
    RowList .list--bad { color: $text-error; }
    RowList .list--good { color: $text-success; }
    RowList:nocolor .list--cursor { text-style: underline; }
    RowList:focus:nocolor .list--cursor { text-style: reverse; }
    """
    BINDINGS: ClassVar[list[Binding]] = [  # type: ignore[assignment]
        Binding(key, f"press('{key}')", show=False) for key in _MOVES
    ]

    class Moved(Message):
        """Another row, or none, is under the cursor."""

    class Chosen(Message):
        """A row was clicked twice."""

    def __init__(self, columns: Sequence[Column], today: dt.date, *, id: str) -> None:  # noqa: A002
        super().__init__(id=id)
        self.columns = tuple(columns)
        self.today = today
        self.rows: Sequence[Row] = ()
        self.cursor: int = 0

    @property
    def current(self) -> Row | None:
        """The row under the cursor."""
        return self.rows[self.cursor] if self.rows else None

    @property
    def room(self) -> int:
        """Columns of a line, without the scroll bar's."""
        return max(self.scrollable_content_region.width, 1)

    def show(self, rows: Sequence[Row], *, keep: str = "", top: bool = False) -> None:
        """Show these rows; the cursor stays on the row named ``keep``, else where it was.

        With ``top`` it goes to the first row instead.
        """
        found = -1
        if keep and not top:
            found = next((n for n, row in enumerate(rows) if row.name == keep), -1)
        self.rows = rows
        place = 0 if top else found if found >= 0 else self.cursor
        self.cursor = max(0, min(place, len(rows) - 1))
        self.virtual_size = Size(self.room, len(rows))
        self._scroll()
        self.refresh()
        self.post_message(self.Moved())

    def heading(self) -> str:
        """Return the line above the list."""
        names = tuple(column.name for column in self.columns)
        style = self.rich_style
        return "".join(s.text for s in self._segments(names, self.room, style, plain=True))

    def render_line(self, y: int) -> Strip:
        """Draw one line of the screen."""
        number = y + self.scroll_offset.y
        width = self.room
        style = self.rich_style
        if number >= len(self.rows):
            return Strip.blank(width, style)
        row = self.rows[number]
        chosen = number == self.cursor
        if chosen:
            style += self.get_component_rich_style("list--cursor", partial=True)
        elif row.status not in ("active", BROKEN):
            style += self.get_component_rich_style("list--dim", partial=True)
        strip = Strip(self._segments(cells(row, self.today), width, style, plain=chosen))
        return strip.adjust_cell_length(width, style).apply_offsets(0, number)

    def _segments(
        self, texts: Sequence[str], width: int, style: Style, *, plain: bool
    ) -> list[Segment]:
        segments: list[Segment] = []
        for column, text in zip(self.columns, texts, strict=True):
            room = column.width or max(width - sum(s.cell_length for s in segments), 1)
            name = _COLOURED.get(text) if not plain and column.width else None
            own = style + self.get_component_rich_style(name, partial=True) if name else style
            segments.append(Segment(_fit(text, room, right=column.right), own))
            if column.width:
                segments.append(Segment(_GAP, style))
        return segments

    def move(self, number: int) -> None:
        """Put the cursor on a row; beyond the ends, on the last one there."""
        number = max(0, min(number, len(self.rows) - 1))
        if number != self.cursor and self.rows:
            self.cursor = number
            self._scroll()
            self.refresh()
            self.post_message(self.Moved())

    def exchange(self, new: Row) -> None:
        """Put a row where the one of its name stands."""
        self.rows = [new if row.name == new.name else row for row in self.rows]
        self.refresh()

    def press(self, key: str) -> bool:
        """Do what a key that moves the cursor does; False for any other key."""
        if key not in _MOVES:
            return False
        self.move(_MOVES[key](self))
        return True

    @property
    def page(self) -> int:
        """Rows that one sees at once, less one to go on from."""
        return max(self.size.height - 1, 1)

    def _scroll(self) -> None:
        self.scroll_to_region(
            Region(0, self.cursor, 1, 1), animate=False, force=True, immediate=True
        )

    def _action_press(self, key: str) -> None:
        self.press(key)

    def _on_resize(self, _event: events.Resize) -> None:
        self.virtual_size = Size(self.room, len(self.rows))
        self.call_after_refresh(self._scroll)

    async def _on_click(self, event: events.Click) -> None:
        number = event.y + self.scroll_offset.y
        if number < len(self.rows):
            self.move(number)
            if event.chain > 1:
                self.post_message(self.Chosen())


def _fit(text: str, room: int, *, right: bool) -> str:
    """Return a text in exactly ``room`` cells; wide characters take two."""
    size = cell_len(text)
    if size > room:
        return set_cell_size(text, room - 1) + "…"
    return " " * (room - size) + text if right else text + " " * (room - size)
