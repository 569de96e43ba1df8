"""The desk at which a human looks through the cards and the drafts: full screen, or line by line.

``ManageApp(Desk(brain))`` is the textual application; its ``run_test`` drives it without a
terminal. The names are loaded on first use: textual costs a fifth of a second.
"""

from __future__ import annotations

from importlib import import_module

from lessons_kb.tui.app import ManageApp
from lessons_kb.tui.desk import Desk
from lessons_kb.tui.prompt import run_prompt

__all__ = ["Desk", "ManageApp", "run_prompt"]

_HOMES = {"Desk": "desk", "ManageApp": "app", "run_prompt": "prompt"}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    value: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
