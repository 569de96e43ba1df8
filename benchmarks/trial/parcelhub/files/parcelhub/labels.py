"""The text that the depot's label printer takes: one line of the label a line."""

from __future__ import annotations

from parcelhub.models import Parcel


def render_label(parcel: Parcel) -> str:
    """Return the lines of a label; the printer adds the bar code of the last one."""
    to = parcel.recipient
    lines = [
        to.name,
        to.street,
        f"{to.postcode} {to.city}",
        to.country,
        parcel.tracking,
    ]
    return "\n".join(lines)
