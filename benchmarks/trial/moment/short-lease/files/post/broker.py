"""The client of the message broker."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass
class Message:
    """A message of a queue."""

    id: str
    text: str


class Broker:
    """Takes messages from queues."""

    def __init__(self, ask: Callable[..., Any]) -> None:
        self._ask = ask

    def take(self, queue: str, lease: int = 2) -> Message | None:
        """Return the next message of a queue, or None if the queue is empty."""
        answer = self._ask("take", queue=queue, lease=lease)
        return Message(**answer) if answer else None

    def acknowledge(self, message: Message) -> None:
        """Remove a message from its queue."""
        self._ask("acknowledge", id=message.id)
