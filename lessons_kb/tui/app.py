"""The full-screen application: two lists, a filter, a preview. What the keys do is in ``ACTS``."""

from __future__ import annotations

import asyncio
import datetime as dt
import os
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar, TypeVar

from rich.cells import cell_len, set_cell_size
from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events, on
from textual.app import App, ComposeResult, SuspendNotSupported
from textual.binding import Binding
from textual.containers import Container, Horizontal, Vertical, VerticalScroll
from textual.geometry import Region, Size
from textual.message import Message
from textual.screen import ModalScreen, Screen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.timer import Timer
from textual.visual import VisualType
from textual.widget import Widget
from textual.widgets import Button, Input, Static
from textual.worker import WorkType

from lessons_kb.errors import CardNotFound, DuplicateCard, LessonsError
from lessons_kb.process.programs import open_editor
from lessons_kb.tui.actions import (
    CARDS,
    DRAFTS,
    FILTER_HINTS,
    KEYS,
    Actions,
    Board,
    Outcome,
    help_text,
    hints,
    label,
)
from lessons_kb.tui.rows import (
    BROKEN,
    CARD_COLUMNS,
    DRAFT_COLUMNS,
    Column,
    Row,
    RowSource,
    View,
    cells,
    filter_rows,
)

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


_TITLES = {CARDS: "Cards", DRAFTS: "Drafts"}


def draw_view(view: View) -> RenderableType:
    """Return a view: title, facts, what is wrong, the text."""
    parts: list[RenderableType] = [Text(view.title, style="bold")]
    parts += [Text(line, style="dim") for line in view.facts]
    parts += [Text(f"! {line}", style="yellow") for line in view.warnings]
    parts.append(Text())
    parts.append(Markdown(view.text, hyperlinks=False) if view.markdown else Text(view.text))
    return Group(*parts)


def draw_tabs(tab: str, counts: Mapping[str, int], names: str, width: int) -> Text:
    """Return the top line: the tabs, the one shown in brackets, and the brain's name."""
    line = Text(no_wrap=True, overflow="ellipsis")
    for name, title in _TITLES.items():
        shown = f"{title} {counts[name]}"
        if name == tab:
            line.append(f"[{shown}]", style="bold")
        else:
            line.append(f" {shown} ", style=_click("tab"))
        line.append(" ")
    room = width - line.cell_len
    line.append(names.rjust(room) if len(names) <= room else names[: max(room, 0)])
    return line


def draw_hints(tab: str, row: Row | None, *, typing: bool, width: int) -> Text:
    """Return the bottom line: the keys that can be pressed now; a click presses them too."""
    if typing:
        return Text(FILTER_HINTS, no_wrap=True, overflow="ellipsis")
    line = Text(no_wrap=True, overflow="ellipsis")
    for key in hints(tab, row, width):
        words = label(key, tab)
        head, _, tail = words.partition(" ")
        click = _click(key.keys.split(",", maxsplit=1)[0])
        line.append(head, style=click + Style(bold=True))
        line.append(f" {tail}", style=click)
        line.append("  ")
    return line


def draw_status(board: Board, listing: RowList, said: str, width: int) -> str:
    """Return the line above the keys: what was said last, and how much of the list is shown."""
    shown, rows = len(listing.rows), board.counts[board.tab]
    count = f"{shown} of {rows}" if shown < rows else ""
    if not count and rows and board.tab == CARDS:
        count = f"by {board.order}"
    room = max(width - len(count) - 1, 1)
    line = said if cell_len(said) <= room else set_cell_size(said, room - 1) + "…"
    return set_cell_size(line, room + 1) + count


def draw_empty(board: Board) -> str:
    """Return what stands in the preview where there is no row."""
    if not board.ready[board.tab]:
        return "reading …"
    if board.typed:
        return "No row matches. Press esc to clear the filter."
    return _EMPTY[board.tab]


