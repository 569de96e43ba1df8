"""One or several brain directories, opened together for work in one directory."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Self, Unpack

from lessons_kb.brain.discovery import discover, follow, name_roots
from lessons_kb.brain.injected import Memory, find_held, is_withheld, note_preflight, session_of
from lessons_kb.brain.layer import Layer, Watching
from lessons_kb.brain.refresh import Refresh, Refreshing
from lessons_kb.brain.retrieve import files_to_guard, find, find_guarding, merge_hits
from lessons_kb.check.item_states import REQUEST
from lessons_kb.errors import BrainNotFound, ConfigError, StorageError
from lessons_kb.model import KINDS, NOTE, Card, Hit, Preflight, Query
from lessons_kb.preflight.block import NO_OFFERS, Offers, pack, shown_name
from lessons_kb.process.programs import start_index
from lessons_kb.store import user_state as locate
from lessons_kb.text.token_estimate import TokenCounter, estimate_tokens

_PATIENCE = 1.0
"""Seconds that a search waits for one writer; an index takes seconds for thousands of files."""
_MOST_CHARS = 60_000
"""Of a longer prompt the two ends are searched for: some 8,000 different words, 0.3 s."""
HIT_LIMIT = 10
"""Hits judged for a preflight: more than can be injected, enough to say what was held back."""


class Layers:
    """The brains that hold for a directory: read together, written to the nearest."""

    def __init__(self, layers: Sequence[Layer], *, directory: str, project: str | None) -> None:
        self.layers = tuple(layers)
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
    def discover(
        cls, directory: str | os.PathLike[str] | None = None, *, project: str | None = None
    ) -> Self:
        """Open the trusted brains that hold for a working directory.

        Raises Untrusted when all that was found waits for ``lessons trust``, BrainNotFound when
        there is none at all.
        """
        found = discover(os.fspath(directory or os.getcwd()))
        return cls._of(found.trusted, directory, project)

    @classmethod
    def _of(
        cls,
        aliases: Mapping[str, str],
        directory: str | os.PathLike[str] | None,
        project: str | None,
    ) -> Self:
        layers = [Layer.open(root, alias=alias) for root, alias in aliases.items()]
        here = os.path.realpath(directory or os.getcwd())
        return cls(layers, directory=locate.git_top(here) or here, project=project)

    @property
    def project(self) -> str | None:
        """The current project: given, from ``lessons.toml``, the git folder's name, or None."""
        named = (layer.settings.project for layer in self.layers)
        return self._project or next(filter(None, named), None) or self._git_name

    def refresh(self, **how: Unpack[Refreshing]) -> tuple[Refresh, ...]:
        """Bring each brain's index up to date; see ``Layer.refresh``. Searches do it themselves."""
        return tuple(layer.refresh(**how) for layer in self.layers)

    def watch(self) -> None:
        """Watch the files from a thread of its own until ``close``: calls need not scan them.

        An edit is seen after about a quarter of a second.
        """
        if self._watching is None:
            self._watching = Watching(self.layers)

    def close(self) -> None:
        """Release the files and end the watch; the brain may be used again."""
        if self._watching is not None:
            self._watching.stop()
            self._watching = None
        for layer in self.layers:
            layer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @cached_property
    def _git_name(self) -> str | None:
        in_git = locate.git_top(self.directory) is not None
        return os.path.basename(self.directory) if in_git else None

    def refresh_soon(self) -> None:
        """Refresh, but let no one writer keep an answer waiting that the last commit can give."""
        for layer in self.layers:
            layer.refresh() if layer.state is None else layer.refresh(patience=_PATIENCE)

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
        query = self._query(text, kinds=kinds, stage=stage, paths=paths, tags=tags, limit=limit)
        if fresh:
            self.refresh_soon()
        whose, found = asked_by or session_of()[0], self._find(query)[0]
        given = [hit for layer, hit in found if not is_withheld(layer, hit.card, whose)]
        return given[: max(limit, 0)]

    def find_lessons(self, text: str, *, limit: int = HIT_LIMIT) -> list[tuple[Layer, Hit]]:
        """Return the lessons for a text, best first, with the brain that holds each.

        The last commit is searched as it is; those the gate holds back are included.
        """
        query = self._query(text, kinds=KINDS, stage=None, paths=(), limit=limit)
        return self._find(query)[0][:limit]

    def find_guarding(self, path: str) -> list[tuple[Layer, Card]]:
        """Return the cards that guard a file by their ``paths``, with the brain of each."""
        return find_guarding(self.layers, path, project=self.project)

    def preflight(
        self,
        prompt: str,
        *,
        stage: str | None = None,
        paths: Sequence[str] = (),
        session: str | None = None,
        budget: int | None = None,
        context: bool | None = None,
        alone: bool | None = None,
        counter: TokenCounter = estimate_tokens,
        max_chars: int | None = None,
        fresh: bool = True,
        remember: bool = True,
        noted: bool = False,
        served: Callable[[], Sequence[Hit]] | None = None,
        place: Callable[[Hit], str] = shown_name,
        titled: bool = False,
        lasting: bool = True,
        asked_by: str = "",
    ) -> Preflight:
        """Return the block for ``prompt``; its text is "" when nothing is worth saying.

        ``paths`` are files at hand, relative to the project root; those named in the prompt are
        added. ``budget`` (tokens, as ``counter`` counts) and ``context`` override
        ``lessons.toml``. Notes stand ``alone``, without a lesson, only where ``context`` asks for
        them, unless it is said. Within one ``session`` a lesson is not given twice until it
        changed or ``reinject_after`` prompts have passed. Without ``fresh`` the last commit is
        searched as it is, without ``remember`` nothing is journalled. ``noted`` says that the
        caller notes the prompt and what came of it, but for what is withheld from the
        ``session``; else that becomes an event of it. ``served`` gives the lessons of a server,
        which are merged with those found here; it is called last. ``place`` returns what an agent
        can open to read a card whose title is offered, "" where it cannot; the titles of all cards
        may be in its view already (``titled``). A title is offered once in a session, if what this
        was told is ``lasting``. ``asked_by`` is the session whose withheld lessons are left out,
        by default ``session``.
        """
        if fresh:
            self.refresh_soon()
        nearest = self.layers[0].settings
        settings = nearest.preflight
        if budget is not None:
            settings = replace(settings, budget=max(budget, 0))
        if context is not None:
            settings = replace(settings, context=context)
        query = self._query(prompt, kinds=KINDS, stage=stage, paths=paths)
        hits, frequencies, size = self._find(query, served)
        notes: list[tuple[Layer, Hit]] = []
        if settings.context:
            notes = self._find(replace(query, kinds=(NOTE,)))[0]
        memory = Memory(self.layers, session, counting=remember)
        homes = {hit.card.id: layer for layer, hit in reversed(hits)}
        offers, heard = NO_OFFERS, session if lasting else None
        if nearest.hooks.offers:
            least = nearest.gate.offer_confidence
            offers = Offers(
                least=least,
                place=place,
                titled=titled,
                held=lambda hit: find_held(homes[hit.card.id], heard, hit, least),
            )
        whose = asked_by or session or (session_of()[0] if remember else "")
        occasion = "prompt" if remember or noted else ""
        while True:
            block = pack(
                [hit for _layer, hit in hits],
                [(hit, layer.read_body(hit.card.id) if hit.passed else "") for layer, hit in notes],
                query=prompt,
                frequencies=frequencies,
                size=size,
                settings=settings,
                counter=counter,
                max_chars=max_chars,
                in_context=memory.in_context(hits, reinject_after=settings.reinject_after),
                closings=REQUEST if nearest.hooks.close else "",
                alone=bool(context) if alone is None else alone,
                sources=lambda hit: homes[hit.card.id].read_sources(hit.card.id),
                offers=offers,
            )
            held = [
                hit.card
                for hit in (*block.lessons, *block.offered)
                if is_withheld(homes[hit.card.id], hit.card, whose, occasion=occasion)
            ]
            if not held:
                break
            hits = [pair for pair in hits if pair[1].card not in held]
            told = {name for card in held for name in homes[card.id].read_sources(card.id)}
            notes = [pair for pair in notes if pair[1].card.id.rpartition("/")[2] not in told]
        if remember:
            memory.record(hits, block)
            if session is not None and not noted:
                note_preflight(self.layers[0], session, prompt, block, self.directory)
        return block

    def _query(
        self,
        text: str,
        *,
        kinds: Sequence[str],
        stage: str | None,
        paths: Sequence[str],
        tags: Sequence[str] = (),
        limit: int = HIT_LIMIT,
    ) -> Query:
        if len(text) > _MOST_CHARS:  # a question stands before a log or after it
            half = _MOST_CHARS // 2
            text = f"{text[:half]}\n{text[-half:]}"
        text, mentioned = files_to_guard(text)
        named = [_relative(path, self.directory) for path in (*paths, *mentioned)]
        return Query(
            text=text,
            project=self.project,
            stage=stage,
            paths=tuple(dict.fromkeys(named)),
            tags=tuple(tags),
            kinds=tuple(kinds),
            limit=limit,
        )

    def _find(
        self, query: Query, served: Callable[[], Sequence[Hit]] | None = None
    ) -> tuple[list[tuple[Layer, Hit]], dict[str, int], int]:
        found = [(layer, layer.read(lambda one: find(one, query))) for layer in self.layers]
        frequencies: dict[str, int] = {}
        for _layer, answer in found:
            for term, count in answer.frequencies.items():
                frequencies[term] = frequencies.get(term, 0) + count
        hits = merge_hits(found, served() if served is not None else ())
        return hits, frequencies, sum(answer.size for _layer, answer in found)


