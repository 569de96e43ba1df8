"""Keep brains fresh while their files are edited."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from lessons_kb.brain.layer import Layer
from lessons_kb.errors import LessonsError
from lessons_kb.store.lease import Lease
from lessons_kb.store.mounts import is_network
from lessons_kb.store.watch import watch
from lessons_kb.text.counted import counted

LOOK_AGAIN = 10.0
"""Seconds after which a quiet folder is scanned all the same: a watch does not see what a link
inside the brain points to, or what the system dropped."""


def watch_layers(
    layers: Sequence[Layer], *, say: Callable[[str], None], stop: threading.Event
) -> None:
    """Refresh each brain whenever its files change, until ``stop`` is set.

    ``say`` is told each refresh that changed something, in one line. While nothing waits, other
    processes are spared the scan (see ``storage.lease``).
    """
    watchers = [
        threading.Thread(target=_Watcher(layer, say).run, args=(stop,), daemon=True)
        for layer in layers
    ]
    for watcher in watchers:
        watcher.start()
    try:
        while any(watcher.is_alive() for watcher in watchers):
            for watcher in watchers:
                watcher.join(timeout=0.2)
    finally:
        stop.set()
        for watcher in watchers:
            watcher.join(timeout=_LAST_WORDS)


_LAST_WORDS = 2.0
"""Seconds given to a watcher to finish what it writes and take its lease away."""


class _Watcher:
    """One brain's watch."""

    def __init__(self, layer: Layer, say: Callable[[str], None]) -> None:
        self.layer = layer
        self.say = say
        self.lease = Lease(layer.cache)
        self.leasing = not is_network(layer.root)
        self.refreshed = 0.0

    def run(self, stop: threading.Event) -> None:
        try:
            watch(
                self.layer.root,
                self.refresh,
                stop=stop,
                on_sign=self.lease.drop,
                on_idle=self.idle,
            )
        except LessonsError as error:
            self.say(f"{self.layer.alias}: {error}")
        finally:
            self.lease.drop()

    def refresh(self, _paths: set[str]) -> None:
        first = not self.refreshed
        self.lease.settle()
        self.refreshed = time.monotonic()
        try:
            done = self.layer.refresh(leased=False)
        except LessonsError as error:
            self.lease.drop()
            self.say(f"{self.layer.alias}: {error}")
            return
        if done.stale:
            self.lease.drop()
        elif self.leasing:
            self.lease.renew()
        if first:
            self.say(f"{self.layer.alias}: {counted(done.files, 'file')}, up to date")
        elif done.changed or done.removed:
            self.say(f"{self.layer.alias}: {done.changed} changed, {done.removed} removed")

    def idle(self) -> None:
        if time.monotonic() - self.refreshed > LOOK_AGAIN:
            self.refresh(set())
        elif self.leasing:
            self.lease.renew()
