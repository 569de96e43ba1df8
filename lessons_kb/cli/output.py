"""Print the answer of a command on stdout, as text or JSON, and everything else on stderr."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, TextIO

import typer

from lessons_kb.model import Card, as_data
from lessons_kb.text.sanitize import clean_line, visible, visible_json
from lessons_kb.values import frozen


@frozen
class Options:
    """The global options."""

    brains: tuple[str, ...] = ()
    json: bool = False
    no_color: bool = False


current: ContextVar[Options] = ContextVar("options")
at_end = contextlib.ExitStack()
"""Callbacks that run after the command has ended."""
failures: list[str] = []
"""The messages of the errors that ended the command."""


def options() -> Options:
    """Return the global options of the running command."""
    return current.get(Options())


def is_interactive() -> bool:
    """Return whether a person reads the answer and can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def confirm(question: str) -> bool:
    """Ask a yes-or-no question on stderr. The default, also without a terminal, is no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    return typer.confirm(question, default=False, err=True)


def terminal_width() -> int | None:
    """Return the columns of the terminal that shows stdout, or None without a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def terminal_height() -> int | None:
    """Return the lines of the terminal that shows stdout, or None without a terminal."""
    return shutil.get_terminal_size().lines if sys.stdout.isatty() else None


def _cells(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


def cut_cells(text: str, width: int) -> str:
    """Cut a text to ``width`` cells of a terminal. A Hangul or Han character takes two cells."""
    from rich.cells import set_cell_size

    return text if _cells(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


COPIED = "id"
"""The column that users copy from the screen. It is never cut and never broken."""
_GAP = 2
_LEAST = 16
"""Each other column keeps this number of cells. A longer id then gets its own line."""


def lay_out(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[str] = (),
    width: int | None = None,
) -> list[str]:
    """Return the header and the rows as lines with aligned columns.

    ``right`` names the columns that are flush right. With a ``width``, in cells of a terminal,
    empty columns are left out and the longest texts are cut. An id that is still too long gets its
    own line.
    """
    table = [[name.upper() for name in columns], *rows]
    widths: dict[str, int] = {}
    for position, name in enumerate(columns):
        is_empty = not any(row[position] for row in rows)
        if width is not None and name != COPIED and is_empty:
            continue
        widths[name] = max(_cells(line[position]) for line in table)
    if width is not None:
        id_position = columns.index(COPIED) if COPIED in widths else 0
        widths = _fit_widths(widths, [_cells(row[id_position]) for row in rows], width)
    lines = []
    for line in table:
        cells = dict(zip(columns, line, strict=True))
        if COPIED in widths and _cells(cells[COPIED]) > widths[COPIED]:
            lines.append(cells[COPIED])
            cells[COPIED] = ""
        padded = []
        for name, size in widths.items():
            cell = cut_cells(cells[name], size)
            space = " " * (size - _cells(cell))
            padded.append(space + cell if name in right else cell + space)
        lines.append((" " * _GAP).join(padded).rstrip())
    return lines


def _fit_widths(widths: Mapping[str, int], ids: Sequence[int], width: int) -> dict[str, int]:
    """Narrow the columns until they fit into ``width``. ``ids`` are the widths of the ids."""
    others = [size for name, size in widths.items() if name != COPIED]
    room = width - _GAP * (len(widths) - 1)
    longest = 0
    if COPIED in widths:
        room_for_id = room - sum(min(size, _LEAST) for size in others)
        fitting = [size for size in ids if size <= room_for_id]
        longest = max(fitting, default=len(COPIED))
    limit = max(others, default=0)
    while limit > 1 and longest + sum(min(size, limit) for size in others) > room:
        limit -= 1
    sizes = {name: min(size, limit) for name, size in widths.items()}
    return {**sizes, COPIED: longest} if COPIED in widths else sizes


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: str = "") -> None:
    """Print rows as a table within the width of a terminal, or with tabs between cells for a pipe.

    ``right`` names the columns that are flush right, separated by spaces.
    """
    width = terminal_width()
    cells = [[clean_line(cell) for cell in row] for row in rows]
    if width is None:
        for row in ([name.upper() for name in columns], *cells):
            print("\t".join(row))
        return
    head, *lines = lay_out(columns, cells, right=right.split(), width=width)
    print()
    print_bold(head)
    print("─" * min(max(map(_cells, (head, *lines))), width), *lines, sep="\n")


def print_bold(line: str) -> None:
    """Print a line, in bold type on a terminal that supports it."""
    from rich.console import Console
    from rich.text import Text

    Console().print(Text(line, style="bold"), soft_wrap=True)


_NARROWEST = 40
"""Lines are never folded to fewer columns than this."""


def print_wrapped(line: str, *, hang: int = 2) -> None:
    """Print a line, folded to the width of the terminal. For a pipe it stays one line.

    Continuation lines have the indent of the first line plus ``hang`` spaces.
    """
    width = terminal_width()
    fits = width is None or _cells(line) <= width
    pieces = [line] if fits else wrap(line, max(width or 0, _NARROWEST), hang=hang)
    print("\n".join(pieces))


def print_beside(head: str, text: str) -> None:
    """Print a text after its heading. On a terminal, it is folded within its own column."""
    width = terminal_width()
    room = max((width or 0) - len(head), 30)
    pieces = [text] if width is None else wrap(text, room)
    for piece in pieces:
        print((head + piece).rstrip())
        head = " " * len(head)


def wrap(line: str, width: int, *, hang: int = 0) -> Iterator[str]:
    """Yield pieces of at most ``width`` columns. A longer word stays whole and can be copied."""
    indent = line[: len(line) - len(line.lstrip())]
    piece, filled = indent, False
    for word in line.split():
        joined = f"{piece} {word}" if filled else piece + word
        if filled and _cells(joined) > width:
            yield piece
            joined = f"{indent}{' ' * hang}{word}"
        piece, filled = joined, True
    yield piece


_PREFIX = "lessons: "


def say(message: str) -> None:
    """Print a message for the user on stderr. It is not part of the answer."""
    line = visible(message)
    with contextlib.suppress(OSError, ValueError):  # keeps the order if both go to one file
        sys.stdout.flush()
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns - len(_PREFIX)
        if len(line) > width:
            pieces = wrap(line, max(width, _NARROWEST), hang=2)
            line = f"\n{' ' * len(_PREFIX)}".join(pieces)
    tell(f"{_PREFIX}{line}")


def tell(text: str) -> None:
    """Print a text on stderr. If it cannot be written, the command continues without it."""
    try:
        print(text, file=sys.stderr)
    except OSError:
        discard_output(sys.stderr)


def discard_output(stream: TextIO) -> None:
    """Redirect an unwritable stream to the null device, because Python would report it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def print_json(data: Any) -> None:
    """Print an answer as JSON."""
    print(visible_json(json.dumps(data, ensure_ascii=False, indent=2)))


def pick(value: object, *fields: str) -> dict[str, Any]:
    """Return the named fields of a value as JSON data."""
    return {field: as_data(getattr(value, field)) for field in fields}


def print_answer(data: Any, *lines: str) -> None:
    """Print ``data`` as JSON if the user asked for JSON, or else print the lines."""
    if options().json:
        print_json(data)
    else:
        for line in "\n".join(lines).splitlines():
            print_wrapped(line)


def print_cards(cards: Sequence[Card], line: Callable[[Card], str]) -> None:
    """Print one line for each card, or all cards as JSON."""
    print_answer([as_data(card) for card in cards], *map(line, cards))


_QUIET_SECONDS = 1.0
"""In seconds. A shorter run shows no progress."""


@contextlib.contextmanager
def draw_progress(activity: str) -> Iterator[Callable[..., None]]:
    """Draw a progress bar on stderr after one second, if stderr is a terminal.

    Yields the function that updates the bar. Its arguments are the number of items done, the total
    number and, optionally, a label. Until its first call, the bar shows that the work continues.
    """
    if not sys.stderr.isatty():
        yield lambda _done, _total, _label="": None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    console = Console(stderr=True, no_color=options().no_color or None)
    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(activity, total=None, visible=False)
        timer = threading.Timer(_QUIET_SECONDS, bar.update, [task], {"visible": True})
        timer.daemon = True
        timer.start()

        def show(done: int, total: int, label: str = "") -> None:
            description = f"{activity} {label}".rstrip()
            bar.update(task, description=description, completed=done, total=total)

        try:
            yield show
        finally:
            timer.cancel()
