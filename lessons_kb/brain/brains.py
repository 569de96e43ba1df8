"""The brains that apply to one work tree: opened, refreshed and closed together."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Self, Unpack

from lessons_kb.brain.brain import Brain, Watching
from lessons_kb.brain.discovery import Discovery, discover, follow, name_roots
from lessons_kb.brain.open_index import Refresh, Refreshing
from lessons_kb.errors import BrainNotFound, ConfigError, StorageError
from lessons_kb.process.programs import start_index
from lessons_kb.store import repositories

_PATIENCE = 1.0
"""Seconds that a search waits for one writer; an index takes seconds for thousands of files."""


class Brains:
    """The brains that hold for a directory: read together, written to the nearest."""

    def __init__(self, brains: Sequence[Brain], *, directory: str, project: str | None) -> None:
        self.members = tuple(brains)
        """One ``Brain`` for each folder, nearest first."""
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
        cls,
        directory: str | os.PathLike[str] | None = None,
        *,
        found: Discovery | None = None,
    ) -> Self:
        """Open the trusted brains that hold for a working directory.

        ``found`` is what ``discovery.look`` returned for it, if the caller has looked. Raises
        Untrusted when all that was found waits for ``lessons trust``, BrainNotFound when there is
        none at all.
        """
        found = discover(os.fspath(directory or os.getcwd()), found)
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
        return cls(brains, directory=repositories.git_top(here) or here, project=project)

    @property
    def project(self) -> str | None:
        """The current project: given, from ``lessons.toml``, the git folder's name, or None."""
        named = (brain.settings.project for brain in self.members)
        return self._project or next(filter(None, named), None) or self._git_name

    def refresh(self, **how: Unpack[Refreshing]) -> tuple[Refresh, ...]:
        """Bring each brain's index up to date; see ``Brain.refresh``. Searches do it themselves."""
        return tuple(brain.refresh(**how) for brain in self.members)

    def watch(self, on_idle: Callable[[Brain], None] = lambda _brain: None) -> None:
        """Watch the files from a thread of its own until ``close``: calls need not scan them.

        An edit is seen after about a quarter of a second. ``on_idle`` is called with each brain
        from time to time while none of its files waits.
        """
        if self._watching is None:
            self._watching = Watching(self.members, on_idle=on_idle)

    def close(self) -> None:
        """Release the files and end the watch; the brains may be used again."""
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
        in_git = repositories.git_top(self.directory) is not None
        return os.path.basename(self.directory) if in_git else None

    def refresh_for_search(self) -> None:
        """Refresh, but wait at most a second for another writer: the last commit can answer."""
        for brain in self.members:
            brain.refresh() if brain.state is None else brain.refresh(patience=_PATIENCE)


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
            if done.fault:
                waiting = f"{brain.alias}: used the previous index, because {done.fault}"
            ready.append(brain)
    if not ready:
        if bad is not None:
            raise bad
        raise StorageError(f"{waiting}; nothing is indexed yet; the next prompt tries again")
    if len(ready) == len(brains.members):
        return brains, waiting
    project = brains.project if bad is None else None  # which those that are left name themselves
    return Brains(ready, directory=brains.directory, project=project), waiting
