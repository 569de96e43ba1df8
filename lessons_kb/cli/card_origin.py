"""Print the origin and the standing of a card, for `lessons why CARD`."""

from __future__ import annotations

import os

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.cards.sources import read_sources_of
from lessons_kb.cards.standings import list_remarks
from lessons_kb.cli.output import options, print_json, print_wrapped
from lessons_kb.collection.lookup import CardLookup
from lessons_kb.collection.origin import describe_sources
from lessons_kb.errors import AmbiguousCard, CardNotFound, InputError
from lessons_kb.model import Card, as_data
from lessons_kb.process.clock import today
from lessons_kb.store.files import open_regular
from lessons_kb.text.sanitize import clean_line


def tell(brains: Brains, word: str) -> bool:
    """Print the origin of the card that a word names. Return whether there is one."""
    found = _find_card(brains, word)
    if found is None:
        return False
    brain, card = found
    with open_regular(os.path.join(brain.root, *card.id.split("/"))) as file:
        text = file.read().decode("utf-8", "replace")
    remarks = list_remarks(card, today())
    if options().json:
        sources = as_data(read_sources_of(text))
        print_json({"card": card.id, "title": card.title, "sources": sources, "remarks": remarks})
        return True
    print_wrapped(f"{clean_line(card.id)}: {clean_line(card.title)}")
    lines = describe_sources(text, directory=brains.directory)
    for line in lines or ["no source is noted"]:
        print_wrapped(f"  {line}")
    for remark in remarks:
        print_wrapped(f"  {clean_line(remark)}")
    return True


def _find_card(brains: Brains, word: str) -> tuple[Brain, Card] | None:
    """Return the card that a word names, as for other commands, or None for a word of a prompt."""
    if any(letter.isspace() for letter in word):
        return None
    try:
        return CardLookup(brains).find(word, notes=False)
    except (CardNotFound, AmbiguousCard, InputError):
        return None
