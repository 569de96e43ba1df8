"""Find commands of ours that an agent reads twice, from the user's folder and the project."""

from __future__ import annotations

import os
from collections.abc import Iterator

from lessons_kb.agents.install.settings_files import WRITTEN, Entries, Request, find_targets
from lessons_kb.agents.table import AGENTS
from lessons_kb.collection.health import Health
from lessons_kb.errors import StorageError
from lessons_kb.store.files import shown
from lessons_kb.store.foreign_settings import read_settings_file
from lessons_kb.values import frozen

_NAMES = Entries(hook="lessons-hook", server="lessons")


@frozen
class SecondCopy:
    """A command that is configured in two folders that the same agent reads."""

    agent: str
    own: str
    """The file in the user's folder."""
    projects: str
    """The file in the project."""
    removal: Request
    """The installation whose removal deletes the copy in the project."""

    @property
    def detail(self) -> str:
        """The places of the two copies, and how the agent treats them."""
        places = f"{shown(self.own)} and {shown(self.projects)}"
        return f"one command is configured twice, in {places}: {AGENTS[self.agent].second_copy}"

    @property
    def fix(self) -> str:
        """The two commands, each of which removes one copy."""
        shared = " --shared" if self.removal.shared else ""
        here = f"lessons uninstall {self.agent} --scope project{shared}"
        return f"run `{here}`, or `lessons uninstall {self.agent}` to keep the project's"


def find_second_copy(agent: str, project: str) -> SecondCopy | None:
    """Return the first command of ours that an agent reads twice in a project."""
    row = AGENTS[agent]
    if row.shares or not row.command_file or not row.has_project:
        return None
    own = Request(agent=agent, project=project, entries=_NAMES)
    shared = bool(row.personal_file)
    projects = Request(agent=agent, project=project, scope="project", shared=shared, entries=_NAMES)
    pairs = zip(_list_commands(own), _list_commands(projects), strict=True)
    for mine, theirs in pairs:
        is_one_file = os.path.realpath(mine) == os.path.realpath(theirs)
        if not is_one_file and _is_ours(mine) and _is_ours(theirs):
            return SecondCopy(agent=agent, own=mine, projects=theirs, removal=projects)
    return None


def check_second_copies(project: str) -> Iterator[Health]:
    """Yield a line for each agent that reads a command of ours twice. Never raises."""
    for agent in AGENTS:
        copy = find_second_copy(agent, project)
        if copy is not None:
            yield Health("warning", "agent", f"{agent}: {copy.detail}", copy.fix)


def _list_commands(request: Request) -> list[str]:
    """List the files of the commands that an installation writes."""
    targets = find_targets(request)
    return [
        target.path
        for target in targets
        if any(piece.form == "offer" for piece in target.pieces) and not target.part_of
    ]


def _is_ours(path: str) -> bool:
    try:
        data = read_settings_file(path)
    except StorageError:
        return False
    return data is not None and WRITTEN.encode() in data
