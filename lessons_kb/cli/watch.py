"""`lessons watch`: keep the index up to date while files change."""

from __future__ import annotations

from lessons_kb.cli.options import (
    open_brain,
    say,
)


def watch() -> None:
    """Keep the index up to date while files are edited.

    Example: lessons watch &
    """
    from lessons_kb.brain.refresh_on_change import Watching

    brain = open_brain()
    say(f"watching {', '.join(layer.root for layer in brain.layers)}; press Ctrl-C to stop")
    watching = Watching(brain.layers, say=lambda line: print(line, flush=True), shared=True)
    try:
        watching.wait()
    finally:
        watching.stop(wait=True)
