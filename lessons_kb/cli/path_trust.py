"""A message about brains whose trust is tied to their path."""

from __future__ import annotations

from lessons_kb.cli.output import say
from lessons_kb.store.trust import goes_by_path


def say_goes_by_path(root: str) -> None:
    """Print a message if the trust in a brain is tied to its path."""
    if goes_by_path(root):
        say(f"{root} is read-only: trust is tied to its path and applies to any folder there")
