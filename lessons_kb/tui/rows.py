"""Rows of the two lists: what they show, how they are ordered and how they are filtered."""

from __future__ import annotations

import datetime as dt
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from lessons_kb.brain.drafts.drafts import Draft
from lessons_kb.model import Card
from lessons_kb.render import age
from lessons_kb.text.sanitize import clean_line

BROKEN = "broken"
"""What a file is that cannot be used until it is fixed."""

_RANKS: Mapping[str, int] = {BROKEN: 0, "active": 1, "ignored": 2, "archived": 3}
_EFFECTS = ("harms", "no effect", "too early", "never used", "", "helps")
"""Verdicts in the order in which they call for a look."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """A column of a list; the last one, the title, takes the room that is left."""

    name: str
    width: int = 0
    right: bool = False


CARD_COLUMNS = (
    Column(name="", width=1),
    Column(name="seen", width=4, right=True),
    Column(name="sev", width=6),
    Column(name="last", width=4, right=True),
    Column(name="effect", width=9),
    Column(name="title"),
)
DRAFT_COLUMNS = (
    Column(name="why", width=10),
    Column(name="seen", width=4, right=True),
    Column(name="lacks", width=5, right=True),
    Column(name="last", width=4, right=True),
    Column(name="title"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One line of a list."""

    name: str
    """What ``brain.cards``, or ``brain.drafts``, understands."""
    layer: int = 0
    """Which of the brain's layers it lies in."""
    path: str
    """POSIX path relative to its brain; of a draft, on disk."""
    title: str
    status: str = "active"
    """A card's status, or BROKEN."""
    card: Card | None = None
    draft: Draft | None = None
    troubles: int = 0
    """Findings about the file."""
    effect: str = ""
    words: str = ""
    """What a filter looks at, folded."""


def card_row(card: Card, *, name: str, layer: int = 0, troubles: int = 0, effect: str = "") -> Row:
    """Return the row of a usable card."""
    title = clean_line(card.title)
    told = (title, card.id, card.kind, card.status, card.severity, card.source, effect)
    scope = (card.project or "", *card.stages, *card.topics, *card.symptoms, *card.paths)
    return Row(
        name=name,
        layer=layer,
        path=card.id,
        title=title,
        status=card.status,
        card=card,
        troubles=troubles,
        effect=effect,
        words=fold(" ".join((*told, *scope))),
    )


def broken_row(path: str, *, name: str, layer: int = 0, troubles: int = 1) -> Row:
    """Return the row of a file that cannot be used."""
    title = clean_line(path)
    words = fold(f"{title} {BROKEN}")
    return Row(
        name=name,
        layer=layer,
        path=path,
        title=title,
        status=BROKEN,
        troubles=troubles,
        words=words,
    )


def draft_row(draft: Draft) -> Row:
    """Return the row of a draft."""
    title = clean_line(draft.title)
    words = fold(f"{title} {draft.id} {draft.kind}")
    return Row(name=draft.id, path=draft.path, title=title, draft=draft, words=words)


def fold(text: str) -> str:
    """Return a text as filters compare it: composed, without case."""
    return text.casefold() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def filter_rows(rows: Sequence[Row], text: str) -> list[Row]:
    """Return the rows that hold every word of ``text``, in their order."""
    found = list(rows)
    for word in fold(text).split():
        found = [row for row in found if word in row.words]
    return found


def sort_rows(rows: Sequence[Row], order: str) -> list[Row]:
    """Return the rows by ORDERS; broken files first, cards put away last."""
    key = ORDERS[order]
    found = sorted(rows, key=lambda row: row.path)
    found.sort(key=key, reverse=order in _FALLING)
    found.sort(key=lambda row: _RANKS.get(row.status, 1))
    return found


def _last(row: Row) -> str:
    return (row.card.last_seen or row.card.created or "") if row.card else ""


def _count(row: Row) -> int:
    return row.card.occurrences if row.card else 0


def _effect(row: Row) -> int:
    return _EFFECTS.index(row.effect) if row.effect in _EFFECTS else len(_EFFECTS)


ORDERS: Mapping[str, Callable[[Row], str | int]] = {
    "last": _last,
    "seen": _count,
    "title": lambda row: fold(row.title),
    "effect": _effect,
}
"""Names of orders, which are names of columns."""
_FALLING = ("last", "seen")


_SHORT = {"never used": "unused"}


def cells(row: Row, today: dt.date) -> tuple[str, ...]:
    """Return what stands in the columns of a row."""
    if row.draft is not None:
        draft = row.draft
        date = dt.datetime.fromtimestamp(draft.at).date().isoformat()
        lacks = str(len(draft.missing)) if draft.missing else ""
        return (draft.kind, f"{draft.seen}×", lacks, age(date, today), row.title)
    card = row.card
    if card is None:
        return ("✗", "", BROKEN, "", "", row.title)
    mark = "!" if row.troubles else ""
    shown = row.title if row.status == "active" else f"[{row.status}] {row.title}"
    date = card.last_seen or card.created or ""
    effect = _SHORT.get(row.effect, row.effect)
    return (mark, f"{card.occurrences}×", card.severity, age(date, today), effect, shown)
