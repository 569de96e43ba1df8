"""Swiftway: cheap, slow, for many parcels at once."""

from __future__ import annotations

from parcelhub.carriers.base import Carrier
from parcelhub.models import Parcel


class Swiftway(Carrier):
    name = "swiftway"
    base_url = "https://swiftway.example/api"

    def create_label(self, parcel: Parcel) -> str:
        body = {
            "grams": parcel.weight_g,
            "receiver": parcel.recipient.name,
            "address": f"{parcel.recipient.street}, {parcel.recipient.postcode}"
            f" {parcel.recipient.city}",
            "country": parcel.recipient.country,
        }
        response = self.transport.request(
            "POST", f"{self.base_url}/labels", headers=self.headers(), body=body
        )
        return self.check(response).body["code"]

    def label_state(self, tracking: str) -> str:
        """Return the carrier's word for where a label stands."""
        response = self.transport.request(
            "GET", f"{self.base_url}/labels/{tracking}", headers=self.headers()
        )
        return self.check(response).body["state"]