_EMPTY = {
    CARDS: (
        "No cards yet.\n\n"
        "`lessons create TITLE` writes the first one. What goes wrong in a session waits in "
        "the second tab (press tab), from which you make cards."
    ),
    DRAFTS: (
        "No drafts to review.\n\n"
        "A test that was red and is green, a rollback, a refused action, a complaint: each makes "
        "a draft here, for you to accept, edit, merge or discard."
    ),
}


def _click(key: str) -> Style:
    return Style.from_meta({"@click": f"app.do('{key}')"})


T = TypeVar("T")


_SETTLE_SECONDS = 0.05
"""How long the cursor must rest on a row before its file is read."""
_WIDE = 110
"""Columns from which the preview stands beside the list, not below it."""
_COLUMNS = {CARDS: CARD_COLUMNS, DRAFTS: DRAFT_COLUMNS}


class Filter(Input):
    """The line one types into."""


_YES, _MERGE, _NEW = "y", "m", "n"


def _edit(app: ManageApp, row: Row) -> None:
    def editor(path: str) -> None:
        try:
            with app.suspend():
                open_editor(path)
        except SuspendNotSupported:
            open_editor(path)  # no terminal to give away: the editor has a window of its own

    async def edit() -> None:
        await app.later(lambda: None)  # what was asked for before comes first
        try:
            app.take(app.actions.edit(row, editor))
        except LessonsError as error:
            app.say(str(error), bad=True)

    app.begin(edit, group="acts")


def _delete(app: ManageApp, row: Row) -> None:
    def then(answer: str) -> None:
        if answer == _YES:
            app.perform(lambda: app.actions.delete(row))

    question = f"Move {row.path} to the trash? u brings it back.\n\n{row.title}"
    app.ask(question, [(_YES, "delete"), ("n", "keep")], then)


def _discard(app: ManageApp, row: Row) -> None:
    def then(answer: str) -> None:
        if answer == _YES:
            app.perform(lambda: app.actions.discard(row))

    question = f"Discard this draft? u brings it back.\n\n{row.title}"
    app.ask(question, [(_YES, "discard"), ("n", "keep")], then)


def _accept(app: ManageApp, row: Row) -> None:
    def duplicate(error: DuplicateCard) -> None:
        def then(answer: str) -> None:
            if answer == _MERGE:
                app.perform(lambda: app.actions.merge(row, error.existing))
            elif answer == _NEW:
                app.perform(lambda: app.actions.accept(row, on_duplicate="new"))

        reason = str(error).partition(";")[0]
        answers = [(_MERGE, "count it there"), (_NEW, "write a second card"), ("w", "wait")]
        app.ask(f"This may be a duplicate: {reason}.", answers, then)

    app.perform(lambda: app.actions.accept(row), on_duplicate=duplicate)


def _merge(app: ManageApp, row: Row) -> None:
    def then(name: str | None) -> None:
        if name:
            app.perform(lambda: app.actions.merge(row, name))

    async def choose() -> None:
        draft = row.draft
        near = await app.later(lambda: app.source.nearest(draft)) if draft else ()
        places = {card.id: n for n, card in enumerate(near)}
        cards = [one for one in app.board.rows[CARDS] if one.card is not None]
        cards.sort(key=lambda one: places.get(one.path, len(places)))
        app.push_screen(Pick("Merge into which card?", cards, app.day), then)

    app.begin(choose, group="acts")


def _clear(app: ManageApp) -> None:
    app.board.typed = ""
    _write_filter(app)


def _write_filter(app: ManageApp) -> None:
    """Show what this tab's filter is, and what it lets through."""
    app.query_one("#filter", Input).value = app.board.typed
    app.show()


def _order(app: ManageApp) -> None:
    app.board.next_order()
    app.show(top=True)


def _switch(app: ManageApp) -> None:
    app.board.switch()
    app.say("")
    _write_filter(app)


def _scroll(app: ManageApp, by: int) -> None:
    preview = app.query_one("#preview")
    preview.scroll_relative(y=by * max(preview.size.height - 2, 1), animate=False)


