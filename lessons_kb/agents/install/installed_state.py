"""Which agents are set up, and whether what stands in their settings still works."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator

from lessons_kb.agents.capabilities import AGENTS
from lessons_kb.agents.install.hook_entries import HOOK, TOOL
from lessons_kb.agents.install.install_agent import find_installed
from lessons_kb.agents.install.own_programs import NAMES
from lessons_kb.agents.install.settings_files import Entries, Request, is_committed, is_present
from lessons_kb.agents.install.slash_commands import WRITTEN
from lessons_kb.brain.doctor.health import FIX, Health
from lessons_kb.errors import StorageError
from lessons_kb.store.agent_settings import read_settings_file

_PROGRAM = re.compile(r"[\"'](?P<path>[^\"'\r\n]*[\\/]lessons(?:-hook)?(?:\.exe)?)[\"' ]")


def check_agents(project: str) -> list[Health]:
    """Return a line for each agent that is set up or found here; nothing is raised."""
    return [line for agent in AGENTS for line in _check(agent, project)]


def find_requests(agent: str, project: str) -> Iterator[tuple[Request, list[str]]]:
    """Yield each installation of an agent that is remembered, with its files."""
    seen: set[str] = set()
    for scope, shared in (("user", False), ("project", False), ("project", True)):
        request = Request(
            agent=agent,
            project=project,
            scope=scope,
            shared=shared,
            entries=Entries(**NAMES),
        )
        fresh = [path for path in find_installed(request) if path not in seen]
        seen.update(fresh)
        if fresh:
            yield request, fresh


def find_gone(text: str) -> str:
    """Return the path of a program of ours that settings call and that is not there, or ""."""
    for match in _PROGRAM.finditer(text):
        program = match["path"].replace("\\\\", "\\")
        if os.path.isabs(program) and not os.path.exists(program):
            return program
    return ""


def find_route(text: str) -> str:
    """Return by which route the hooks in these settings reach us, "" where there are none."""
    if TOOL in text and "mcp_tool" in text:
        return "mcp"
    return "command" if HOOK in text else ""


def _check(agent: str, project: str) -> Iterator[Health]:
    present = False
    for request, paths in find_requests(agent, project):
        present = True
        lines = (_look(request, path) for path in paths)
        yield from (line for line in lines if not line.detail.startswith(f"{agent}: command"))
    if not present and is_present(agent):
        detail = f"{agent} is installed but not connected (`lessons install {agent}`)"
        yield Health(level="ok", what="agent", detail=detail)


def _look(request: Request, path: str) -> Health:
    agent = request.agent
    options = "" if request.scope == "user" else " --scope project"
    options += " --shared" if request.shared else ""
    fix = f"run `lessons install {agent}{options}` again"
    try:
        text = (read_settings_file(path) or b"").decode("utf-8", "replace")
    except StorageError as error:
        detail, _, fix = str(error).partition("; ")
        return Health(level="error", what="agent", detail=f"{agent}: {detail}", fix=fix)
    if "lessons" not in text:
        detail = f"{agent}: the entries in {path} are missing"
        return Health(level="warning", what="agent", detail=detail, fix=fix)
    if program := find_gone(text):
        detail = f"{agent}: {path} calls {program}, which no longer exists"
        return Health(level="error", what="agent", detail=detail, fix=f"{fix}, or {FIX}")
    bare = is_committed(request)
    if bare and shutil.which(NAMES["hook"]) is None:
        detail = f"{agent}: {path} calls {NAMES['hook']}, which is not on your PATH"
        return Health(level="warning", what="agent", detail=detail, fix="install it for yourself")
    route = find_route(text)
    other = "command" if WRITTEN in text else "MCP server"
    what = f"hooks by {route}" if route else other
    scope = "shared" if request.shared else request.scope
    return Health(level="ok", what="agent", detail=f"{agent}: {what}, {scope}: {path}")
