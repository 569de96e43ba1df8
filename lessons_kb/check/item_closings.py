"""What an agent closes its items with, where the block asks for it: ``L1.2 done src/bot.py:41``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

DONE, LEFT = "done", "left"
REQUEST = (
    "Close each item in your last message, one line each, citing a file or a command: "
    "L1.2 done src/bot.py:41 (or L1.2 left: why)"
)
"""What the block asks for."""
MAX_CLOSINGS = 200
_CLOSING = re.compile(
    r"^[ \t>*+-]*[`*]*L(\d{1,3})\.(\d{1,3})[`*]*[ \t:\u2013\u2014-]+"
    r"(?:\[[xX]\]\s*)?(done|left|open|skipped|not\s+done|n/a)\b[ \t:\u2013\u2014-]*([^\n]{0,400})$",
    re.IGNORECASE | re.MULTILINE,
)
_PLACE = re.compile(r"([\w.@+~/\\-]+?\.\w+|[\w.@+~-]+(?:/[\w.@+~-]+)+)(?::(\d+))?(?=[\s,;.)`]|$)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Closing:
    """What an agent says of one item when it ends."""

    state: str
    """DONE or LEFT."""
    line: str
    """As it was written."""
    path: str = ""
    """The file it cites, POSIX, "" if none."""
    number: int = 0
    """The line in it, 0 if none."""
    command: str = ""
    """The command it cites, "" if none."""


def read_closings(
    answer: str, cards: Mapping[int, str], checklists: Mapping[str, Sequence[str]]
) -> dict[tuple[str, str], Closing]:
    """Return (card id, item) → how an answer closes it; of several the last counts.

    ``cards`` maps a lesson's number in the block to its id, ``checklists`` an id to its items.
    """
    found: dict[tuple[str, str], Closing] = {}
    for number, match in enumerate(_CLOSING.finditer(answer)):
        card = cards.get(int(match[1]), "")
        items = checklists.get(card, ())
        place = int(match[2])
        if number < MAX_CLOSINGS and 1 <= place <= len(items):
            found[card, items[place - 1]] = _closing(match)
    return found


def without_closings(answer: str) -> str:
    """Return an answer without its closings: they are held against what happened, not believed."""
    return _CLOSING.sub("", answer)


def _closing(match: re.Match[str]) -> Closing:
    state = DONE if match[3].lower() == "done" else LEFT
    line, rest = match[0].strip(), match[4].strip()
    span = re.search(r"`([^`\n]+)`", rest)
    cited = span[1].strip() if span else rest
    place = _PLACE.fullmatch(cited) or (None if span else _PLACE.match(cited))
    if place:
        path = place[1].replace("\\", "/").removeprefix("./")
        return Closing(state=state, line=line, path=path, number=int(place[2] or 0))
    return Closing(state=state, line=line, command=cited if span else "")
