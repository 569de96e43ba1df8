"""The types of this package: an event, the agent's capabilities, the answer, and the hook."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from lessons_kb.brain.brains import Brains
from lessons_kb.brain.discovery import Discovery, require
from lessons_kb.calls.parse_call import digest_arguments
from lessons_kb.config import PreflightSettings
from lessons_kb.find.titles import Access
from lessons_kb.ledger.session_memory import SessionMemory, WaitingText, lend_memory, read_memory
from lessons_kb.model import Check, Event, Hit, Preflight
from lessons_kb.preflight.block import pack
from lessons_kb.store.journal import Journal
from lessons_kb.store.repositories import git_top
from lessons_kb.text.token_estimate import count_bytes, estimate_tokens
from lessons_kb.values import frozen


class FailedCall(NamedTuple):
    """A call of a batch that failed."""

    id: str
    tool: str
    arguments: object
    outcome: str
    """One of model.OUTCOMES."""
    output: str
    """The error."""


@dataclass(kw_only=True, slots=True)
class HookEvent:
    """An event in an agent, in the form that all agents share."""

    what: str
    """A key of ``dispatch.HANDLERS``."""
    agent: str
    session: str = ""
    part: str = ""
    """The subagent of the event, "" for the session itself."""
    directory: str = ""
    """Absolute path of the session's project."""
    cwd: str = ""
    """The agent's present working directory; "" = ``directory``."""
    id: str = ""
    """The agent's id of the call or prompt. Two reports with the same id are one event, unless
    their prompts differ."""
    at: float = 0.0
    """Seconds since the epoch; 0 = now."""
    unattended: bool = False
    """Whether a session that begins got its prompt on the command line, so that perhaps nobody can
    answer a question."""
    text: str = ""
    """The prompt, the answer, or the summary after a compaction."""
    tool: str = ""
    arguments: object = None
    """Arguments of the call: a JSON object, or its text."""
    source: str = ""
    """What began the session, as the agent calls it: ``startup`` or ``clear``, for example."""
    spawns: tuple[str, str] | None = None
    """The kind and the prompt of the subagent that a call is about to start."""
    spawn_inherits: bool = False
    """That subagent begins with the chat so far, and with the lessons in it."""
    failed_calls: Sequence[FailedCall] = ()
    """Of a batch: the calls of one message of the model that failed."""
    outcome: str = "ok"
    """One of model.OUTCOMES."""
    output: str = ""
    """The error, the end of the output, or the text that an edit writes."""
    before: str = ""
    """The text that an edit replaced."""
    step: str = ""
    """Identifies the model's message that made the call; "" if the payload does not."""
    takes_context: bool = True
    """Whether the answer to this event can give text to the model."""
    transcript: str = ""
    """Path of the agent's own record, "" if there is none that we can read."""
    again: bool = False
    """Whether another process may have recorded the event, but was too late with its answer."""
    token: str = ""
    """Identifies this event for every process that answers it."""
    repeats: bool = False
    """Whether the agent forgets the answer with the model's next call, and asks for it again."""
    patience: float = 0.5
    """Seconds that the answer may wait for a server."""
    posted: bool = False
    """Whether the event is from another machine. Its paths are then only names, and never
    opened."""
    within: float = 0.0
    """Seconds within which an equal event without an id is the same event."""
    answer_recorded: bool = False
    """Whether only the agent's record has the answer."""

    @property
    def context_id(self) -> str:
        """Identifies the model's context: the subagent's own or the one of the session."""
        return f"{self.session}/{self.part}" if self.part else self.session

    @property
    def call(self) -> str:
        """Identifies this call, even if it has no id."""
        return self.id or digest_arguments(self.arguments)


@frozen
class AgentTraits:
    """Properties of an agent that are the same for all its events."""

    lasting: bool = True
    """Whether lessons given with a prompt stay in the context; otherwise they last for the turn."""
    max_bytes: int = 9_900
    """Maximum size of one text, a little below the least limit of any agent: Codex removes the
    middle of a text of more than 10,000 bytes, Claude Code moves more than 10,000 characters to a
    file."""
    tokens: int = 3_200
    reads_outside: bool = False
    """Whether it reads files outside the session's folder without asking the user."""
    reads_ignored: bool = True
    """Whether it reads files that git ignores like other files."""
    keeps_directory: bool = False
    """Whether a command starts in the last directory of the command before; otherwise in the
    directory of the session."""
    hooked_tools: tuple[str, ...] = ()
    """Tools whose successes are reported by a hook in more detail than in the record. Only for an
    agent whose record has all calls, even those without a hook."""
    rewritten: bytes = b""
    """Start of the line by which it replaces all messages of its record in a compaction without a
    hook."""


