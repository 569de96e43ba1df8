"""The full-screen application, with two lists, a filter and a preview."""

from __future__ import annotations

import asyncio
import datetime as dt
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar, TypeVar

from rich.console import Group
from rich.markdown import Markdown
from rich.style import Style
from rich.text import Text
from textual import events, on, work
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

from lessons_kb.cards.edit_sources import list_session_quotes
from lessons_kb.data import read_patterns
from lessons_kb.errors import CardNotFound, Contradiction, DuplicateCard, Incomplete, LessonsError
from lessons_kb.process.programs import open_editor
from lessons_kb.text.sanitize import clean_line
from lessons_kb.tui.rows import (
    BROKEN,
    CARD_COLUMNS,
    CARDS,
    DRAFT_COLUMNS,
    DRAFTS,
    REMOVING_ACTS,
    ROW_ACTS,
    Board,
    Column,
    Outcome,
    Preview,
    Row,
    RowSource,
    cells,
    filter_rows,
    find_act,
    help_text,
    list_hints,
)
from lessons_kb.tui.titles import fit_titles, strip_shared_prefix

T = TypeVar("T")
Act = Callable[[], Outcome]
_SETTLE_SECONDS = 0.05
"""The time for which the cursor must stay on a row before its file is read."""
_MESSAGE_LINES = 4
"""The maximum number of lines of a message below the list."""
_WIDE = 110
"""The minimum number of columns at which the preview is beside the list instead of below it."""
_COLOURED = {"high": "list--loud", BROKEN: "list--bad", "harms": "list--bad", "helps": "list--good"}
"""A mapping from the text of each coloured cell to its style."""


