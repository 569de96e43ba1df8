"""Which agents are set up, and whether what stands in their settings still works."""

from __future__ import annotations

import os
import re

from lessons_kb.agents.install.places import Entries, Request, is_present
from lessons_kb.agents.install.programs import NAMES
from lessons_kb.agents.install.setup import find_installed
from lessons_kb.agents.table import AGENTS
from lessons_kb.brain.doctor import Health
from lessons_kb.errors import StorageError
from lessons_kb.storage.foreign import read_settings_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_PROGRAM = re.compile(r"[\"'](?P<path>[^\"'\r\n]*[\\/]lessons(?:-hook)?(?:\.exe)?)[\"' ]")


def check_agents(project: str) -> list[Health]:
    """Return a line for each agent that is set up or found here; nothing is raised."""
    return [line for agent in AGENTS for line in _check(agent, project)]


def _check(agent: str, project: str) -> Iterator[Health]:
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
        yield from (_look(agent, path) for path in fresh)
    if not seen and is_present(agent):
        detail = f"{agent} is here, lessons is not set up in it (`lessons install {agent}`)"
        yield Health(level="ok", what="agent", detail=detail)


def _look(agent: str, path: str) -> Health:
    mend = f"run `lessons install {agent}` again"
    try:
        text = (read_settings_file(path) or b"").decode("utf-8", "replace")
    except StorageError as error:
        detail, _, mend = str(error).partition("; ")
        return Health(level="error", what="agent", detail=f"{agent}: {detail}", mend=mend)
    if "lessons" not in text:
        detail = f"{agent}: what was installed in {path} is gone"
        return Health(level="warning", what="agent", detail=detail, mend=mend)
    for match in _PROGRAM.finditer(text):
        program = match["path"].replace("\\\\", "\\")
        if os.path.isabs(program) and not os.path.exists(program):
            detail = f"{agent}: {path} calls {program}, which is gone"
            return Health(level="error", what="agent", detail=detail, mend=mend)
    return Health(level="ok", what="agent", detail=f"{agent}: {path}")
