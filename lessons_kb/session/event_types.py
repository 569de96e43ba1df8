"""What a hook passes on and says: an event, what its answer may do, and the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lessons_kb.calls.parse_call import digest_arguments
from lessons_kb.config import PreflightSettings
from lessons_kb.model import Check, Hit, Preflight
from lessons_kb.on_demand import PACK_LESSONS, load
from lessons_kb.text.token_estimate import count_bytes, estimate_tokens
from lessons_kb.values import frozen, mutable, replace


class FailedCall(NamedTuple):
    """A call of a batch that failed."""

    id: str
    tool: str
    arguments: object
    outcome: str
    """One of model.OUTCOMES."""
    output: str
    """The error."""


@mutable
class HookEvent:
    """Something that happened in an agent, whichever it is."""

    what: str
    """A key of ``dispatch.HANDLERS``."""
    agent: str
    session: str = ""
    part: str = ""
    """The subagent it happened in, "" for the session itself."""
    directory: str = ""
    """Absolute: where the session's project is."""
    cwd: str = ""
    """Where the agent is now; "" = in ``directory``."""
    id: str = ""
    """The agent's own id of the call or prompt: the same one twice is one event, unless the prompts
    differ."""
    at: float = 0.0
    """Seconds since the epoch; 0 = now."""
    unattended: bool = False
    """Of a session that begins: it was given its prompt with the command, so nobody may be there
    to answer a question."""
    text: str = ""
    """The prompt, the answer, or the summary of what was compacted."""
    tool: str = ""
    arguments: object = None
    """Of the call: a JSON object, or its text."""
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
    """The error, the end of what was printed, or the text that an edit writes."""
    before: str = ""
    """What an edit replaced."""
    step: str = ""
    """Names the message of the model that made the call, "" where the payload does not say."""
    takes_context: bool = True
    """The answer to this very event can put text in front of the model."""
    transcript: str = ""
    """The agent's own record, "" if there is none that we read."""
    again: bool = False
    """Another process may have noted it, and did not get to say anything."""
    token: str = ""
    """Names this event for every process that answers it."""
    repeats: bool = False
    """The agent forgets the answer with the model's next call, and asks for it again."""
    patience: float = 0.5
    """Seconds for which a server may be waited for."""
    posted: bool = False
    """It happened on another machine: its paths are names, and nothing here looks for them."""
    within: float = 0.0
    """Seconds within which the same without an id is taken for the same event."""
    answer_recorded: bool = False
    """What was answered stands in the record alone."""

    @property
    def context_id(self) -> str:
        """Names the context of the model: that of a subagent is its own, all else is shared."""
        return f"{self.session}/{self.part}" if self.part else self.session

    @property
    def call(self) -> str:
        """Tells this call from others before and after it, whether it has an id or not."""
        return self.id or digest_arguments(self.arguments)


@frozen
class AgentTraits:
    """What holds of an agent at each of its events."""

    lasting: bool = True
    """Lessons given with a prompt stay before the model; else they are gone with the turn."""
    max_bytes: int = 9_900
    """Most of one text, a little below the least of the agents' own limits: Codex cuts out the
    middle of more than 10,000 bytes, Claude Code puts more than 10,000 characters into a file."""
    tokens: int = 3_200
    reads_outside: bool = False
    """Files outside the session's folder are read without asking the user."""
    reads_ignored: bool = True
    """Files that git ignores are read as others are."""
    keeps_directory: bool = False
    """A command begins where the last one ended; else each one where the session began."""
    hooked_tools: tuple[str, ...] = ()
    """Tools whose successes come through a hook with more than the record tells, of an agent
    whose record tells of all calls, also of those that fire no hook."""
    rewritten: bytes = b""
    """How the line begins with which it replaces all messages of its record, where it compacts a
    session without telling any hook."""


@frozen
class Capabilities(AgentTraits):
    """What the agent lets an answer to this event do."""

    inject: bool = True
    """Text can be put in front of the model; else it waits for the next event that can."""
    lines: bool = True
    """Lines can be shown to the user; what must be seen waits for the next event that can."""
    ask: bool = False
    refuse: bool = False
    explains: bool = True
    """The question about a call shows the user its reason."""
    stop: bool = False
    review: str = ""
    """What the user types in the chat to go through drafts."""

    def count_tokens(self, text: str) -> int:
        """Return the tokens of a text; one of too many bytes is endless."""
        return estimate_tokens(text) if count_bytes(text) <= self.max_bytes else _ENDLESS

    def pack_known(self, hits: Sequence[Hit], settings: PreflightSettings) -> Preflight:
        """Pack lessons that no prompt asks for, in their order, into what a hook may say."""
        packed: Preflight = load(PACK_LESSONS).pack(
            hits,
            [],
            query="",
            frequencies={},
            size=1,
            settings=replace(settings, budget=min(settings.budget, self.tokens)),
            counter=self.count_tokens,
            max_chars=self.max_bytes,
        )
        return packed


@frozen
class Answer:
    """What to say; nothing at all by default."""

    context: str = ""
    """For the model."""
    block: Preflight | None = None
    """The lessons that are given with this event, in ``context`` or waiting."""
    check: Check | None = None
    lines: tuple[str, ...] = ()
    """For the user, not for the model."""
    question: str = ""
    """Let the user decide about the call, for this reason."""
    refusal: str = ""
    """Refuse the call, for this reason, which the model is given in the place of ``context``."""
    stop_line: str = ""
    """End the turn, resumable, with this line for the user."""
    language: str = ""
    """"" = that of the nearest brain."""
    footer: bool = True
    """Tell the user which lessons ``block`` has."""
    named: tuple[str, ...] = ()
    """Lessons of an earlier event, which showed the user nothing: told with those of ``block``."""
    trouble: str = ""
    """What went wrong and cost no more than a part of the answer; for the log."""


NOTHING = Answer()
_ENDLESS = 1_000_000_000
