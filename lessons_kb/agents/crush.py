"""Crush: one hook, before a call; what it says comes with the call's result.

Read in the source of version 0.90; the program itself was not to be had.
"""

from __future__ import annotations

from typing import Any

from lessons_kb.agents.payloads import Payload
from lessons_kb.session.state import Answer, HookEvent


def read(_payload: Payload, _name: str, _event: HookEvent) -> None:
    """Nothing stands in its payload besides what most tell; calls have no id."""


def write(_name: str, answer: Answer, _message: str) -> dict[str, Any]:
    """Return what Crush takes: a decision to allow would spare the user its own question."""
    if answer.refusal:
        return {"decision": "deny", "reason": answer.refusal}
    return {"context": answer.context} if answer.context else {}
