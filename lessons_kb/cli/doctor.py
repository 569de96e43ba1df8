"""`lessons doctor` and `lessons upgrade`: what is in order, what is not, and the fix."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence

import typer

from lessons_kb.agents.install.install_agent import check_agents, fix_agents
from lessons_kb.brain.discovery import look
from lessons_kb.cli.options import FAIL_ON, FailOn, find_project, open_brain
from lessons_kb.cli.output import print_answer
from lessons_kb.collection.doctor import MARKS, Health, apply_fixes, check_health, find_last_calls
from lessons_kb.errors import BrainNotFound, Untrusted
from lessons_kb.model import as_data
from lessons_kb.process.programs import upgrade_command
from lessons_kb.service.daemon import check_daemon
from lessons_kb.text.sanitize import clean_line
from lessons_kb.version import __version__


def doctor(fix: bool = False, fail_on: FailOn = "error") -> None:
    """Check brain, index, agents and permissions; suggest fixes.

    ✓ was seen to work, – is off or was not seen yet, ⚠ and ✗ come with a fix.

    Example: lessons doctor --fix

    --fix  Apply the safe fixes (caches, permissions, hooks); cards stay as they are.
    """
    here, project = os.path.realpath(os.getcwd()), find_project()
    found, brains = look(here), None
    with contextlib.suppress(BrainNotFound, Untrusted):  # which is a finding below
        brains = open_brain(found=found)
    lines = [*apply_fixes(brains), *fix_agents(project)] if fix else []
    calls = find_last_calls(brains)
    lines += check_health(brains, here, found=found, calls=calls)
    lines += [*check_agents(project, calls), *check_daemon(os.environ)]
    _print_lines(lines)
    if any(line.level in FAIL_ON[fail_on] for line in lines):
        raise typer.Exit(1)


def upgrade() -> None:
    """Bring hooks to this version after an upgrade.

    Writes anew what another version wrote into agents' settings, for all projects and for this
    one. Fetches nothing: the last line is the command that gets a newer release here.

    Example: lessons upgrade
    """
    project = find_project()
    found = (*fix_agents(project), *check_agents(project), *check_daemon(os.environ))
    lines = [line for line in found if line.level in ("warning", "error", "fixed")]
    if not lines:
        detail = f"hooks, plugins and daemon are those of version {__version__}"
        lines = [Health("ok", "agents", detail)]
    fix = f"for a newer one, run `{upgrade_command()}`"
    _print_lines([*lines, Health("ok", "package", f"lessons-kb {__version__}", fix)])


def _print_lines(lines: Sequence[Health]) -> None:
    before_fix = "\n  " if sys.stdout.isatty() else " "
    told = []
    for line in lines:
        done = "fixed: " if line.level == "fixed" else ""
        fix = f"{before_fix}→ {clean_line(line.fix)}" if line.fix else ""
        told.append(f"{MARKS[line.level]} {line.what}: {done}{clean_line(line.detail)}{fix}")
    print_answer([as_data(line) for line in lines], *told)