class RowList(ScrollView, can_focus=True):
    """A list of rows with a cursor. It posts Chosen on a double click."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *("list--cursor", "list--dim", "list--loud", "list--bad", "list--good")
    }

    class Chosen(Message):
        """A row was double-clicked."""

    def __init__(self, columns: Sequence[Column], today: dt.date, *, id: str) -> None:  # noqa: A002
        super().__init__(id=id)
        self.moved: Callable[[], None] = lambda: None
        """The function that is called when the row under the cursor may have changed."""
        self.columns = tuple(columns)
        self.today = today
        self.rows: Sequence[Row] = ()
        self.cursor: int = 0
        self._titles: dict[str, str] = {}
        """A mapping from the name of each draft to its displayed title."""

    @property
    def current(self) -> Row | None:
        """The row under the cursor."""
        return self.rows[self.cursor] if self.rows else None

    @property
    def room(self) -> int:
        """The number of columns in a line, without the scroll bar."""
        return max(self.scrollable_content_region.width, 1)

    def show(self, rows: Sequence[Row], *, keep: str = "", top: bool = False) -> None:
        """Show other rows.

        The cursor moves to the row named ``keep``, or stays at its number. With ``top``, it moves
        to the first row.
        """
        self.rows = rows
        names = [row.name for row in rows]
        place = names.index(keep) if keep in names else self.cursor
        self._fit_titles()
        self.virtual_size = Size(self.room, len(rows))
        self._put_cursor(0 if top else place)

    def press(self, key: str) -> bool:
        """Move the cursor for a key. Return whether the key moves the cursor."""
        rows, page = len(self.rows), max(self.size.height - 1, 1)  # pages overlap by one row
        steps = {"up": -1, "k": -1, "down": 1, "j": 1, "pageup": -page, "pagedown": page}
        steps |= {"home": -rows, "g": -rows, "end": rows, "G": rows}
        number = max(0, min(self.cursor + steps.get(key, 0), rows - 1))
        if number != self.cursor:
            self._put_cursor(number)
        return key in steps

    def _put_cursor(self, number: int) -> None:
        self.cursor = max(0, min(number, len(self.rows) - 1))
        self._scroll()
        self.refresh()
        self.moved()

    def heading(self) -> str:
        """Return the line above the list."""
        return self._draw(tuple(column.name for column in self.columns), plain=True).plain

    def render_line(self, y: int) -> Strip:
        """Render one line of the screen."""
        number, style = y + self.scroll_offset.y, self.rich_style
        if number >= len(self.rows):
            return Strip.blank(self.room, style)
        row = self.rows[number]
        is_chosen = number == self.cursor
        if is_chosen or row.status not in ("active", BROKEN):
            name = "list--cursor" if is_chosen else "list--dim"
            style += self.get_component_rich_style(name, partial=True)
        *texts, title = cells(row, self.today)
        line = self._draw((*texts, self._titles.get(row.name, title)), plain=is_chosen)
        strip = Strip(line.render(self.app.console)).apply_style(style)
        return strip.adjust_cell_length(self.room, style).apply_offsets(0, number)

    def _fit_titles(self) -> None:
        """Fit the titles of drafts to the width of the list."""
        drafts = [row for row in self.rows if row.draft is not None]
        taken = sum(column.width + 1 for column in self.columns if column.width)
        shared = strip_shared_prefix([row.title for row in drafts])
        titles = fit_titles(shared, max(self.room - taken, 1))
        self._titles = dict(zip([row.name for row in drafts], titles, strict=True))

    def _draw(self, texts: Sequence[str], *, plain: bool) -> Text:
        """Return a line of cells, coloured unless ``plain``."""
        line = Text(end="")
        for column, text in zip(self.columns, texts, strict=True):
            width = column.width or max(self.room - line.cell_len, 1)
            cell = Text(text)
            if not plain and column.width and text in _COLOURED:
                cell.stylize(self.get_component_rich_style(_COLOURED[text], partial=True))
            cell.truncate(width, overflow="ellipsis")
            cell.align("right" if column.right else "left", width)
            line.append_text(cell).append(" " if column.width else "")
        return line

    def _scroll(self) -> None:
        self.scroll_to_region(
            Region(0, self.cursor, 1, 1), animate=False, force=True, immediate=True
        )

    def _on_resize(self, _event: events.Resize) -> None:
        self._fit_titles()
        self.virtual_size = Size(self.room, len(self.rows))
        self.call_after_refresh(self._scroll)

    async def _on_click(self, event: events.Click) -> None:
        number = event.y + self.scroll_offset.y
        if number < len(self.rows):
            if number != self.cursor:
                self._put_cursor(number)
            if event.chain > 1:
                self.post_message(self.Chosen())


class Help(ModalScreen[None]):
    """The help page with all keys."""

    BINDINGS: ClassVar[list[Binding]] = [  # type: ignore[assignment]
        Binding("escape,q,question_mark,enter", "app.pop_screen", show=False)
    ]

    def compose(self) -> ComposeResult:
        """Lay out the page."""
        page = VerticalScroll(Static(help_text(), markup=False))
        page.border_title = "Help"
        page.border_subtitle = "esc closes"
        yield page


class Ask(ModalScreen[Act | None]):
    """A question with a few answers, each with a key and a button. Escape chooses no answer."""

    def __init__(self, question: str, answers: Mapping[str, tuple[str, Act | None]]) -> None:
        """Create the question. ``answers`` maps each key to the words and action of an answer."""
        super().__init__()
        self._question = question
        self._answers = answers

    def compose(self) -> ComposeResult:
        """Lay out the question. The last answer has the focus."""
        buttons = [
            Button(f"{key}  {words}", id=f"answer-{key}", compact=True)
            for key, (words, _act) in self._answers.items()
        ]
        yield Vertical(Static(self._question, markup=False), Horizontal(*buttons))

    def on_mount(self) -> None:
        """Focus the last answer, which changes nothing, in case enter is pressed too early."""
        self.query(Button).last().focus()

    def on_key(self, event: events.Key) -> None:
        """Choose the answer of a key."""
        answer = self._answers.get(event.character or "")
        if event.key == "escape":
            self.dismiss(None)
        elif answer is not None:
            event.stop()
            self.dismiss(answer[1])

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        self.dismiss(self._answers[(event.button.id or "").removeprefix("answer-")][1])


class Pick(ModalScreen[str]):
    """A list of all cards to choose from, the most similar first. Escape chooses ""."""

    BINDINGS: ClassVar[list[Binding]] = [  # type: ignore[assignment]
        Binding("escape", "dismiss('')", show=False),
        *(
            Binding(key, f"press('{key}')", show=False, priority=True)
            for key in ("up", "down", "pageup", "pagedown")
        ),
    ]

    def __init__(self, title: str, rows: Sequence[Row], today: dt.date) -> None:
        super().__init__()
        self._title = title
        self._rows = tuple(rows)
        self._list = RowList(CARD_COLUMNS, today, id="choices")

    def compose(self) -> ComposeResult:
        """Lay out the filter and the list."""
        hint = "type to filter, ↑ ↓ to choose, enter to merge"
        box = Vertical(Input(placeholder=hint, compact=True), self._list)
        box.border_title = self._title
        box.border_subtitle = "enter merges · esc cancels"
        yield box

    def on_mount(self) -> None:
        """Show every card."""
        self._list.show(self._rows)
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _filtered(self, event: Input.Changed) -> None:
        event.stop()
        self._list.show(filter_rows(self._rows, event.value), top=True)

    @on(Input.Submitted)
    @on(RowList.Chosen)
    def _chosen(self, event: Input.Submitted | RowList.Chosen) -> None:
        event.stop()
        if row := self._list.current:
            self.dismiss(row.name)

    def _action_press(self, key: str) -> None:
        self._list.press(key)


_TABS = {CARDS: "Cards", DRAFTS: "Drafts"}
_COLUMNS = {CARDS: CARD_COLUMNS, DRAFTS: DRAFT_COLUMNS}
_EMPTY = read_patterns("manage_texts.toml")
"""A mapping from each tab to the paragraphs that it shows when it is empty."""
_TYPING = "type to filter  ↓ enter to the list  esc clear  ? help  ctrl+c quit"
"""The bottom line while the filter has the focus."""


def _click(key: str) -> Style:
    """Return the style of a text that presses a key when it is clicked."""
    return Style.from_meta({"@click": f"app.do('{key}')"})


class ManageApp(App[None]):
    """The full-screen application. It appears at once, and loads the brain in the background.

    ``today`` is the date from which ages are counted.
    """

    TITLE = "lessons manage"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (_WIDE, "-wide")]  # noqa: RUF012 the base class calls it an instance variable
    BINDINGS: ClassVar[list[Binding]] = [  # type: ignore[assignment]
        Binding("ctrl+c,ctrl+q", "quit", show=False, priority=True)
    ]
    CSS_PATH = "manage.tcss"

    def __init__(
        self, source: RowSource, *, tab: str = CARDS, today: dt.date | None = None
    ) -> None:
        """Create the application. ``tab`` is the list to show first."""
        super().__init__(ansi_color=True if os.environ.get("NO_COLOR") else None)
        self.source = source
        self.board = Board()
        self.board.tab = tab
        self.day = today or dt.datetime.now(tz=dt.UTC).astimezone().date()
        self.listing = RowList(CARD_COLUMNS, self.day, id="list")
        self.listing.moved = self._moved
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="manage")
        self._preview_timer: Timer | None = None
        self._progress = (0, 0)
        self._message = ""
        self._message_row = ""
        """The name of the row that the message is about; "" if it is about no row."""
        self._early: list[tuple[str, str]] = []
        """The keys that were pressed before their tab had its rows, each after the tab."""
        self._unmounted = False

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield Static(id="tabs")
        yield Input(placeholder="press / to filter", id="filter", compact=True)
        with Container(id="panes"):
            with Vertical(id="left"):
                yield Static(id="heading", markup=False)
                yield self.listing
            with Container(id="views"):
                with VerticalScroll(id="preview", can_focus=False):
                    yield Static(id="view", markup=False)
                with VerticalScroll(id="evidence", can_focus=False):
                    yield Static(id="shown", markup=False)
        yield Static(id="missing", markup=False)
        yield Static(id="status", markup=False)
        yield Static(id="hints")

    def on_mount(self) -> None:
        """Show the empty lists and start loading. Keys act on the list from the start."""
        self.focus_on(self.listing)
        self._load()

    def on_unmount(self) -> None:
        """Wait for the actions that have started."""
        self._unmounted = True
        self._executor.shutdown(wait=True)

    async def _run_in_order(self, call: Callable[[], T]) -> T:
        """Return the result of ``call()``.

        The call runs in a thread after all calls that were requested before it.
        """
        return await asyncio.get_running_loop().run_in_executor(self._executor, call)

    def _do(self, act: str) -> None:
        """Perform an action that needs no row."""
        match act:
            case "undo":
                self._perform(self.source.undo)
            case "filter":
                self.focus_on(self.query_one(Input))
            case "clear":
                self.board.set_filter("")
                self.say("")
                self._show_tab()
            case "order":
                self.board.next_order()
                self.show(top=True)
            case "page_down" | "page_up":
                for pane in self._base.query(VerticalScroll):
                    scroll = pane.scroll_page_down if act == "page_down" else pane.scroll_page_up
                    scroll(animate=False)
            case "switch":
                self.board.tab = DRAFTS if self.board.tab == CARDS else CARDS
                self.say("")
                self._show_tab()
            case "reload":
                self._load()
            case "help":
                self.push_screen(Help())
            case "quit":
                self.exit()

    def _do_to(self, row: Row, act: str) -> None:
        """Perform an action on a row.

        Ask the user first if the action needs a confirmation or a card.
        """
        do = functools.partial(self.source.do, act, row)
        if act == "edit":
            self._edit(row)
        elif act == "merge":
            self._merge(row)
        elif act == "accept":
            self._accept(row)
        elif act == "delete":
            question = f"Move {row.path} to the trash? u brings it back.\n\n{row.title}"
            self._ask(question, {"y": (act, do), "n": ("keep", None)})
        else:
            self._perform(do, row=row)

    def _accept(self, row: Row) -> None:
        """Accept a draft, after a question about a quote from a session.

        An incomplete draft is refused without the question.
        """
        accept = functools.partial(self.source.accept, row)
        quotes = list_session_quotes(row.draft.text) if row.draft else []
        if not quotes or (row.draft and row.draft.missing):
            self._perform(accept, row=row)
            return
        keep = functools.partial(accept, keep_quotes=True)
        shown = clean_line(quotes[0])
        question = f"The draft quotes a session, and others will read the card: \u201c{shown}\u201d"
        answers = {
            "d": ("drop the quote", accept),
            "k": ("keep it", keep),
            "w": ("decide later", None),
        }

        def perform(act: Act | None) -> None:
            if act:
                self._perform(act, row=row)

        self.push_screen(Ask(question, answers), perform)

    def _ask(self, question: str, answers: Mapping[str, tuple[str, Act | None]]) -> None:
        """Ask the user a question, and perform the action of the answer."""

        def perform(act: Act | None) -> None:
            if act:
                self._perform(act)

        self.push_screen(Ask(question, answers), perform)

    @work(group="acts")
    async def _perform(self, act: Act, *, row: Row | None = None) -> None:
        """Perform an action, on a ``row`` if it has one, and show its outcome.

        If a draft to be accepted is a duplicate, ask whether to merge it.
        """
        try:
            self._apply(await self._run_in_order(act))
        except Incomplete:  # the screen lists the missing parts already
            self.say("incomplete: press e and write what is missing", bad=True, about=row)
        except LessonsError as error:
            if row is None or row.draft is None or not isinstance(error, DuplicateCard):
                self.say(str(error), bad=True, about=row)
                return
            merge = functools.partial(self.source.merge, row, error.existing)
            reason = str(error).partition(";")[0]
            if isinstance(error, Contradiction):
                rule, question = "contradicts", f"{reason}."
                label = "write it; an agent gets only one of the two"
            else:
                rule, question = "new", f"This may be a duplicate: {reason}."
                label = "write a second card"
            accept = functools.partial(self.source.accept, row, on_duplicate=rule)
            answers: dict[str, tuple[str, Act | None]] = {
                "m": ("count it there", merge),
                "n": (label, accept),
                "w": ("wait", None),
            }
            self._ask(question, answers)

    @work(group="acts")
    async def _edit(self, row: Row) -> None:
        """Open a row in the user's editor, and show the outcome."""

        def editor(path: str) -> None:
            refusal: LessonsError | None = None
            try:
                with self.suspend():  # an error in this block would leave the screen suspended
                    try:
                        open_editor(path)
                    except LessonsError as error:
                        refusal = error
            except SuspendNotSupported:
                open_editor(path)  # there is no terminal to suspend, but the editor has a window
            if refusal:
                raise refusal

        await self._run_in_order(lambda: None)  # wait for the earlier actions
        try:
            self._apply(self.source.edit(row, editor))
        except LessonsError as error:
            self.say(str(error), bad=True, about=row)

    @work(group="acts")
    async def _merge(self, row: Row) -> None:
        """Let the user choose a card, and merge a draft into it."""

        def merge(name: str | None) -> None:
            if name:
                self._perform(functools.partial(self.source.merge, row, name))

        draft = row.draft
        nearest = await self._run_in_order(lambda: self.source.nearest(draft)) if draft else ()
        ranks = {card.id: rank for rank, card in enumerate(nearest)}
        cards = [card_row for card_row in self.board.rows[CARDS] if card_row.card is not None]
        cards.sort(key=lambda card_row: ranks.get(card_row.path, len(ranks)))
        self.push_screen(Pick("Merge into which card?", cards, self.day), merge)

    def say(self, line: str, *, bad: bool = False, about: Row | None = None) -> None:
        """Show the user a message; ``bad`` colours it as an error.

        A message ``about`` a row disappears when the cursor leaves that row.
        """
        if self.screen_stack:  # it is empty for a late message, when the application is closing
            self._message = " ".join(line.split())
            self._message_row = about.name if about else ""
            self._draw_status()
            self._base.query_one("#status").set_class(bad, "-bad")

    def focus_on(self, widget: Widget) -> None:
        """Focus a widget at once, so that the next key goes to it however fast it follows."""
        self._base.set_focus(widget)

    def show(self, *, top: bool = False) -> None:
        """Show the rows of the tab that match its filter."""
        if self.screen_stack:
            tab = self.board.tab
            self._base.set_class(tab == DRAFTS, "-drafts")
            self.listing.columns = _COLUMNS[tab]
            self.listing.show(self.board.shown(), keep=self.board.places[tab], top=top)

    def _show_tab(self) -> None:
        """Show the filter of the current tab, and the rows that match it."""
        self.query_one(Input).value = self.board.filters[self.board.tab]
        self.show()

    def _apply(self, outcome: Outcome) -> None:
        """Show the outcome of an action."""
        self.board.take(outcome)
        self.show()
        self.say(outcome.line)
        if outcome.drafts:
            self._load_drafts()

    @work(group="load", exclusive=True)
    async def _load(self) -> None:
        """Load the cards, then the drafts, and then the effects, which take the longest time."""
        self.say("reading …")

        def show_progress() -> None:
            done, total = self._progress
            if total:
                self.say(f"reading {done:,} of {total:,} files …")

        timer = self.set_interval(0.2, show_progress)
        try:
            rows = await asyncio.to_thread(self.source.load, self._note_progress)
            timer.stop()
            self.board.set(CARDS, rows)
            self.show()
            self.say("")
            self._press_early(CARDS)
            self._load_drafts()
            if await asyncio.to_thread(self.source.load_effects):
                cards = self.board.rows[CARDS]
                self.board.replace(await asyncio.to_thread(self.source.measure, cards))
                self.show()
                self._preview()
        except LessonsError as error:
            self.say(str(error), bad=True)
        finally:
            timer.stop()

    @work(group="drafts", exclusive=True)
    async def _load_drafts(self) -> None:
        try:
            self.board.set(DRAFTS, await self._run_in_order(self.source.load_drafts))
        except LessonsError as error:
            self.say(str(error), bad=True)
        self.show()
        self._press_early(DRAFTS)

    def _press_early(self, tab: str) -> None:
        """Perform the actions of the keys that were pressed before a tab had its rows, in order.

        A question opened by one of them ends the list, because the next key would be its answer.
        So does a key that would take away a row that nobody has seen.
        """
        keys = [key for pressed_in, key in self._early if pressed_in == tab]
        self._early = [pair for pair in self._early if pair[0] != tab]
        for number, key in enumerate(keys if self.board.tab == tab else ()):
            if find_act(tab, key) in REMOVING_ACTS:
                ignored = ", ".join(keys[number:])
                self.say(f"pressed before the list was read: {ignored}; press again")
                break
            if len(self.screen_stack) == 1 and not self.listing.press(key):
                self._action_do(key)

    def _note_progress(self, done: int, total: int) -> None:
        """Record the progress of loading. Stop loading if the application is closing.

        The loading thread calls this.
        """
        if self._unmounted:
            raise LessonsError("stopped")
        self._progress = (done, total)

    @property
    def _room(self) -> int:
        """The number of columns in a line, without its padding."""
        return max(self.size.width - 2, 0)

    @property
    def _base(self) -> Screen[object]:
        """The main screen, below all questions."""
        return self.screen_stack[0]

    def _update(self, selector: str, content: VisualType) -> None:
        """Set the content of a line or a preview. Lines keep their size and need no new layout."""
        fixed = ("#tabs", "#heading", "#hints")
        self._base.query_one(selector, Static).update(content, layout=selector not in fixed)

    def _draw_lines(self) -> None:
        """Draw the lines above and below the list."""
        if not self.screen_stack:
            return
        self._update("#tabs", self._format_tabs())
        self._update("#heading", self.listing.heading())
        self._update("#hints", self._format_hints())
        self._draw_status()

    def _format_tabs(self) -> Text:
        """Return the top line: the tabs, and the names of the brains."""
        tabs = Text(no_wrap=True, overflow="ellipsis")
        for tab, title in _TABS.items():
            is_read = tab in self.board.ready
            shown = f"{title} {len(self.board.rows[tab]) if is_read else '…'}"
            if tab == self.board.tab:
                tabs.append(f"[{shown}]", "bold").append(" ")
            else:
                tabs.append(f" {shown} ", _click("tab")).append(" ")
        room = max(self._room - tabs.cell_len, 0)
        return tabs.append(self.source.label[:room].rjust(room))

    def _format_hints(self) -> Text:
        """Return the bottom line: the keys for the widget with the focus."""
        hints = Text(no_wrap=True, overflow="ellipsis")
        if isinstance(self._base.focused, Input):
            return hints.append(_TYPING)
        for key, shown, word in list_hints(self.board.tab, self.listing.current, self._room):
            hints.append(shown, _click(key) + Style(bold=True))
            hints.append(f" {word}", _click(key)).append("  ")
        return hints

    def _draw_status(self) -> None:
        """Draw the last message and the number of displayed rows."""
        board = self.board
        shown = len(self.listing.rows)
        rows = len(board.rows[board.tab])
        if shown < rows:
            count = f"{shown} of {rows}"
        elif shown and board.tab == CARDS:
            count = f"by {board.order}"
        else:
            count = f"{self.listing.cursor + 1} of {shown}" if shown else ""
        room = max(self._room - len(count) - 1, 1)
        lines = list(Text(self._message).wrap(self.console, room)) or [Text()]
        if len(lines) > _MESSAGE_LINES:
            lines[_MESSAGE_LINES - 1].append("…")
        *above, last = lines[:_MESSAGE_LINES]
        last.truncate(room, pad=True)
        status = self._base.query_one("#status", Static)
        status.styles.height = len(above) + 1
        status.update(Text("\n").join([*above, last.append(f" {count}")]), layout=False)

    async def on_event(self, event: events.Event) -> None:
        """Handle keys here, in the order of typing: widgets receive keys and the focus later."""
        if (
            isinstance(event, events.Key)
            and not event.is_forwarded
            and len(self.screen_stack) == 1
            and self._take_key(event)
        ):
            return
        await super().on_event(event)

    def _take_key(self, event: events.Key) -> bool:
        """Perform the action of a key. Return False if textual should handle the key."""
        focused = self._base.focused
        if not isinstance(focused, Input):
            if self.board.tab not in self.board.ready and self.listing.press(event.key):
                # The key moves to a row that is not read yet.
                self._early.append((self.board.tab, event.key))
                return True
            return self.listing.press(event.key) or self._action_do(event.key)
        if event.key in ("question_mark", "tab"):
            return self._action_do(event.key)
        if event.key == "escape":
            self.focus_on(self.listing)
            return self._action_do("escape")
        if event.key in ("enter", "up", "down", "pageup", "pagedown"):
            self.focus_on(self.listing)
            self.listing.press(event.key)
        elif event.key == "backspace":
            focused.action_delete_left()
        elif event.is_printable and event.character:
            focused.insert_text_at_cursor(event.character)
        else:
            return False
        self._filter()
        return True

    def _action_do(self, key: str) -> bool:
        """Perform the action of a key in the current tab. Return whether the key has an action."""
        act = find_act(self.board.tab, key)
        row = self.listing.current
        if act not in ROW_ACTS:
            self._do(act)
        elif row is not None:
            self._do_to(row, act)
        elif self.board.tab not in self.board.ready:
            self._early.append((self.board.tab, key))
        elif self.board.filters[self.board.tab]:
            self.say("no row matches the filter; press esc to clear it", bad=True)
        return bool(act)

    @on(Input.Changed, "#filter")
    def _filter(self) -> None:
        """Show the rows that match the current text of the filter."""
        words = self._base.query_one(Input).value
        if words != self.board.filters[self.board.tab]:
            self.board.set_filter(words)
            self.say("")
            self.show(top=True)

    def _moved(self) -> None:
        """Record the row under the cursor, and show its preview after a short time."""
        row = self.listing.current
        name = row.name if row else ""
        self.board.places[self.board.tab] = name
        if self._message_row not in ("", name):
            self.say("")
        self._draw_lines()
        if self._preview_timer is not None:
            self._preview_timer.stop()
        self._preview_timer = self.set_timer(_SETTLE_SECONDS, self._preview)

    @on(RowList.Chosen)
    def _chosen(self) -> None:
        self._action_do("enter")

    @on(events.DescendantFocus)
    @on(events.Resize)
    def _redraw(self) -> None:
        """Draw the lines again, since they depend on the focus and on the width of the screen."""
        self.call_after_refresh(self._draw_lines)

    @work(group="preview", exclusive=True)
    async def _preview(self) -> None:
        """Read the file of the row under the cursor and show its preview."""
        row = self.listing.current
        if not self.screen_stack:
            return
        if row is None:
            self._show_empty()
            return
        first_view = self.source.look_at_draft(row.draft) if row.draft else None
        if first_view is not None:
            self._show_preview(first_view)
        try:
            now, view = await asyncio.to_thread(self.source.look, row)
        except CardNotFound as error:
            self._apply(Outcome(line=str(error), gone=(row.name,)))
        except LessonsError as error:
            self._update("#view", str(error))
        else:
            if now != row:  # the file has changed since the list was loaded
                self.board.replace({now.name: now})
                self.show()
            if view != first_view:
                self._show_preview(view, from_start=first_view is None)

    def _show_empty(self) -> None:
        """Show the reason why the list has no rows, instead of a preview."""
        if self.board.tab not in self.board.ready:
            text = "reading …"
        elif self.board.filters[self.board.tab]:
            text = "No row matches. Press esc to clear the filter."
        else:
            text = "\n\n".join(_EMPTY[self.board.tab])
        self._update("#view", text)
        self._update("#shown", "")
        self._update("#missing", "")

    def _show_preview(self, view: Preview, *, from_start: bool = True) -> None:
        """Show a preview, from its start or from where it was scrolled to."""
        lines = [Text(view.title, style="bold")]
        lines += [Text(line, style="dim") for line in view.facts]
        lines += [Text(f"! {line}", style="yellow") for line in view.warnings]
        if not view.missing and not view.evidence:
            lines.append(Text())
        body = Markdown(view.text, hyperlinks=False) if view.markdown else Text(view.text)
        self._update("#view", Group(*lines, body))
        self._update("#shown", Markdown(view.evidence, hyperlinks=False))
        self._update("#missing", f"missing: {view.missing}" if view.missing else "")
        if from_start:
            self._base.query_one("#evidence").scroll_home(animate=False)
            self._base.query_one("#preview").scroll_home(animate=False)
