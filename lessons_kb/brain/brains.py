"""The brains that apply to one work tree, which are opened, refreshed and closed together."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Self, Unpack

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.discovery import Discovery, discover, follow_settings, name_roots
from lessons_kb.brain.search_index import Refresh, Refreshing
from lessons_kb.errors import BrainNotFound, ConfigError, StorageError
from lessons_kb.on_demand import PROGRAMS, WATCHING, load
from lessons_kb.store import repositories

if TYPE_CHECKING:
    from lessons_kb.brain.watching import Watching

_PATIENCE = 1.0
"""The seconds that a search waits for another writer, which may need seconds for many files."""


class Brains:
    """The brains that apply to a directory. All are read, and the nearest one is written to."""

    def __init__(self, brains: Sequence[Brain], *, directory: str, project: str | None) -> None:
        self.members = tuple(brains)
        """The brains, with the nearest first."""
        self.directory = directory
        """The project root, to which the ``paths`` of cards are relative."""
        self._project = project
        self._watching: Watching | None = None

    @classmethod
    def open(
        cls,
        *roots: str | os.PathLike[str],
        directory: str | os.PathLike[str] | None = None,
        project: str | None = None,
    ) -> Self:
        """Open the brains at ``roots`` in the given order. The caller must give the nearest first.

        If the ``lessons.toml`` of a root names another brain, that brain is opened instead. A brain
        that occurs twice is opened once. Trust is not checked.

        ``directory`` is where the work happens, by default the working directory. The top-level
        folder of its git repository, or else the directory itself, is the project root. ``project``
        replaces the project that the property ``project`` would look up. Raises BrainNotFound if
        there are no roots, or for a folder that does not exist.
        """
        if not roots:
            raise BrainNotFound("no brain given; use Brain.discover() to find one")
        brain_roots = [follow_settings(os.fspath(root)) for root in roots]
        aliases = name_roots(brain_roots)
        return cls._of(aliases, directory, project)

    @classmethod
    def discover(
        cls,
        directory: str | os.PathLike[str] | None = None,
        *,
        found: Discovery | None = None,
    ) -> Self:
        """Open the trusted brains that apply to a working directory.

        ``found`` is the result of ``discovery.look`` for this directory, if the caller has it.
        Raises Untrusted if none of the brains is trusted yet, and BrainNotFound if there is none.
        """
        discovery = discover(os.fspath(directory or os.getcwd()), found)
        return cls._of(discovery.trusted, directory)

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
        """The current project, or None.

        This is the project that the caller named, or else the first that the ``lessons.toml`` of a
        brain names, or else the name of the project root if the root is in a git repository. It is
        looked up when it is read.
        """
        configured = (brain.settings.project for brain in self.members)
        return self._project or next(filter(None, configured), None) or self._git_name

    def led_by(self, brain: Brain) -> Brains:
        """Return the same brains with ``brain`` first, so that it is the one written to."""
        if brain is self.members[0]:
            return self
        others = [member for member in self.members if member is not brain]
        return Brains([brain, *others], directory=self.directory, project=self.project)

    def refresh(self, **options: Unpack[Refreshing]) -> tuple[Refresh, ...]:
        """Update the index of each brain. See ``Brain.refresh``. Searches call this themselves."""
        return tuple(brain.refresh(**options) for brain in self.members)

    def watch(self, on_idle: Callable[[Brain], None] = lambda _brain: None) -> None:
        """Watch the files in separate threads until ``close``, so that calls need not scan them.

        An edit is seen after about a quarter of a second. ``on_idle`` is called with each brain
        from time to time, while no change of its files waits.
        """
        if self._watching is None:
            self._watching = load(WATCHING).Watching(self.members, on_idle=on_idle)

    def close(self) -> None:
        """Release the files and end the watch. The brains can still be used afterwards."""
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
        """Wait at most one second for another writer, then search the last commit."""
        for brain in self.members:
            if brain.state is None:
                brain.refresh()
            else:
                brain.refresh(patience=_PATIENCE)
            brain.encode_new()


def refresh_in_hook(brains: Brains) -> tuple[Brains, str]:
    """Read a few changed files, and leave the rest to a detached process.

    Returns the brains to search, and a warning about the parts that are not up to date, or "" if
    all are. A brain without any index yet is left out, because a search would wait for its whole
    index. A brain with unusable settings is left out as well. Raises ConfigError or StorageError if
    no brain is left.
    """
    warning = ""
    ready: list[Brain] = []
    config_error: ConfigError | None = None
    for brain in brains.members:
        try:
            result = brain.refresh_in_hook()
        except ConfigError as error:
            config_error, warning = error, f"{brain.alias}: {error}"
            continue
        is_watched = brain.watched_elsewhere or brain.changes is not None
        if not is_watched and (result.stale or brain.has_new_project()):
            load(PROGRAMS).start_index(brain.root, brain.cache)
        if result.stale and brain.state is None:
            warning = f"{brain.alias}: {result.stale}"
            continue
        if result.fault:
            warning = f"{brain.alias}: used the previous index, because {result.fault}"
        ready.append(brain)
    if not ready:
        if config_error is not None:
            raise config_error
        raise StorageError(f"{warning}; nothing is indexed yet; the next prompt tries again")
    if len(ready) == len(brains.members):
        return brains, warning
    # The remaining brains name their project themselves. A broken brain would raise here.
    project = brains.project if config_error is None else None
    return Brains(ready, directory=brains.directory, project=project), warning
