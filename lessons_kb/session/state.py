"""The state of an event while it is answered: its brains, its journal, and the session's memory."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.brain.discovery import Discovery, require
from lessons_kb.ledger.session_memory import SessionMemory, WaitingText, lend_memory, read_memory
from lessons_kb.ledger.withheld import is_withheld
from lessons_kb.model import SERVED, Card, Event, Hit
from lessons_kb.on_demand import FIND_TITLES, load
from lessons_kb.preflight.offers import shown_name
from lessons_kb.session.event_types import Capabilities, HookEvent
from lessons_kb.store.journal import Journal
from lessons_kb.store.locations import above, real_path
from lessons_kb.store.repositories import find_work_tree
from lessons_kb.text.paths import relative_path

if TYPE_CHECKING:
    from lessons_kb.find.titles import Access

_NO_BRAINS = Brains((), directory="", project=None)


class Held(NamedTuple):
    """A card that refuses a call, and the file for which it refuses the call."""

    root: str
    card: str
    file: str


class Hook:
    """An event that is being answered, with its brains and session."""

    def __init__(
        self,
        event: HookEvent,
        can: Capabilities,
        *,
        look: Callable[[str], Discovery],
        find: Callable[[str], Brains] | None = None,
    ) -> None:
        """``look`` finds the brains around a directory. For ``find``, see `open_brains`."""
        self.event, self.can = event, can
        self.look, self.find = look, find
        self.occasion = "prompt"
        """The occasion for which lessons are due; see ``model.Occasion.occasion``."""
        self.brains = _NO_BRAINS
        """The trusted brains, which are empty before ``open_brains`` is called."""
        self.refused: list[Held] = []
        """The cards and files for which this call was refused."""
        self.beside: list[str] = []
        """Texts in a refusal or a question in addition to the lessons of its block."""
        self.carried: list[WaitingText] = []
        """Texts of earlier events that the answer to a call includes."""
        self._parsed: tuple[str, SessionMemory] | None = None
        """The text of the session's memory as it was read last, and the memory, unchanged."""

    def open_brains(self) -> Brains:
        """Open the trusted brains once. Each handler calls this first.

        Raises Untrusted or BrainNotFound if there are none. In the daemon, ``find`` also informs
        the client that the answer has begun. It may decline by an exception that no handler
        catches. The client then answers by itself, so nothing may be recorded before this call.
        """
        if not self.brains.members and self.find is not None:
            self.brains = self.find(self.event.directory)
        elif not self.brains.members:
            roots = require(self.found).trusted
            self.brains = Brains.open(*roots, directory=self.event.directory)
            for brain in self.brains.members:
                brain.words_only = True  # loading the model would take half of the deadline
        return self.brains

    @property
    def journal(self) -> Journal:
        """The journal of the nearest trusted brain."""
        return self.brains.members[0].hook_journal

    @cached_property
    def found(self) -> Discovery:
        """The brains around the session, whether they are trusted or not."""
        return self.look(self.event.directory)

    @cached_property
    def scope(self) -> str:
        """The project root, to which paths are relative, as the agent spells its directory."""
        directory = self.event.directory
        real = directory if self.event.posted else self.working_directory
        top = (not self.event.posted and find_work_tree(above(real))) or real
        if top == real:
            return directory
        below = os.sep + os.path.relpath(real, top)
        return directory.removesuffix(below) if directory.endswith(below) else top

    @cached_property
    def access(self) -> Access:
        """The access of the agent: the files that it reads without asking the user."""
        can = self.can
        access: Access = load(FIND_TITLES).Access(
            directory=self.working_directory,
            outside=can.reads_outside,
            ignored=can.reads_ignored,
        )
        return access

    @cached_property
    def working_directory(self) -> str:
        """The real path of the session's working directory."""
        return real_path(self.event.directory)

    def name_file(self, brain: Brain, hit: Hit) -> str:
        """Return the path of a card's file, relative to the session's directory if it is inside.

        A card of a server, and a card for an agent on another machine, is named by its id.
        """
        if self.event.posted or SERVED in hit.card.id:
            return shown_name(hit)
        return relative_path(os.path.join(brain.root, hit.card.id), self.working_directory)

    @property
    def now(self) -> float:
        """Time of the event, in seconds since the epoch."""
        return self.event.at or time.time()

    def as_event(self, kind: str, **more: Any) -> Event:
        """Return an Event of this kind with the session, id and time of the hook event."""
        event = self.event
        common = {"at": self.now, "session": event.session, "id": event.id, "agent": event.agent}
        return Event(**{"kind": kind, "scope": self.scope, **common, **more})

    @cached_property
    def state(self) -> SessionMemory:
        """The session's memory as it was last read. It must not be changed."""
        return read_memory(self.journal, self.event.context_id, parse=self._parse_memory)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[SessionMemory]:
        """Yield the session's present memory and store the changes to it. See ``lend_memory``."""
        if not self.event.posted:
            _ = self.working_directory  # no file is touched while the journal is locked
        lend = lend_memory(self.journal, self.event.context_id, parse=self._parse_memory)
        with lend as self.state:
            self._parsed = None  # the caller may change the memory
            yield self.state

    def _parse_memory(self, stored: str) -> SessionMemory:
        """Return the memory of a stored text, which is parsed only once if it stays the same."""
        if self._parsed is None or self._parsed[0] != stored:
            self._parsed = stored, SessionMemory.from_json(stored)
        return self._parsed[1]

    def close(self) -> None:
        """Close the brains, unless ``find`` keeps them open."""
        if self.find is None:
            self.brains.close()


def note_if_withheld(hook: Hook, brain: Brain, card: Card) -> bool:
    """Return whether a lesson is withheld from the session. If so, the ledger records this."""
    return is_withheld(brain, card, hook.event.context_id, occasion=hook.occasion, at=hook.now)
