"""Reads the data files beside this module: TOML tables, JSON and plain lists of words."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from lessons_kb.on_demand import READ_TOML, load

_FOLDER = os.path.dirname(__file__)
COMPILED = (
    *("agent_tools", "bigram_scripts", "card_keys", "failure_texts", "guard_texts", "headings"),
    *("homoglyphs", "languages", "mining_signals", "secrets", "shell_programs"),
    *("stemming_exceptions", "token_weights", "tool_arguments", "user_phrases"),
)
"""The TOML files that an event of an agent or the edit of a card needs. The folder ``compiled`` has
them as JSON, which a process without a daemon reads in a tenth of the time. After a change of such
a file, run ``pytest tests/test_data.py --update``.
"""


def read_lines(name: str) -> list[str]:
    """Return the lines of a plain list, without comments and empty ones."""
    with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file if not line.startswith("#") and line != "\n"]


def read_words(name: str) -> dict[str, frozenset[str]]:
    """Return a mapping from sections to their words, from a plain list where ``[section]`` begins a
    section.
    """
    words: dict[str, set[str]] = {}
    section: set[str] = set()
    for line in read_lines(name):
        if line.startswith("["):
            section = words.setdefault(line.strip("[]"), set())
        else:
            section.update(line.split())
    return {name: frozenset(section) for name, section in words.items()}


def read_json(name: str) -> Any:
    """Return the value of a JSON file."""
    with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
        return json.load(file)


def read_json_lines(name: str) -> list[Any]:
    """Return the value of each line of a file of JSON Lines."""
    with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
        values: list[Any] = json.loads(f"[{','.join(file)}]")  # one call is faster than many
        return values


@cache
def read_toml(name: str) -> Mapping[str, Any]:
    """Return the tables of a TOML file, read once."""
    stem = name.removesuffix(".toml")
    if stem in COMPILED:
        compiled: dict[str, Any] = read_json(os.path.join("compiled", f"{stem}.json"))
        return compiled
    with open(os.path.join(_FOLDER, name), "rb") as file:
        table: dict[str, Any] = load(READ_TOML).load(file)
        return table


def read_patterns(name: str) -> dict[str, tuple[str, ...]]:
    """Return a mapping from each key to its list of texts, in which ``«x»`` is replaced by the
    fragment x.
    """
    data = read_toml(name)
    fragments = data.get("fragments", {})
    return {
        key: tuple(_fill(text, fragments) for text in texts)
        for key, texts in data.items()
        if isinstance(texts, list)
    }


def compile_patterns(name: str, *keys: str) -> list[re.Pattern[str]]:
    """Return, for each key, a regular expression that matches any of its texts, ignoring case."""
    patterns = read_patterns(name)
    wholes = ("|".join(f"(?:{pattern})" for pattern in patterns[key]) for key in keys)
    return [re.compile(whole, re.IGNORECASE) for whole in wholes]


def read_mapping(name: str) -> dict[str, dict[str, str]]:
    """Return a mapping from each table to its names and values, in which ``«x»`` is replaced by the
    fragment x.
    """
    data = read_toml(name)
    fragments = data.get("fragments", {})
    mapping: dict[str, dict[str, str]] = {}
    for table, values in data.items():
        if isinstance(values, dict) and table != "fragments":
            filled = {
                _fill(key, fragments): _fill(value, fragments) for key, value in values.items()
            }
            mapping[table] = filled
    return mapping


def _fill(text: str, fragments: dict[str, str]) -> str:
    if "«" in text:
        for name, fragment in fragments.items():
            text = text.replace(f"«{name}»", fragment)
    return text
