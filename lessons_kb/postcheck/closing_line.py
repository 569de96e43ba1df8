"""The closing line, with the request for it and an answer's statement about each item."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain, islice

from lessons_kb.values import frozen

DONE, LEFT_OUT, NOT_NEEDED = "done", "left", "not needed"
MAX_CLOSINGS = 200
_CLOSING_LINE = re.compile(
    r"^[ \t>*#/<!+-]*[`*_]*(?:lessons[`*_]*[ \t]*:|(?=L\d{1,3}\.\d))[^\n]{1,4000}$",
    re.IGNORECASE | re.MULTILINE,
)
_CLOSING = re.compile(
    r"\bL?(\d{1,3})\.(\d{1,3})[`*]*[ \t:\u2013\u2014-]+(?:\[[xX]\]\s*)?"
    r"(?:(done)|(n/?a|not\s+needed)|left|open|skipped|not\s+done)\b[ \t:(\u2013\u2014-]*"
    r"((?:(?![;|\u00b7]|,\s*L?\d{1,3}\.\d{1,3}\b).){0,400})",
    re.IGNORECASE,
)
_PLACE = re.compile(r"([\w.@+~/\\-]+?\.\w+|[\w.@+~-]+(?:/[\w.@+~-]+)+)(?::(\d+))?(?=[\s,;.)`]|$)")


@frozen
class Closing:
    """An agent's closing statement about one item."""

    state: str
    """DONE, LEFT_OUT or NOT_NEEDED."""
    line: str
    """The statement as it was written."""
    path: str = ""
    """The cited file as a POSIX path, or "" if no file is cited."""
    number: int = 0
    """The cited line of the file, or 0 if no line is cited."""
    command: str = ""
    """The cited command, or "" if no command is cited."""


def read_closings(
    answer: str, cards: Mapping[int, str], checklists: Mapping[str, Sequence[str]]
) -> dict[tuple[str, str], Closing]:
    """Return a mapping from (card id, item) to the closing statement of an answer. If there are
    several, the last counts.

    ``cards`` maps a lesson's number in the block to its id. ``checklists`` maps an id to its items.
    """
    closings: dict[tuple[str, str], Closing] = {}
    lines = (line[0] for line in _CLOSING_LINE.finditer(answer))
    matches = chain.from_iterable(map(_CLOSING.finditer, lines))
    for match in islice(matches, MAX_CLOSINGS):
        card = cards.get(int(match[1]), "")
        place = int(match[2])
        items = checklists.get(card, ())
        if not 1 <= place <= len(items):
            continue
        rest = match[5].strip()
        span = re.search(r"`([^`\n]+)`", rest)
        cited = span[1].strip() if span else rest
        file = _PLACE.fullmatch(cited) or (None if span else _PLACE.match(cited))
        state = LEFT_OUT
        if match[3]:
            state = DONE
        elif match[4]:
            state = NOT_NEEDED
        closings[card, items[place - 1]] = Closing(
            state=state,
            line=match[0].strip(),
            path=file[1].replace("\\", "/").removeprefix("./") if file else "",
            number=int(file[2] or 0) if file else 0,
            command=cited if span and not file else "",
        )
    return closings


def remove_closing_lines(answer: str) -> str:
    """Return an answer without its closing lines."""
    return _CLOSING_LINE.sub("", answer)
