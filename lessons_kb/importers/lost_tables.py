"""Tables and headings of a review whose Markdown was lost on the way, put back.

Copied out of a rendered page, a row reads ``C1 It leaks Evidenced plan-level alice,bob``: the words
of the head say which columns there are, and the words for a state where the claim ends.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from lessons_kb.model import EVIDENCE

_NUMBER = r"[A-Z]{0,3}-?\d{1,4}[a-z]?"
_STATES = (*EVIDENCE, "resolved", "unverified", "verified", "confirmed", "rejected", "withdrawn")
_CLAIM_ROW = re.compile(
    rf"(?P<claim>\S.*?)\s+(?P<state>(?:{'|'.join(word.capitalize() for word in _STATES)})\b"
    r"(?:\s*\([^()]*\))?)(?:\s+(?P<rest>\S.*))?"
)
_FIRST_ROW = re.compile(rf"(?P<number>{_NUMBER})[.:)]?\s+(?P<rest>\S.*)")
_MATURITY = re.compile(r"(?P<maturity>[A-Za-z]+-level)\b\s*(?P<rest>.*)")
_ORDER = ("number", "claim", "state", "maturity", "support")
_MOST_WORDS = 3
"""Words of the name of a column."""
_LONGEST_HEADING = 90
_LONGEST_HEAD = 500
"""Characters of a line that names columns."""
_HEADING = re.compile(r"[^\W\d_].{2,}[^\s.,;:|]")
_ITEM = re.compile(r"\s*(?:[-*+\u2022]|\d{1,3}[.)])\s")


def restore_markup(text: str, meanings: Mapping[str, str]) -> str:
    """Return a review with its tables' pipes, and with headings if it has lost all; line by line.

    ``meanings`` maps the names of columns to what they mean. A text whose tables have pipes
    stays as it is.
    """
    lines = text.split("\n")
    tables = [
        (number, columns)
        for number, line in enumerate(lines)
        if "|" not in line and (columns := _read_head(line, meanings))
    ]
    for number, columns in tables:
        _restore_table(lines, number, columns)
    if tables and not any(re.match(r" {0,3}#{1,6}\s", line) for line in lines):
        _restore_headings(lines)
    return "\n".join(lines)


def _read_head(line: str, meanings: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return (name, meaning) of the columns that a line names and does nothing else; else []."""
    if len(line) > _LONGEST_HEAD:
        return []
    words, columns = line.split(), []
    while words:
        for size in range(min(_MOST_WORDS, len(words)), 0, -1):
            name = " ".join(words[:size])
            if meaning := meanings.get(name.casefold()):
                columns.append((name, meaning))
                del words[:size]
                break
        else:
            return []
    found = [meaning for _name, meaning in columns]
    in_order = [one for one in _ORDER if one in found] == found
    return columns if in_order and {"claim", "state"} <= {*found} else []


def _restore_table(lines: list[str], head: int, columns: Sequence[tuple[str, str]]) -> None:
    lines[head] = _row([name for name, _meaning in columns])
    numbered = columns[0][1] == "number"
    number = head + 1
    while number < len(lines) and lines[number].strip():
        row, end = lines[number].strip(), number + 1
        # A line that begins with no number goes on with the row above it.
        while numbered and end < len(lines) and lines[end].strip():
            if _FIRST_ROW.fullmatch(lines[end].strip()):
                break
            row = f"{row} {lines[end].strip()}"
            end += 1
        cells = _read_row(row, columns)
        lines[number] = _row([cells.get(meaning, "") for _name, meaning in columns])
        # The lines that are joined stay as rows without text: the others keep their numbers.
        lines[number + 1 : end] = [_row(["" for _ in columns])] * (end - number - 1)
        number = end


def _read_row(row: str, columns: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return meaning → cell of a row: number, claim, state, maturity, supporters."""
    cells: dict[str, str] = {}
    row = " ".join(row.split())  # a run of blanks would be tried at each of its places
    if columns[0][1] == "number" and (found := _FIRST_ROW.fullmatch(row)):
        cells["number"], row = found["number"], found["rest"]
    told = _CLAIM_ROW.fullmatch(row)
    if told is None:
        return {**cells, "claim": row}
    cells |= {"claim": told["claim"], "state": told["state"]}
    rest = told["rest"] or ""
    meanings = [meaning for _name, meaning in columns]
    if "maturity" in meanings and (level := _MATURITY.fullmatch(rest)):
        cells["maturity"], rest = level["maturity"], level["rest"]
    return {**cells, "support": rest} if "support" in meanings else cells


def _row(cells: Sequence[str]) -> str:
    told = (cell.replace("|", r"\|") for cell in cells)
    return f"| {' | '.join(told)} |"


def _restore_headings(lines: list[str]) -> None:
    """Mark as headings the short lines that stand alone above a list, a table or a paragraph."""
    for number, line in enumerate(lines):
        alone = (
            not (number and lines[number - 1].strip())
            and not "".join(lines[number + 1 : number + 2]).strip()
        )
        if (
            alone
            and len(line) <= _LONGEST_HEADING
            and _HEADING.fullmatch(line)
            and not _ITEM.match(line)
        ):
            lines[number] = f"## {line}"
