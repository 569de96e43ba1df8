"""Is everything in order? One line each, with the fix."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from lessons_kb.brain.discovery import tell_unclaimed
from lessons_kb.brain.doctor import brain_checks, environment_checks, fixes, server_check
from lessons_kb.brain.doctor.health import Health
from lessons_kb.errors import LessonsError

if TYPE_CHECKING:
    from lessons_kb.brain.layers import Layers


def check_health(brain: Layers | None, directory: str) -> list[Health]:
    """Examine the brains that are open and those that wait at ``directory``; nothing is raised.

    Indexes are brought up to date on the way, as any search does.
    """
    lines = collect((*environment_checks.CHECKS, server_check.check_server), directory)
    if brain is None:
        waits = any(line.what == "trust" for line in lines)
        return [*lines, _no_brain(directory, waits=waits)]
    for layer in brain.layers:
        lines.append(Health(level="ok", what="brain", detail=f"{layer.root} ({layer.alias})"))
        lines += _without_echo(collect(brain_checks.CHECKS, layer))
    return lines


def _no_brain(directory: str, *, waits: bool) -> Health:
    """Say that none can be used; one that ``waits`` for trust has been named, with its fix."""
    if waits:
        return Health(level="error", what="brain", detail="none that you trust")
    if hint := tell_unclaimed(directory):
        detail, _, fix = hint.partition("; ")
        return Health(level="error", what="brain", detail=detail, fix=fix)
    fix = "run `lessons init` to create one here, or `lessons init --user` for all projects"
    return Health(level="error", what="brain", detail="none here", fix=fix)


def _without_echo(lines: Sequence[Health]) -> list[Health]:
    """Leave out an error that an earlier check has told already, such as one of the settings."""
    told: dict[object, Health] = {}
    for place, line in enumerate(lines):
        told.setdefault((line.detail, line.fix) if line.level == "error" else place, line)
    return list(told.values())


def apply_fixes(brain: Layers | None) -> list[Health]:
    """Put right what is safe to put right and say what was done; nothing is raised.

    Caches, leases, permissions of state folders, the age of journal and trash. Never a card, never
    what a damaged journal left. Done twice, the second finds nothing to do.
    """
    done = collect(fixes.AROUND, None)
    for layer in brain.layers if brain is not None else ():
        done += collect(fixes.FIXES, layer)
    return done


def collect(checks: Sequence[Callable[..., Iterator[Health]]], about: object) -> list[Health]:
    """Return the lines of all checks; one that fails is itself a finding."""
    lines: list[Health] = []
    for check in checks:
        what = check.__name__.removeprefix("check_").removeprefix("fix_").replace("_", " ")
        try:
            lines += check(about)
        except LessonsError as error:
            detail, _, fix = str(error).partition("; ")
            lines.append(Health(level="error", what=what, detail=detail, fix=fix))
        except (OSError, sqlite3.Error) as error:
            fix = "check the disk and the permissions of the folder"
            lines.append(Health(level="error", what=what, detail=str(error), fix=fix))
    return lines
