"""Add our hooks and server to the settings of coding agents, and remove them again.

It must not import ``library``, ``tui``, ``service`` or ``cli``.
Start reading in ``install_agent.py``: ``install`` and ``uninstall``.
"""

from __future__ import annotations

from lessons_kb.agents.install.install_agent import install as install
from lessons_kb.agents.install.install_agent import uninstall as uninstall
from lessons_kb.agents.install.settings_files import Entries as Entries
from lessons_kb.agents.install.settings_files import Request as Request

__all__ = ["Entries", "Request", "install", "uninstall"]
