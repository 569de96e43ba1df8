"""Keep brains fresh while their files are edited."""

from __future__ import annotations

import threading

from lessons_kb.errors import LessonsError
from lessons_kb.storage.watch import watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from lessons_kb.brain.brain import Brain
    from lessons_kb.brain.layer import Layer


def watch_brain(
    brain: Brain, *, say: Callable[[str], None], stop: threading.Event | None = None
) -> None:
    """Refresh each brain whenever its files change, until ``stop`` is set or Ctrl-C is pressed.

    ``say`` is told each refresh that changed something, in one line.
    """
    stop = stop or threading.Event()
    watchers = [
        threading.Thread(target=_watch_layer, args=(layer, say, stop), daemon=True)
        for layer in brain.layers
    ]
    for watcher in watchers:
        watcher.start()
    try:
        while any(watcher.is_alive() for watcher in watchers):
            for watcher in watchers:
                watcher.join(timeout=0.2)
    finally:
        stop.set()


def _watch_layer(layer: Layer, say: Callable[[str], None], stop: threading.Event) -> None:
    started = False

    def refresh(_paths: set[str]) -> None:
        nonlocal started
        try:
            done = layer.refresh()
        except LessonsError as error:
            say(f"{layer.alias}: {error}")
            return
        if not started:
            say(f"{layer.alias}: {done.files} files, up to date")
        elif done.changed or done.removed:
            say(f"{layer.alias}: {done.changed} changed, {done.removed} removed")
        started = True

    try:
        watch(layer.root, refresh, stop=stop)
    except LessonsError as error:
        say(f"{layer.alias}: {error}")
