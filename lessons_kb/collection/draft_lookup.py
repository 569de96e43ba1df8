"""The drafts of a brain as values: list them, and find them by their names."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.cards.draft_gaps import find_lacks
from lessons_kb.cards.parse import parse_card
from lessons_kb.collection.draft_cards import find_draft_cards
from lessons_kb.errors import AmbiguousCard, CardNotFound, StorageError
from lessons_kb.model import Card, Document
from lessons_kb.store import card_files
from lessons_kb.store.draft_files import DraftFolder
from lessons_kb.values import frozen

PROPOSED = "proposed"
"""The kind of a draft that a person wrote. The other kinds are ``learn.triggers.TRIGGERS``."""


MINED = "mined"
"""The kind of a draft from past sessions and commits."""


CARD = "card"
"""The kind of a draft that is a card with ``status: draft`` in the brain's folder."""


OPEN, ACCEPTED, MERGED, DISCARDED = "open", "accepted", "merged", "discarded"
"""The states of a draft."""


_ID = re.compile(r"[a-z]+(?:-[a-z0-9]+)+")


@frozen
class Draft:
    """A lesson that waits for a review. It is never injected."""

    id: str
    path: str
    """The path of its Markdown file, which a person may edit."""
    title: str
    kind: str = PROPOSED
    """The trigger (``red-green``, ``feedback`` …), ``proposed``, ``mined`` or ``card``."""
    at: float = 0.0
    """The time of the last draft or count, in seconds since the epoch. For a mined draft, it is the
    time at which the mistake was last seen."""
    seen: int = 1
    """The number of times that the mistake was seen."""
    missing: tuple[str, ...] = ()
    """The parts that it needs before it can be accepted, one line each."""
    card: str = ""
    """The card that an earlier draft of the same mistake became, or "" if there is none."""
    text: str = ""
    place: int = 0
    """The rank among the mined drafts. The likeliest mistake has the lowest rank."""
    by: str = ""
    """The user of a server who proposed it, or "" if there is none."""
    trouble: str = ""
    """Why it can only be discarded; "" if it can be accepted or merged once it is complete."""

    @property
    def is_card(self) -> bool:
        """Whether it is a card with ``status: draft``; its id is then the id of the card."""
        return self.kind == CARD

    @property
    def digest(self) -> str:
        """A digest of the text, which changes with the text."""
        return digest_text(self.text)