def _relative(path: str, directory: str) -> str:
    """Return ``path`` relative to the project root where it lies below it."""
    full = os.path.normpath(os.path.join(directory, path))
    inside = full == directory or full.startswith(directory + os.sep)
    return (full[len(directory) + 1 :] or os.curdir if inside else full).replace(os.sep, "/")


def freshen(brain: Layers) -> tuple[Layers, str]:
    """Read a few changed files; leave more of them, and a long wait, to a detached run.

    Returns the brain to search, and what could not be read fresh. Layers of which nothing is
    indexed yet are left out: a search would wait for their whole index. So are those whose
    settings cannot be used; ConfigError where that leaves none.
    """
    waiting = ""
    ready: list[Layer] = []
    bad: ConfigError | None = None
    for layer in brain.layers:
        try:
            done = layer.refresh_some()
        except ConfigError as error:
            bad, waiting = error, f"{layer.alias}: {error}"
            continue
        if done.stale and not layer.is_watched:
            start_index(layer.root, layer.cache)
        if done.stale and layer.state is None:
            waiting = f"{layer.alias}: {done.stale}"
        else:
            ready.append(layer)
    if not ready:
        if bad is not None:
            raise bad
        raise StorageError(f"{waiting}; nothing is indexed yet; the next prompt tries again")
    if len(ready) == len(brain.layers):
        return brain, waiting
    project = brain.project if bad is None else None  # which those that are left name themselves
    return Layers(ready, directory=brain.directory, project=project), waiting
