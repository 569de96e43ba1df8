"""Do a list of jobs in several processes."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
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
    with ProcessPoolExecutor(min(workers, len(jobs)), mp_context=context) as pool:
        pending = [pool.submit(function, *job) for job in jobs]
        try:
            for future in pending:
                yield future.result()
        finally:
            for future in pending:
                future.cancel()
