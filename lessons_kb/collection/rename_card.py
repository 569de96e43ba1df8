"""Rename a card: change its title, its file, the links to it and its records."""

from __future__ import annotations

import contextlib
import posixpath
import re

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.cards.draft_gaps import MISSING, names_mistake
from lessons_kb.cards.edit import edit_header
from lessons_kb.cards.file_names import numbered_names
from lessons_kb.cards.keys import split_header
from lessons_kb.cards.links import normal_title, slug
from lessons_kb.cards.parse import parse_card
from lessons_kb.cards.sections import find_headings, normal_newlines, one_line, split_lines
from lessons_kb.collection.card_edits import CardEdits
from lessons_kb.collection.card_links import rewrite_links
from lessons_kb.errors import DuplicateCard, InputError, StorageError
from lessons_kb.model import Card
from lessons_kb.store import card_files
from lessons_kb.store.draft_files import DraftFolder
from lessons_kb.store.locks import hold_for_new_card
from lessons_kb.text.redact import redact
from lessons_kb.values import frozen


@frozen
class Renamed:
    """The result of renaming a card."""

    old: str
    """The former id of the card."""
    card: Card
    linked: tuple[str, ...] = ()
    """The files whose links were changed."""
    failed: tuple[str, ...] = ()
    """One line for each file that could not be changed."""


def rename_card(brains: Brains, name: str, title: str) -> Renamed:
    """Give a card a new title and a matching file name. Its folder stays the same.

    The links in the files of the brain and the records in the journal and the drafts are updated.
    Raises DuplicateCard if another card has the title, InputError if the title names no mistake,
    CardNotFound and EditRefused.
    """
    cards = CardEdits(brains)
    brain, card = cards.find(name, notes=False)
    new_title = one_line(redact(title))
    stem = slug(new_title)
    new_id = card.id
    if not names_mistake(new_title):
        raise InputError(f"{new_title!r} names no mistake; give {MISSING['title']}")
    folder = posixpath.dirname(card.id)
    suffix = posixpath.splitext(card.id)[1]
    with hold_for_new_card(brain.root):
        same_title = brain.read(lambda brain: brain.catalogue.paths_titled(normal_title(new_title)))
        for other in same_title:
            if other != card.id:
                raise DuplicateCard(
                    f"{other} already has this title; choose another", existing=other
                )
        cards.rewrite(brain, card.id, lambda card, text: _retitle(card, text, title=new_title))
        for file_name in numbered_names(stem, suffix):  # the first free name, as for a new card
            new_id = posixpath.join(folder, file_name)
            if new_id == card.id:
                break
            with contextlib.suppress(DuplicateCard):
                new_id = card_files.move(brain.root, card.id, new_id)
                break
    brain.touch()
    linked: list[str] = []
    failed: list[str] = []
    if new_id != card.id:
        linked, failed = rewrite_links(brain, card.id, new_id)
        move_records(brain, card.id, new_id)
    return Renamed(old=card.id, card=cards.get(new_id), linked=tuple(linked), failed=tuple(failed))


def move_records(brain: Brain, old: str, new: str) -> None:
    """Rename a card in the journal and in the facts of drafts."""
    with contextlib.suppress(StorageError):  # a failure costs statistics, not the card
        brain.journal.rename(old, new)
        folder = DraftFolder(brain.root)
        with folder.locked():
            for name, facts in folder.facts().items():
                if facts.get("card") == old:
                    folder.note(name, {**facts, "card": new})


def _retitle(card: Card, text: str, *, title: str) -> str:
    """Return the text of a card with another title.

    A level-1 heading with the old title is changed as well.
    """
    body = split_header(text).body
    headings = [heading for heading in find_headings(normal_newlines(body)) if heading.level == 1]
    lines = split_lines(body)
    if headings:
        place = headings[0].line
        pattern = rf"(#[ \t]+){re.escape(card.title)}(?=[ \t]*[\r\n]*\Z)"
        lines[place] = re.sub(pattern, lambda match: match[1] + title, lines[place])
    text = text[: len(text) - len(body)] + "".join(lines)
    retitled = parse_card(text, path=card.id, folders={}).card
    # The title of a heading is read as Markdown, in which `__init__` is bold, so it needs a key.
    if retitled and retitled.title == title:
        return text
    return edit_header(text, {"title": title})
