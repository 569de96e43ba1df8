"""Review the drafts of a brain: edit, accept, merge or discard them."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from lessons_kb.brain.brain import Brain
from lessons_kb.cards.edit import edit_header
from lessons_kb.cards.edit_sources import copy_sources, drop_session_quotes
from lessons_kb.cards.sources import read_sources_of
from lessons_kb.collection.cards import Cards
from lessons_kb.collection.compose_card import redact_card
from lessons_kb.collection.draft_lookup import ACCEPTED, DISCARDED, MERGED, OPEN, Draft
from lessons_kb.collection.near_duplicates import RELATED, NearDuplicate
from lessons_kb.collection.new_drafts import NewDrafts
from lessons_kb.errors import CardNotFound, DuplicateCard, EditRefused, InputError
from lessons_kb.mining.draft_evidence import shorten_evidence
from lessons_kb.mining.draft_text import finish
from lessons_kb.model import DRAFT, Card
from lessons_kb.on_demand import FIND_NEAREST, load
from lessons_kb.store import trash
from lessons_kb.store.card_files import read_template
from lessons_kb.store.draft_files import check_draft_size
from lessons_kb.store.journal import day_of
from lessons_kb.store.locks import hold_for_new_card
from lessons_kb.text.sanitize import counted


class Drafts(NewDrafts):
    """The drafts of the nearest brain, from the trigger to the card."""

    def find_near_duplicates(self, draft: Draft) -> list[NearDuplicate]:
        """Return the cards that may be the same lesson, with the best first."""
        card = self._parse(draft.id, draft.text).card
        if card is None:
            return []
        duplicates = Cards(self._brains).find_near_duplicates(card)
        return [duplicate for duplicate in duplicates if duplicate.card.id != draft.id]

    def find_nearest(self, draft: Draft) -> list[Card]:
        """Return the cards that are most similar to a draft, which may contradict it."""
        card = self._parse(draft.id, draft.text).card
        if card is None:
            return []
        self._brains.refresh()
        nearest: list[Card] = self._brain.read(partial(load(FIND_NEAREST).find_nearest, card=card))
        return nearest

    def find_merge_targets(self, draft: Draft) -> list[Card]:
        """Return the cards on which a draft may be counted, the likeliest first.

        Near-duplicates come first, then the cards that guard a file of the draft, then the cards
        that share words with it.
        """
        card = self._parse(draft.id, draft.text).card
        if card is None:
            return []
        duplicates = [duplicate.card for duplicate in self.find_near_duplicates(draft)]
        by_words = self.find_nearest(draft)
        guarding: list[Card] = []
        for brain in self._brains.members:
            guarding += brain.read(partial(_find_guarding, paths=card.paths))
        ranks = {other.id: rank for rank, other in enumerate(by_words)}
        guarding.sort(key=lambda other: ranks.get(other.id, len(ranks)))
        targets = {other.id: other for other in (*duplicates, *guarding, *by_words)}
        return [other for other in targets.values() if other.is_injectable and other.id != draft.id]

    def rewrite(self, name: str, text: str, *, digest: str) -> Draft:
        """Replace the text of a draft. ``digest`` is as in ``accept``."""
        check_draft_size(text)
        draft = self._get_unchanged(name, digest)
        if draft.is_card:
            self._rewrite_card(draft, edit_header(text, {"status": DRAFT}))
            return self.get(draft.id)
        with self._folder.locked():
            draft = self._get_unchanged(name, digest)
            facts = self._folder.facts_of(draft.id) or {}
            self._folder.write(draft.id, text, facts, over=draft.text)
        return self.get(draft.id)

    def accept(
        self,
        name: str,
        *,
        on_duplicate: str = "fail",
        digest: str | None = None,
        keep_quotes: bool = False,
    ) -> Card:
        """Turn a draft into a card of the nearest brain; a card with ``status: draft`` stays where
        it is and becomes active.

        The quotes of sessions in its ``sources`` are removed unless ``keep_quotes`` is set.

        ``digest`` is the digest of the text that the reviewer read. EditRefused is raised if the
        text has changed since. Raises InputError if the draft is incomplete or if too many cards
        from triggers are active. Raises DuplicateCard if the lesson exists, unless ``on_duplicate``
        is ``new`` or, for a card that names those that contradict it, ``contradicts``.
        """
        with hold_for_new_card(self._brain.root):
            draft = self._get_unchanged(name, digest)
            card = self._require_acceptable(draft)
            if card.source == "auto":
                self._check_room()
            self._brains.refresh()
            if on_duplicate == "fail":
                Cards(self._brains).check_contradictions(card)
                self._check_duplicates(draft)
            last_seen = day_of(draft.at or time.time())
            changes: dict[str, Any] = {"created": day_of(time.time()), "last-seen": last_seen}
            if draft.seen > 1:
                changes["occurrences"] = draft.seen
            facts = self._folder.facts_of(draft.id) or {}
            evidence = None if draft.is_card else facts.get("evidence")
            text = shorten_evidence(draft.text, evidence) if evidence else draft.text
            text = finish(text, read_template(f"{card.kind}.md"), cut_diffs=evidence is None)
            text = text if keep_quotes else drop_session_quotes(text)
            if on_duplicate == "contradicts":
                text = Cards(self._brains).link_contradictions(text, card)
            if draft.is_card:
                active = edit_header(text, {**changes, "status": "active"})
                return self._rewrite_card(draft, redact_card(active))
            new_card = self._write(draft, card, redact_card(edit_header(text, changes)))
            self._settle(draft, ACCEPTED, new_card.id, over=draft.text)
        return new_card

    def merge(
        self, name: str, card: str, *, at: float | None = None, digest: str | None = None
    ) -> Card:
        """Count a draft as another occurrence of a card, remove the draft, and return the card.

        The last example of the draft is the task that is noted on the card; see ``Cards.bump``.
        ``digest`` is as in ``accept``. Raises EditRefused if the draft has changed since, if it has
        ``trouble``, or if it is that card itself.
        """
        with hold_for_new_card(self._brain.root):
            draft = self._get_unchanged(name, digest)
            if draft.trouble:
                raise EditRefused(f"{draft.id} cannot be merged: {draft.trouble}")
            drafted = self._parse(draft.id, draft.text).card
            if draft.is_card and Cards(self._brains).find(card)[1].id == draft.id:
                raise EditRefused(f"{draft.id} cannot be merged into itself")
            examples = drafted.examples if drafted else ()
            task = examples[-1] if examples else None
            merged = self._count(draft, card, task=task, at=at)
            self._settle(draft, MERGED, merged.id)
        return merged

    def discard(self, name: str, *, digest: str | None = None) -> Draft:
        """Remove a draft. The same observations never cause another draft.

        An edited draft goes to the trash, as it does when it is merged. A card with
        ``status: draft`` goes there even if it was not edited. ``digest`` is as in ``accept``.
        """
        draft = self._get_unchanged(name, digest)
        self._settle(draft, DISCARDED, "")
        return draft

    def _write(self, _draft: Draft, card: Card, text: str) -> Card:
        """Write the card that a draft becomes. `BranchReview` writes it to a branch."""
        return Cards(self._brains).add(text, kind=card.kind, title=card.title)

    def _rewrite_card(self, draft: Draft, text: str) -> Card:
        """Replace the text of a card that is a draft, unless its file has changed meanwhile."""

        def replace_text(_card: Card, current: str) -> str:
            if current != draft.text:
                raise EditRefused("the draft was changed after you opened it; read it again")
            return text

        return Cards(self._brains).rewrite(self._brain, draft.id, replace_text)

    def _count(self, draft: Draft, card: str, *, task: str | None, at: float | None) -> Card:
        """Count a draft on a card, which gets its sources. `BranchReview` does so on a branch."""
        cards = Cards(self._brains)
        brain, found = cards.find(card, notes=False)
        bumped = cards.bump(card, task=task, at=at)[0]
        if not read_sources_of(draft.text):
            return bumped
        return cards.rewrite(brain, found.id, lambda _card, text: copy_sources(text, draft.text))

    def _get_unchanged(self, name: str, digest: str | None) -> Draft:
        draft = self.get(name)
        if digest is not None and digest != draft.digest:
            raise EditRefused("the draft was changed after you opened it; read it again")
        return draft

    def _require_acceptable(self, draft: Draft) -> Card:
        """Return the card in a draft. Raises InputError or EditRefused if it cannot be accepted."""
        if draft.trouble:
            raise InputError(f"{draft.id} cannot become a card: {draft.trouble}")
        if draft.missing:
            missing = "; ".join(draft.missing)
            raise InputError(f"{draft.path}: the draft is incomplete; add {missing}")
        card = self._parse(draft.id, draft.text).card
        if card is None:
            raise EditRefused(f"{draft.path} is not a readable card; fix its header")
        return card

    def _check_room(self) -> None:
        """Raise InputError if as many cards from triggers are active as the settings allow."""
        limit = self._brain.settings.learn.max_auto_cards
        cards = Cards(self._brains).all()
        active = sum(card.source == "auto" and card.status == "active" for card in cards)
        if active >= limit:
            raise InputError(
                f"{counted(active, 'active card')} came from triggers, and {limit} are allowed; "
                "archive some with `lessons archive --stale` or `lessons archive ID`, then accept "
                "this draft"
            )

    def _check_duplicates(self, draft: Draft) -> None:
        """Raise DuplicateCard if a card is the same lesson or a near-duplicate.

        A template is no lesson yet, so a draft cannot be counted on it.
        """
        for duplicate in self.find_near_duplicates(draft):
            if duplicate.level != RELATED and not duplicate.card.template:
                existing = duplicate.card.id
                raise DuplicateCard(
                    f"{duplicate.reason}; `lessons review --merge {draft.id} {existing}` counts "
                    "it there, `--on-duplicate new` writes a second card",
                    existing=existing,
                )

    def _settle(self, draft: Draft, state: str, card: str, *, over: str | None = None) -> None:
        """Note the state of a reviewed draft. ``over`` is its text if that is kept elsewhere."""
        if draft.is_card:
            trash.put(self._brain.root, draft.id, why=f"its draft was {state}")
            self._brain.touch()
            return
        with self._folder.locked():
            if state == DISCARDED and not os.path.lexists(self._folder.path(draft.id)):
                raise CardNotFound(f"{draft.id}: the draft is gone; it was reviewed meanwhile")
            facts = self._folder.facts_of(draft.id) or {}
            if over is None and draft.digest == facts.get("digest"):
                over = draft.text
            if facts.get("state", OPEN) == OPEN:  # otherwise the first decision stays
                facts |= {"state": state, "card": card}
            self._folder.settle(draft.id, facts, now=time.time(), over=over)


def _find_guarding(brain: Brain, *, paths: Sequence[str]) -> list[Card]:
    """Return the cards of a brain that guard one of the files."""
    return list(brain.cards(brain.guarding(paths)).values())
