"""Account for every file of a brain."""

from __future__ import annotations

from dataclasses import dataclass

from lessons_kb.brain.layer import Layer
from lessons_kb.brain.refresh import scan_brain
from lessons_kb.model import NOTE
from lessons_kb.text.plurals import counted


@dataclass(frozen=True, kw_only=True, slots=True)
class Census:
    """What became of the files: ``files`` = ``cards`` + ``notes`` + ``unusable``."""

    files: int
    cards: int
    notes: int
    unusable: int
    """Files that cannot be used until they are fixed."""
    problems: int
    """Findings, those of usable files included."""


def format_census(census: Census) -> str:
    """Return how many files there are and what became of them, on one line."""
    kinds = f"{counted(census.cards, 'card')}, {counted(census.notes, 'note')}"
    return f"{counted(census.files, 'file')}: {kinds}, {census.unusable} unusable"


def count_files(layer: Layer) -> Census:
    """Count the files as of the last refresh, those that the scan passes over included."""
    state = layer.state
    passed_over = scan_brain(layer.root, layer.settings, state.ignored if state else ()).findings
    known = layer.catalogue.numbers()
    unread = sum(finding.path != "." for finding in passed_over)  # "." is no file, but too many
    usable = layer.catalogue.all_cards()
    notes = sum(card.kind == NOTE for card in usable)
    return Census(
        files=len(known) + unread,
        cards=len(usable) - notes,
        notes=notes,
        unusable=len(known) - len(usable) + unread,
        problems=len(layer.catalogue.findings()) + len(passed_over),
    )
