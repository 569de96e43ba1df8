"""Knowledge kept as data: tables of text files beside this one."""

from __future__ import annotations

import os

Table = dict[str, list[tuple[str, list[str]]]]


def read_table(name: str) -> Table:
    """Return section → its records, each a head and the indented lines below it."""
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file]
    table: Table = {}
    records: list[tuple[str, list[str]]] = []
    for line in lines:
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            records = table.setdefault(line.strip("[]"), [])
        elif line.startswith(" "):
            records[-1][1].append(line.strip())
        else:
            records.append((line, []))
    return table
