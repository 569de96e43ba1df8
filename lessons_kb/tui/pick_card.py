"""A list from which the user chooses a card, with a fuzzy filter above and a preview beside it."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Sequence
from typing import ClassVar

from rich.console import Group
from rich.markdown import Markdown
from rich.text import Text
from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Container, Vertical, VerticalScroll
from textual.fuzzy import Matcher
from textual.timer import Timer
from textual.widgets import Input, Static

from lessons_kb.errors import LessonsError
from lessons_kb.tui.app import RowList
from lessons_kb.tui.rows import CARD_COLUMNS, Row, RowSource, sort_rows

_SETTLE_SECONDS = 0.05
"""The time for which the cursor must stay on a row before its file is read."""
_WIDE = 110
"""The minimum number of columns at which the preview is beside the list instead of below it."""
_KEYS = ("up", "down", "pageup", "pagedown")
_HINT = "type to filter  ↑ ↓ to choose  enter to {verb}  esc cancel"


def rank_rows(rows: Sequence[Row], text: str) -> list[Row]:
    """Return the rows whose title or path contains the letters of ``text`` in order, best first."""
    if not text.strip():
        return list(rows)
    matcher = Matcher(text)
    scored: list[tuple[float, int, Row]] = []
    for place, row in enumerate(rows):
        score = max(matcher.match(row.title), matcher.match(row.path))
        if score > 0:
            scored.append((-score, place, row))
    scored.sort(key=lambda entry: entry[:2])
    return [row for _score, _place, row in scored]


class PickApp(App[str]):
    """Let the user choose a card. The result is its name, or None."""

    TITLE = "lessons"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (_WIDE, "-wide")]  # noqa: RUF012 the base class calls it an instance variable
    CSS_PATH = "manage.tcss"
    BINDINGS: ClassVar[list[Binding]] = [  # type: ignore[assignment]
        Binding("escape,ctrl+c,ctrl+q", "exit_without", show=False, priority=True),
        *(Binding(key, f"press('{key}')", show=False, priority=True) for key in _KEYS),
    ]

    def __init__(self, source: RowSource, rows: Sequence[Row], *, verb: str) -> None:
        """Create the application. ``verb`` names the action on the card, such as ``edit``."""
        super().__init__(ansi_color=True if os.environ.get("NO_COLOR") else None)
        self.source = source
        self.rows = sort_rows(rows, "last")
        self.hint = _HINT.format(verb=verb)
        today = dt.datetime.now(tz=dt.UTC).astimezone().date()
        self.listing = RowList(CARD_COLUMNS, today, id="list")
        self.preview = VerticalScroll(id="preview", can_focus=False)
        self.view = Static(id="view", markup=False)
        self._preview_timer: Timer | None = None

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield Input(placeholder="type to filter", id="filter", compact=True)
        with Container(id="panes"):
            with Vertical(id="left"):
                yield Static(id="heading", markup=False)
                yield self.listing
            with Container(id="views"), self.preview:
                yield self.view
        yield Static(self.hint, id="hints", markup=False)

    def on_mount(self) -> None:
        """Show every card."""
        self.listing.moved = self._moved
        self.listing.show(self.rows)
        self.query_one(Input).focus()

    def on_resize(self) -> None:
        """Draw the heading for the new width."""
        self.call_after_refresh(self._draw_heading)

    @on(Input.Changed)
    def _filtered(self, event: Input.Changed) -> None:
        self.listing.show(rank_rows(self.rows, event.value), top=True)

    @on(Input.Submitted)
    @on(RowList.Chosen)
    def _chosen(self) -> None:
        if row := self.listing.current:
            self.exit(row.name)

    def _draw_heading(self) -> None:
        self.query_one("#heading", Static).update(self.listing.heading())

    def _moved(self) -> None:
        if self._preview_timer is not None:
            self._preview_timer.stop()
        self._preview_timer = self.set_timer(_SETTLE_SECONDS, self._show_preview)

    def _show_preview(self) -> None:
        row = self.listing.current
        if row is None:
            self.view.update("no card matches")
            return
        try:
            _row, view = self.source.look(row)
        except LessonsError as error:
            self.view.update(Text(str(error)))
            return
        lines = [Text(view.title, style="bold")]
        lines += [Text(line, style="dim") for line in view.facts]
        body = Markdown(view.text, hyperlinks=False) if view.markdown else Text(view.text)
        self.view.update(Group(*lines, Text(), body))
        self.preview.scroll_home(animate=False)

    def action_press(self, key: str) -> None:
        """Move the cursor of the list. The focus stays on the filter."""
        self.listing.press(key)

    def action_exit_without(self) -> None:
        """End without a choice."""
        self.exit(None)
