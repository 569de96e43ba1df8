"""What happens in a session of a coding agent, and what we have to say to it.

An agent's hook becomes a `HookEvent`, and `respond` gives the `Answer`; how either looks in a
payload is the business of ``agents``. Whatever a later event needs lies in the journal.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from lessons_kb.brain.discovery import Discovery, require
from lessons_kb.model import Check, Preflight
from lessons_kb.store.journal import SESSION_PATIENCE, Journal, open_session_journal
from lessons_kb.store.locate import git_top
from lessons_kb.store.trust import cache_dir

if TYPE_CHECKING:
    from lessons_kb.brain.layers import Layers

_PATIENCE = {"after": 1.0, "stop": 1.0, "end": 1.0}
"""Kind of event → seconds for which another writer is waited for, where what happened matters
more than what is answered; elsewhere ``SESSION_PATIENCE``."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HookEvent:
    """Something that happened in an agent, whichever it is."""

    what: str
    """A key of ``dispatch.HANDLERS``."""
    agent: str
    session: str
    part: str = ""
    """The subagent it happened in, "" for the session itself."""
    directory: str
    """Absolute: where the session's project is."""
    cwd: str = ""
    """Where the agent is now; "" = in ``directory``."""
    id: str = ""
    """The agent's own id of the call or prompt: the same one twice is one event."""
    at: float = 0.0
    """Seconds since the epoch; 0 = now."""
    within: float = 0.0
    """Seconds within which the same without an id is taken for the same event."""
    forked: float | None = None
    """Of a session that begins as a copy of another: seconds since the other's last answer."""
    unattended: bool = False
    """Of a session that begins: it was given its prompt with the command, so nobody may be there
    to answer a question."""
    text: str = ""
    """The prompt, the answer, or the summary of what was compacted."""
    tool: str = ""
    arguments: object = None
    """Of the call: a JSON object, or its text."""
    spawns: tuple[str, str] | None = None
    """The kind and the prompt of the subagent that a call is about to start."""
    outcome: str = "ok"
    """One of model.OUTCOMES."""
    output: str = ""
    """What came back: the error, the end of the output, the diff of an edit."""
    before: str = ""
    """What an edit replaced."""
    step: str = ""
    """Names the message of the model that made the call, "" where the payload does not say."""
    transcript: str = ""
    """The agent's own record, "" if there is none that we read."""
    again: bool = False
    """Another process may have noted it, and did not get to say anything."""
    posted: bool = False
    """It happened on another machine: its paths are names, and nothing here looks for them."""

    @property
    def context(self) -> str:
        """Names the context of the model: that of a subagent is its own, all else is shared."""
        return f"{self.session}/{self.part}" if self.part else self.session


@dataclass(frozen=True, kw_only=True, slots=True)
class Capabilities:
    """What the agent lets an answer to this event do."""

    context: bool = True
    """Text can be put in front of the model; else it waits for the next event that can."""
    lines: bool = True
    """Lines can be shown to the user; what must be seen waits for the next event that can."""
    lasting: bool = True
    """What a prompt was answered with is still before the model at the next one."""
    chars: int = 100_000
    tokens: int = 100_000
    """The most that one text may have."""
    ask: bool = False
    stop: bool = False
    review: str = ""
    """What the user types in the chat to go through drafts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What to say; nothing at all by default."""

    context: str = ""
    """For the model."""
    block: Preflight | None = None
    """The lessons that were found for a prompt, in ``context`` or waiting."""
    check: Check | None = None
    lines: tuple[str, ...] = ()
    """For the user, not for the model."""
    ask: str = ""
    """Let the user decide about the call, for this reason."""
    stop: str = ""
    """End the turn, resumable, with this line for the user."""
    language: str = "en"
    footer: bool = True
    """Tell the user which lessons ``block`` has."""
    trouble: str = ""
    """What went wrong and cost no more than a part of the answer; for the log."""


NOTHING = Answer()


class OpenSession:
    """The brain and the journal of a session, opened when first needed.

    ``what`` is the event's kind; ``look`` finds the brains around a directory, and ``find`` gives
    one that is open already (and stays so). Where the session was ``posted``, its directory is
    the name of one elsewhere.
    """

    def __init__(
        self,
        directory: str,
        what: str,
        look: Callable[[str], Discovery],
        find: Callable[[str], Layers] | None = None,
        *,
        posted: bool = False,
    ) -> None:
        self.directory = directory
        self._posted = posted
        self._look = look
        self._what = what
        self._find = find
        self._brain: Layers | None = None
        self._journal: Journal | None = None

    @property
    def brain(self) -> Layers:
        """The trusted brains; Untrusted or BrainNotFound when there are none."""
        if self._brain is None:
            if self._find is not None:
                self._brain = self._find(self.directory)
            else:
                from lessons_kb.brain.layers import Layers  # most events need but the journal

                self._brain = Layers.open(*self._roots, directory=self.directory)
                if self._journal is not None:
                    self._brain.layers[0].use_session_journal(self._journal)
                    self._journal = None
        return self._brain

    @property
    def journal(self) -> Journal:
        """The journal of the nearest trusted brain, opened without opening that brain."""
        if self._brain is not None or self._find is not None:
            return self.brain.layers[0].session_journal
        if self._journal is None:
            patience = _PATIENCE.get(self._what, SESSION_PATIENCE)
            self._journal = open_session_journal(self._roots[0], patience=patience)
        return self._journal

    @cached_property
    def found(self) -> Discovery:
        """The brains around the session, trusted and silent."""
        return self._look(self.directory)

    @property
    def _roots(self) -> tuple[str, ...]:
        return tuple(require(self.found).trusted)

    @property
    def scope(self) -> str:
        """The project root, spelled as the agent spells its directory: what paths start from."""
        if self._posted:
            return self.directory
        real = os.path.realpath(self.directory)
        top = git_top(real) or real
        if top == real:
            return self.directory
        below = os.sep + os.path.relpath(real, top)
        cut = self.directory.removesuffix(below)
        return top if cut == self.directory else cut

    def find_trouble(self) -> tuple[str, str]:
        """Return why nothing is remembered, and a cache folder of ours; "" while all is well."""
        if self._journal is not None and self._journal.trouble:
            return self._journal.trouble, cache_dir(self._roots[0])
        for layer in self._brain.layers if self._brain is not None else ():
            if layer.journal_trouble:
                return layer.journal_trouble, layer.cache
        return "", ""

    def find_faults(self) -> list[str]:
        """Return what makes the settings of each open brain unusable, with path and line."""
        layers = self._brain.layers if self._brain is not None else ()
        return [fault for layer in layers if (fault := layer.find_fault())]

    def close(self) -> None:
        """Close what was opened here."""
        if self._brain is not None and self._find is None:
            self._brain.close()
        if self._journal is not None:
            self._journal.close()
