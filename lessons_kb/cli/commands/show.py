"""`lessons show`: print the file of a card or a note."""

from __future__ import annotations

import os

from lessons_kb.brain.current_session import session_of
from lessons_kb.cards.standings import list_remarks
from lessons_kb.cli.options import OptionalId
from lessons_kb.cli.output import options, print_json, say
from lessons_kb.cli.untrusted_cards import open_to_read
from lessons_kb.collection.lookup import CardLookup
from lessons_kb.model import as_data
from lessons_kb.on_demand import ORIGIN, PICK_CARD, load
from lessons_kb.process.clock import today
from lessons_kb.session.opened_cards import open_for
from lessons_kb.store.files import open_regular
from lessons_kb.text.sanitize import clean, clean_line


def show(card_id: OptionalId = None) -> None:
    """Print a card or a note. Its sources are printed on standard error.

    Without an ID, choose from a list.

    Example: lessons show telegram-allowlist
    """
    brains, _untrusted = open_to_read()
    card_id = card_id or load(PICK_CARD).pick_card(brains, "show")
    brain, card = CardLookup(brains).find(card_id)
    path = os.path.join(brain.root, *card.id.split("/"))
    session = session_of()[0]
    open_for(session, brains, (brain, card), asked_by=session)
    with open_regular(path) as file:
        text = file.read().decode("utf-8", "replace")
    has_sources = "sources" in text.casefold()
    if options().json:
        sources = as_data(load(ORIGIN).read_sources_of(text)) if has_sources else []
        body = brain.read_body(card.id)
        print_json({**as_data(card), "sources": sources, "file": path, "body": body})
        return
    for remark in list_remarks(card, today()):
        say(clean_line(remark))
    lines = load(ORIGIN).describe_sources(text, directory=brains.directory) if has_sources else ()
    for line in lines:
        say(line)
    print(clean(text).rstrip("\n"))
