"""What happens to a parcel."""

from __future__ import annotations

from parcelhub.carriers import Carrier
from parcelhub.events import EventBus
from parcelhub.models import Parcel, Scan
from parcelhub.store import ParcelStore


class ParcelService:
    """Changes parcels, keeps them, tells the others."""

    def __init__(self, store: ParcelStore, bus: EventBus, carriers: dict[str, Carrier]) -> None:
        self.store = store
        self.bus = bus
        self.carriers = carriers

    def label(self, parcel_id: str) -> Parcel:
        """Buy the label of a new parcel."""
        parcel = self.store.get(parcel_id)
        if parcel.status != "new":
            raise ValueError(f"parcel {parcel.id} is {parcel.status}")
        parcel.tracking = self.carriers[parcel.carrier].create_label(parcel)
        parcel.status = "labelled"
        self.store.save()
        return parcel

    def mark_shipped(self, parcel_id: str) -> Parcel:
        parcel = self.store.get(parcel_id)
        parcel.status = "shipped"
        self.store.save()
        self.bus.publish("parcel_shipped", {"id": parcel.id, "tracking": parcel.tracking})
        return parcel

    def mark_delivered(self, parcel_id: str) -> Parcel:
        parcel = self.store.get(parcel_id)
        parcel.status = "delivered"
        self.store.save()
        self.bus.publish("parcel_delivered", {"id": parcel.id, "tracking": parcel.tracking})
        return parcel

    def add_scan(self, parcel_id: str, scan: Scan) -> Parcel:
        parcel = self.store.get(parcel_id)
        parcel.scans.append(scan)
        self.store.save()
        return parcel
