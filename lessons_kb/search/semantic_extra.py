"""The libraries behind ``[semantic]``: whether they are installed, without importing any."""

from __future__ import annotations

from importlib.util import find_spec

EXTRA = "semantic"
NEEDED = ("numpy", "onnxruntime", "tokenizers")


def find_absent_libraries() -> list[str]:
    """Return which of the libraries of the extra are not installed."""
    return [name for name in NEEDED if find_spec(name) is None]
