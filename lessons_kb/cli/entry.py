"""The ``lessons`` program: git's merge driver at once, everything else through the command line."""

from __future__ import annotations

import sys

_STOPPED = 130


def main() -> None:
    """Run the command that the arguments name, and exit."""
    if sys.argv[1:2] == ["merge-driver"]:
        from lessons_kb.cli.merging import run

        sys.exit(run(sys.argv[2:]))
    try:
        from lessons_kb.cli.main import main as run_command_line

        run_command_line()
    except KeyboardInterrupt:  # so early, or so late, that nothing is under way
        sys.exit(_STOPPED)


if __name__ == "__main__":
    main()
