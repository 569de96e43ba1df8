"""What `init` and `trust` share."""

from __future__ import annotations

from typing import Annotated

import typer

from lessons_kb.cli.options import say

Folder = Annotated[str, typer.Argument(metavar="DIR", help="Folder of the brain.")]


def say_goes_by_path(root: str) -> None:
    """Say so where the trust in a brain goes by its path."""
    from lessons_kb.store.trust import goes_by_path

    if goes_by_path(root):
        say(f"{root} is read-only: trust is tied to its path and applies to any folder there")
