"""Tell others what happened: the shop and the warehouse listen."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

Listener = Callable[[str, dict[str, Any]], None]
log = logging.getLogger(__name__)


class EventBus:
    """Hands each event to all listeners; a listener that fails does not stop the others."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def subscribe(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def publish(self, name: str, payload: dict[str, Any]) -> None:
        for listener in self._listeners:
            try:
                listener(name, payload)
            except Exception:
                log.exception("listener failed on %s", name)