class DraftLookup:
    """Lists the drafts of the nearest brain, and finds them by their names."""

    def __init__(self, brains: Brains) -> None:
        self._brains = brains
        self._brain = brains.members[0]
        self._folder = DraftFolder(self._brain.root)
        self.counted: list[Card] = []
        """The cards that the last ``collect`` counted because of a complaint."""

    @property
    def brains(self) -> Brains:
        """The brains, of which the first has the drafts."""
        return self._brains

    @property
    def brain(self) -> Brain:
        """The brain of the drafts."""
        return self._brain

    def has(self, name: str) -> bool:
        """Return whether there is a draft with exactly this id."""
        return name in self._folder.ids() or name in self._find_cards()

    def all(self) -> list[Draft]:
        """Return the open drafts.

        The list has every file in the folder of drafts, even if the file cannot be read, and every
        card with ``status: draft``.
        """
        drafts = list(map(self._read_card, self._find_cards().values()))
        for name in self._folder.ids():
            draft = self._read_local(name)
            if draft is not None:
                drafts.append(draft)
        return sorted(
            drafts, key=lambda draft: (draft.kind == MINED, draft.place, -draft.at, draft.id)
        )

    def ids(self) -> list[str]:
        """Return the ids of the open drafts, in order, without reading the drafts."""
        return sorted([*self._folder.ids(), *self._find_cards()])

    def count(self) -> int:
        """Return the number of open drafts, without reading the drafts."""
        return len(self.ids())

    def get(self, name: str) -> Draft:
        """Return a draft by its id or by an unambiguous prefix of it.

        In the name, a question mark may represent bytes that are not UTF-8, as on a page. Raises
        CardNotFound and AmbiguousCard.
        """
        local_ids = self._folder.ids()
        # In the usual case no card is read.
        ids = local_ids if name in local_ids else self.ids()
        fitting = [draft_id for draft_id in ids if name and draft_id.startswith(name)]
        if name in ids:
            fitting = [name]
        if not fitting:
            fitting = [
                draft_id for draft_id in ids if draft_id.encode(errors="replace").decode() == name
            ]
        draft = self._read(fitting[0], local_ids) if len(fitting) == 1 else None
        if draft is not None:
            return draft
        if len(fitting) > 1:
            raise AmbiguousCard(f"{name!r} matches {', '.join(fitting)}; write more of the id")
        raise CardNotFound(f"no draft named {name!r}; see `lessons review --list`")

    def find_missing(self, name: str, text: str) -> tuple[str, ...]:
        """Return the parts that a draft with this text still needs before it can be accepted."""
        return find_lacks(self._parse(self.get(name).id, text))

    def find_outcome(self, name: str) -> tuple[str, str]:
        """Return the state of a draft, and the card that it became or with which it was merged.

        The state is ``accepted``, ``merged``, ``discarded``, ``open``, or "" if it is unknown.
        """
        facts = (self._folder.facts_of(name) or {}) if _ID.fullmatch(name) else {}
        return str(facts.get("state", "")), str(facts.get("card", ""))

    def learnt_from(self) -> dict[str, str]:
        """Return a mapping from each commit whose mined draft became a card to that card."""
        cards: dict[str, str] = {}
        for facts in self._folder.facts().values():
            card = facts.get("card")
            if facts.get("kind") == MINED and card:
                cards.update(dict.fromkeys(facts["ids"], card))
        return cards

    def read_mined_states(self) -> dict[str, str]:
        """Return a mapping from each commit and sighting of a mined draft to the draft's state.

        A prompt that was counted on a card is such a sighting, too.
        """
        states: dict[str, str] = {}
        for facts in self._folder.facts().values():
            if facts.get("kind") == MINED or facts.get("state") == MERGED:
                states.update(dict.fromkeys(facts["ids"], facts.get("state", OPEN)))
        return states

    def _find_cards(self) -> dict[str, Card]:
        """Return id → card, for each card of the brain that is a draft."""
        self._brain.refresh()
        return find_draft_cards(self._brain)

    def _read_card(self, card: Card) -> Draft:
        """Return the draft that a card with ``status: draft`` is."""
        root = self._brain.root
        text, trouble = "", ""
        try:
            data = card_files.read_bytes(root, card.id, limit=card_files.MAX_BYTES)
            text = data.decode("utf-8", "replace")
        except StorageError as error:
            trouble = str(error)
        path = os.path.join(root, *card.id.split("/"))
        return Draft(
            id=card.id,
            path=path,
            title=card.title,
            kind=CARD,
            at=os.lstat(path).st_mtime if os.path.lexists(path) else 0.0,
            seen=max(card.occurrences, 1),
            missing=(trouble,) if trouble else find_lacks(self._parse(card.id, text)),
            text=text,
            trouble=trouble,
        )

    def _read(self, name: str, local_ids: Collection[str]) -> Draft | None:
        """Return a local draft or a card that is a draft; None if it no longer exists."""
        if name in local_ids:
            return self._read_local(name)
        card = self._find_cards().get(name)
        return None if card is None else self._read_card(card)

    def _read_local(self, name: str) -> Draft | None:
        """Return a local draft with its facts; None if its file no longer exists."""
        facts = self._folder.facts_of(name) or {}
        text, trouble = "", ""
        try:
            text = self._folder.read_text(name)
        except (OSError, StorageError) as error:
            if not os.path.lexists(self._folder.path(name)):
                return None
            message = error.strerror if isinstance(error, OSError) else str(error)
            reason = (message or "").partition(";")[0]
            trouble = f"its file cannot be read ({reason}); discard it"
        document = self._parse(name, text)
        state, card = facts.get("state", OPEN), facts.get("card", "")
        if state != OPEN and not trouble:
            place = f" as {card}" if card else ""
            trouble = f"it was already {state}{place}; discard it"
        return Draft(
            id=name,
            path=self._folder.path(name),
            title=document.card.title if document.card else name,
            kind=facts.get("kind") or PROPOSED,
            at=facts.get("at") or self._folder.written_at(name),
            seen=max(facts.get("seen", 1), 1),
            missing=(trouble,) if trouble else find_lacks(document),
            card=card,
            text=text,
            place=facts.get("place", 0),
            by=facts.get("by", ""),
            trouble=trouble,
        )

    def _parse(self, name: str, text: str) -> Document:
        folders = self._brain.settings.folders
        path = name if "/" in name else f"lessons/{name}.md"  # a card's id is its path
        return parse_card(text, path=path, folders=folders)


def digest_text(text: str) -> str:
    """Return the digest of a draft's text."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


def describe_source(draft: Draft) -> str:
    """Describe the origin of a draft in words."""
    if draft.by:
        return f"proposed by {draft.by}"
    if draft.is_card:
        return "a card with status: draft"
    return "proposed" if draft.kind == PROPOSED else f"drafted ({draft.kind})"
