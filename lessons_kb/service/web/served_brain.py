"""A brain that a server offers. Paths of clients are only names: the server never opens them."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import refresh_in_hook
from lessons_kb.brain.discovery import Discovery
from lessons_kb.brain.search_index import Refresh
from lessons_kb.collection.draft_lookup import Draft
from lessons_kb.collection.drafts import Drafts
from lessons_kb.collection.near_duplicates import NearDuplicate
from lessons_kb.errors import (
    BrainNotFound,
    ConfigError,
    IndexBroken,
    InputError,
    LessonsError,
    StorageError,
)
from lessons_kb.library import Library
from lessons_kb.model import Card
from lessons_kb.service.open_brains import OpenBrains
from lessons_kb.service.web.authentication import CALLER
from lessons_kb.store.error_log import log_trouble
from lessons_kb.store.scan import find_newest
from lessons_kb.values import frozen, replace

T = TypeVar("T")
MAX_INBOX = 2_000
"""Maximum number of drafts in a brain's inbox. Further proposals are refused until a review."""
BUILDING, UNREADABLE = "the index is being built", "the index cannot be read"
LOOK_SECONDS = 0.05
"""The time, in seconds, for which the state of a brain's folder is cached. A check of the folder
takes a tenth of an answer's time, and a watcher does not report changes sooner.
"""
UNAVAILABLE = (StorageError, ConfigError, BrainNotFound)
"""Errors of the server, not of the request."""


@frozen
class Summary:
    """A brain's content in figures, for the start page."""

    cards: int
    drafts: int
    changed_at: float
    """Time of the last change to a file, in seconds since the epoch, or 0 if there are no files."""
    changed: Card | None
    """The card in that file, or None if the file cannot be used."""


