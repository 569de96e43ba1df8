"""Card text is data: nothing in it may steer a terminal, a reader or an agent."""

from __future__ import annotations

import re

_ANSI = r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\|$)|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|\x1b[ -/]*[0-~]?"
_COMMENT = r"(?s:<!--.*?(?:-->|$(?![\s\S])))"
_HIDDEN = (
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    r"\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff"
    r"\U000e0000-\U000e0fff]"
)
_MARKER = r"(?im)[\[\uff3b](?=\s*/?\s*(?:ACTIVE\s+LESSONS|CONTEXT|INST)\b)"
_TAG = r"(?i)<(?=\s*/?\s*[a-z][\w:-]*[^<>]*>)"


def clean(text: str) -> str:
    r"""Return a text without anything invisible: newlines become ``\n``."""
    text = re.sub(r"\r\n?|[\u2028\u2029\x85]", "\n", text)
    text = re.sub(_ANSI, "", text)
    text = re.sub(_HIDDEN, "", text)
    return re.sub(_COMMENT, "", text)


def clean_line(text: str) -> str:
    """Return a text cleaned and folded to one line."""
    return " ".join(clean(text).split())


def defang(text: str) -> str:
    """Return a text that cannot close the block or pose as the user, yet reads the same."""
    text = re.sub(
        r"(?i)[\[\uff3b](\s*/?\s*(?:ACTIVE\s+LESSONS|CONTEXT|INST)\b[^\]\uff3d\n]*)[\]\uff3d]?",
        r"(\1)",
        text,
    )
    text = re.sub(_TAG, "\u2039", text)
    return re.sub(r"(?im)^(\s*(?:human|user|assistant|system))\s*:", r"\1 -", text)
