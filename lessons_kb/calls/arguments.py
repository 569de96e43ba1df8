"""Arguments of a tool call: parse them, and compute a digest that identifies them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection


def parse_arguments(arguments: object) -> object:
    """Return the parsed value of JSON text. Return any other arguments unchanged."""
    if isinstance(arguments, str):
        try:
            return json.loads(arguments)
        except (ValueError, RecursionError):
            return arguments
    return arguments


def digest_arguments(arguments: object, *, ignore: Collection[str] = ()) -> str:
    """Return a short digest that is equal for equal arguments.

    JSON text and its parsed value have the same digest, and so have dicts with any order of keys.
    Top-level keys in ``ignore`` are left out. The digest is "" if the arguments are not JSON data.
    It distinguishes the calls of one session and is not a cryptographic hash.
    """
    data = parse_arguments(arguments)
    if isinstance(data, dict):
        data = {key: value for key, value in data.items() if key not in ignore}
    try:
        text = json.dumps(data, sort_keys=True, separators=(",", ":"), default=str)
    except (TypeError, ValueError, RecursionError):
        return ""
    raw = text.encode()
    return f"{len(raw):x}-{zlib.crc32(raw):08x}{zlib.adler32(raw):08x}"
