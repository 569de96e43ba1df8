"""What may be done with a row, and what the lists then have to change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from lessons_kb.errors import CardNotFound, InputError, LessonsError
from lessons_kb.model import Card
from lessons_kb.text.sanitize import clean_line
from lessons_kb.tui.rows import ORDERS, Row, RowSource, filter_rows, sort_rows

CARDS, DRAFTS = "cards", "drafts"
BOTH = (CARDS, DRAFTS)


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    """A key and what it does while the list has the focus."""

    keys: str
    """As textual names them, separated by commas."""
    shown: str
    act: str
    label: str = ""
    """For the bottom line; "" = not there."""
    help: str
    tabs: tuple[str, ...] = BOTH
    statuses: tuple[str, ...] = ()
    """The bottom line names it for rows of these; () = for all."""


KEYS = (
    Key(keys="enter,e", shown="enter e", act="edit", label="e open", help="open in $EDITOR"),
    Key(
        keys="plus",
        shown="+",
        act="bump",
        label="+ bump",
        help="it happened again: seen + 1, last seen today",
        tabs=(CARDS,),
        statuses=("active", "ignored", "archived"),
    ),
    Key(
        keys="i",
        shown="i",
        act="ignore",
        label="i ignore",
        help="stop injecting it",
        tabs=(CARDS,),
        statuses=("active",),
    ),
    Key(
        keys="a",
        shown="a",
        act="archive",
        label="a archive",
        help="retire it",
        tabs=(CARDS,),
        statuses=("active", "ignored"),
    ),
    Key(
        keys="r",
        shown="r",
        act="restore",
        label="r restore",
        help="make an ignored or archived one active again",
        tabs=(CARDS,),
        statuses=("ignored", "archived"),
    ),
    Key(
        keys="d",
        shown="d",
        act="delete",
        label="d delete",
        help="move it to the trash (asks first)",
        tabs=(CARDS,),
        statuses=("active", "ignored", "archived"),
    ),
    Key(
        keys="a",
        shown="a",
        act="accept",
        label="a accept",
        help="turn the draft into a card, once it is complete",
        tabs=(DRAFTS,),
    ),
    Key(
        keys="m",
        shown="m",
        act="merge",
        label="m merge",
        help="count the draft as an occurrence of an existing card",
        tabs=(DRAFTS,),
    ),
    Key(
        keys="d",
        shown="d",
        act="discard",
        label="d discard",
        help="remove the draft (asks first)",
        tabs=(DRAFTS,),
    ),
    Key(
        keys="u",
        shown="u",
        act="undo",
        label="u undo",
        help="undo the latest change, then the one before …",
    ),
    Key(keys="slash", shown="/", act="filter", label="/ filter", help="type to filter the list"),
    Key(keys="escape", shown="esc", act="clear", help="clear the filter"),
    Key(keys="s", shown="s", act="order", help="change the order: last, seen, effect, title"),
    Key(keys="space", shown="space b", act="page_down", help="scroll the preview, and back"),
    Key(keys="b", shown="b", act="page_up", help=""),
    Key(keys="tab", shown="tab", act="switch", label="tab drafts", help="cards ↔ drafts"),
    Key(keys="ctrl+r,f5", shown="ctrl+r", act="reload", help="reload the folder"),
    Key(keys="question_mark", shown="?", act="help", label="? help", help="this page"),
    Key(keys="q", shown="q", act="quit", label="q quit", help="quit (ctrl+c anywhere)"),
)
"""In the order in which help names them."""

_DISPENSABLE = ("filter", "switch", "undo")
"""Left out first where a line is too narrow for all."""

FILTER_HINTS = "type to filter  ↓ enter to the list  esc clear  ? help  ctrl+c quit"
"""The bottom line while the filter has the focus."""


def hints(tab: str, row: Row | None, width: int) -> tuple[Key, ...]:
    """Return the keys that the bottom line has room for, for the row under the cursor."""
    shown = [
        key
        for key in KEYS
        if key.label
        and tab in key.tabs
        and (not key.statuses or (row is not None and row.status in key.statuses))
        and (row is not None or key.act not in ("edit", "accept", "merge", "discard"))
    ]
    for act in _DISPENSABLE:
        if sum(len(key.label) + 2 for key in shown) <= width:
            break
        shown = [key for key in shown if key.act != act]
    return tuple(shown)


def label(key: Key, tab: str) -> str:
    """Return what the bottom line says of a key."""
    return f"tab {CARDS}" if key.act == "switch" and tab == DRAFTS else key.label


def help_text() -> str:
    """Return the page that ``?`` shows: 76 columns at most, at most 22 lines."""
    lines = []
    for key in KEYS:
        only = f" ({key.tabs[0]})" if key.tabs != BOTH else ""
        if key.help:
            lines.append(f"{key.shown:>7}  {key.help}{only}")
    return "\n".join([*_OPENING, "", *lines])


_OPENING = (
    "Type to filter: every word must be there, in title, id, topics, symptoms,",
    "severity, status or effect (try: broken, archived, harms). ↓ or enter goes",
    "to the list, where single keys act on the card under the cursor:",
)


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

    def bump(self, row: Row) -> Outcome:
        """Count a mistake once more."""
        card = self._undoing.bump(_usable(row))
        return self._changed(row, card, f"{clean_line(card.id)} seen {card.occurrences}×")

    def set_status(self, row: Row, status: str) -> Outcome:
        """Make a card active, ignored or archived."""
        before = len(self._undoing.steps)
        card = self._undoing.set_status(status, _usable(row))
        already = "" if len(self._undoing.steps) > before else "already "
        return self._changed(row, card, f"{clean_line(card.id)} is {already}{status}")

    def delete(self, row: Row) -> Outcome:
        """Move a card to the trash."""
        card = self._undoing.delete(_usable(row))
        return Outcome(line=f"{clean_line(card.id)} moved to the trash", gone=(row.name,))

    def edit(self, row: Row, editor: Callable[[str], None]) -> Outcome:
        """Let the user's editor change a card, a file that cannot be used, or a draft."""
        if row.draft is not None:
            draft = self._source.brain.drafts.get(row.name)
            changed = self._undoing.edit_draft(draft, editor)
            return Outcome(line=f"{row.name} {_EDITED[changed]}", drafts=True)
        layer = self._source.brain.layers[row.layer]
        changed = self._undoing.edit(layer, row.path, editor)
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

    def discard(self, row: Row) -> Outcome:
        """Remove a draft."""
        self._undoing.discard(row.name)
        return Outcome(line=f"{row.name} discarded", drafts=True)

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

    def _changed(self, row: Row, card: Card, line: str) -> Outcome:
        now = self._source.row_of(card, layer=row.layer, troubles=row.troubles)
        return Outcome(line=line, changed=(now,))


