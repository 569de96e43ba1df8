"""Times as they are kept: local, naive, to the minute."""

from __future__ import annotations

from datetime import datetime

FORMAT = "%Y-%m-%dT%H:%M"


def to_text(at: datetime) -> str:
    return at.strftime(FORMAT)


def from_text(text: str) -> datetime:
    return datetime.strptime(text, FORMAT)
