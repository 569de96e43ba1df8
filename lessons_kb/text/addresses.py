"""Parse and check the addresses of servers."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from lessons_kb.errors import InputError


def parse_address(url: str, *, instead: str) -> SplitResult:
    """Return the parts of an address. Raises InputError if nothing may be sent to it.

    ``instead`` is a hint about the right place of a key, for a user who put one into the address.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _port = parts.port  # raises ValueError if it is not a number
    except ValueError as error:
        raise InputError(f"{url!r} is not an address: {error}") from None
    if parts.username or parts.password:
        raise InputError(f"leave the key out of the address; {instead}")
    if parts.scheme not in ("http", "https") or not host:
        raise InputError(f"{url!r} is not an https://… address; correct it")
    try:
        is_local = ip_address(host).is_loopback
    except ValueError:
        is_local = host == "localhost"
    if parts.scheme == "http" and not is_local:
        raise InputError(
            f"http to {host} would send everything unencrypted; use https (plain http is only for "
            "this machine)"
        )
    return parts
