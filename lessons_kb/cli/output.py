"""How commands print: the answer on stdout, as JSON where that is asked for, the talk on stderr."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, TextIO

import typer

from lessons_kb.model import Card, as_data
from lessons_kb.text.sanitize import clean_line, visible, visible_json
from lessons_kb.values import frozen


@frozen
class Options:
    """Global options."""

    brains: tuple[str, ...] = ()
    json: bool = False
    no_color: bool = False


current: ContextVar[Options] = ContextVar("options")
at_end = contextlib.ExitStack()
"""What is to be done when the command has ended."""
failures: list[str] = []
"""The errors that the command has ended with."""


def options() -> Options:
    """Return the global options of the running command."""
    return current.get(Options())


def is_interactive() -> bool:
    """Return whether somebody reads the answer and can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def confirm(question: str) -> bool:
    """Ask on stderr, the answer being no by default; without a terminal it is no."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    return typer.confirm(question, default=False, err=True)


def terminal_width() -> int | None:
    """Return the columns of the terminal that shows stdout, None where there is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _cells(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


def cut_cells(text: str, width: int) -> str:
    """Return at most ``width`` cells of a text: Hangul and Han are two columns wide."""
    from rich.cells import set_cell_size

    return text if _cells(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


COPIED = "id"
"""A column that is copied from the screen: it is never cut and never broken."""
_GAP = 2
_LEAST = 16
"""Cells that each other column keeps before an id gets a line of its own."""


def lay_out(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[str] = (),
    width: int | None = None,
) -> list[str]:
    """Return the header and the rows as lines, their columns aligned.

    ``right`` names the columns that are flushed right. With a ``width``, in cells of a terminal,
    columns without text are left out and the longest texts are cut. An id that is too long even
    then has a line of its own.
    """
    lines = [[name.upper() for name in columns], *rows]
    widths = {
        name: max(_cells(line[place]) for line in lines)
        for place, name in enumerate(columns)
        if width is None or name == COPIED or any(row[place] for row in rows)
    }
    if width is not None:
        at = columns.index(COPIED) if COPIED in widths else 0
        widths = _fit_widths(widths, [_cells(row[at]) for row in rows], width)
    found = []
    for line in lines:
        cells = dict(zip(columns, line, strict=True))
        if COPIED in widths and _cells(cells[COPIED]) > widths[COPIED]:
            found.append(cells[COPIED])
            cells[COPIED] = ""
        padded = []
        for name, size in widths.items():
            cell = cut_cells(cells[name], size)
            space = " " * (size - _cells(cell))
            padded.append(space + cell if name in right else cell + space)
        found.append((" " * _GAP).join(padded).rstrip())
    return found


def _fit_widths(widths: Mapping[str, int], ids: Sequence[int], width: int) -> dict[str, int]:
    """Return widths that fit; ``ids`` are the lengths of ids, which are not cut."""
    others = [size for name, size in widths.items() if name != COPIED]
    room, longest = width - _GAP * (len(widths) - 1), 0
    if COPIED in widths:
        beside = room - sum(min(size, _LEAST) for size in others)
        longest = max((one for one in ids if one <= beside), default=len(COPIED))
    limit = max(others, default=0)
    while limit > 1 and longest + sum(min(size, limit) for size in others) > room:
        limit -= 1
    sizes = {name: min(size, limit) for name, size in widths.items()}
    return {**sizes, COPIED: longest} if COPIED in widths else sizes


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: str = "") -> None:
    """Print rows as a table: within the width of a terminal, in full when piped.

    ``right`` names the columns that are flushed right, separated by spaces.
    """
    width = terminal_width()
    cells = [[clean_line(cell) for cell in row] for row in rows]
    head, *lines = lay_out(columns, cells, right=right.split(), width=width)
    if width is None:
        print("\n".join([head, *lines]))
        return
    print()
    print_bold(head)
    print("─" * min(max(map(_cells, (head, *lines))), width), *lines, sep="\n")


def print_bold(line: str) -> None:
    """Print a line on a terminal, in bold where that can be."""
    from rich.console import Console
    from rich.text import Text

    Console().print(Text(line, style="bold"), soft_wrap=True)


_NARROWEST = 40
"""Columns that nothing is folded below."""


def print_wrapped(line: str, *, hang: int = 2) -> None:
    """Print a line, on a terminal folded to its width; when piped it stays one line.

    Further pieces are indented as the first one is, and by ``hang`` more.
    """
    width = terminal_width()
    fits = width is None or _cells(line) <= width
    pieces = [line] if fits else wrap(line, max(width or 0, _NARROWEST), hang=hang)
    print("\n".join(pieces))


def print_beside(head: str, text: str) -> None:
    """Print a text behind its head; on a terminal it is folded and stays in its column."""
    width = terminal_width()
    room = max((width or 0) - len(head), 30)
    for piece in [text] if width is None else wrap(text, room):
        print((head + piece).rstrip())
        head = " " * len(head)


def wrap(line: str, width: int, *, hang: int = 0) -> Iterator[str]:
    """Yield pieces of at most ``width`` columns; a longer word stays whole, to be copied."""
    indent = line[: len(line) - len(line.lstrip())]
    piece, filled = indent, False
    for word in line.split():
        joined = f"{piece} {word}" if filled else piece + word
        if filled and _cells(joined) > width:
            yield piece
            joined = f"{indent}{' ' * hang}{word}"
        piece, filled = joined, True
    yield piece


_SPEAKER = "lessons: "


def say(message: str) -> None:
    """Tell the user something that is not the answer."""
    line = visible(message)
    with contextlib.suppress(OSError, ValueError):  # where both go to one file, in this order
        sys.stdout.flush()
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns - len(_SPEAKER)
        if len(line) > width:
            line = f"\n{' ' * len(_SPEAKER)}".join(wrap(line, max(width, _NARROWEST), hang=2))
    tell(f"{_SPEAKER}{line}")


def tell(text: str) -> None:
    """Print on stderr; where that cannot be written, the command goes on without it."""
    try:
        print(text, file=sys.stderr)
    except OSError:
        discard_output(sys.stderr)


def discard_output(stream: TextIO) -> None:
    """Let a stream that cannot be written lead nowhere, so that nothing complains at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def print_json(data: Any) -> None:
    """Print an answer as JSON."""
    print(visible_json(json.dumps(data, ensure_ascii=False, indent=2)))


def pick(value: object, *fields: str) -> dict[str, Any]:
    """Return some fields of a value as JSON data."""
    return {field: as_data(getattr(value, field)) for field in fields}


def print_answer(data: Any, *lines: str) -> None:
    """Print an answer: as JSON where that is asked for, else as lines."""
    if options().json:
        print_json(data)
    else:
        for line in "\n".join(lines).splitlines():
            print_wrapped(line)


def print_cards(cards: Sequence[Card], line: Callable[[Card], str]) -> None:
    """Print a line for each card, or all of them as JSON."""
    print_answer([as_data(card) for card in cards], *map(line, cards))


@contextlib.contextmanager
def draw_progress(what: str) -> Iterator[Callable[..., None]]:
    """Give a function that is told (done, to do), and of what; drawn on stderr on a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    console = Console(stderr=True, no_color=options().no_color or None)
    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(what, total=None, visible=False)

        def show(done: int, total: int, of: str = "") -> None:
            told = f"{what} {of}".rstrip()
            bar.update(task, description=told, completed=done, total=total, visible=True)

        yield show
