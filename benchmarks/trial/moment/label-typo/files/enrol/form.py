"""The form as text."""

from enrol.labels import LABELS


def render(fields: list[str]) -> str:
    """Return one line for each field."""
    return "\n".join(f"{LABELS[field]}: ________" for field in fields)
