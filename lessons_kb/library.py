"""The facade for Python callers: everything that can be asked of the brains that apply.

Users know it as ``lessons_kb.Brain``. Only callers import it, nothing below does: each command and
each hook imports the functions that it uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from lessons_kb.brain.brain import Brain as OneBrain
from lessons_kb.brain.brains import Brains
from lessons_kb.collection.cards import Cards
from lessons_kb.collection.compose_card import NewCard
from lessons_kb.collection.drafts import Drafts
from lessons_kb.collection.exchange import Exchange
from lessons_kb.collection.lint import lint
from lessons_kb.find import search
from lessons_kb.find.block import RetrievalOptions, preflight
from lessons_kb.find.search import HIT_LIMIT
from lessons_kb.ledger.given import find_given
from lessons_kb.model import (
    KINDS,
    NOTE,
    Card,
    Check,
    DetectedLine,
    Evidence,
    Finding,
    Hit,
    Preflight,
    Query,
)
from lessons_kb.outcome.post_check import check_last, judge
from lessons_kb.outcome.session_journal import SessionJournal
from lessons_kb.outcome.stats import Stats
from lessons_kb.postcheck.item_states import check_items, read_texts
from lessons_kb.text.token_estimate import TokenCounter, estimate_tokens


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

    def search(
        self,
        text: str,
        *,
        kinds: Sequence[str] = (*KINDS, NOTE),
        stage: str | None = None,
        paths: Sequence[str] = (),
        tags: Sequence[str] = (),
        limit: int = HIT_LIMIT,
        fresh: bool = True,
        asked_by: str = "",
    ) -> list[Hit]:
        """Return the best hits for ``text``, best first, those the gate holds back included.

        Without ``fresh`` the last commit is searched as it is. ``asked_by`` is the session whose
        withheld lessons are left out, by default that of this process.
        """
        return search.search(
            self,
            text,
            kinds=kinds,
            stage=stage,
            paths=paths,
            tags=tags,
            limit=limit,
            fresh=fresh,
            asked_by=asked_by,
        )

    def find_lessons(self, query: Query) -> list[tuple[OneBrain, Hit]]:
        """Return the lessons for a query, best first; see ``find.search.find_lessons``."""
        return search.find_lessons(self, query)

    def find_guarding(self, path: str) -> list[Card]:
        """Return the cards that guard a file by their ``paths``, which start from the project."""
        return search.find_guarding(self, path)

    def preflight(
        self,
        prompt: str,
        *,
        stage: str | None = None,
        paths: Sequence[str] = (),
        session: str | None = None,
        asked_by: str = "",
        budget: int | None = None,
        max_chars: int | None = None,
        counter: TokenCounter = estimate_tokens,
        context: bool | None = None,
        alone: bool | None = None,
        titled: bool = False,
        fresh: bool = True,
        remember: bool = True,
    ) -> Preflight:
        """Return the block for ``prompt``; its text is "" if no lesson applies.

        Without ``fresh`` the last commit is searched as it is, without ``remember`` nothing is
        journalled. The others are explained in ``find.block.RetrievalOptions``.
        """
        options = RetrievalOptions(
            stage=stage,
            paths=tuple(paths),
            session=session,
            asked_by=asked_by,
            budget=budget,
            max_chars=max_chars,
            counter=counter,
            context=context,
            alone=alone,
            titled=titled,
        )
        return preflight(self, prompt, options, fresh=fresh, remember=remember)

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
