"""`lessons upgrade`: bring hooks to this version."""

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
    """Bring hooks to this version after an upgrade.

    Writes anew what another version wrote into agents' settings, for all projects and for this
    one. Fetches nothing: the last line is the command that gets a newer release here.

    Example: lessons upgrade
    """
    project = find_project()
    fixed, agents, clients = fix_agents(project), check_agents(project), check_clients(project)
    found = (*fixed, *agents, *clients, *check_daemon(os.environ))
    lines = [line for line in found if line.level in ("warning", "error", "fixed")]
    if not lines:
        detail = f"hooks, plugins and daemon are those of version {__version__}"
        lines = [Health("ok", "agents", detail)]
    fix = f"for a newer one, run `{upgrade_command()}`"
    print_lines([*lines, Health("ok", "package", f"lessons-kb {__version__}", fix)])
