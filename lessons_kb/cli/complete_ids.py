"""Complete the ids of cards in a shell, with their titles.

A shell evaluates the output of a completion, and a title is a text of other people. Therefore, an
id with a character that has a meaning in a shell is left out, and a title loses such a character.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import typer

from lessons_kb.brain.brains import Brains
from lessons_kb.brain.discovery import look
from lessons_kb.errors import LessonsError
from lessons_kb.text.sanitize import clean_line, shorten

_SAFE_ID = re.compile(r"[\w./@+-]+")
_UNSAFE = re.compile(r"[^\w .,/@+%=-]+")
_TITLE_CHARS = 70


def list_ids(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return the name and the title of each card of the brains that apply here.

    A word with a slash is completed to a path. Any other word is completed to the name of the file,
    unless several cards have that name.
    """
    try:
        with _open_brains(context.find_root().params.get("brain") or ()) as brains:
            cards = _list_names(brains)
    except (LessonsError, OSError):
        return []  # a shell that completes has no place for an error
    slugs = Counter(_read_slug(card_id) for card_id, _title in cards)
    found: list[tuple[str, str]] = []
    for card_id, title in cards:
        slug = _read_slug(card_id)
        name = slug if slugs[slug] == 1 and "/" not in incomplete else card_id
        if _SAFE_ID.fullmatch(name):
            found.append((name, _describe(title)))
    return found


def _list_names(brains: Brains) -> list[tuple[str, str]]:
    """Return id and title of each card.

    A file that belongs to two nested brains counts for the nearer brain. Nothing else of a card is
    read, because a user waits for the answer while typing.
    """
    brains.refresh(only_names=True)
    by_file: dict[str, tuple[str, str]] = {}
    for brain in brains.members:
        for card_id, title in brain.read(lambda brain: brain.catalogue.names()):
            by_file.setdefault(f"{brain.root}/{card_id}", (card_id, title))
    return [*by_file.values()]


def _open_brains(names: Sequence[str]) -> Brains:
    if names:
        return Brains.open(*names)
    return Brains.discover(found=look("."))


def _read_slug(card_id: str) -> str:
    return card_id.rpartition("/")[2].removesuffix(".md")


def _describe(title: str) -> str:
    words = _UNSAFE.sub(" ", clean_line(title)).split()
    return shorten(" ".join(words), _TITLE_CHARS)
