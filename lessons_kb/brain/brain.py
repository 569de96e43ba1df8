"""Brain: everything a caller can ask of one or several brain directories."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from typing import Unpack

from lessons_kb.brain.cards import Cards, NewCard
from lessons_kb.brain.cluster_search import ClusterSearch
from lessons_kb.brain.discovery import Discovery, is_settings_moved, look_in_agent, require
from lessons_kb.brain.drafts import Drafts
from lessons_kb.brain.exchange import Exchange
from lessons_kb.brain.health import lint
from lessons_kb.brain.injected import find_given
from lessons_kb.brain.layers import Layers
from lessons_kb.brain.post_check import check_last, judge
from lessons_kb.brain.session_journal import SessionJournal
from lessons_kb.brain.stats import Stats
from lessons_kb.check.item_states import check_items, read_texts
from lessons_kb.model import Card, Check, DetectedLine, Evidence, Finding
from lessons_kb.store.files import identify_file
from lessons_kb.store.user_state import identify


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
            find_given(self.layers, session)
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
        return [finding for layer in self.layers for finding in lint(layer, self.directory)]


MAX_OPEN = 16
"""Brains kept; the one asked for longest ago is closed first (and opens again when asked)."""


class Workspace:
    """Open brains by working directory; may be shared between threads."""

    def __init__(self, directory: str, *, roots: Sequence[str] = (), watched: bool = True) -> None:
        """``directory`` is used where none is named; ``roots`` are used whatever is named.

        Unless they are ``watched``, whoever asks a brain refreshes it.
        """
        self.directory = os.path.abspath(directory)
        self._roots = tuple(roots)
        self._watched = watched
        self._open: dict[tuple[str, tuple[str, ...]], tuple[object, Brain]] = {}
        self._lock = threading.Lock()

    def find(
        self,
        directory: str | None = None,
        environment: Mapping[str, str] = os.environ,
        *,
        found: Discovery | None = None,
    ) -> Brain:
        """Return the open brain of a directory; ``found``: what was just found around it.

        What is trusted, and which brain a path is, is looked up anew each time: what is kept of
        one that was there before, or whose cache was taken away, is closed. Raises Untrusted,
        BrainNotFound.
        """
        where = os.path.realpath(os.path.join(self.directory, directory or ""))
        found = self.look(where, environment) if found is None else found
        roots = self._roots or tuple(require(found).trusted)
        key = where, roots
        identities = tuple([found.keys.get(root) or identify(root).key for root in roots])
        with self._lock:
            known, brain = self._open.get(key, ((), None))
            if brain is not None:
                self._open[key] = self._open.pop(key)  # asked for last
        if brain is not None and known == (identities, _caches(brain)):
            return brain
        # Not under the lock: what is slow about one brain must not hold up the others.
        made = Brain.open(*roots, directory=where)
        for layer in () if is_settings_moved(where) else made.layers:
            ClusterSearch(layer).begin()
        entry = (identities, _caches(made)), made
        with self._lock:
            if (now := self._open.get(key, ((), None))[1]) is not brain and now is not None:
                return now  # another thread was quicker
            self._open[key] = entry
            closed = [brain] if brain is not None else []
            if len(self._open) > MAX_OPEN:
                closed.append(self._open.pop(next(iter(self._open)))[1])
        for old in closed:
            old.close()
        if self._watched:
            made.watch()
        return made

    def look(self, directory: str, environment: Mapping[str, str] = os.environ) -> Discovery:
        """Return what is found around a directory, for ``find``; nothing if roots were named."""
        if self._roots:
            return Discovery(trusted={}, untrusted=())
        return look_in_agent(os.path.realpath(directory), environment)

    def roots(self) -> list[str]:
        """Return the root folders of the open brains."""
        with self._lock:
            return sorted(
                {layer.root for _, brain in self._open.values() for layer in brain.layers}
            )

    def close(self) -> None:
        """Close every brain."""
        with self._lock:
            kept, self._open = list(self._open.values()), {}
        for _, brain in kept:
            brain.close()


def _caches(brain: Brain) -> list[tuple[int, int] | None]:
    """Return what tells the cache folders of a brain from others at their place."""
    return [identify_file(layer.cache) for layer in brain.layers]
