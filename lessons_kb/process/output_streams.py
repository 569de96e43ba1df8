"""What a command writes, read as it comes and passed on, without keeping more than its end."""

from __future__ import annotations

import os
import queue
import select
import stat
import threading
import time
from collections.abc import Callable, Collection, Mapping

CHUNK = 64 * 1024
_PIECE = 4096
"""What a pipe that can be written takes without making us wait."""
_POLL_SECONDS = 0.05


class Tail:
    """The last bytes of a stream."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept = bytearray()
        self._cut = False

    def add(self, data: bytes) -> None:
        """Take in what came."""
        self._kept += data
        if len(self._kept) > 2 * self._limit:
            self._cut = True
            del self._kept[: -self._limit]

    def text(self) -> str:
        """Return the end as text; what a cut split, a line or at least a word, is left out."""
        kept = bytes(self._kept[-self._limit :])
        if self._cut or len(self._kept) > self._limit:
            ends = (place for end in (b"\n", b"\r", b" ") if (place := kept.find(end)) >= 0)
            kept = kept[next(ends, len(kept)) + 1 :]
        return kept.decode("utf-8", "replace")


class Sink:
    """One of our own streams, to which is passed on."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.broken = False
        """Nobody reads any more."""
        try:
            kind = os.fstat(descriptor).st_mode
        except OSError:
            kind, self.broken = 0, True
        self._at_once = os.name == "nt" or stat.S_ISREG(kind)

    def write(self, data: bytes, waiting: Callable[[], None]) -> None:
        """Write everything; ``waiting`` is called now and then while the reader is slow."""
        view = memoryview(data)
        while view and not self.broken:
            try:
                if not self._at_once and not _is_ready(self._descriptor):
                    waiting()
                    continue
                view = view[os.write(self._descriptor, view if self._at_once else view[:_PIECE]) :]
            except BlockingIOError:
                time.sleep(_POLL_SECONDS)
                waiting()
            except OSError:
                self.broken = True


def _is_ready(descriptor: int) -> bool:
    return bool(select.select([], [descriptor], [], _POLL_SECONDS)[1])


class Sources:
    """The descriptors that a command writes to, read whichever comes first."""

    def __init__(self, sinks: Mapping[int, Sink], *, kept: Collection[int] = ()) -> None:
        """``kept`` are not closed at their end: somebody else does."""
        self._sinks = dict(sinks)
        self._kept = kept
        self._others: set[int] = set()

    @property
    def open(self) -> bool:
        """Whether anything may still come."""
        return bool(self._sinks)

    def watch(self, descriptor: int) -> None:
        """End waits when this descriptor, which is not read here, is ready."""
        self._others.add(descriptor)

    def unwatch(self, descriptor: int) -> None:
        """Wait for this descriptor no longer."""
        self._others.discard(descriptor)

    def wait(self, seconds: float) -> tuple[list[tuple[bytes, Sink]], set[int]]:
        """Return what came within some seconds, and which watched descriptors are ready."""
        came: list[tuple[bytes, Sink]] = []
        ready = select.select([*self._sinks, *self._others], [], [], max(seconds, 0))[0]
        for descriptor in ready:
            if descriptor not in self._sinks:
                continue
            data = _read(descriptor)
            sink = self._sinks[descriptor]
            if data:
                came.append((data, sink))
            if data == b"" or sink.broken:
                self._close(descriptor)
        return came, self._others & set(ready)

    def close(self) -> None:
        """Stop reading: a command that still writes learns that nobody listens."""
        for descriptor in tuple(self._sinks):
            self._close(descriptor)

    def _close(self, descriptor: int) -> None:
        del self._sinks[descriptor]
        if descriptor not in self._kept:
            os.close(descriptor)


class ThreadedSources(Sources):
    """The same where the system cannot wait for several pipes: a thread reads each."""

    def __init__(self, sinks: Mapping[int, Sink], *, kept: Collection[int] = ()) -> None:
        """See ``Sources``."""
        super().__init__(sinks, kept=kept)
        self._came: queue.Queue[tuple[int, bytes]] = queue.Queue(maxsize=4)
        for descriptor in sinks:
            threading.Thread(target=self._read_all, args=(descriptor,), daemon=True).start()

    def _read_all(self, descriptor: int) -> None:
        while True:
            data = _read(descriptor) or b""
            self._came.put((descriptor, data))
            if not data:
                os.close(descriptor)
                return

    def wait(self, seconds: float) -> tuple[list[tuple[bytes, Sink]], set[int]]:
        """See ``Sources``; nothing else is watched, so a wait is short."""
        try:
            descriptor, data = self._came.get(timeout=min(max(seconds, 0.001), _POLL_SECONDS))
        except queue.Empty:
            return [], set()
        if descriptor not in self._sinks:
            return [], set()
        if not data:
            self._close(descriptor)
            return [], set()
        return [(data, self._sinks[descriptor])], set()

    def _close(self, descriptor: int) -> None:
        del self._sinks[descriptor]  # its thread closes it


def _read(descriptor: int) -> bytes | None:
    """Return what can be read, b"" at the end, None when nothing is there after all."""
    try:
        return os.read(descriptor, CHUNK)
    except BlockingIOError:
        return None
    except OSError:  # a terminal whose other end is closed
        return b""
