"""What every command shares: global options, opening the brain, and how answers are printed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Annotated, Any, TextIO

import typer

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.discovery import look, tell_unclaimed, tell_untrusted
from lessons_kb.brain.post_check import read_change
from lessons_kb.errors import InputError, LessonsError
from lessons_kb.model import KINDS, SEVERITIES, Card, as_data
from lessons_kb.process.git import Diff
from lessons_kb.store.user_state import find_brains, user_brain
from lessons_kb.text.sanitize import clean_line, counted, shell_word, visible, visible_json

COPIED = "id"
"""A column that is copied from the screen: it is never cut and never broken."""
_SPARED = ("last task", "project", "stage")
"""Columns that give way to ids, in this order."""
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
    columns without text are left out, and for the sake of ids those that can be spared; then the
    longest texts are cut. An id that is too long still has a line of its own.
    """
    from rich.cells import cell_len  # Hangul and Han are two columns wide

    lines = [[name.upper() for name in columns], *rows]
    widths = {
        name: max(cell_len(line[place]) for line in lines)
        for place, name in enumerate(columns)
        if width is None or name == COPIED or any(row[place] for row in rows)
    }
    if width is not None:
        at = columns.index(COPIED) if COPIED in widths else 0
        widths = _narrowed(widths, [cell_len(row[at]) for row in rows], width)
    found = []
    for line in lines:
        cells = dict(zip(columns, line, strict=True))
        if COPIED in widths and cell_len(cells[COPIED]) > widths[COPIED]:
            found.append(cells[COPIED])
            cells[COPIED] = ""
        padded = [_fitted(cells[name], size, flush=name in right) for name, size in widths.items()]
        found.append((" " * _GAP).join(padded).rstrip())
    return found


def _fitted(cell: str, width: int, *, flush: bool) -> str:
    from rich.cells import cell_len, set_cell_size

    if cell_len(cell) > width:
        cell = set_cell_size(cell, width - 1).rstrip() + "…"
    space = " " * (width - cell_len(cell))
    return space + cell if flush else cell + space


def _narrowed(widths: Mapping[str, int], ids: Sequence[int], width: int) -> dict[str, int]:
    """Return the columns that are kept, and widths that fit; ``ids`` are the lengths of ids."""
    found = dict(widths)
    if COPIED in found:
        least = {name: size for name, size in found.items() if name not in _SPARED}
        found[COPIED] = _longest(ids, _room(least, width))
        for name in _SPARED:
            if _room(found, width) < found[COPIED]:
                found.pop(name, None)
    limit = max(found.values(), default=0)
    fixed = found.get(COPIED, 0) + _GAP * (len(found) - 1)
    others = [size for name, size in found.items() if name != COPIED]
    while limit > 1 and fixed + sum(min(size, limit) for size in others) > width:
        limit -= 1
    return {name: size if name == COPIED else min(size, limit) for name, size in found.items()}


def _room(widths: Mapping[str, int], width: int) -> int:
    """Return what is left for ids beside the least of the other columns."""
    others = sum(min(size, _LEAST) for name, size in widths.items() if name != COPIED)
    return width - others - _GAP * (len(widths) - 1)


def _longest(ids: Sequence[int], room: int) -> int:
    return max((one for one in ids if one <= room), default=len(COPIED))


_NARROWEST = 40


def print_wrapped(line: str, *, hang: int = 0) -> None:
    """Print a line, on a terminal folded to its width; when piped it stays one line.

    Further pieces are indented as the first one is, and by ``hang`` more.
    """
    if not sys.stdout.isatty():
        print(line)
        return
    width = max(shutil.get_terminal_size().columns, _NARROWEST)
    for piece in wrap(line, width, hang=hang):
        print(piece)


def wrap(line: str, width: int, *, hang: int = 0) -> Iterator[str]:
    """Yield pieces of at most ``width`` columns; a longer word stays whole, to be copied."""
    from rich.cells import cell_len  # Hangul and Han are two columns wide

    indent = line[: len(line) - len(line.lstrip())]
    piece, filled = indent, False
    for word in line.split():
        joined = f"{piece} {word}" if filled else piece + word
        if filled and cell_len(joined) > width:
            yield piece
            joined = f"{indent}{' ' * hang}{word}"
        piece, filled = joined, True
    yield piece


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """Global options."""

    brains: tuple[str, ...] = ()
    json: bool = False
    no_color: bool = False


_current: ContextVar[Options] = ContextVar("options")


def options() -> Options:
    """Return the global options of the running command."""
    return _current.get(Options())


def set_options(chosen: Options) -> None:
    """Let ``options`` return ``chosen`` from here on."""
    _current.set(chosen)


def open_brain() -> Brain:
    """Open the brains named by ``--brain``, else those that hold here.

    Brains that were found but are not trusted are left out, with one line on stderr.
    """
    for name in options().brains:
        check_folder("--brain", name)
    if options().brains:
        return _kept(Brain.open(*options().brains))
    here = os.getcwd()
    found = look(here)
    untrusted = found.untrusted
    brain = Brain.discover(here)
    if untrusted:
        say(tell_untrusted(untrusted, found.named))
        _told.update(untrusted)
    elif list(found.trusted) == [os.path.realpath(user_brain())] and (hint := tell_unclaimed(here)):
        say(hint)
    return _kept(brain)


def check_choice(option: str, value: str | None, choices: Sequence[str]) -> None:
    """Raise InputError for a value that is none of an option's; None is an option left out."""
    if value is not None and value not in choices:
        raise InputError(f"{option} must be one of {', '.join(choices)}, not {value!r}")


