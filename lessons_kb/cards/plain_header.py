"""Recognise a header in which every line has one of a few plain forms.

The lenient reader reads such a header exactly as YAML does, and it needs no parser. Nine of ten
headers of real cards are plain. Any other header is left to YAML.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_PLAIN = r"[^\W_](?:[^\n:#]|:(?! )|(?<! )\#)*(?<![ :])"
"""A text without quotes. It begins with a letter or a digit."""
_QUOTED = r"'[^'\\]*'|\"[^\"\\]*\""
_IN_BRACKETS = rf"[^\W_](?:[\w ./+*-]*[\w./+*-])?|{_QUOTED}"
_LIST = rf"\[(?:(?:{_IN_BRACKETS})(?:, (?:{_IN_BRACKETS}))*)?\]"
_KEY = re.compile(rf"[A-Za-z][A-Za-z0-9_-]{{0,63}}:(?: (?P<value>{_PLAIN}|{_QUOTED}|{_LIST}))?")
_ITEM = re.compile(rf"(?P<indent> *)- (?:{_PLAIN}|{_QUOTED})")


def is_plain_header(lines: Sequence[str]) -> bool:
    """Return whether the lenient reader reads these lines exactly as YAML does."""
    item_indent: str | None = None
    """The indent of the items of the list that is open, or None if no list can continue here."""
    is_new_list = False
    for line in lines:
        if not line.isprintable():
            return False
        key = _KEY.fullmatch(line)
        if key:
            is_new_list = key["value"] is None
            item_indent = None
            continue
        item = _ITEM.fullmatch(line)
        if item is None or not (is_new_list or item["indent"] == item_indent):
            return False
        item_indent = item["indent"]
        is_new_list = False
    return True
