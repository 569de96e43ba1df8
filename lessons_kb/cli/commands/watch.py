"""`lessons watch`: keep the index up to date while files are edited."""

from __future__ import annotations

from lessons_kb.brain.watching import Watching
from lessons_kb.cli.options import open_brain
from lessons_kb.cli.output import say


def watch() -> None:
    """Keep the index up to date while files are edited.

    Example: lessons watch &
    """
    brains = open_brain()
    say(f"watching {', '.join(brain.root for brain in brains.members)}; press Ctrl-C to stop")
    watching = Watching(brains.members, say=lambda line: print(line, flush=True), tick=1.0)
    try:
        watching.wait()
    finally:
        watching.stop(wait=True)
