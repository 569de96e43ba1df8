"""Find the cards that `supersedes`, `superseded-by` and `contradicts` name, and rename them there.

Such a name is a path, the end of a path, or a file name. The suffix may be missing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from lessons_kb.cards.card_names import SUFFIX, fits_card
from lessons_kb.cards.keys import canonical, split_header
from lessons_kb.cards.links import Link
from lessons_kb.cards.read_header import read_header
from lessons_kb.cards.sections import split_lines

_KEYS = ("supersedes", "superseded-by", "contradicts")
_NAME = re.compile(r"[^\s,'\"\[\]][^,'\"\[\]]*(?<!\s)")


def find_succession_names(text: str) -> Iterator[Link]:
    """Yield each name of another card in these keys of a card's header."""
    if not any(key in text.casefold().replace("_", "-") for key in _KEYS):
        return
    split = split_header(text)
    if split.header is None:
        return
    lines = split_lines(text[split.header.start : split.header.end])
    for entry in read_header(split).entries:
        if canonical(entry.key) not in _KEYS:
            continue
        for first_line, first, last_line, last in entry.spans:
            if first_line != last_line:
                continue
            line_start = split.header.start + sum(map(len, lines[:first_line]))
            for match in _NAME.finditer(lines[first_line], first, last):
                start = line_start + match.start()
                end = line_start + match.end()
                yield Link(start=start, end=end, target=match[0], kind="name")


def names_card(name: str, card: str, others: Collection[str]) -> bool:
    """Return whether a name fits a card but none of the ``others``."""
    return fits_card(name, card) and not any(
        fits_card(name, other) for other in others if other != card
    )


def name_in_same_style(name: str, card: str, others: Collection[str]) -> str:
    """Return the name of a card in the style of another name, with a path as long and its suffix.

    If that name also fits one of the ``others``, the whole path is used.
    """
    has_suffix = SUFFIX.search(name) is not None
    path = card if has_suffix else SUFFIX.sub("", card)
    end_of_path = "/".join(path.split("/")[-1 - name.count("/") :])
    return end_of_path if names_card(end_of_path, card, others) else path
