"""Readings of the stations."""

from dataclasses import dataclass
from datetime import time


@dataclass
class Reading:
    """A water level in metres. The value is None if the station did not answer."""

    station: str
    at: time
    value: float | None
