"""Parcels in a JSON file, or in memory only."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

from parcelhub.models import Parcel


class ParcelNotFound(KeyError):
    """No such parcel."""


class ParcelStore:
    """All parcels, by id."""

    def __init__(self, path: str | None = None) -> None:
        self.path = path
        self._parcels: dict[str, Parcel] = {}
        if path and os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                for data in json.load(file):
                    parcel = Parcel.from_json(data)
                    self._parcels[parcel.id] = parcel

    def __iter__(self) -> Iterator[Parcel]:
        return iter(self._parcels.values())

    def __len__(self) -> int:
        return len(self._parcels)

    def add(self, parcel: Parcel) -> None:
        if parcel.id in self._parcels:
            raise ValueError(f"there is a parcel {parcel.id!r} already")
        self._parcels[parcel.id] = parcel
        self.save()

    def get(self, parcel_id: str) -> Parcel:
        try:
            return self._parcels[parcel_id]
        except KeyError:
            raise ParcelNotFound(parcel_id) from None

    def with_status(self, status: str) -> list[Parcel]:
        return [parcel for parcel in self if parcel.status == status]

    def save(self) -> None:
        if self.path:
            temporary = f"{self.path}.new"
            with open(temporary, "w", encoding="utf-8") as file:
                json.dump([parcel.to_json() for parcel in self], file, indent=1)
            os.replace(temporary, self.path)
