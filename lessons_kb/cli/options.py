"""What every command shares: global options, opening the brain, and how answers are printed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

from lessons_kb.errors import InputError, LessonsError
from lessons_kb.store.locate import find_brains
from lessons_kb.text.escape_controls import shell_word
from lessons_kb.text.plurals import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lessons_kb.brain.brain import Brain


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
    from lessons_kb.brain.brain import Brain
    from lessons_kb.brain.discovery import look, tell_unclaimed, tell_untrusted
    from lessons_kb.store.locate import user_brain

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
_NARROWEST = 40
"""Columns that a message is never folded below."""


def say(message: str) -> None:
    """Tell the user something that is not the answer."""
    from lessons_kb.text.escape_controls import visible

    line = visible(message)
    with contextlib.suppress(OSError, ValueError):  # where both go to one file, in this order
        sys.stdout.flush()
    if sys.stderr.isatty():
        from lessons_kb.cli.line_wrapping import wrap

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
    from lessons_kb.text.escape_controls import visible_json

    print(visible_json(json.dumps(data, ensure_ascii=False, indent=2)))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: str = "") -> None:
    """Print rows as a table: within the width of a terminal, in full when piped.

    ``right`` names the columns that are flushed right, separated by spaces.
    """
    from lessons_kb.cli.tables import lay_out
    from lessons_kb.text.sanitize import clean_line

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
