"""A progress bar on stderr, where that is a terminal."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from lessons_kb.cli.options import options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextlib.contextmanager
def draw_progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Give a function that is told (files done, files to do); ``what`` is being done to them."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    console = Console(stderr=True, no_color=options().no_color)
    columns = (what, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(what, total=None, visible=False)
        yield lambda done, total: bar.update(task, completed=done, total=total, visible=True)
