"""What a prompt or an answer mentions: file paths and sentences."""

from __future__ import annotations

import re

_URL = r"[a-zA-Z][a-zA-Z0-9+.-]*://\S+"
_PATH = (
    r"(?:[A-Za-z]:)?(?:[./\\]|\.\.)?(?:[\w@.+-]+[/\\])+[\w@.+-]+"
    r"|[\w-]+(?:\.[\w-]+)*\.[a-zA-Z]\w{0,9}\b"
)


def find_paths(text: str) -> tuple[str, ...]:
    """Return the file paths a text mentions: POSIX, each once, in order."""
    text = re.sub(_URL, " ", text)
    found = (
        match.replace("\\", "/").rstrip(".").removeprefix("./") for match in re.findall(_PATH, text)
    )
    return tuple(dict.fromkeys(path for path in found if re.search(r"[A-Za-z]", path)))


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text, stripped, without empty ones."""
    pieces = re.split(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])|\n+", text)
    return [piece.strip() for piece in pieces if piece.strip()]
