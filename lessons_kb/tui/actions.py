"""What may be done with a row, and what the lists then have to change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lessons_kb.data import read_lines, read_patterns
from lessons_kb.errors import CardNotFound, InputError, LessonsError
from lessons_kb.text.sanitize import clean_line
from lessons_kb.tui.rows import ORDERS, Row, RowSource, filter_rows, sort_rows

CARDS, DRAFTS = "cards", "drafts"
BOTH = (CARDS, DRAFTS)


class Key(NamedTuple):
    """A key and what it does while the list has the focus."""

    keys: str
    """As textual names them, separated by commas."""
    shown: str
    act: str
    word: str
    """For the bottom line; "" = not there."""
    help: str
    tab: str
    """"" = both."""
    statuses: tuple[str, ...]
    """The bottom line names it for cards of these; () = for all."""


KEYS = tuple(
    Key(keys, shown, act, word, told, tab, tuple(statuses.split()))
    for line in read_lines("manage_keys.txt")[1:]
    for keys, shown, act, word, told, tab, statuses in [map(str.strip, line.split("|"))]
)
"""In the order in which help names them."""
ROW_ACTS = tuple(key.act for key in KEYS[:9])
"""What is done to the row under the cursor."""
_STATUSES = {"ignore": "ignored", "archive": "archived", "restore": "active"}
_DISPENSABLE = ("filter", "switch", "undo")
"""Left out first where a line is too narrow for all."""


def list_hints(tab: str, row: Row | None, width: int) -> list[tuple[str, str, str]]:
    """Return (key, shown, word) of the keys that the bottom line has room for, for a row."""
    found: dict[str, tuple[str, str, str]] = {}
    for key in KEYS:
        fits = key.act not in ROW_ACTS or (
            row is not None
            and (key.tab != CARDS or row.card is not None)
            and (not key.statuses or row.status in key.statuses)
        )
        if key.word and fits and key.tab in ("", tab):
            word = CARDS if key.act == "switch" and tab == DRAFTS else key.word
            found[key.act] = (key.keys.split(",")[0], key.shown.split()[-1], word)
    for act in _DISPENSABLE:
        if sum(len(f"{shown} {word}") + 2 for _key, shown, word in found.values()) <= width:
            break
        del found[act]
    return list(found.values())


def find_act(tab: str, pressed: str) -> str:
    """Return what a key means in a tab, "" where it means nothing."""
    return next(
        (key.act for key in KEYS if key.tab in ("", tab) and pressed in key.keys.split(",")), ""
    )


def help_text() -> str:
    """Return the page that ``?`` shows: 76 columns at most, at most 22 lines."""
    lines = [
        f"{key.shown:>7}  {key.help}{f' ({key.tab})' if key.tab else ''}"
        for key in KEYS
        if key.help
    ]
    return "\n".join([*read_patterns("manage_texts.txt")["help"], "", *lines])


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What an action did: a line for the user, and what the lists have to change."""

    line: str
    changed: tuple[Row, ...] = ()
    """Rows that replace those of the same name, or are new."""
    gone: tuple[str, ...] = ()
    """Names of rows."""
    drafts: bool = False
    """The drafts are to be read anew."""


