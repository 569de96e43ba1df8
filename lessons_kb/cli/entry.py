"""The ``lessons`` program: git's merge driver at once, everything else through the command line."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command that the arguments name, and exit."""
    if sys.argv[1:2] == ["merge-driver"]:
        from lessons_kb.cli.merging import run

        sys.exit(run(sys.argv[2:]))
    from lessons_kb.cli.main import main as run_command_line

    run_command_line()


if __name__ == "__main__":
    main()
