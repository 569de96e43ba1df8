"""Several processes that answer at one address.

The process that starts them keeps the index up to date and answers nothing; they read what it
commits, and are replaced when they die.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Mapping
from socket import socket

from uvicorn.config import STARTUP_FAILURE, Config
from uvicorn.supervisors import Multiprocess

from lessons_kb.brain.layer import Layer, Watching
from lessons_kb.service.web.callers import Shared

_METRICS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""By which the library that keeps the figures is told, when a worker imports it."""


def run_workers(
    config: Config, listening: socket, roots: Mapping[str, str], shared: Shared
) -> None:
    """Answer with so many processes as ``config`` says until told to stop; index what changes."""
    layers = [Layer.open(root, alias=name) for name, root in roots.items()]
    with tempfile.TemporaryDirectory(prefix="lessons-metrics-") as folder:
        os.environ[_METRICS_VARIABLE] = shared.metrics = folder
        watching = Watching(layers, tick=1.0)
        try:
            supervisor = Multiprocess(config, [listening])
            supervisor.run()
        finally:
            watching.stop(wait=True)
            for layer in layers:
                layer.close()
            del os.environ[_METRICS_VARIABLE]
    if any(worker.exitcode == STARTUP_FAILURE for worker in supervisor.processes):
        sys.exit(STARTUP_FAILURE)


def end_with_parent() -> None:
    """Stop this worker when the process that started it has gone; nothing in any other process."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        signal.raise_signal(signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()