class Actions:
    """What a user does to the rows; each can be undone. Everything raises LessonsError."""

    def __init__(self, source: RowSource) -> None:
        self._source = source
        self._undoing = source.undoing

    def do(self, act: str, row: Row) -> Outcome:
        """Do what needs nothing but a row: bump, ignore, archive, restore, delete, discard."""
        if act == "discard":
            self._undoing.discard(row.name)
            return Outcome(line=f"{row.name} discarded; u brings it back", drafts=True)
        if row.card is None:
            raise InputError(f"{clean_line(row.path)} is not valid; open and fix it first")
        if act == "delete":
            card = self._undoing.delete(row.name)
            return Outcome(line=f"{clean_line(card.id)} moved to the trash", gone=(row.name,))
        if act == "bump":
            card = self._undoing.bump(row.name)
            done = f"seen {card.occurrences}×"
        else:
            status = _STATUSES[act]
            card = self._undoing.set_status(status, row.name)
            done = f"is already {status}" if row.status == status else f"is {status}"
        now = self._source.row_of(card, layer=row.layer, troubles=row.troubles)
        return Outcome(line=f"{clean_line(card.id)} {done}", changed=(now,))

    def edit(self, row: Row, editor: Callable[[str], object]) -> Outcome:
        """Let the user's editor change a card, a file that cannot be used, or a draft."""
        if row.draft is not None:
            draft = self._source.brain.drafts.get(row.name)
            changed = self._undoing.edit_draft(draft, editor)
            return Outcome(line=f"{row.name} {_EDITED[changed]}", drafts=True)
        changed = self._undoing.edit(self._source.brain.layers[row.layer], row.path, editor)
        path = clean_line(row.path)
        try:
            now, _view = self._source.look(row)
        except CardNotFound:
            return Outcome(line=f"{path} no longer exists", gone=(row.name,))
        trouble = "" if now.card else " and now invalid: see below"
        return Outcome(line=f"{path} {_EDITED[changed]}{trouble}", changed=(now,))

    def accept(self, row: Row, *, on_duplicate: str = "fail") -> Outcome:
        """Make a draft a card; DuplicateCard where the lesson is there already."""
        draft = self._source.brain.drafts.get(row.name)
        if draft.missing:
            raise InputError(f"incomplete; press e and add {'; '.join(draft.missing)}")
        card = self._undoing.accept(row.name, on_duplicate=on_duplicate)
        made = self._source.row_of(card)
        return Outcome(line=f"{clean_line(card.id)} is now a card", changed=(made,), drafts=True)

    def merge(self, row: Row, card_name: str) -> Outcome:
        """Count a draft on a card."""
        layer, card = self._source.brain.cards.find(card_name)
        card = self._undoing.merge(row.name, self._undoing.name_of(layer, card.id))
        now = self._source.row_of(card, layer=self._source.brain.layers.index(layer))
        line = f"{row.name} counted on {clean_line(card.id)}, seen {card.occurrences}×"
        return Outcome(line=line, changed=(now,), drafts=True)

    def undo(self) -> Outcome:
        """Take the latest change back."""
        done = self._undoing.undo()
        changed: list[Row] = []
        gone: list[str] = []
        for name in done.names:
            try:
                changed.append(self._source.row_named(name))
            except LessonsError:
                gone.append(name)
        line = clean_line(done.line)
        return Outcome(line=line, changed=tuple(changed), gone=tuple(gone), drafts=True)


_EDITED = {True: "edited", False: "not changed"}


class Board:
    """The state of the lists, whatever draws them."""

    def __init__(self) -> None:
        self.tab = CARDS
        self.order = next(iter(ORDERS))
        self.rows: dict[str, Sequence[Row]] = dict.fromkeys(BOTH, ())
        self.ready: set[str] = set()
        """Tabs that have been read."""
        self.filters = dict.fromkeys(BOTH, "")
        """What is typed above each list."""
        self.places = dict.fromkeys(BOTH, "")
        """Name of the row under each cursor, "" without one."""

    def shown(self) -> list[Row]:
        """Return the rows of this tab that pass its filter."""
        return filter_rows(self.rows[self.tab], self.filters[self.tab])

    def set(self, tab: str, rows: Sequence[Row]) -> None:
        """Fill a tab; cards are put in order."""
        self.rows[tab] = sort_rows(rows, self.order) if tab == CARDS else rows
        self.ready.add(tab)

    def next_order(self) -> None:
        """Put the cards in the next order."""
        names = list(ORDERS)
        self.order = names[(names.index(self.order) + 1) % len(names)]
        self.set(CARDS, self.rows[CARDS])

    def replace(self, new: Mapping[str, Row]) -> None:
        """Put cards where those of their names stand, though another order be due."""
        self.rows[CARDS] = [new.get(row.name, row) for row in self.rows[CARDS]]

    def take(self, outcome: Outcome) -> None:
        """Change the cards as an action says; one that is new comes under the cursor."""
        self.replace({row.name: row for row in outcome.changed})
        known = {row.name for row in self.rows[CARDS]}
        added = [row for row in outcome.changed if row.name not in known]
        self.rows[CARDS] = [row for row in self.rows[CARDS] if row.name not in outcome.gone]
        if added:
            self.set(CARDS, [*self.rows[CARDS], *added])
            self.places[CARDS] = added[0].name
