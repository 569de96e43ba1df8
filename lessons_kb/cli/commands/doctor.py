"""`lessons doctor`: check the installation, and suggest fixes."""

from __future__ import annotations

import contextlib
import os
from typing import Annotated

import typer
from typer import Option

from lessons_kb.agents.install.check_clients import advise_gates, check_clients
from lessons_kb.agents.install.install_agent import check_agents, fix_agents
from lessons_kb.agents.install.second_copies import check_second_copies
from lessons_kb.brain.discovery import look
from lessons_kb.cli.health_lines import print_lines
from lessons_kb.cli.options import FAIL_ON, FailOn, find_project, open_brain
from lessons_kb.collection.doctor import apply_fixes, check_health, find_last_calls
from lessons_kb.errors import BrainNotFound, Untrusted
from lessons_kb.service.daemon_client import check_daemon


def doctor(
    fix: Annotated[
        bool,
        Option(
            "--fix",
            help="Fix caches, permissions and hooks; cards are not changed.",
        ),
    ] = False,
    fail_on: FailOn = "error",
) -> None:
    """Check brain, index, agents and permissions; suggest fixes.

    ✓ works, – is off or has not been used yet, ⚠ and ✗ come with a fix.

    Example: lessons doctor --fix
    """
    here = os.path.realpath(os.getcwd())
    project = find_project()
    discovery = look(here)
    brains = None
    with contextlib.suppress(BrainNotFound, Untrusted):  # check_health reports it
        brains = open_brain(discovery, hints=False)
    lines = [*apply_fixes(brains), *fix_agents(project)] if fix else []
    calls = find_last_calls(brains)
    lines += check_health(brains, here, found=discovery, calls=calls)
    lines += [*check_agents(project, calls), *check_second_copies(project)]
    lines += check_clients(project)
    lines += advise_gates(project, brains) if brains is not None else ()
    lines += check_daemon(os.environ)
    print_lines(lines)
    if any(line.level in FAIL_ON[fail_on] for line in lines):
        raise typer.Exit(1)
