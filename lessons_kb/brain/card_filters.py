"""Choosing cards by what they name, as ranking does: in any case."""

from __future__ import annotations

from collections.abc import Iterable

from lessons_kb.model import Card


def names_stage(card: Card, stage: str | None) -> bool:
    """Return whether a card names this stage; None chooses every card."""
    return stage is None or _is_among(stage, card.stages)


def names_topic(card: Card, topic: str | None) -> bool:
    """Return whether a card names this topic; None chooses every card."""
    return topic is None or _is_among(topic, card.topics)


def names_project(card: Card, project: str | None) -> bool:
    """Return whether a card names this project; None chooses every card."""
    return project is None or _is_among(project, (card.project or "",))


def _is_among(name: str, names: Iterable[str]) -> bool:
    return name.casefold() in (other.casefold() for other in names)