_EDITED = {True: "edited", False: "not changed"}


def _usable(row: Row) -> str:
    if row.card is None:
        raise InputError(f"{clean_line(row.path)} is not valid; open and fix it first")
    return row.name


class Board:
    """The state of the lists, whatever draws them."""

    def __init__(self) -> None:
        self.tab = CARDS
        self.order = next(iter(ORDERS))
        self.rows: dict[str, tuple[Row, ...]] = dict.fromkeys(BOTH, ())
        self.ready = dict.fromkeys(BOTH, False)
        """Which tabs have been read."""
        self._filters = dict.fromkeys(BOTH, "")
        self._places = dict.fromkeys(BOTH, "")

    @property
    def typed(self) -> str:
        """What is typed above this tab's list."""
        return self._filters[self.tab]

    @typed.setter
    def typed(self, text: str) -> None:
        """Filter this tab's list."""
        self._filters[self.tab] = text

    @property
    def place(self) -> str:
        """Name of the row under this tab's cursor, "" without one."""
        return self._places[self.tab]

    @place.setter
    def place(self, name: str) -> None:
        """Put this tab's cursor on a row."""
        self._places[self.tab] = name

    @property
    def counts(self) -> dict[str, int]:
        """How many rows each tab has."""
        return {tab: len(rows) for tab, rows in self.rows.items()}

    def shown(self) -> list[Row]:
        """Return the rows of this tab that pass its filter."""
        return filter_rows(self.rows[self.tab], self.typed)

    def set(self, tab: str, rows: Sequence[Row]) -> None:
        """Fill a tab; cards are put in order."""
        self.rows[tab] = tuple(sort_rows(rows, self.order) if tab == CARDS else rows)
        self.ready[tab] = True

    def switch(self) -> None:
        """Go to the other tab."""
        self.tab = DRAFTS if self.tab == CARDS else CARDS

    def next_order(self) -> None:
        """Put the cards in the next order."""
        names = list(ORDERS)
        self.order = names[(names.index(self.order) + 1) % len(names)]
        self.set(CARDS, self.rows[CARDS])

    def exchange(self, new: Mapping[str, Row]) -> None:
        """Put cards where those of their names stand, though another order be due."""
        self.rows[CARDS] = tuple(new.get(row.name, row) for row in self.rows[CARDS])

    def take(self, outcome: Outcome) -> None:
        """Change the cards as an action says; one that is new comes under the cursor."""
        changed = {row.name: row for row in outcome.changed}
        self.exchange(changed)
        known = {row.name for row in self.rows[CARDS]}
        added = [row for row in outcome.changed if row.name not in known]
        rows = [row for row in self.rows[CARDS] if row.name not in outcome.gone]
        if added:
            self.set(CARDS, [*rows, *added])
            self._places[CARDS] = added[0].name
        else:
            self.rows[CARDS] = tuple(rows)
