"""Brain: everything a caller can ask of one or several brain directories."""

from __future__ import annotations

from collections.abc import Sequence

from lessons_kb.brain.cards import Cards
from lessons_kb.brain.drafts.drafts import Drafts
from lessons_kb.brain.import_export.exchange import Exchange
from lessons_kb.brain.injected import find_given
from lessons_kb.brain.journal import Journal
from lessons_kb.brain.layers import Layers
from lessons_kb.brain.lint import lint
from lessons_kb.brain.post_check.judge import judge
from lessons_kb.brain.post_check.last_check import check_last
from lessons_kb.brain.stats import Stats
from lessons_kb.check.item_evidence import read_texts
from lessons_kb.check.item_states import check_items
from lessons_kb.model import Card, Check, DetectedLine, Evidence, Finding


class Brain(Layers):
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
    def journal(self) -> Journal:
        """Note what happens in a session, and look it up."""
        return Journal(self)

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
            find_given(self.layers, session)
            if cards is None
            else [self.cards.get(name) for name in cards]
        )
        done = evidence if isinstance(evidence, Evidence) else read_texts(evidence)
        return judge(check_items(chosen, answer, done, detected), answer, done)

    def check_last(self, session: str | None = None) -> Check:
        """Return the check of the latest answer in an agent that lessons were given for."""
        return check_last(self, session)

    def create(
        self,
        title: str,
        *,
        kind: str = "lesson",
        topics: Sequence[str] = (),
        project: str | None = None,
        stage: str | None = None,
        severity: str | None = None,
        paths: Sequence[str] = (),
        on_duplicate: str = "fail",
        today: str | None = None,
    ) -> Card:
        """Write a new card from the template of its kind into the nearest brain.

        ``on_duplicate`` is ``fail`` (DuplicateCard, for a near-duplicate too), ``bump`` (count the
        card of the same wording instead, else write a new one) or ``new``. Raises InputError for
        a title nothing can be named after. Never overwrites.
        """
        return self.cards.create(
            title,
            kind=kind,
            topics=topics,
            project=project,
            stage=stage,
            severity=severity,
            paths=paths,
            on_duplicate=on_duplicate,
            today=today,
        )

    def bump(self, *ids: str, task: str | None = None, today: str | None = None) -> list[Card]:
        """Count a mistake once more on each card; see ``Cards.bump``."""
        return self.cards.bump(*ids, task=task, today=today)

    def lint(self) -> list[Finding]:
        """Return everything wrong with any file of the brains, by path and line."""
        return [finding for layer in self.layers for finding in lint(layer, self.directory)]
