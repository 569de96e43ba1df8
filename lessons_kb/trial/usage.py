"""Read the cost of a run from the JSON that agents print."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

_USED = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""The keys whose sum is the total. Other keys of Codex and Qwen Code are parts of these."""


def read_usage(printed: str) -> tuple[int | None, float | None, str]:
    """Return tokens, dollars and session id from the JSON that an agent prints.

    Unknown amounts are None, and an unknown session is "". The formats are the result of Claude
    Code, Qwen Code and Cursor; the events of Codex (one per turn) and of opencode (one per step);
    and Gemini's statistics. An impossible amount makes its sum unknown.
    """
    try:
        return _read_usage(printed)
    except (RecursionError, OverflowError):  # no agent prints such data
        return None, None, ""


def _read_usage(printed: str) -> tuple[int | None, float | None, str]:
    tokens: list[float] = []
    dollars: list[float] = []
    session = ""
    for event in _read_objects(printed):
        usage, step = _find_object(event, "usage"), _find_object(event, "part")
        if usage:
            names = ("total_tokens",) if "total_tokens" in usage else _USED
            used = _add_up({name: usage.get(name) for name in names})
            tokens = [used] if event.get("type") == "result" else [*tokens, used]
        elif "tokens" in step:
            tokens.append(_add_up(step["tokens"]))
        elif models := _find_object(event, "stats", "models"):
            totals = (_find_object(models, name, "tokens").get("total") for name in models)
            tokens = [_add_up(total) for total in totals]
        cost = event.get("total_cost_usd", step.get("cost"))
        if isinstance(cost, (int, float)):
            dollars.append(cost)
        named = event.get("session_id") or event.get("thread_id") or event.get("sessionID")
        session = named if isinstance(named, str) else session
    all_tokens = _sum_amounts(tokens)
    return None if all_tokens is None else int(all_tokens), _sum_amounts(dollars), session


def is_amount(value: object) -> bool:
    """Return whether a value can be a cost: a finite number that is not negative."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value) and value >= 0
    except OverflowError:  # an integer too large for a float
        return False


def _sum_amounts(amounts: list[float]) -> float | None:
    """Return the sum of amounts, or None if there are none or if one of them is impossible."""
    if not amounts or not all(map(is_amount, amounts)):
        return None
    total = sum(map(float, amounts))
    return total if is_amount(total) else None


def _find_object(event: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """Return the nested object at a path of keys, or an empty object if it does not exist."""
    for key in keys:
        inner = event.get(key)
        event = inner if isinstance(inner, dict) else {}
    return event


def _add_up(tokens: object) -> float:
    """Return the sum of the numbers in a nested object of tokens, without its ``total``."""
    if isinstance(tokens, dict):
        return sum(_add_up(part) for key, part in tokens.items() if key != "total")
    return tokens if isinstance(tokens, (int, float)) else 0


def _read_objects(printed: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a text, which are the text itself, the items of a list, or its
    lines.
    """
    for text in (printed, *printed.splitlines()):
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(text)
            listed = value if isinstance(value, list) else [value]
            yield from (item for item in listed if isinstance(item, dict))
            if text is printed:
                return