def check_folder(option: str, name: str) -> None:
    """Raise InputError where a file stands in for the folder that a brain is."""
    if os.path.isfile(name):
        folder = os.path.dirname(name) or "."
        if brains := find_brains(os.path.realpath(folder)):
            folder = os.path.relpath(brains[0])
        raise InputError(f"{option} {name} is a file; give the folder of a brain, such as {folder}")


_open: list[Brain] = []
_told: set[str] = set()
"""Folders of which the user was told that they are not trusted."""


def _kept(brain: Brain) -> Brain:
    _open.append(brain)
    return brain


def close_brains() -> None:
    """Close what ``open_brain`` opened, and name what lies in it unread: the command has ended."""
    silent: dict[str, None] = {}
    while _open:
        brain = _open.pop()
        for layer in brain.layers:
            with contextlib.suppress(LessonsError):  # the command has said what is wrong
                if beyond := layer.tell_beyond():
                    say(beyond)
            silent |= dict.fromkeys(os.path.join(layer.root, path) for path in layer.silent)
        brain.close()
    named = [path for path in silent if path not in _told]
    _told.clear()
    if named:
        first, *others = named
        more = f" and {counted(len(others), 'other folder')}" if others else ""
        inside = f"{os.path.realpath(os.curdir)}{os.sep}".startswith(first + os.sep)
        shown = first if inside else os.path.relpath(first)
        say(
            f"skipped {shown}{more}: not trusted (a separate repository or brain); "
            f"`lessons trust {shell_word(shown)}` trusts it"
        )


_SPEAKER = "lessons: "
_NARROWEST_HELP = 40
"""Columns that a message is never folded below."""


def say(message: str) -> None:
    """Tell the user something that is not the answer."""
    line = visible(message)
    with contextlib.suppress(OSError, ValueError):  # where both go to one file, in this order
        sys.stdout.flush()
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns - len(_SPEAKER)
        if len(line) > width:
            line = f"\n{' ' * len(_SPEAKER)}".join(wrap(line, max(width, _NARROWEST_HELP), hang=2))
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


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: str = "") -> None:
    """Print rows as a table: within the width of a terminal, in full when piped.

    ``right`` names the columns that are flushed right, separated by spaces.
    """
    cells = [[clean_line(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        print("\n".join(lay_out(columns, cells, right=right.split())))
        return
    from rich.cells import cell_len
    from rich.console import Console
    from rich.text import Text

    width = shutil.get_terminal_size().columns
    head, *lines = lay_out(columns, cells, right=right.split(), width=width)
    rule = min(max(map(cell_len, (head, *lines))), width)
    no_color = options().no_color or bool(os.environ.get("NO_COLOR"))
    console = Console(no_color=no_color)
    console.print()
    console.print(Text(head, style="bold"), soft_wrap=True)
    for line in ("─" * rule, *lines, ""):
        console.print(Text(line), soft_wrap=True)


def read_text(words: Sequence[str], *, what: str) -> str:
    """Join the words of an argument, or read stdin where there are none or a single ``-``."""
    if words and list(words) != ["-"]:
        return " ".join(words)
    if sys.stdin.isatty():
        raise InputError(f"{what} missing; pass it as an argument or on stdin")
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def read_file(name: str) -> str:
    """Return the text of a file that the user named; bytes that are no UTF-8 are replaced."""
    try:
        with open(name, "rb") as file:
            return file.read().decode("utf-8", "replace")
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror}; give a readable file") from None


def relative_path(path: str) -> str:
    """Return ``path`` relative to the working directory where it lies below it."""
    here = os.getcwd()
    inside = path.startswith(here + os.sep)
    return (os.path.relpath(path, here) if inside else path).replace(os.sep, "/")


@contextlib.contextmanager
def draw_progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Give a function that is told (files done, files to do); ``what`` is being done to them."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    console = Console(stderr=True, no_color=options().no_color)
    columns = (what, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(what, total=None, visible=False)
        yield lambda done, total: bar.update(task, completed=done, total=total, visible=True)


Ids = Annotated[list[str], typer.Argument(metavar="ID", help="Path, slug, or prefix.")]


def check_kind(kind: str | None, severity: str | None) -> None:
    """Raise InputError for a kind or a severity that does not exist."""
    check_choice("--type", kind, KINDS)
    check_choice("--severity", severity, SEVERITIES)


def report_cards(cards: Sequence[Card], line: Callable[[Card], str]) -> None:
    """Print a line for each card, or all of them as JSON."""
    if options().json:
        print_json([as_data(card) for card in cards])
        return
    for card in cards:
        print(line(card))


Paths = Annotated[
    list[str] | None,
    typer.Option("--path", metavar="FILE", help="File being worked on; repeatable."),
]
Revision = Annotated[
    str | None,
    typer.Option(
        "--diff", metavar="[REV]", help="Use the diff against REV; default: uncommitted changes."
    ),
]
Stage = Annotated[str | None, typer.Option(help="Current workflow stage.")]
Session = Annotated[str | None, typer.Option(help="Session whose earlier injections count.")]


def say_stale(brain: Brain) -> None:
    """Say of each brain whose previous index was used why."""
    for layer in brain.layers:
        if layer.stale:
            say(f"{layer.alias}: used the previous index, because {layer.stale}")


def read_diff(brain: Brain, revision: str) -> Diff:
    """Return the change of a revision, of the work tree for ""."""
    return read_change(brain, revision)
