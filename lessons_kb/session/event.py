"""What happens in a session of a coding agent, and what we have to say to it.

An agent's hook becomes a `HookEvent`, and `respond` gives the `Answer`; how either looks in a
payload is the business of ``agents``. Whatever a later event needs lies in the journal.
"""

from __future__ import annotations

from dataclasses import dataclass

from lessons_kb.model import Check, Preflight


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
    keeps_directory: bool = False
    """The agent begins a command where the last one ended; else where the session began."""
    id: str = ""
    """The agent's own id of the call or prompt: the same one twice is one event."""
    at: float = 0.0
    """Seconds since the epoch; 0 = now."""
    within: float = 0.0
    """Seconds within which the same without an id is taken for the same event."""
    forked: bool = False
    """A session begins as a copy of another."""
    answered_ago: float | None = None
    """Of such a one: seconds since the other's last answer, where the agent tells."""
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
    patience: float = 0.5
    """Seconds for which a server may be waited for."""
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
    max_bytes: int = 100_000
    """The most that one text may have, in UTF-8."""
    tokens: int = 100_000
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
    named: tuple[str, ...] = ()
    """Lessons of an earlier event, which showed the user nothing: told with those of ``block``."""
    trouble: str = ""
    """What went wrong and cost no more than a part of the answer; for the log."""


NOTHING = Answer()
