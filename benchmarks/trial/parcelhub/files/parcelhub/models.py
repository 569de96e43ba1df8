"""Plain values: addresses, scans, parcels."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

STATUSES = ("new", "labelled", "shipped", "delivered", "returned", "lost")


@dataclass
class Address:
    name: str
    street: str
    postcode: str
    city: str
    country: str = "DE"
    company: str = ""
    phone: str = ""


@dataclass
class Scan:
    """What a carrier's scanner saw."""

    at: datetime
    place: str
    code: str


@dataclass
class Parcel:
    id: str
    recipient: Address
    weight_g: int
    length_cm: int = 0
    width_cm: int = 0
    height_cm: int = 0
    carrier: str = "northpost"
    tracking: str = ""
    status: str = "new"
    reason: str = ""
    scans: list[Scan] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise ValueError(f"unknown status {self.status!r}")
        if self.weight_g <= 0:
            raise ValueError("a parcel weighs something")

    def latest_scan(self) -> Scan | None:
        """Return the newest scan; carriers deliver them in any order."""
        return self.scans[-1] if self.scans else None

    def to_json(self) -> dict[str, Any]:
        data = asdict(self)
        for scan in data["scans"]:
            scan["at"] = scan["at"].isoformat()
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Parcel:
        data = dict(data)
        data["recipient"] = Address(**data["recipient"])
        data["scans"] = [
            Scan(datetime.fromisoformat(s["at"]), s["place"], s["code"]) for s in data["scans"]
        ]
        return cls(**data)
