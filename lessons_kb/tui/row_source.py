"""Where rows come from: those of cards and of drafts, and what there is to see of each."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.drafts.drafts import Draft
from lessons_kb.brain.index_entry import read_document
from lessons_kb.brain.layer import Layer
from lessons_kb.brain.undo import Undoing
from lessons_kb.cards.lint import check_card
from lessons_kb.errors import CardNotFound, StorageError
from lessons_kb.learn.lesson_effect import Effect
from lessons_kb.model import NOTE, Card, Document, Finding
from lessons_kb.store.card_files import read_bytes
from lessons_kb.tui.card_preview import View, broken_view, card_view, draft_view
from lessons_kb.tui.rows import Row, broken_row, card_row, draft_row

_MAX_BYTES = 100_000
"""Of a file that cannot be used; more is not shown."""


class RowSource:
    """The cards and drafts of a brain as rows.

    Everything raises LessonsError. May be called from any thread.
    """

    def __init__(self, brain: Brain) -> None:
        self.brain = brain
        self.undoing = Undoing(brain)
        self._effects: Mapping[str, Effect] = {}

    @property
    def label(self) -> str:
        """The names of the brains."""
        return ", ".join(layer.alias for layer in self.brain.layers)

    def load(self, progress: Callable[[int, int], None] | None = None) -> tuple[Row, ...]:
        """Return a row for every card and for every file that cannot be used.

        ``progress`` is told (files read, files to read) where the index is behind.
        """
        self.brain.refresh(progress=progress, workers=max(1, min(4, os.cpu_count() or 1)))
        rows: list[Row] = []
        for number, layer in enumerate(self.brain.layers):
            rows += self._load_layer(number, layer)
        return tuple(rows)

    def load_drafts(self) -> tuple[Row, ...]:
        """Return a row for every open draft, newest first; what waits in the journal included."""
        drafts = self.brain.drafts
        drafts.collect()
        return tuple(draft_row(draft) for draft in drafts.all())

    def load_effects(self) -> Mapping[str, str]:
        """Return name → verdict of every card that was measured; later rows show it too."""
        self._effects = {effect.name: effect for effect in self.brain.stats.overview().effects}
        return {name: effect.verdict for name, effect in self._effects.items()}

    def look(self, row: Row) -> tuple[Row, View]:
        """Return a card's row as its file is now, and what to show of it.

        Raises CardNotFound when the file is gone.
        """
        document = self._read(row)
        card = document.card
        wrong = sum(finding.level != "info" for finding in document.findings)
        if card is None:
            now = broken_row(row.path, name=row.name, layer=row.layer, troubles=max(wrong, 1))
            return now, broken_view(row.path, self._raw(row), document.findings)
        findings = document.findings if card.kind == NOTE else check_card(document)
        effect = self._effect(row.layer, card)
        view = card_view(card, document.body, findings, effect)
        return self.row_of(card, layer=row.layer, troubles=wrong), view

    def look_draft(self, draft: Draft) -> View:
        """Return what to show of a draft: what it lacks, which cards are like it, its text."""
        found = self.brain.drafts.find_near_duplicates(draft)
        return draft_view(draft, [one.reason for one in found])

    def nearest(self, draft: Draft) -> tuple[Card, ...]:
        """Return the cards into which a draft may be merged, best first."""
        found = [one.card for one in self.brain.drafts.find_near_duplicates(draft)]
        return tuple({card.id: card for card in found}.values())

    def row_of(self, card: Card, *, layer: int = 0, troubles: int = 0) -> Row:
        """Return the row of a card."""
        effect = self._effect(layer, card)
        name = self.undoing.name_of(self.brain.layers[layer], card.id)
        verdict = effect.verdict if effect else ""
        return card_row(card, name=name, layer=layer, troubles=troubles, effect=verdict)

    def row_named(self, name: str) -> Row:
        """Return the row of a file by the name of a row; CardNotFound where there is none."""
        for number, layer in enumerate(self.brain.layers):
            prefix = self.undoing.name_of(layer, "")
            path = name.removeprefix(prefix)
            if name.startswith(prefix) and _exists(layer, path):
                return self.look(Row(name=name, layer=number, path=path, title=path))[0]
        raise CardNotFound(f"{name} no longer exists")

    def _effect(self, layer: int, card: Card) -> Effect | None:
        """Return what a card did; its name has an alias only where two brains have its id."""
        named = f"{self.brain.layers[layer].alias}:{card.id}"
        return self._effects.get(named) or self._effects.get(card.id)

    def _load_layer(self, number: int, layer: Layer) -> list[Row]:
        cards, findings, known = layer.read(
            lambda one: (
                one.catalogue.all_cards(),
                one.catalogue.findings(),
                one.catalogue.numbers(),
            )
        )
        troubles = Counter(finding.path for finding in findings if finding.level != "info")
        rows = [
            self.row_of(card, layer=number, troubles=troubles[card.id])
            for card in cards
            if card.kind != NOTE
        ]
        for path in sorted(known.keys() - {card.id for card in cards}):
            name = self.undoing.name_of(layer, path)
            rows.append(broken_row(path, name=name, layer=number, troubles=troubles[path]))
        return rows

    def _read(self, row: Row) -> Document:
        layer = self.brain.layers[row.layer]
        if not _exists(layer, row.path):
            raise CardNotFound(f"{row.path} no longer exists; press ctrl+r to reload")
        settings = layer.settings
        limit = settings.index.max_file_bytes
        try:
            return read_document(layer.root, row.path, settings.folders, limit)[1]
        except StorageError as error:
            finding = Finding(
                path=row.path,
                line=0,
                rule="unreadable",
                message=str(error),
                fix="grant yourself read access, or remove the file",
                level="error",
            )
            return Document(card=None, fields={}, findings=(finding,))

    def _raw(self, row: Row) -> str:
        try:
            data = read_bytes(self.brain.layers[row.layer].root, row.path, limit=_MAX_BYTES)
        except StorageError:
            return ""
        return data.decode("utf-8", "replace")


def _exists(layer: Layer, path: str) -> bool:
    return os.path.lexists(os.path.join(layer.root, *path.split("/")))
