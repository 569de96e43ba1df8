"""Find our own two programs, so that agents outside the virtual environment can start them."""

from __future__ import annotations

import os
import sys
import sysconfig
from importlib.util import find_spec

from lessons_kb.agents.install.launcher import launcher_path
from lessons_kb.agents.install.settings_files import Entries
from lessons_kb.errors import InputError
from lessons_kb.process.find_program import find_program

NAMES = {"hook": "lessons-hook", "server": "lessons"}


def find_entries(*, bare: bool) -> Entries:
    """Return how agents call us: bare names, or the absolute paths of this installation.

    Raises InputError when a program is not where Python's installers put it, nor on the PATH.
    """
    if bare:
        return Entries(**NAMES)
    found = {what: _find(name) for what, name in NAMES.items()}
    return Entries(**{**found, "hook": launcher_path() or found["hook"]})


def has_sdk() -> bool:
    """Tell whether the SDK that ``lessons mcp`` needs is installed."""
    return find_spec("mcp") is not None


def _find(name: str) -> str:

    # The interpreter's own folder, not where its link leads: a virtual environment is a link.
    places = (os.path.dirname(sys.executable), sysconfig.get_path("scripts"))
    for place in places:
        if found := find_program(name, os.path.abspath(place)):
            return found
    if found := find_program(name):
        return found
    raise InputError(f"{name} is missing beside {sys.executable}; reinstall lessons-kb")
