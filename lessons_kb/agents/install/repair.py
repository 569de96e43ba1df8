"""Set an agent up again whose settings call a program of ours that has moved away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from lessons_kb.agents.capabilities import AGENTS
from lessons_kb.agents.install.install_agent import install
from lessons_kb.agents.install.installed_state import find_gone, find_requests, find_route
from lessons_kb.agents.install.own_programs import find_entries, has_sdk
from lessons_kb.agents.install.settings_files import Request
from lessons_kb.brain.doctor.health import Health
from lessons_kb.errors import LessonsError
from lessons_kb.store.agent_settings import read_settings_file


def fix_agents(project: str) -> list[Health]:
    """Write this installation's paths where ours have vanished; nothing is raised.

    Only what `install` remembers to have written, in the same scope and by the same route. What
    the user took out stays out.
    """
    return [
        line
        for agent in AGENTS
        for request, paths in find_requests(agent, project)
        for line in _fix(request, paths)
    ]


def _fix(request: Request, paths: Sequence[str]) -> Iterator[Health]:
    try:
        texts = {p: (read_settings_file(p) or b"").decode("utf-8", "replace") for p in paths}
        if not any(map(find_gone, texts.values())):
            return
        routes = [route for route in map(find_route, texts.values()) if route]
        again = replace(
            request,
            via=routes[0] if routes else "command",
            entries=find_entries(bare=False),
            server=has_sdk() and _has_server(texts.values()),
        )
        changes = install(again)
    except LessonsError as error:
        detail, _, fix = str(error).partition("; ")
        yield Health(level="error", what="agent", detail=f"{request.agent}: {detail}", fix=fix)
        return
    for change in changes:
        if change.action != "unchanged":
            detail = f"{request.agent}: {change.path} calls {again.entries.hook}"
            yield Health(level="fixed", what="agent", detail=detail)


def _has_server(texts: Iterable[str]) -> bool:
    """Tell whether any of these settings starts our server: its argument is ``mcp``."""
    return any('"mcp"' in text for text in texts)