def _of_row(act: Callable[[ManageApp, Row], None]) -> Callable[[ManageApp], object]:
    def on_current(app: ManageApp) -> None:
        row = app.listing.current
        if row is not None:
            act(app, row)

    return on_current


def _status(status: str) -> Callable[[ManageApp], object]:
    def change(app: ManageApp, row: Row) -> None:
        app.perform(lambda: app.actions.set_status(row, status))

    return _of_row(change)


ACTS: Mapping[str, Callable[[ManageApp], object]] = {
    "edit": _of_row(_edit),
    "bump": _of_row(lambda app, row: app.perform(lambda: app.actions.bump(row))),
    "ignore": _status("ignored"),
    "archive": _status("archived"),
    "restore": _status("active"),
    "delete": _of_row(_delete),
    "accept": _of_row(_accept),
    "merge": _of_row(_merge),
    "discard": _of_row(_discard),
    "undo": lambda app: app.perform(app.actions.undo),
    "filter": lambda app: app.focus_on(app.query_one("#filter")),
    "clear": _clear,
    "order": _order,
    "page_down": lambda app: _scroll(app, 1),
    "page_up": lambda app: _scroll(app, -1),
    "switch": _switch,
    "reload": lambda app: app.load(),
    "help": lambda app: app.push_screen(Help()),
    "quit": lambda app: app.exit(),
}


