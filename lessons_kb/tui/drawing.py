"""The lines around the lists, and the preview, as rich draws them."""

from __future__ import annotations

from collections.abc import Mapping

from rich.cells import cell_len, set_cell_size
from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.style import Style
from rich.text import Text

from lessons_kb.tui.card_preview import View
from lessons_kb.tui.key_bindings import CARDS, DRAFTS, FILTER_HINTS, hints, label
from lessons_kb.tui.list_state import Board
from lessons_kb.tui.list_widget import RowList
from lessons_kb.tui.rows import Row

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
