"""The ``lessons`` program, which loads only the modules that the arguments require.

The version requires only this file, and the merge driver of git requires no command line.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from importlib import import_module

from lessons_kb.version import __version__

_COMMAND_LINE = "lessons_kb.cli.main"
_MERGE_DRIVER = "lessons_kb.cli.merge"
_NEW_OBJECTS = 50_000
"""The number of new objects after which Python looks for unreachable ones. Its default, 700, costs
a short command a twentieth of its time, although imports leave nothing to collect."""


def main() -> None:
    """Run the command that the arguments name, and exit."""
    if sys.getfilesystemencoding() == "ascii":  # file names in UTF-8 could not be read
        again = [sys.executable, "-X", "utf8", *sys.orig_argv[1:]]
        os.execv(sys.executable, again)  # noqa: S606 no shell is needed
    _reopen_closed_streams()
    gc.set_threshold(_NEW_OBJECTS)
    words = sys.argv[1:]
    if words == ["--version"] and _print_version():
        _leave(0)
        return
    if words[:1] == ["merge-driver"]:
        sys.exit(import_module(_MERGE_DRIVER).run(words[1:]))
    try:
        command_line = import_module(_COMMAND_LINE)
        try:
            command_line.main()
        except SystemExit as stop:
            _leave(stop.code)
            raise
    except KeyboardInterrupt:  # before or after the command itself, so nothing is unfinished
        sys.exit(130)


def _reopen_closed_streams() -> None:
    """Open the null device for each closed stream, whose descriptor the next file would get."""
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(null, True)
            setattr(sys, name, os.fdopen(null, "w" if descriptor else "r", encoding="utf-8"))


def _print_version() -> bool:
    """Print the version. Return False if it cannot be written; the command line reports why."""
    try:
        os.write(sys.stdout.fileno(), f"lessons {__version__}\n".encode())  # without a buffer
    except (OSError, ValueError):
        return False
    return True


def _leave(code: object) -> None:
    """End the process at once, unless threads still run or the exit code is a text.

    Python's own teardown of the command line takes a fifth of the time of a short command.
    """
    threads = sys.modules.get("threading")
    if not isinstance(code, int | None) or (threads and threads.active_count() > 1):
        return
    atexit._run_exitfuncs()  # noqa: SLF001 the only way to run them as Python itself would
    try:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    except (OSError, ValueError):
        return
    os._exit(int(code or 0))


if __name__ == "__main__":
    main()