class ServedBrain:
    """One brain under the name that clients use. Threads may share it.

    It replaces ``OpenBrains``: ``find`` returns the brain for a directory of the client.
    """

    def __init__(self, name: str, root: str, *, watched: bool = True) -> None:
        """``watched`` states that this process, and not another one, watches the folder and indexes
        changes.
        """
        self.name, self.root, self._watched = name, root, watched
        self._workspace = OpenBrains(root, roots=(root,), watched=watched)
        self._members: Sequence[Brain] = ()
        self._look_at = self._freshen_at = 0.0
        self._trouble: str | LessonsError = ""

    def find(self, directory: str | None = None) -> Library:
        """Return the brain for a directory of the client, refreshed as far as time allows.

        Raises BrainNotFound if its folder no longer exists. Any other problem becomes a reason for
        a stale answer; see ``note_stale``.
        """
        try:
            brains = self.open(directory)
        except BrainNotFound as error:
            self.note_stale(error)
            raise
        if time.monotonic() >= self._freshen_at:
            try:
                waiting = refresh_in_hook(brains)[1]
                self._trouble = BUILDING if waiting else _find_trouble(brains.members)
            except UNAVAILABLE as error:
                self._trouble = error
            self._freshen_at = time.monotonic() + LOOK_SECONDS
        self.note_stale(self._trouble)
        return brains

    def open(self, directory: str | None = None) -> Library:
        """Return the brain for a directory of the client, without a refresh.

        Raises BrainNotFound if its folder no longer exists.
        """
        return _Served(self._look(), directory=directory or "/", by=CALLER.get().name)

    def _look(self) -> Sequence[Brain]:
        if not os.path.isdir(self.root):
            raise BrainNotFound(f"{self.root} is not a folder any more")
        if time.monotonic() >= self._look_at:
            self._members = self._workspace.find().members
            for brain in self._members:
                brain.watched_elsewhere = not self._watched
            self._look_at = time.monotonic() + LOOK_SECONDS
        return self._members

    def answer(self, work: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Return ``work(*args, **kwargs)``, and record for the caller why the result may be
        outdated.
        """
        answer = work(*args, **kwargs)
        try:
            self.note_stale(_find_trouble(self._look()))
        except UNAVAILABLE as error:
            self.note_stale(error)
        return answer

    def look(self, _directory: str) -> Discovery:
        """Return this brain as the result of discovery for any directory of a client."""
        return Discovery(trusted={self.root: self.name}, untrusted=())

    def note_stale(self, why: str | LessonsError) -> None:
        """Record for the caller why the answer may be outdated, if there is a reason."""
        if isinstance(why, LessonsError):
            log_trouble("server", self.name, f"{type(why).__name__}: {why}")
            why = explain(why)
        reasons = CALLER.get().stale
        if why and why not in reasons:
            reasons.append(why)

    def summarise(self) -> Summary:
        """Return the brain's figures as of the last commit of its index."""
        brains = self.find()
        brain = brains.members[0]
        cards, changed_at, changed = brain.read(_find_last_change)
        return Summary(
            cards=cards, drafts=brains.drafts.count(), changed_at=changed_at, changed=changed
        )

    def is_ready(self) -> bool:
        """Return whether all cards of the brain can be found. Starts indexing if it has no index.

        An index that is being built is committed in steps; the first step has no cards.
        """
        try:
            brains = self._workspace.find().members
            ready = [brain.ensure_indexed() and not brain.is_being_built() for brain in brains]
            return os.path.isdir(self.root) and all(ready)
        except LessonsError:
            return False

    def close(self) -> None:
        """Close the files and stop watching the folder."""
        self._workspace.close()


def _find_last_change(brain: Brain) -> tuple[int, float, Card | None]:
    """Return the number of cards, the time of the last change to a file, and that file's card."""
    state = brain.state
    if state is None:
        return 0, 0.0, None
    path, written_at = find_newest(state.manifest)
    numbers = [number for number, _digest in brain.catalogue.numbers(path).values()]
    files = brain.catalogue.cards(numbers)
    return state.cards, written_at, next(iter(files.values()), None)


def _find_trouble(brains: Sequence[Brain]) -> str:
    """Return why answers of brains may be outdated, or "" if they are up to date."""
    if any(brain.stale for brain in brains):
        return "the index is behind the files"
    local = "the cluster does not answer: this is from the local index"
    return local if any(brain.elsewhere_trouble() for brain in brains) else ""


def explain(error: BaseException) -> str:
    """Return the message for a client about an error of the server, without paths and settings."""
    if isinstance(error, ConfigError):
        return "the settings cannot be used"
    if isinstance(error, BrainNotFound):
        return "the brain cannot be found"
    building = not isinstance(error, IndexBroken) and "nothing is indexed yet" in str(error)
    return BUILDING if building else UNREADABLE


class _Served(Library):
    """Open brains, used from a directory of another machine."""

    def __init__(self, brains: Sequence[Brain], *, directory: str, by: str) -> None:
        super().__init__(brains, directory=directory, project=None)
        self._by = by

    @property
    def project(self) -> str | None:
        """The brain's own project, or else the name of the client's directory.

        The server cannot run git in that directory.
        """
        name = re.split(r"[\\/]", self.directory.rstrip("\\/"))[-1]
        return self.members[0].settings.project or name or None

    @property
    def drafts(self) -> Drafts:
        """The drafts that wait for review."""
        return _Inbox(self, by=self._by)

    def refresh(self, **_how: Any) -> tuple[Refresh, ...]:
        """Do nothing: ``ServedBrain.find`` has refreshed the brain as far as time allowed."""
        return ()

    def refresh_for_search(self) -> None:
        """Do nothing, like ``refresh``."""


class _Inbox(Drafts):
    """The drafts of a served brain, for one caller."""

    def __init__(self, brains: Library, *, by: str) -> None:
        super().__init__(brains)
        self._by = by

    def propose(self, title: str, **parts: Any) -> Draft:
        """Write a draft in the caller's name. The result hides the path on the server."""
        if self.count() >= MAX_INBOX:
            raise InputError("the inbox is full; ask a reviewer to go through the drafts")
        return replace(super().propose(title, **{**parts, "by": self._by}), path="")

    def find_near_duplicates(self, draft: Draft) -> list[NearDuplicate]:
        """Return the cards that may be the same lesson, or [] while the index cannot be read."""
        try:
            return super().find_near_duplicates(draft)
        except UNAVAILABLE:
            return []
