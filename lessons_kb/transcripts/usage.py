"""The tokens of one request to a model, as agents record them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lessons_kb.values import frozen


@frozen
class Usage:
    """The tokens of one request. None means that the record does not say it."""

    uncached: int | None = None
    """The tokens of the input that were neither read from the provider's cache nor written to
    it."""
    cache_read: int | None = None
    cache_written: int | None = None
    output: int | None = None
    model: str = ""

    @property
    def input(self) -> int | None:
        """All tokens of the input, or None if a part of them is unknown."""
        if self.uncached is None or self.cache_read is None or self.cache_written is None:
            return None
        return self.uncached + self.cache_read + self.cache_written

    @property
    def cached(self) -> int | None:
        """The tokens that the cache contains after the request, or None if they are unknown."""
        if self.cache_read is None or self.cache_written is None:
            return None
        return self.cache_read + self.cache_written


def read_anthropic(usage: Mapping[str, Any], model: str) -> Usage:
    """Return the usage in a message of Claude Code, whose input does not include the cache."""
    return Usage(
        uncached=_read_amount(usage, "input_tokens"),
        cache_read=_read_amount(usage, "cache_read_input_tokens"),
        cache_written=_read_amount(usage, "cache_creation_input_tokens"),
        output=_read_amount(usage, "output_tokens"),
        model=model,
    )


def read_openai(usage: Mapping[str, Any], model: str) -> Usage:
    """Return the usage in an event of Codex, whose input includes the cache.

    Before version 0.171, Codex recorded no written tokens. They were then a part of the uncached
    input, because OpenAI's cache needs no request to write to it.
    """
    total = _read_amount(usage, "input_tokens")
    read = _read_amount(usage, "cached_input_tokens")
    written = _read_amount(usage, "cache_write_input_tokens")
    if "cache_write_input_tokens" not in usage:
        written = 0
    uncached = None
    if total is not None and read is not None and written is not None:
        uncached = max(total - read - written, 0)
    output = _read_amount(usage, "output_tokens")
    return Usage(
        uncached=uncached, cache_read=read, cache_written=written, output=output, model=model
    )


def read_opencode(tokens: Mapping[str, Any], model: str) -> Usage:
    """Return the usage of a step of opencode, whose input does not include the cache."""
    cache = tokens.get("cache")
    cache = cache if isinstance(cache, dict) else {}
    return Usage(
        uncached=_read_amount(tokens, "input"),
        cache_read=_read_amount(cache, "read"),
        cache_written=_read_amount(cache, "write"),
        output=_read_amount(tokens, "output"),
        model=model,
    )


def _read_amount(usage: Mapping[str, Any], name: str) -> int | None:
    value = usage.get(name)
    return value if type(value) is int and value >= 0 else None
