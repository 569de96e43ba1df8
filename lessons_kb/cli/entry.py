"""The ``lessons`` program: git's merge driver at once, everything else through the command line."""

from __future__ import annotations

import atexit
import os
import sys

_STOPPED = 130


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
        from lessons_kb.cli.run_merge_driver import run

        sys.exit(run(sys.argv[2:]))
    try:
        from lessons_kb.cli.main import main as run_command_line

        try:
            run_command_line()
        except SystemExit as stop:
            _leave(stop.code)
            raise
    except KeyboardInterrupt:  # so early, or so late, that nothing is under way
        sys.exit(_STOPPED)


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
