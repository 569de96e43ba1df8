"""Settings and their defaults."""

DEFAULTS = {
    "folder": "measurements",
    "timeout": 30,
}
