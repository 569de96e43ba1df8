"""Crush: it has one hook, before a call, and shows the hook's text with the call's result.

This is based on the source of version 0.90. The program itself was not available for a test.
"""

from __future__ import annotations

from typing import Any

from lessons_kb.agents.payloads import Payload
from lessons_kb.session.event_types import Answer, HookEvent


def read(_payload: Payload, _name: str, _event: HookEvent) -> None:
    """Do nothing. The payload has only the common fields, and its calls have no id."""


def write(_name: str, answer: Answer, _message: str) -> dict[str, Any]:
    """Return the JSON object of an answer, never with the decision "allow".

    With "allow", Crush would skip its own question to the user.
    """
    if answer.refusal:
        return {"decision": "deny", "reason": answer.refusal}
    return {"context": answer.context} if answer.context else {}
