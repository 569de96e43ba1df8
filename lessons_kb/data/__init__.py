"""Knowledge kept as data: tables of text files beside this one."""

from __future__ import annotations

import json
import os
import re
from typing import Any

Table = dict[str, list[tuple[str, list[str]]]]


def read_lines(name: str) -> list[str]:
    """Return the lines of a table without sections, comments and empty ones left out."""
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file if not line.startswith("#") and line != "\n"]


def read_table(name: str) -> Table:
    """Return section → its records, each a head and the indented lines below it."""
    table: Table = {}
    records: list[tuple[str, list[str]]] = []
    for line in read_lines(name):
        if line.startswith("["):
            records = table.setdefault(line.strip("[]"), [])
        elif line.startswith(" "):
            records[-1][1].append(line.strip())
        else:
            records.append((line, []))
    return table


def read_json(name: str) -> Any:
    """Return the value of a JSON file."""
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        return json.load(file)


def read_words(name: str) -> dict[str, frozenset[str]]:
    """Return section → its words."""
    return {
        section: frozenset(word for line, _ in records for word in line.split())
        for section, records in read_table(name).items()
    }


def read_patterns(name: str) -> dict[str, tuple[str, ...]]:
    """Return section → its lines, with ``«x»`` replaced by the fragment x."""
    table = read_table(name)
    fragments = {f"«{head}»": "".join(lines) for head, lines in table.pop("fragments", ())}

    def whole(line: str) -> str:
        for mark, text in fragments.items():
            line = line.replace(mark, text)
        return line

    return {
        section: tuple(whole(line) for line, _ in records) for section, records in table.items()
    }


def compile_patterns(name: str, *sections: str) -> list[re.Pattern[str]]:
    """Return for each section a regular expression that fits any of its lines, in any case."""
    table = read_patterns(name)
    wholes = ("|".join(f"(?:{pattern})" for pattern in table[section]) for section in sections)
    return [re.compile(whole, re.IGNORECASE) for whole in wholes]


def read_mapping(name: str) -> dict[str, dict[str, str]]:
    """Return section → name → value of lines ``name, name = value``; no value is ""."""
    mapping: dict[str, dict[str, str]] = {}
    for section, lines in read_patterns(name).items():
        known = mapping.setdefault(section, {})
        for line in lines:
            names, _, value = line.partition(" = ")
            known.update(dict.fromkeys(names.split(", "), value))
    return mapping
