"""The front door is short, sorted, and free to open: a hook pays for every import."""

from __future__ import annotations

import pytest

from lessons_kb import cards

HEAVY = {"yaml", "frontmatter", "markdown_it", "typing", "logging", "pathspec", "pathlib", "re"}


def test_every_name_is_there() -> None:
    assert cards.__all__ == sorted(cards.__all__)
    for name in cards.__all__:
        assert callable(getattr(cards, name))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = cards.nothing  # type: ignore[attr-defined]
