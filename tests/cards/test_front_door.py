"""The front door is short, sorted, and free to open: a hook pays for every import."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lessons_kb import cards

HEAVY = {"yaml", "frontmatter", "markdown_it", "typing", "logging", "pathspec", "pathlib", "re"}


def test_every_name_is_there() -> None:
    assert cards.__all__ == sorted(cards.__all__)
    for name in cards.__all__:
        assert callable(getattr(cards, name))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = cards.nothing  # type: ignore[attr-defined]


def test_the_kind_of_a_path_needs_no_parser() -> None:
    code = "import sys; from lessons_kb.cards import kind_of; print(*sys.modules)"
    # Without site, whose .pth files import what they like.
    run = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(cards.__file__).parents[2])},
    )
    assert "lessons_kb.cards.kinds" in run.stdout.split()
    assert not HEAVY & set(run.stdout.split())
