"""Keep the index up to date while files are edited, until the user stops it."""

from __future__ import annotations

from lessons_kb.brain.brains import Brains
from lessons_kb.brain.watching import Watching
from lessons_kb.cli.output import say


def watch_files(brains: Brains) -> None:
    """Update the index after each change, and print a line about it, until Ctrl-C."""
    say(f"watching {', '.join(brain.root for brain in brains.members)}; press Ctrl-C to stop")
    watching = Watching(brains.members, say=lambda line: print(line, flush=True), tick=1.0)
    try:
        watching.wait()
    finally:
        watching.stop(wait=True)
