"""Questions above the lists: help, a choice, a card to merge into."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from lessons_kb.tui.key_bindings import help_text
from lessons_kb.tui.list_widget import RowList
from lessons_kb.tui.rows import CARD_COLUMNS, Row, filter_rows


class Help(ModalScreen[None]):
    """The keys."""

    DEFAULT_CSS = """
    Help { align: center middle; }
    Help > VerticalScroll { width: 80; max-height: 100%; height: auto; padding: 0 1;
        border: round $primary; background: $surface; }
    """
    BINDINGS: ClassVar[list[Binding]] = [  # type: ignore[assignment]
        Binding("escape,q,question_mark,enter", "app.pop_screen", show=False)
    ]

    def compose(self) -> ComposeResult:
        """Lay out the page."""
        page = VerticalScroll(Static(help_text(), markup=False))
        page.border_title = "Help"
        page.border_subtitle = "esc closes"
        yield page


class Ask(ModalScreen[str]):
    """A question with a few answers, each a key and a button; escape answers ""."""

    DEFAULT_CSS = """
    Ask { align: center middle; }
    Ask > Vertical { width: 72; max-width: 100%; height: auto; padding: 1 2;
        border: round $warning; background: $surface; }
    Ask Static { height: auto; padding-bottom: 1; }
    Ask Horizontal { height: 1; }
    Ask Button { margin-right: 2; }
    """

    def __init__(self, question: str, answers: Sequence[tuple[str, str]]) -> None:
        """``answers``: (key, words)."""
        super().__init__()
        self._question = question
        self._answers = tuple(answers)

    def compose(self) -> ComposeResult:
        """Lay out the question; the last answer has the focus."""
        buttons = [
            Button(f"{key}  {words}", id=f"answer-{key}", compact=True)
            for key, words in self._answers
        ]
        yield Vertical(Static(self._question, markup=False), Horizontal(*buttons))

    def on_mount(self) -> None:
        """Let a hasty enter change nothing."""
        self.query(Button).last().focus()

    def on_key(self, event: events.Key) -> None:
        """Take an answer's key."""
        if event.key == "escape":
            self.dismiss("")
        elif event.character and event.character in [key for key, _words in self._answers]:
            event.stop()
            self.dismiss(event.character)

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        self.dismiss((event.button.id or "").removeprefix("answer-"))


class Pick(ModalScreen[str]):
    """A card to choose, of all there are; the nearest stand first. Escape chooses ""."""

    DEFAULT_CSS = """
    Pick { align: center middle; }
    Pick > Vertical { width: 96; max-width: 100%; height: 20; max-height: 100%; padding: 0 1;
        border: round $primary; background: $surface; }
    """
    BINDINGS: ClassVar[list[Binding]] = [  # type: ignore[assignment]
        Binding("escape", "dismiss('')", show=False),
        Binding("down", "step(1)", show=False, priority=True),
        Binding("up", "step(-1)", show=False, priority=True),
    ]

    def __init__(self, title: str, rows: Sequence[Row], today: dt.date) -> None:
        super().__init__()
        self._title = title
        self._rows = tuple(rows)
        self._today = today

    def compose(self) -> ComposeResult:
        """Lay out filter and list."""
        box = Vertical(
            Input(placeholder="type to filter, ↑ ↓ to choose, enter to merge", compact=True),
            RowList(CARD_COLUMNS, self._today, id="choices"),
        )
        box.border_title = self._title
        box.border_subtitle = "enter merges · esc cancels"
        yield box

    def on_mount(self) -> None:
        """Show every card."""
        self.query_one(RowList).show(self._rows)
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _filtered(self, event: Input.Changed) -> None:
        event.stop()
        self.query_one(RowList).show(filter_rows(self._rows, event.value), top=True)

    @on(RowList.Moved)
    def _moved(self, event: RowList.Moved) -> None:
        event.stop()

    @on(Input.Submitted)
    @on(RowList.Chosen)
    def _chosen(self, event: Input.Submitted | RowList.Chosen) -> None:
        event.stop()
        row = self.query_one(RowList).current
        if row is not None:
            self.dismiss(row.name)

    def _action_step(self, by: int) -> None:
        rows = self.query_one(RowList)
        rows.move(rows.cursor + by)
