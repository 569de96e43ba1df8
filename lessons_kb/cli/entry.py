"""The ``lessons`` program: git's merge driver at once, everything else through the command line."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from typer import Argument

from lessons_kb.errors import LessonsError
from lessons_kb.text.sanitize import visible

_NAMES = ("%O", "%A", "%B", "%L", "%P", "%S", "%X", "%Y")
"""What git puts in place of each: base, ours, theirs, marker size, path, and their labels."""
_FILES = 3
_LABELS = {"%X": "ours", "%S": "base", "%Y": "theirs"}


def run(words: Sequence[str]) -> int:
    """Merge as git asks, words in the order of ``_NAMES``, and return the exit code.

    0: merged; 1: conflict markers stand in the file; 2: nothing was merged, our version stands.
    Git takes anything but 0 for a conflict. An older git leaves names it does not know.
    """
    from lessons_kb.collection.git_merge import merge_files

    if len(words) < _FILES:
        print(
            "lessons: merge-driver is run by git; `lessons install git` sets it up", file=sys.stderr
        )
        return 2
    given = {name: word for name, word in zip(_NAMES, words, strict=False) if word != name}
    base, ours, theirs = words[:_FILES]
    size = given.get("%L", "")
    try:
        conflict = merge_files(
            base,
            ours,
            theirs,
            labels=[given.get(n) or usual for n, usual in _LABELS.items()],
            marker_size=int(size) if size.isdecimal() else 7,
        )
    except LessonsError as error:
        message = f"lessons: {given.get('%P', ours)} was not merged: {error}"
        print(visible(message), file=sys.stderr)
        return 2
    return int(conflict)


def merge_driver(words: Annotated[list[str], Argument(metavar="%O %A %B %L %P …")]) -> None:
    """Merge three versions of a card into the second file, for git."""
    raise typer.Exit(run(words))


def main() -> None:
    """Run the command that the arguments name, and exit."""
    if sys.getfilesystemencoding() == "ascii":  # a name of a file in UTF-8 could not be read
        again = [sys.executable, "-X", "utf8", *sys.orig_argv[1:]]
        os.execv(sys.executable, again)  # noqa: S606 no shell is needed
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:  # closed: the next file that is opened would get its number
            null = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(null, True)
            setattr(sys, name, os.fdopen(null, "w" if descriptor else "r", encoding="utf-8"))
    if sys.argv[1:2] == ["merge-driver"]:
        sys.exit(run(sys.argv[2:]))
    try:
        from lessons_kb.cli.main import main as run_command_line

        try:
            run_command_line()
        except SystemExit as stop:
            _leave(stop.code)
            raise
    except KeyboardInterrupt:  # so early, or so late, that nothing is under way
        sys.exit(130)


def _leave(code: object) -> None:
    """End the process at once, if nothing is lost by it.

    To take apart all that a command line is made of takes Python a fifth of a short command's time.
    """
    threads = sys.modules.get("threading")
    if not isinstance(code, int | None) or (threads and threads.active_count() > 1):
        return
    atexit._run_exitfuncs()  # noqa: SLF001 as Python itself would, and nobody else can
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (OSError, ValueError):
        return
    os._exit(int(code or 0))


if __name__ == "__main__":
    main()
