"""Uploads to the archive."""

from collections.abc import Callable

from sync.settings import DEFAULTS


def upload(data: bytes, send: Callable[..., bool]) -> bool:
    """Upload some data, and return whether it arrived."""
    return send(data, timeout=DEFAULTS["timeout"])
