"""What lenses and actions run: each answers with what the editor shall do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lsprotocol.types import TextDocumentEdit

from lessons_kb.cards.edit import edit_header
from lessons_kb.cards.outline import normal_newlines
from lessons_kb.errors import InputError
from lessons_kb.service.lsp.documents import Documents, path_of
from lessons_kb.service.lsp.edits import edit_document, edit_to
from lessons_kb.service.lsp.files import CardFile, DraftFile, Files, SourceFile
from lessons_kb.service.lsp.hover import describe_cards, describe_effect
from lessons_kb.service.lsp.patterns import find_pattern, try_pattern
from lessons_kb.text.plurals import counted

BUMP, STATUS, STATS = "lessons.bump", "lessons.setStatus", "lessons.showStats"
TEST, GUARDS, OPEN = "lessons.testPattern", "lessons.showGuards", "lessons.openCard"
ACCEPT, DISCARD = "lessons.acceptDraft", "lessons.discardDraft"
_SHOWN = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What the editor shall do."""

    message: str = ""
    """Shown to the user."""
    edit: TextDocumentEdit | None = None
    """Made in the open document; what is open is never changed on the disk."""
    then: Callable[[], object] | None = None
    """Called once the edit is made."""
    show: str = ""
    """Path of the file to open."""
    result: Any = None


def _bump(files: Files, documents: Documents, uri: str) -> Outcome:
    file, document = _card(files, uri), documents.at(path_of(uri))
    cards = file.brain.cards
    if document is None:
        card = cards.bump(file.name)[0]
        return Outcome(message=f"{card.id} seen {card.occurrences}×")
    new = cards.bump_text(file.layer, file.id, document.text.whole)
    return Outcome(
        edit=edit_document(document, [edit_to(document.text, new)]),
        then=lambda: cards.note_bump(file.layer, file.id),
    )


def _set_status(files: Files, documents: Documents, uri: str, status: str) -> Outcome:
    file, document = _card(files, uri), documents.at(path_of(uri))
    if document is None:
        file.brain.cards.set_status(status, file.name)
        return Outcome(message=f"{file.id} is {status} now")
    new = edit_header(document.text.whole, {"status": status})
    return Outcome(edit=edit_document(document, [edit_to(document.text, new)]))


def _show_stats(files: Files, _documents: Documents, uri: str) -> Outcome:
    file = _card(files, uri)
    return Outcome(message="\n".join(describe_effect(file.brain.stats.recorded(file.name))))


def _test_pattern(files: Files, documents: Documents, uri: str, line: int) -> Outcome:
    path = path_of(uri)
    file, document = files.find(path), documents.at(path)
    if document is None or not isinstance(file, CardFile | DraftFile):
        raise InputError("no open card; open the card whose pattern is to be tested")
    places = try_pattern(file, find_pattern(document.text.whole, line))
    shown = [
        f"{path_of(one.uri).removeprefix(file.brain.directory)[1:]}:{one.range.start.line + 1}"
        for one in places[:_SHOWN]
    ]
    more = ["…"] if len(places) > _SHOWN else []
    told = counted(len(places), "match", "matches")
    return Outcome(message=": ".join((told, ", ".join(shown + more))), result=places)


def _show_guards(files: Files, _documents: Documents, uri: str) -> Outcome:
    file = files.find(path_of(uri))
    cards = file.brain.find_guarding(file.path) if isinstance(file, SourceFile) else []
    return Outcome(message="\n".join(describe_cards(card for _layer, card in cards)).strip())


def _open_card(_files: Files, _documents: Documents, uri: str) -> Outcome:
    return Outcome(show=path_of(uri))


def _accept(files: Files, documents: Documents, uri: str) -> Outcome:
    file = _draft(files, documents, uri)
    card = file.brain.drafts.accept(file.id)
    return Outcome(message=f"accepted as {card.id}", show=f"{file.layer.root}/{card.id}")


def _discard(files: Files, documents: Documents, uri: str) -> Outcome:
    file = _draft(files, documents, uri)
    return Outcome(message=f"discarded {file.brain.drafts.discard(file.id).title}")


def _card(files: Files, uri: str) -> CardFile:
    file = files.find(path_of(uri))
    if not isinstance(file, CardFile):
        raise InputError("not a card of a trusted brain")
    return file


def _draft(files: Files, documents: Documents, uri: str) -> DraftFile:
    path = path_of(uri)
    file, document = files.find(path), documents.at(path)
    if not isinstance(file, DraftFile):
        raise InputError("not a draft; see `lessons review --list`")
    saved = file.brain.drafts.get(file.id).text
    if document and normal_newlines(document.text.whole) != normal_newlines(saved):
        raise InputError("the draft has changes that are not saved; save it first")
    return file


COMMANDS: Mapping[str, Callable[..., Outcome]] = {
    BUMP: _bump,
    STATUS: _set_status,
    STATS: _show_stats,
    TEST: _test_pattern,
    GUARDS: _show_guards,
    OPEN: _open_card,
    ACCEPT: _accept,
    DISCARD: _discard,
}
"""Command → what runs it with the open documents and the arguments."""