@frozen
class Capabilities(AgentTraits):
    """What an answer to this event can do in this agent."""

    inject: bool = True
    """Whether it can give text to the model; otherwise the text waits for the next event that
    can."""
    lines: bool = True
    """Whether it can show lines to the user; otherwise important lines wait for an event that
    can."""
    ask: bool = False
    """Whether it can let the user decide about a call."""
    refuse: bool = False
    """Whether it can refuse a call."""
    explains: bool = True
    """Whether the question about a call shows the user the reason."""
    stop: bool = False
    """Whether it can end the turn."""
    review: str = ""
    """Command in the chat with which the user reviews drafts."""

    def count_tokens(self, text: str) -> int:
        """Return the tokens of a text; a text of too many bytes has more than any budget."""
        return estimate_tokens(text) if count_bytes(text) <= self.max_bytes else _ENDLESS

    def pack_known(self, hits: Sequence[Hit], settings: PreflightSettings) -> Preflight:
        """Pack lessons without a prompt into a block for this event, in the given order."""
        return pack(
            hits,
            [],
            query="",
            frequencies={},
            size=1,
            settings=replace(settings, budget=min(settings.budget, self.tokens)),
            counter=self.count_tokens,
            max_chars=self.max_bytes,
        )


@frozen
class Answer:
    """The answer to an event; empty by default."""

    context: str = ""
    """Text for the model."""
    block: Preflight | None = None
    """The lessons that this event gives, whether they are in ``context`` or wait."""
    check: Check | None = None
    lines: tuple[str, ...] = ()
    """Lines for the user, not for the model."""
    question: str = ""
    """Reason for which the user decides about the call; "" = no question."""
    refusal: str = ""
    """Reason for which the call is refused, which the model gets in place of ``context``."""
    stop_line: str = ""
    """Line for the user with which the turn ends, resumable; "" = the turn continues."""
    language: str = ""
    """Language of the texts; "" = that of the nearest brain."""
    footer: bool = True
    """Whether the user sees the names of the lessons in ``block``."""
    named: tuple[str, ...] = ()
    """Lessons of an earlier event that could show the user nothing; named with those of
    ``block``."""
    trouble: str = ""
    """An error that affected only a part of the answer; for the log."""


NOTHING = Answer()
_ENDLESS = 1_000_000_000


_NO_BRAINS = Brains((), directory="", project=None)


class Held(NamedTuple):
    """A card that refuses a call, and the file for which it does."""

    root: str
    card: str
    file: str


@dataclass(eq=False, kw_only=True)
class Hook:
    """An event that is being answered, with its brains and session."""

    event: HookEvent
    can: Capabilities
    look: Callable[[str], Discovery]
    """Discovers the brains around a directory."""
    find: Callable[[str], Brains] | None = None
    """Returns the open brains of a directory, which stay open; see ``open_brains``."""
    occasion: str = "prompt"
    """The occasion for which lessons are due; see ``Occasion.occasion``."""
    brains: Brains = _NO_BRAINS
    """The trusted brains; empty before ``open_brains``."""
    refused: list[Held] = field(default_factory=list)
    """The cards and files for which this call was refused."""
    beside: list[str] = field(default_factory=list)
    """Texts in a refusal or a question in addition to the lessons of its block."""
    carried: list[WaitingText] = field(default_factory=list)
    """Texts of earlier events that the answer to a call includes."""

    def open_brains(self) -> Brains:
        """Open the trusted brains, once; each handler calls this first.

        Raises Untrusted or BrainNotFound if there are none. In the daemon, ``find`` also tells the
        client that the answer has begun. It may decline by an exception that no handler catches,
        and the client then answers by itself, so nothing may be recorded before this call.
        """
        if not self.brains.members and self.find is not None:
            self.brains = self.find(self.event.directory)
        elif not self.brains.members:
            roots = require(self.found).trusted
            self.brains = Brains.open(*roots, directory=self.event.directory)
        return self.brains

    @property
    def journal(self) -> Journal:
        """The journal of the nearest trusted brain."""
        return self.brains.members[0].hook_journal

    @cached_property
    def found(self) -> Discovery:
        """The brains around the session, whether trusted or not."""
        return self.look(self.event.directory)

    @cached_property
    def scope(self) -> str:
        """The project root, to which paths are relative, as the agent spells its directory."""
        directory = self.event.directory
        real = directory if self.event.posted else os.path.realpath(directory)
        top = (not self.event.posted and git_top(real)) or real
        if top == real:
            return directory
        below = os.sep + os.path.relpath(real, top)
        return directory.removesuffix(below) if directory.endswith(below) else top

    @cached_property
    def access(self) -> Access:
        """The files that the agent reads without asking the user."""
        directory, can = os.path.realpath(self.event.directory), self.can
        return Access(directory=directory, outside=can.reads_outside, ignored=can.reads_ignored)

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
        """The session's memory as it was last read; do not change it."""
        return read_memory(self.journal, self.event.context_id)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[SessionMemory]:
        """Yield the session's present memory and store its changes; see ``lend_memory``."""
        with lend_memory(self.journal, self.event.context_id) as self.state:
            yield self.state

    def close(self) -> None:
        """Close the brains, unless ``find`` keeps them open."""
        if self.find is None:
            self.brains.close()
