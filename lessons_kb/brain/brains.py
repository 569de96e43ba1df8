"""A brain: its brains, the brain directories that hold for one work tree, opened together.

A variable ``brain`` is all of them, a ``brain`` is one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Self, TypedDict, Unpack

from lessons_kb.brain.brain import Brain, Watching
from lessons_kb.brain.current_session import session_of
from lessons_kb.brain.discovery import discover, follow, name_roots
from lessons_kb.brain.search_index import Refresh, Refreshing
from lessons_kb.errors import BrainNotFound, ConfigError, StorageError
from lessons_kb.find.retrieve import files_to_guard, find, find_usable, merge_hits
from lessons_kb.ledger.given import (
    Homes,
    find_held,
    find_known,
    is_in_context,
    note_given,
    note_offered,
    note_preflight,
)
from lessons_kb.ledger.withheld import find_withheld, is_withheld
from lessons_kb.model import KINDS, NOTE, Card, Hit, Preflight, Query
from lessons_kb.postcheck.item_states import REQUEST
from lessons_kb.preflight.block import NO_OFFERS, Offers, pack, shown_name
from lessons_kb.process.programs import start_index
from lessons_kb.store import locations as locate
from lessons_kb.text.paths import relative_path
from lessons_kb.text.token_estimate import TokenCounter, estimate_tokens

_PATIENCE = 1.0
"""Seconds that a search waits for one writer; an index takes seconds for thousands of files."""
_MOST_CHARS = 60_000
"""Of a longer prompt the two ends are searched for: some 8,000 different words, 0.3 s."""
HIT_LIMIT = 10
"""Hits judged for a preflight: more than can be injected, enough to say what was held back."""


class PreflightOptions(TypedDict, total=False):
    """What may be said of a prompt besides its text."""

    stage: str | None
    paths: Sequence[str]
    """Files at hand, relative to the project root; those named in the prompt are added."""
    session: str | None
    """In which a lesson is given again once it changed, or after ``reinject_after`` prompts."""
    budget: int | None
    """Tokens, as ``counter`` counts, in place of those of ``lessons.toml``."""
    context: bool | None
    """Excerpts of notes, in place of what ``lessons.toml`` says."""
    alone: bool | None
    """Whether notes stand without a lesson; by default only where ``context`` asks for them."""
    counter: TokenCounter
    max_chars: int | None
    served: Callable[[], Sequence[Hit]] | None
    """Gives the lessons of a server, which are merged with those found here; called last."""
    place: Callable[[Brain, Hit], str]
    """Returns what an agent can open to read a card whose title is offered, "" where it cannot."""
    titled: bool
    """The titles of all cards are in the agent's view already."""
    lasting: bool
    """What it is told stays in its view: a title is offered once in a session."""
    asked_by: str
    """The session whose withheld lessons are left out, by default ``session``."""


