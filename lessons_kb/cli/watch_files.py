"""Keep the index up to date while files are edited, until the user stops it."""

from __future__ import annotations

from lessons_kb.brain.brains import Brains
from lessons_kb.brain.watching import Watching
from lessons_kb.cli.output import say


def watch_files(brains: Brains) -> None:
    """Update the index after each change, and print a line about it, until Ctrl-C."""
    say(f"watching {', '.join(brain.root for brain in brains.members)}; press Ctrl-C to stop")
    watching = Watching(brains.members, say=_print_whole, tick=1.0)
    try:
        watching.wait()
    finally:
        watching.stop(wait=True)


def _print_whole(line: str) -> None:
    """Print a line with its end in one write, because each brain is watched by a thread."""
    print(f"{line}\n", end="", flush=True)
