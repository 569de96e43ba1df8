"""`lessons watch`: the former name of `lessons index --watch`, for one more release."""

from __future__ import annotations

from lessons_kb.cli.options import open_brain
from lessons_kb.cli.watch_files import watch_files


def watch() -> None:
    """Keep the index up to date while files are edited.

    Example: lessons index --watch
    """
    watch_files(open_brain())
