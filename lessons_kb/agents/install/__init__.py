"""Set our hooks and server up in the settings of coding agents, and take them out again."""

from __future__ import annotations

from importlib import import_module

from lessons_kb.agents.install.install_agent import Change as Change
from lessons_kb.agents.install.install_agent import install as install
from lessons_kb.agents.install.install_agent import uninstall as uninstall
from lessons_kb.agents.install.settings_files import Entries as Entries
from lessons_kb.agents.install.settings_files import Request as Request

_HOMES = {"Entries": "places", "Request": "places"}

__all__ = ["Change", "Entries", "Request", "install", "uninstall"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(name)

    home = _HOMES.get(name, "setup")
    return getattr(import_module(f"lessons_kb.agents.install.{home}"), name)
