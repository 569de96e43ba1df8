"""`lessons show`: a card or a note as it stands in its file."""

from __future__ import annotations

from lessons_kb.brain.current_session import session_of
from lessons_kb.cli.options import CardId, open_brain
from lessons_kb.cli.output import options, print_json
from lessons_kb.collection.cards import Cards
from lessons_kb.model import as_data
from lessons_kb.session.turn_lessons import open_for
from lessons_kb.store.files import open_regular
from lessons_kb.text.sanitize import clean


def show(card_id: CardId) -> None:
    """Print a card or a note. A card then counts as given in an agent's session.

    Example: lessons show telegram-allowlist
    """
    brains = open_brain()
    path, document = Cards(brains).read(card_id)
    session = session_of()[0]
    open_for(session, brains, Cards(brains).find(card_id), asked_by=session)
    if options().json:
        card = as_data(document.card) if document.card else {}
        print_json({**card, "file": path, "body": document.body})
        return
    with open_regular(path) as file:
        print(clean(file.read().decode("utf-8", "replace")).rstrip("\n"))
