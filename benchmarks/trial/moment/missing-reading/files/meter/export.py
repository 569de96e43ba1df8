"""Files for others."""

from meter.readings import Reading


def list_stations(readings: list[Reading]) -> str:
    """Return the names of the stations, one a line."""
    return "\n".join(sorted({reading.station for reading in readings})) + "\n"
