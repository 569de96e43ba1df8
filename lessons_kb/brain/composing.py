"""From what is known to the text of a card, and from a text to what it still lacks."""

from __future__ import annotations

from lessons_kb.cards import edit_header, is_vague, new_card
from lessons_kb.cards.outline import normal_newlines
from lessons_kb.cards.sections import CAUSE, read_checklist, read_sections, text_of
from lessons_kb.learn.bar import find_missing
from lessons_kb.learn.drafts import fill
from lessons_kb.storage.templates import read_template

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from lessons_kb.learn.drafts import Sketch
    from lessons_kb.model import Document


def compose(
    sketch: Sketch,
    *,
    kind: str,
    created: str,
    topics: tuple[str, ...] = (),
    project: str | None = None,
    severity: str | None = None,
    header: Mapping[str, Any] | None = None,
) -> str:
    """Return the text of a card: the template of its kind, filled with a sketch."""
    text = new_card(
        read_template(f"{kind}.md"),
        kind=kind,
        title=sketch.title,
        topics=topics,
        project=project,
        stage=sketch.stage,
        severity=severity,
        paths=sketch.paths,
        created=created,
    )
    changes = {name: value for name, value in (header or {}).items() if value is not None}
    if sketch.example:
        changes["examples"] = (sketch.example,)
    return fill(edit_header(text, changes), sketch.sections)


def find_lacks(document: Document) -> tuple[str, ...]:
    """Return what a draft lacks before it may become a card, one line each."""
    card = document.card
    if card is None:
        return tuple(f"{finding.message}: {finding.mend}" for finding in document.findings[:1])
    sections = read_sections(normal_newlines(document.body))
    checklist = read_checklist(sections)
    items = checklist.items if checklist.origin == "prevention" else ()
    return find_missing(
        title=card.title,
        cause=_without_comments(text_of(sections, (CAUSE,))),
        items=[item.text for item in items],
        symptoms=card.symptoms,
        is_vague=is_vague,
    )


def _without_comments(text: str) -> str:
    import re

    return re.sub(r"<!--.*?(?:-->|\Z)", " ", text, flags=re.DOTALL).strip()
