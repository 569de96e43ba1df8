"""Do a list of jobs in several processes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar, TypeVarTuple

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")


def map_batches(
    function: Callable[[*Arguments], Result],
    jobs: Sequence[tuple[*Arguments]],
    *,
    workers: int,
) -> Iterator[Result]:
    """Yield ``function(*job)`` for each job, in order.

    With one worker everything happens in this process. Else ``function`` must be importable,
    and the caller's main module must be safe to import (processes are spawned, for forking a
    process with threads may deadlock it).
    """
    if workers <= 1 or len(jobs) <= 1:
        for job in jobs:
            yield function(*job)
        return

    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    context = multiprocessing.get_context("spawn")
    count = min(workers, len(jobs))
    with ProcessPoolExecutor(count, mp_context=context, initializer=_end_with_parent) as pool:
        pending = [pool.submit(function, *job) for job in jobs]
        try:
            for future in pending:
                yield future.result()
        finally:
            for future in pending:
                future.cancel()


def _end_with_parent() -> None:
    """End this worker when its parent is gone: one that was killed tells nobody to stop."""
    import multiprocessing

    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
