"""What all carriers share."""

from __future__ import annotations

from parcelhub.models import Parcel
from parcelhub.transport import Response, Transport


class CarrierError(Exception):
    """A carrier refused."""


class Carrier:
    """A carrier with its key and the way to reach it."""

    name = ""
    base_url = ""

    def __init__(self, key: str, transport: Transport) -> None:
        self.key = key
        self.transport = transport

    def headers(self) -> dict[str, str]:
        return {"X-Api-Key": self.key, "Accept": "application/json"}

    def create_label(self, parcel: Parcel) -> str:
        """Buy a label; return its tracking number."""
        raise NotImplementedError

    def check(self, response: Response) -> Response:
        if response.status >= 400:
            reason = response.body.get("error", "no reason given")
            raise CarrierError(f"{self.name}: {response.status} {reason}")
        return response
