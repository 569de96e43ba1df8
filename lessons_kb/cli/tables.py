"""Rows as a table of text: whole where they fit, shortened where a terminal is too narrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

COPIED = "id"
"""A column that is copied from the screen: it is never cut and never broken."""
_SPARED = ("last task", "project", "stage")
"""Columns that give way to ids, in this order."""
_GAP = 2
_LEAST = 16
"""Cells that each other column keeps before an id gets a line of its own."""


def lay_out(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[str] = (),
    width: int | None = None,
) -> list[str]:
    """Return the header and the rows as lines, their columns aligned.

    ``right`` names the columns that are flushed right. With a ``width``, in cells of a terminal,
    columns without text are left out, and for the sake of ids those that can be spared; then the
    longest texts are cut. An id that is too long still has a line of its own.
    """
    from rich.cells import cell_len  # Hangul and Han are two columns wide

    lines = [[name.upper() for name in columns], *rows]
    widths = {
        name: max(cell_len(line[place]) for line in lines)
        for place, name in enumerate(columns)
        if width is None or name == COPIED or any(row[place] for row in rows)
    }
    if width is not None:
        at = columns.index(COPIED) if COPIED in widths else 0
        widths = _narrowed(widths, [cell_len(row[at]) for row in rows], width)
    found = []
    for line in lines:
        cells = dict(zip(columns, line, strict=True))
        if COPIED in widths and cell_len(cells[COPIED]) > widths[COPIED]:
            found.append(cells[COPIED])
            cells[COPIED] = ""
        padded = [_fitted(cells[name], size, flush=name in right) for name, size in widths.items()]
        found.append((" " * _GAP).join(padded).rstrip())
    return found


def _fitted(cell: str, width: int, *, flush: bool) -> str:
    from rich.cells import cell_len, set_cell_size

    if cell_len(cell) > width:
        cell = set_cell_size(cell, width - 1).rstrip() + "…"
    space = " " * (width - cell_len(cell))
    return space + cell if flush else cell + space


def _narrowed(widths: Mapping[str, int], ids: Sequence[int], width: int) -> dict[str, int]:
    """Return the columns that are kept, and widths that fit; ``ids`` are the lengths of ids."""
    found = dict(widths)
    if COPIED in found:
        least = {name: size for name, size in found.items() if name not in _SPARED}
        found[COPIED] = _longest(ids, _room(least, width))
        for name in _SPARED:
            if _room(found, width) < found[COPIED]:
                found.pop(name, None)
    limit = max(found.values(), default=0)
    fixed = found.get(COPIED, 0) + _GAP * (len(found) - 1)
    others = [size for name, size in found.items() if name != COPIED]
    while limit > 1 and fixed + sum(min(size, limit) for size in others) > width:
        limit -= 1
    return {name: size if name == COPIED else min(size, limit) for name, size in found.items()}


def _room(widths: Mapping[str, int], width: int) -> int:
    """Return what is left for ids beside the least of the other columns."""
    others = sum(min(size, _LEAST) for name, size in widths.items() if name != COPIED)
    return width - others - _GAP * (len(widths) - 1)


def _longest(ids: Sequence[int], room: int) -> int:
    return max((one for one in ids if one <= room), default=len(COPIED))
