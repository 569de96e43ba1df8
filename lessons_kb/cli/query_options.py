"""What `preflight`, `check` and `search` share: their options, and the change of a revision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lessons_kb.cli.options import (
    say,
)

if TYPE_CHECKING:
    from lessons_kb.brain.brain import Brain
    from lessons_kb.process.git import Diff

Paths = Annotated[
    list[str] | None,
    typer.Option("--path", metavar="FILE", help="File being worked on; repeatable."),
]
Revision = Annotated[
    str | None,
    typer.Option(
        "--diff", metavar="[REV]", help="Use the diff against REV; default: uncommitted changes."
    ),
]
Stage = Annotated[str | None, typer.Option(help="Current workflow stage.")]
Session = Annotated[str | None, typer.Option(help="Session whose earlier injections count.")]


def say_stale(brain: Brain) -> None:
    """Say of each brain whose previous index was searched why."""
    for layer in brain.layers:
        if layer.stale:
            say(f"{layer.alias}: searched the previous index, because {layer.stale}")


def read_diff(brain: Brain, revision: str) -> Diff:
    """Return the change of a revision, of the work tree for ""."""
    from lessons_kb.brain.post_check.work_done import read_change

    return read_change(brain, revision)
