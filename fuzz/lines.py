"""What every message of ours promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lessons_kb.errors import LessonsError


def check_one_line(error: LessonsError) -> None:
    """Hold an error of ours against what is promised: it can be shown on one line."""
    assert str(error).strip(), "an empty message"
    assert len(str(error).splitlines()) == 1, repr(str(error))
