"""Brain: everything a caller can ask of one or several brain directories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from lessons_kb.brain.brains import Brains
from lessons_kb.collection.cards import Cards, NewCard
from lessons_kb.collection.drafts import Drafts
from lessons_kb.collection.exchange import Exchange
from lessons_kb.collection.lint import lint
from lessons_kb.ledger.given import find_given
from lessons_kb.model import Card, Check, DetectedLine, Evidence, Finding
from lessons_kb.outcome.post_check import check_last, judge
from lessons_kb.outcome.session_journal import SessionJournal
from lessons_kb.outcome.stats import Stats
from lessons_kb.postcheck.item_states import check_items, read_texts


class Library(Brains):
    """One or several brain directories, searched together; writes go to the nearest.

    Open one with ``Brain.open`` or ``Brain.discover``. A brain may be shared between threads; in
    asyncio call it through ``asyncio.to_thread``. Everything raises LessonsError only.
    """

    @property
    def cards(self) -> Cards:
        """Find, list and change single cards."""
        return Cards(self)

    @property
    def drafts(self) -> Drafts:
        """Lessons that wait for a human: collect, propose, accept, merge, discard."""
        return Drafts(self)

    @property
    def exchange(self) -> Exchange:
        """Lessons in from other systems, and out to them."""
        return Exchange(self)

    @property
    def journal(self) -> SessionJournal:
        """Note what happens in a session, and look it up."""
        return SessionJournal(self)

    @property
    def stats(self) -> Stats:
        """What the cards did, and marks of help and harm."""
        return Stats(self)

    def check(
        self,
        answer: str,
        *,
        cards: Sequence[str] | None = None,
        evidence: Sequence[str] | Evidence = (),
        detected: Sequence[DetectedLine] = (),
        session: str | None = None,
    ) -> Check:
        """Return for each checklist item whether it is shown, denied, contradicted or open.

        ``cards`` are ids; without them those of the last preflight (of ``session``, if given) are
        meant. ``evidence`` is what was done: texts of edits written and commands run, or an
        Evidence, which may say that it is complete; ``detected`` what `detect` found in it.
        """
        chosen = (
            find_given(self.members, session)
            if cards is None
            else [self.cards.get(name) for name in cards]
        )
        done = evidence if isinstance(evidence, Evidence) else read_texts(evidence)
        return judge(check_items(chosen, answer, done, detected), answer, done)

    def check_last(self, session: str | None = None) -> Check:
        """Return the check of the latest answer in an agent that lessons were given for."""
        return check_last(self, session)

    def create(self, title: str, *, on_duplicate: str = "fail", **parts: Unpack[NewCard]) -> Card:
        """Write a new card from the template of its kind into the nearest brain.

        ``parts`` are ``kind``, ``topics``, ``project``, ``stage``, ``severity``, ``paths``,
        ``symptoms`` and ``sections``. ``on_duplicate`` is ``fail`` (DuplicateCard, for a
        near-duplicate too), ``bump`` (count the card of the same wording instead, else write a
        new one) or ``new``. Raises InputError for a title nothing can be named after. Never
        overwrites.
        """
        return self.cards.create(title, on_duplicate=on_duplicate, **parts)

    def bump(self, *ids: str, task: str | None = None) -> list[Card]:
        """Count a mistake once more on each card; see ``Cards.bump``."""
        return self.cards.bump(*ids, task=task)

    def lint(self) -> list[Finding]:
        """Return everything wrong with any file of the brains, by path and line."""
        return [finding for brain in self.members for finding in lint(brain, self.directory)]


Brain = Library
"""The public name: ``lessons_kb.Brain``."""
