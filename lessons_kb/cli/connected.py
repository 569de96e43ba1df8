"""The agents that the records of installations connect. No settings file is read."""

from __future__ import annotations

import json

from lessons_kb.cli.options import find_project
from lessons_kb.store.foreign_settings import list_changes

_GIT = "git"


def list_connected() -> list[str]:
    """Return the names of the agents that are connected for all projects or for this project."""
    names: set[str] = set()
    project = find_project()
    for record in list_changes():
        for holder in record.get("holders", {}):
            name, _scope, folder = json.loads(holder)
            if folder in ("", project) and name != _GIT:
                names.add(name)
    return sorted(names)


def advise_agents() -> str:
    """Return how lessons reach agents from here, for a user who has not seen a lesson arrive."""
    if names := list_connected():
        return f"the next prompt of {' or '.join(names)} may get one"
    return "`lessons setup` connects your agents"
