"""Cards that come at the same moments, in the same form and length, and say nothing in particular.

They show what mere text in front of an agent does: more care, or less attention to the task.
"""

from __future__ import annotations

import re
from itertools import cycle

from lessons_kb.data import read_lines

_ADVICE = read_lines("placebo_advice.txt")
_LINE = re.compile(r"^([\s>#*+\-\d.]*(?:\[[ xX]\]\s*)?)(.*)$")
_TITLE = re.compile(r"^title:.*$", re.MULTILINE)
_HEADER = re.compile(r"\A(---\r?\n.*?^---\r?\n)(.*)\Z", re.MULTILINE | re.DOTALL)


def make_placebo(card: str) -> str:
    """Return a card's text with general advice for its title and its words; headings stay.

    ``symptoms``, ``paths`` and the like stay too: they decide when it comes.
    """
    match = _HEADER.match(card)
    header, body = match.groups() if match else ("", card)
    if title := _TITLE.search(header):
        words = len(title[0].split()) - 1
        header = header.replace(title[0], f'title: "{_advise(words, 0)}"', 1)
    turn = cycle(range(3))
    lines = []
    for line in body.splitlines():
        mark, text = _LINE.match(line).groups()  # type: ignore[union-attr]
        heading = mark.lstrip().startswith("#")
        lines.append(line if heading or not text else mark + _advise(len(text.split()), next(turn)))
    return header + "\n".join(lines) + "\n"


def _advise(words: int, turn: int) -> str:
    """Return advice of about so many words; of those that fit well, one by turns."""
    sentences = sorted(_ADVICE, key=lambda one: abs(len(one.split()) - words))
    text = sentences[turn]
    while words - len(text.split()) >= len(_ADVICE[0].split()):
        text += f". {_advise(words - len(text.split()), turn)}"
    return text
