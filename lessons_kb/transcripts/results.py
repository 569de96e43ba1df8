"""How a call of a tool ended, as an agent's own record has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """One ended call."""

    id: str
    tool: str
    """"" when the call itself was not among the lines read."""
    arguments: Mapping[str, Any]
    failed: bool
    text: str
    at: float = 0.0
    """When, in seconds since the epoch; 0 where the record does not say."""
    cancelled: bool = False
    """The user stopped it while it ran."""
    interrupt: bool = False
    """Nothing ended: the user stopped the agent, ``id`` is that of the line that says so."""
