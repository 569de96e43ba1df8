"""The facade for Python callers, public as ``lessons_kb.Brain``.

Commands and the handlers of events do not import it: each imports the functions that it uses. The
daemon, the servers and the language server open brains by it.
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
    """One or several brains: all are searched, and the nearest is written to.

    Open it with ``Brain.open`` or ``Brain.discover``. Threads may share it; in asyncio, call it
    through ``asyncio.to_thread``. All methods raise LessonsError only.
    """

    @property
    def cards(self) -> Cards:
        """Find, list, create and change cards."""
        return Cards(self)

    @property
    def drafts(self) -> Drafts:
        """Drafts of lessons: collect, propose, accept, merge and discard them."""
        return Drafts(self)

    @property
    def exchange(self) -> Exchange:
        """Import lessons from other systems, and export them."""
        return Exchange(self)

    @property
    def journal(self) -> SessionJournal:
        """Record the events of sessions, and look them up."""
        return SessionJournal(self)

    @property
    def stats(self) -> Stats:
        """The effect of the cards, and the user's marks."""
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
        """Return the best hits for ``text``, best first, including those below the threshold.

        ``fresh`` refreshes the indexes first; otherwise the last commit is searched. The lessons
        withheld from the session ``asked_by`` (by default that of this process) are left out.
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
        """Return the cards whose ``paths`` match a file.

        ``path`` is relative to the project root.
        """
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

        ``fresh`` refreshes the indexes first; otherwise the last commit is searched. ``remember``
        writes the result to the journal. See ``find.block.RetrievalOptions`` for the other options.
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
        """Return the state of each checklist item, such as shown, denied, contradicted or open.

        ``cards`` are ids. Without them, the cards of the last preflight are checked (the last one
        of ``session``, if it is given). ``evidence`` contains the texts of edits and the commands
        that were run, or it is an Evidence, which may declare itself complete. ``detected`` are the
        lines of the evidence that `detect` patterns match.
        """
        chosen = (
            find_given(self.members, session)
            if cards is None
            else [self.cards.get(name) for name in cards]
        )
        done = evidence if isinstance(evidence, Evidence) else read_texts(evidence)
        return judge(check_items(chosen, answer, done, detected), answer, done)

    def check_last(self, session: str | None = None) -> Check:
        """Return the check of the agent's latest answer to a prompt with lessons."""
        return check_last(self, session)

    def create(self, title: str, *, on_duplicate: str = "fail", **parts: Unpack[NewCard]) -> Card:
        """Write a new card, from the template of its kind, into the nearest brain.

        ``parts`` are ``kind``, ``topics``, ``project``, ``stage``, ``severity``, ``paths``,
        ``symptoms`` and ``sections``. ``on_duplicate`` is ``fail`` (raise DuplicateCard, even for a
        near-duplicate), ``bump`` (count the mistake on a card with the same wording, or else write
        a new one), ``new``, or ``contradicts`` (name the cards that demand the opposite). Raises
        InputError if no file name can be derived from the title. No file is overwritten.
        """
        return self.cards.create(title, on_duplicate=on_duplicate, **parts)

    def confirm(self, *ids: str) -> list[Card]:
        """Record that a person confirmed each card today; see ``Cards.confirm``."""
        return self.cards.confirm(*ids)

    def bump(self, *ids: str, task: str | None = None) -> list[Card]:
        """Count a mistake once more on each card; see ``Cards.bump``."""
        return self.cards.bump(*ids, task=task)

    def lint(self) -> list[Finding]:
        """Return the findings about all files of the brains, sorted by path and line."""
        return [finding for brain in self.members for finding in lint(brain, self.directory)]


Brain = Library
"""The public name: ``lessons_kb.Brain``."""
