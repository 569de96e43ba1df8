"""What the two tabs hold and show: rows, filters, the order, where each cursor stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lessons_kb.tui.actions import Outcome
from lessons_kb.tui.key_bindings import BOTH, CARDS, DRAFTS
from lessons_kb.tui.rows import ORDERS, Row, filter_rows, sort_rows


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