class Brains:
    """The brains that hold for a directory: read together, written to the nearest."""

    def __init__(self, brains: Sequence[Brain], *, directory: str, project: str | None) -> None:
        self.members = tuple(brains)
        """Nearest first."""
        self.directory = directory
        """Project root: what the ``paths`` of cards are relative to."""
        self._project = project
        self._watching: Watching | None = None

    @classmethod
    def open(
        cls,
        *roots: str | os.PathLike[str],
        directory: str | os.PathLike[str] | None = None,
        project: str | None = None,
    ) -> Self:
        """Open the brains at ``roots``, nearest first; naming them is trusting them.

        ``directory`` is where the work happens, by default the working directory; its git
        top-level folder gives the project root and, unless ``project`` or a ``lessons.toml``
        names one, the current project. Raises BrainNotFound for a folder that does not exist.
        """
        if not roots:
            raise BrainNotFound("no brain given; use Brain.discover() to find one")
        aliases = name_roots([follow(os.fspath(root)) for root in roots])
        return cls._of(aliases, directory, project)

    @classmethod
    def discover(cls, directory: str | os.PathLike[str] | None = None) -> Self:
        """Open the trusted brains that hold for a working directory.

        Raises Untrusted when all that was found waits for ``lessons trust``, BrainNotFound when
        there is none at all.
        """
        found = discover(os.fspath(directory or os.getcwd()))
        return cls._of(found.trusted, directory)

    @classmethod
    def _of(
        cls,
        aliases: Mapping[str, str],
        directory: str | os.PathLike[str] | None,
        project: str | None = None,
    ) -> Self:
        brains = [Brain(root, alias=alias) for root, alias in aliases.items()]
        here = os.path.realpath(directory or os.getcwd())
        return cls(brains, directory=locate.git_top(here) or here, project=project)

    @property
    def project(self) -> str | None:
        """The current project: given, from ``lessons.toml``, the git folder's name, or None."""
        named = (brain.settings.project for brain in self.members)
        return self._project or next(filter(None, named), None) or self._git_name

    def refresh(self, **how: Unpack[Refreshing]) -> tuple[Refresh, ...]:
        """Bring each brain's index up to date; see ``Brain.refresh``. Searches do it themselves."""
        return tuple(brain.refresh(**how) for brain in self.members)

    def watch(self) -> None:
        """Watch the files from a thread of its own until ``close``: calls need not scan them.

        An edit is seen after about a quarter of a second.
        """
        if self._watching is None:
            self._watching = Watching(self.members)

    def close(self) -> None:
        """Release the files and end the watch; the brain may be used again."""
        if self._watching is not None:
            self._watching.stop()
            self._watching = None
        for brain in self.members:
            brain.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @cached_property
    def _git_name(self) -> str | None:
        in_git = locate.git_top(self.directory) is not None
        return os.path.basename(self.directory) if in_git else None

    def refresh_for_search(self) -> None:
        """Refresh, but let no one writer keep an answer waiting that the last commit can give."""
        for brain in self.members:
            brain.refresh() if brain.state is None else brain.refresh(patience=_PATIENCE)

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
        asked = Query(text=text, kinds=tuple(kinds), stage=stage, tags=tuple(tags), limit=limit)
        query = self._complete(replace(asked, paths=tuple(paths)))
        if fresh:
            self.refresh_for_search()
        whose, found = asked_by or session_of()[0], self._find(query)[0]
        given = [hit for brain, hit in found if not is_withheld(brain, hit.card, whose)]
        return given[: max(limit, 0)]

    def find_lessons(self, query: Query) -> list[tuple[Brain, Hit]]:
        """Return the lessons for a query, best first, with the brain that holds each.

        The last commit is searched as it is; those the gate holds back are included.
        """
        return self._find(self._complete(query))[0][: query.limit]

    def find_guarding(self, path: str) -> list[Card]:
        """Return the cards that guard a file by their ``paths``.

        ``path`` starts from the project. The last commit is looked at as it is.
        """
        found: list[Card] = []
        for brain in self.members:
            if brain.ensure_indexed():
                cards = brain.read(lambda one: find_usable(one, one.guarding([path]), self.project))
                found += cards.values()
        return found

    def preflight(
        self,
        prompt: str,
        *,
        fresh: bool = True,
        remember: bool = True,
        **how: Unpack[PreflightOptions],
    ) -> Preflight:
        """Return the block for ``prompt``; its text is "" when nothing is worth saying.

        Without ``fresh`` the last commit is searched as it is, without ``remember`` nothing is
        journalled; the rest is in ``PreflightOptions``.
        """
        if fresh:
            self.refresh_for_search()
        block, homes = self.find_block(prompt, occasion="prompt" if remember else "", **how)
        session = how.get("session")
        if remember:
            for brain in self.members if session else ():
                brain.hook_journal.next_turn(session or "")
            note_offered(homes, block, session or "", at=time.time())
            note_given(homes, block, session or "", at=time.time())
            if session is not None:
                note_preflight(self.members[0], session, prompt, block, self.directory)
        return block

    def find_block(
        self, prompt: str, *, occasion: str, **how: Unpack[PreflightOptions]
    ) -> tuple[Preflight, Homes]:
        """Return the block for ``prompt``, and the brain of each of its lessons and offers.

        The last commit is searched as it is, and nothing is journalled but what is withheld from
        the session at an ``occasion``.
        """
        of_each = {brain: brain.settings for brain in self.members}
        nearest = of_each[self.members[0]]
        settings = nearest.preflight
        if (budget := how.get("budget")) is not None:
            settings = replace(settings, budget=max(budget, 0))
        if (context := how.get("context")) is not None:
            settings = replace(settings, context=context)
        asked = Query(text=prompt, stage=how.get("stage"), paths=tuple(how.get("paths", ())))
        query = self._complete(replace(asked, limit=HIT_LIMIT))
        hits, frequencies, size = self._find(query, how.get("served"))
        notes: list[tuple[Brain, Hit]] = []
        if settings.context:
            notes = self._find(replace(query, kinds=(NOTE,)))[0]
        session = how.get("session")
        after = {brain: one.preflight.reinject_after for brain, one in of_each.items()}
        known = find_known(after if session else {}, session or "", coming=1)
        homes = {(hit.brain, hit.card.id): brain for brain, hit in hits}
        offers, heard = NO_OFFERS, session if how.get("lasting", True) else None
        if nearest.hooks.offers:
            least, place = nearest.gate.offer_confidence, how.get("place")
            offers = Offers(
                least=least,
                place=lambda h: place(homes[h.brain, h.card.id], h) if place else shown_name(h),
                titled=how.get("titled", False),
                held=lambda hit: find_held(homes[hit.brain, hit.card.id], heard, hit, least),
            )
        whose = how.get("asked_by") or session or (session_of()[0] if occasion else "")
        alone = how.get("alone")
        while True:
            block = pack(
                [hit for _brain, hit in hits],
                [(hit, brain.read_body(hit.card.id) if hit.passed else "") for brain, hit in notes],
                query=prompt,
                frequencies=frequencies,
                size=size,
                settings=settings,
                counter=how.get("counter", estimate_tokens),
                max_chars=how.get("max_chars"),
                in_context={
                    shown_name(hit)
                    for brain, hit in hits
                    if hit.passed and is_in_context(known, brain, hit.card)
                },
                closings=REQUEST if nearest.hooks.close else "",
                alone=bool(context) if alone is None else alone,
                sources=lambda hit: homes[hit.brain, hit.card.id].read_sources(hit.card.id),
                offers=offers,
            )
            shown: dict[Brain, list[Card]] = {}
            for hit in (*block.lessons, *block.offered):
                shown.setdefault(homes[hit.brain, hit.card.id], []).append(hit.card)
            held = {
                brain: find_withheld(brain, cards, whose, occasion=occasion)
                for brain, cards in shown.items()
            }
            if not any(held.values()):
                return block, homes
            hits = [(brain, hit) for brain, hit in hits if hit.card.id not in held.get(brain, ())]
            told = {
                name
                for brain, ids in held.items()
                for card_id in ids
                for name in brain.read_sources(card_id)
            }
            notes = [pair for pair in notes if pair[1].card.id.rpartition("/")[2] not in told]

    def _complete(self, query: Query) -> Query:
        """Return a query with the project, and with the files that its text names."""
        text, here = query.text, self.directory
        if len(text) > _MOST_CHARS:  # a question stands before a log or after it
            half = _MOST_CHARS // 2
            text = f"{text[:half]}\n{text[-half:]}"
        text, mentioned = files_to_guard(text)
        named = (relative_path(one, here, cwd=here) or "." for one in (*query.paths, *mentioned))
        return replace(query, text=text, project=self.project, paths=tuple(dict.fromkeys(named)))

    def _find(
        self, query: Query, served: Callable[[], Sequence[Hit]] | None = None
    ) -> tuple[list[tuple[Brain, Hit]], dict[str, int], int]:
        found = [(brain, brain.read(lambda one: find(one, query))) for brain in self.members]
        frequencies: dict[str, int] = {}
        for _brain, answer in found:
            for term, count in answer.frequencies.items():
                frequencies[term] = frequencies.get(term, 0) + count
        hits = merge_hits(found, served() if served is not None else ())
        return hits, frequencies, sum(answer.size for _brain, answer in found)


def refresh_in_hook(brains: Brains) -> tuple[Brains, str]:
    """Read a few changed files; leave more of them, and a long wait, to a detached run.

    Returns the brain to search, and what could not be read fresh. Brains of which nothing is
    indexed yet are left out: a search would wait for their whole index. So are those whose
    settings cannot be used; ConfigError where that leaves none.
    """
    waiting = ""
    ready: list[Brain] = []
    bad: ConfigError | None = None
    for brain in brains.members:
        try:
            done = brain.refresh_in_hook()
        except ConfigError as error:
            bad, waiting = error, f"{brain.alias}: {error}"
            continue
        if done.stale and not (brain.kept or brain.watcher):
            start_index(brain.root, brain.cache)
        if done.stale and brain.state is None:
            waiting = f"{brain.alias}: {done.stale}"
        else:
            ready.append(brain)
    if not ready:
        if bad is not None:
            raise bad
        raise StorageError(f"{waiting}; nothing is indexed yet; the next prompt tries again")
    if len(ready) == len(brains.members):
        return brains, waiting
    project = brains.project if bad is None else None  # which those that are left name themselves
    return Brains(ready, directory=brains.directory, project=project), waiting
