"""What a terminal would have left of an output: no colours, no lines drawn over."""

from __future__ import annotations

import re

_ESCAPE = (
    r"\x1b[\]PX^_][^\x07\x1b\x9c\n]*+(?:\x07|\x1b\\|\x9c)?"  # title, link, clipboard
    r"|\x1b\[[0-?]*+[ -/]*+[@-~]?"  # colour, cursor
    r"|\x1b[ -/]*+[0-~]?"
)
_UNSEEN = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"


def plain(text: str) -> str:
    r"""Return an output without terminal sequences and control characters.

    Of what a line showed one after another (``\r`` begins it anew, as progress bars do) the last
    is kept. Tabs stay.
    """
    if text.isprintable():
        return text
    text = re.sub(_ESCAPE, "", text).replace("\r\n", "\n")
    if "\r" in text:
        text = "\n".join(_last_shown(line) for line in text.split("\n"))
    return re.sub(_UNSEEN, "", text)


def _last_shown(line: str) -> str:
    shown = [piece for piece in line.split("\r") if piece.strip()]
    return shown[-1] if shown else ""
