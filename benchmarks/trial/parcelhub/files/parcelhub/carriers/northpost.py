"""NorthPost: single parcels, and a van that fetches them."""

from __future__ import annotations

from datetime import date

from parcelhub.carriers.base import Carrier
from parcelhub.models import Parcel


class NorthPost(Carrier):
    """Two services of different age: labels (v3) and pickups (v1)."""

    name = "northpost"
    base_url = "https://api.northpost.example"

    def create_label(self, parcel: Parcel) -> str:
        to = parcel.recipient
        body = {
            "weight": parcel.weight_g,
            "to": {
                "name": to.name,
                "street": to.street,
                "zip": to.postcode,
                "city": to.city,
                "country": to.country,
            },
        }
        response = self.transport.request(
            "POST", f"{self.base_url}/v3/labels", headers=self.headers(), body=body
        )
        return self.check(response).body["tracking"]

    def book_pickup(self, day: date, count: int) -> str:
        """Order the van for a day; return the booking's number.

        A second booking for a day replaces the first. The old service knows X-Api-Key and Accept
        and answers 400 to a request with any other header.
        """
        response = self.transport.request(
            "PUT",
            f"{self.base_url}/v1/pickups/{day.isoformat()}",
            headers=self.headers(),
            body={"parcels": count},
        )
        return self.check(response).body["booking"]