class ManageApp(App[None]):
    """``lessons manage``, full screen. Shows itself first and reads the brain meanwhile.

    ``today`` is what ages are counted from.
    """

    TITLE = "lessons manage"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (_WIDE, "-wide")]  # noqa: RUF012 the base class calls it an instance variable
    BINDINGS: ClassVar[list[Binding]] = [  # type: ignore[assignment]
        Binding("ctrl+c,ctrl+q", "quit", show=False, priority=True)
    ]
    CSS = """
    Screen { layout: vertical; }
    #tabs, #status, #hints, #heading { height: 1; padding: 0 1; }
    #tabs, #hints { link-style: none; link-style-hover: bold underline; }
    #tabs { background: $primary-background; }
    #filter { height: 1; padding: 0 1; }
    #panes { height: 1fr; }
    .-narrow #panes { layout: vertical; }
    .-wide #panes { layout: horizontal; }
    .-narrow #left { height: 6fr; }
    .-narrow #preview { height: 5fr; border-top: solid $primary-background; }
    .-wide #left { width: 5fr; }
    .-wide #preview { width: 4fr; border-left: solid $primary-background; }
    #heading { color: $text-muted; }
    #list { padding: 0 1; height: 1fr; }
    #preview { padding: 0 1; scrollbar-size-vertical: 1; }
    #status.-bad { color: $text-error; }
    #hints { color: $text-muted; }
    """

    def __init__(self, source: RowSource, *, today: dt.date | None = None) -> None:
        super().__init__(ansi_color=True if os.environ.get("NO_COLOR") else None)
        self.source = source
        self.actions: Actions = Actions(source)
        self.board = Board()
        self.day = today or dt.datetime.now(tz=dt.UTC).astimezone().date()
        self.listing = RowList(CARD_COLUMNS, self.day, id="list")
        self._hands = ThreadPoolExecutor(1, thread_name_prefix="manage")
        self._rest: Timer | None = None
        self._progress = (0, 0)
        self._said = ""
        self._drawn: dict[str, VisualType] = {}
        self._gone = False

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield Static(id="tabs")
        yield Filter(placeholder="type to filter", id="filter", compact=True)
        with Container(id="panes"):
            with Vertical(id="left"):
                yield Static(id="heading", markup=False)
                yield self.listing
            with VerticalScroll(id="preview", can_focus=False):
                yield Static(id="view", markup=False)
        yield Static(id="status", markup=False)
        yield Static(id="hints")

    def on_mount(self) -> None:
        """Show the empty lists and begin to read."""
        self.query_one(Filter).focus()
        self.load()

    def on_unmount(self) -> None:
        """Let what was begun come to its end."""
        self._gone = True
        self._hands.shutdown(wait=True)

    def begin(
        self,
        work: Callable[[], Coroutine[None, None, None]],
        *,
        group: str,
        exclusive: bool = False,
    ) -> None:
        """Do ``work`` while the screen goes on; ``exclusive`` ends what its group does yet."""
        chosen: WorkType[None] = work
        self.run_worker(chosen, group=group, exclusive=exclusive)

    def load(self) -> None:
        """Read everything anew, what the user waits for first."""
        self.begin(self._load, group="load", exclusive=True)

    def say(self, line: str, *, bad: bool = False) -> None:
        """Tell the user something in one line."""
        if not self.screen_stack:  # the application is closing, and something came late
            return
        self._said = " ".join(line.split())
        self._update("#status", draw_status(self.board, self.listing, self._said, self._room))
        self._base.query_one("#status").set_class(bad, "-bad")

    def focus_on(self, widget: Widget) -> None:
        """Give a widget the focus at once: the next key is its, however fast it comes."""
        self._base.set_focus(widget)

    def show(self, *, top: bool = False) -> None:
        """Draw the rows of the tab that pass its filter."""
        if not self.screen_stack:
            return
        self.listing.columns = _COLUMNS[self.board.tab]
        self.listing.show(self.board.shown(), keep=self.board.place, top=top)
        self._draw_lines()

    def take(self, outcome: Outcome) -> None:
        """Change the lists as an action says."""
        self.board.take(outcome)
        self.show()
        self.say(outcome.line)
        if outcome.drafts:
            self.begin(self._load_drafts, group="drafts", exclusive=True)

    async def later(self, work: Callable[[], T]) -> T:
        """Return what ``work`` returns, done after all that was asked for before."""
        return await asyncio.get_running_loop().run_in_executor(self._hands, work)

    def perform(
        self,
        work: Callable[[], Outcome],
        *,
        on_duplicate: Callable[[DuplicateCard], None] | None = None,
    ) -> None:
        """Do something to cards or drafts and show what came of it."""

        async def perform() -> None:
            try:
                outcome = await self.later(work)
            except LessonsError as error:
                if isinstance(error, DuplicateCard) and on_duplicate is not None:
                    on_duplicate(error)
                else:
                    self.say(str(error), bad=True)
            else:
                self.take(outcome)

        self.begin(perform, group="acts")

    def ask(
        self, question: str, answers: Sequence[tuple[str, str]], then: Callable[[str], None]
    ) -> None:
        """Ask for one of (key, words); ``then`` is given the key, "" for none."""
        self.push_screen(Ask(question, answers), lambda answer: then(answer or ""))

    async def _load(self) -> None:
        self.say("reading …")
        watch = self.set_interval(0.2, self._tell_progress)
        try:
            rows = await asyncio.to_thread(self.source.load, self._note_progress)
            watch.stop()
            self.board.set(CARDS, rows)
            self.show()
            self.say("")
            await self._load_drafts()
            if await asyncio.to_thread(self.source.load_effects):
                self.board.exchange(await asyncio.to_thread(self._measured))
                self.show()
                self._preview()
        except LessonsError as error:
            self.say(str(error), bad=True)
        finally:
            watch.stop()

    async def _load_drafts(self) -> None:
        try:
            self.board.set(DRAFTS, await self.later(self.source.load_drafts))
        except LessonsError as error:
            self.say(str(error), bad=True)
        self.show()

    def _measured(self) -> dict[str, Row]:
        return {
            row.name: self.source.row_of(row.card, layer=row.layer, troubles=row.troubles)
            for row in self.board.rows[CARDS]
            if row.card is not None
        }

    def _note_progress(self, done: int, total: int) -> None:
        """Note how far the reading is; called from its thread."""
        if self._gone:
            raise LessonsError("stopped")
        self._progress = (done, total)

    def _tell_progress(self) -> None:
        done, total = self._progress
        if total:
            self.say(f"reading {done:,} of {total:,} files …")

    @property
    def _room(self) -> int:
        """Columns within the padding of a line."""
        return max(self.size.width - 2, 0)

    @property
    def _base(self) -> Screen[object]:
        """The screen below all questions."""
        return self.screen_stack[0]

    def _update(self, where: str, what: VisualType) -> None:
        """Draw a line, or the preview; lines keep their size, so nothing else need move."""
        if self._drawn.get(where) != what:
            self._drawn[where] = what
            self._base.query_one(where, Static).update(what, layout=where == "#view")

    def _draw_lines(self) -> None:
        if not self.screen_stack:
            return
        board, width = self.board, self._room
        self._update("#tabs", draw_tabs(board.tab, board.counts, self.source.label, width))
        self._update("#heading", self.listing.heading())
        typing = isinstance(self._base.focused, Filter)
        hints = draw_hints(board.tab, self.listing.current, typing=typing, width=width)
        self._update("#hints", hints)
        self._update("#status", draw_status(board, self.listing, self._said, width))

    async def on_event(self, event: events.Event) -> None:
        """Take keys here, in the order they came: widgets hear of them, and of the focus, later."""
        if (
            isinstance(event, events.Key)
            and not event.is_forwarded
            and len(self.screen_stack) == 1
            and self._take_key(event)
        ):
            return
        await super().on_event(event)

    def _take_key(self, event: events.Key) -> bool:
        """Do what a key means, all of it; False leaves it to textual."""
        typed = self._base.focused
        if not isinstance(typed, Filter):
            return self.listing.press(event.key) or self._action_do(event.key)
        if event.key in ("question_mark", "tab"):
            return self._action_do(event.key)
        if event.key == "escape" and self.board.typed:
            return self._action_do("escape")
        if event.key in ("escape", "enter", "up", "down", "pageup", "pagedown"):
            self.focus_on(self.listing)
            self.listing.press(event.key)
        elif event.key == "backspace":
            typed.action_delete_left()
        elif event.is_printable and event.character:
            typed.insert_text_at_cursor(event.character)
        else:
            return False
        self._filter()
        return True

    @on(Input.Changed, "#filter")
    def _filter(self) -> None:
        """Show what passes the filter as it is now."""
        typed = self._base.query_one(Filter).value
        if typed != self.board.typed:
            self.board.typed = typed
            self.show(top=True)

    @on(RowList.Moved)
    def _moved(self) -> None:
        row = self.listing.current
        self.board.place = row.name if row else ""
        self._draw_lines()
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(_SETTLE_SECONDS, self._preview)

    @on(RowList.Chosen)
    def _chosen(self) -> None:
        self._action_do("enter")

    @on(events.DescendantFocus)
    def _focused(self) -> None:
        """Name the keys of what has the focus now."""
        self.call_after_refresh(self._draw_lines)

    @on(events.Resize)
    def _resized(self) -> None:
        """Fit the lines to the new width."""
        self.call_after_refresh(self._draw_lines)

    def _preview(self) -> None:
        self.begin(self._draw_preview, group="preview", exclusive=True)

    async def _draw_preview(self) -> None:
        row = self.listing.current
        if not self.screen_stack:
            return
        if row is None:
            self._update("#view", draw_empty(self.board))
            return
        try:
            if row.draft is not None:
                view = await asyncio.to_thread(self.source.look_draft, row.draft)
            else:
                now, view = await asyncio.to_thread(self.source.look, row)
                if now != row:  # an editor was at it
                    self.board.exchange({now.name: now})
                    self.listing.exchange(now)
        except CardNotFound as error:
            self.take(Outcome(line=str(error), gone=(row.name,)))
        except LessonsError as error:
            self._update("#view", str(error))
        else:
            self._update("#view", draw_view(view))
            self._base.query_one("#preview").scroll_home(animate=False)

    def _action_do(self, key: str) -> bool:
        """Do what a key means in this tab; False if it means nothing there."""
        for one in KEYS:
            if self.board.tab in one.tabs and key in one.keys.split(","):
                ACTS[one.act](self)
                return True
        return False
