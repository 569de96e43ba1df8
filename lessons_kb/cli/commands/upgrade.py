"""`lessons upgrade`: update the installed hooks."""

from __future__ import annotations

import os

from lessons_kb.agents.install.check_clients import check_clients
from lessons_kb.agents.install.install_agent import check_agents, fix_agents
from lessons_kb.cli.health_lines import print_lines
from lessons_kb.cli.options import find_project
from lessons_kb.collection.health import Health
from lessons_kb.process.installation import upgrade_command
from lessons_kb.service.daemon_client import check_daemon
from lessons_kb.version import __version__


def upgrade() -> None:
    """Update the installed hooks after an upgrade of the package.

    The command rewrites the entries that another version wrote into agents' settings, both for all
    projects and for this project. It downloads nothing: its last line is the command that installs
    a newer release.

    Example: lessons upgrade
    """
    project = find_project()
    fixed = fix_agents(project)
    agents = check_agents(project)
    clients = check_clients(project)
    results = (*fixed, *agents, *clients, *check_daemon(os.environ))
    lines = [line for line in results if line.level in ("warning", "error", "fixed")]
    if not lines:
        detail = f"hooks, plugins and daemon have version {__version__}"
        lines = [Health("ok", "agents", detail)]
    fix = f"for a newer one, run `{upgrade_command()}`"
    print_lines([*lines, Health("ok", "package", f"lessons-kb {__version__}", fix)])
