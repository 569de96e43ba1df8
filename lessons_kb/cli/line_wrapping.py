"""Long lines on a terminal: folded between words, each piece below the first one's text."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_NARROWEST = 40


def print_wrapped(line: str, *, hang: int = 0) -> None:
    """Print a line, on a terminal folded to its width; when piped it stays one line.

    Further pieces are indented as the first one is, and by ``hang`` more.
    """
    if not sys.stdout.isatty():
        print(line)
        return
    width = max(shutil.get_terminal_size().columns, _NARROWEST)
    for piece in wrap(line, width, hang=hang):
        print(piece)


def wrap(line: str, width: int, *, hang: int = 0) -> Iterator[str]:
    """Yield pieces of at most ``width`` columns; a longer word stays whole, to be copied."""
    from rich.cells import cell_len  # Hangul and Han are two columns wide

    indent = line[: len(line) - len(line.lstrip())]
    piece, filled = indent, False
    for word in line.split():
        joined = f"{piece} {word}" if filled else piece + word
        if filled and cell_len(joined) > width:
            yield piece
            joined = f"{indent}{' ' * hang}{word}"
        piece, filled = joined, True
    yield piece
