"""Carriers, one module each."""

from __future__ import annotations

from parcelhub.carriers.base import Carrier, CarrierError
from parcelhub.carriers.northpost import NorthPost
from parcelhub.carriers.swiftway import Swiftway
from parcelhub.transport import Transport

CARRIERS = {"northpost": NorthPost, "swiftway": Swiftway}


def make_carrier(name: str, key: str, transport: Transport | None = None) -> Carrier:
    """Return the carrier of that name."""
    try:
        return CARRIERS[name](key, transport or Transport())
    except KeyError:
        raise CarrierError(f"unknown carrier {name!r}") from None


__all__ = ["CARRIERS", "Carrier", "CarrierError", "NorthPost", "Swiftway", "make_carrier"]
