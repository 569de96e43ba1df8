"""The types of a hook: an event, the capabilities of its answer, and the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from lessons_kb.calls.arguments import digest_arguments
from lessons_kb.config import PreflightSettings
from lessons_kb.model import Check, Hit, Preflight
from lessons_kb.on_demand import PREFLIGHT_BLOCK, load
from lessons_kb.text.token_estimate import count_bytes, estimate_tokens
from lessons_kb.values import frozen, mutable, replace


class FailedCall(NamedTuple):
    """A call of a batch that failed."""

    id: str
    tool: str
    arguments: object
    outcome: str
    """One of ``model.OUTCOMES``."""
    output: str
    """The text of the error."""


@mutable
class HookEvent:
    """An event in an agent, in the form that all agents share."""

    what: str
    """A key of ``dispatch.HANDLERS``."""
    agent: str
    session: str = ""
    part: str = ""
    """The subagent of the event, or "" for the session itself."""
    directory: str = ""
    """Absolute path of the session's project."""
    cwd: str = ""
    """The agent's present working directory, or "" if it is ``directory``."""
    id: str = ""
    """The agent's id of the call or prompt. Two reports with the same id are one event, unless
    their prompts differ."""
    at: float = 0.0
    """The time in seconds since the epoch; 0 means now."""
    unattended: bool = False
    """Whether a session that begins got its prompt on the command line, so that perhaps nobody can
    answer a question."""
    text: str = ""
    """The prompt, the answer, or the summary after a compaction."""
    tool: str = ""
    arguments: object = None
    """Arguments of the call, as a JSON object or as its text."""
    source: str = ""
    """The agent's word for the way the session began, such as ``startup`` or ``clear``."""
    spawns: tuple[str, str] | None = None
    """The kind and the prompt of the subagent that a call is about to start."""
    spawn_inherits: bool = False
    """Whether that subagent begins with the chat so far, and with the lessons in it."""
    failed_calls: Sequence[FailedCall] = ()
    """For a batch, the calls of one message of the model that failed."""
    outcome: str = "ok"
    """One of ``model.OUTCOMES``."""
    output: str = ""
    """The error, the end of the output, or the text that an edit writes."""
    before: str = ""
    """The text that an edit replaced."""
    step: str = ""
    """The id of the model's message that made the call, or "" if the payload does not have it."""
    takes_context: bool = True
    """Whether the answer to this event can give text to the model."""
    transcript: str = ""
    """Path of the agent's own record, or "" if we cannot read such a record."""
    again: bool = False
    """Whether another process may have recorded the event, but answered too late."""
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
    gates_of_last_index: Callable[[], Answer] | None = None
    """Decides from the gate file alone, which contains the gates of the last complete index."""
    answer_recorded: bool = False
    """Whether only the agent's record has the answer."""
    moment: str = ""
    """In a trial of moments, the only moment at which lessons are given (``journal.MOMENTS``), or
    "" for the usual moments."""

    @property
    def context_id(self) -> str:
        """The id of the model's context, which is that of the subagent or of the session."""
        return f"{self.session}/{self.part}" if self.part else self.session

    def gives_at(self, moment: str) -> bool:
        """Return whether lessons may be given at this moment."""
        return self.moment in ("", moment)

    @property
    def call(self) -> str:
        """An identifier of this call, even if the agent gives it no id."""
        return self.id or digest_arguments(self.arguments)


@frozen
class AgentTraits:
    """Properties of an agent that are the same for all its events."""

    lasting: bool = True
    """Whether lessons given with a prompt stay in the context; otherwise they last for the turn."""
    repeats_start: bool = False
    """Whether each request has the text from the start of the session, so that no compaction
    removes it. A process that resumes the session needs it again."""
    forgets_start: bool = False
    """Whether the texts of a start and of a compaction are in the system prompt, which each process
    builds anew, and not in the chat."""
    forgets_calls: bool = False
    """Whether a resumed chat lacks the texts that were given before calls."""
    max_bytes: int = 9_900
    """Maximum size of one text in bytes, slightly below the lowest limit of any agent. Codex
    removes the middle of a text of more than 10,000 bytes, and Claude Code moves a text of more
    than 10,000 characters to a file.
    """
    tokens: int = 3_200
    reads_outside: bool = False
    """Whether it reads files outside the session's folder without asking the user."""
    reads_ignored: bool = True
    """Whether it reads files that git ignores like other files."""
    keeps_directory: bool = False
    """Whether a command starts in the last directory of the previous command. Otherwise it starts
    in the directory of the session.
    """
    hooked_tools: tuple[str, ...] = ()
    """Tools whose successes are reported by a hook in more detail than in the record. It is set
    only for an agent whose record has all calls, even those without a hook.
    """
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
    refuse: bool = False
    explains: bool = True
    """Whether the question about a call shows the user the reason."""
    stop: bool = False
    go_on: bool = False
    """Whether it can let the model go on at the end of a turn."""
    review: str = ""
    """Command in the chat with which the user reviews drafts."""

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens in a text. A text of too many bytes has more than any
        budget.
        """
        return estimate_tokens(text) if count_bytes(text) <= self.max_bytes else _ENDLESS

    def fits(self, text: str) -> bool:
        """Return whether a text is within both limits."""
        size = count_bytes(text)
        if size > self.max_bytes:
            return False
        # An estimate is at most the number of bytes plus 1, so a short text need not be counted.
        return size < self.tokens or estimate_tokens(text) <= self.tokens

    def pack_known(
        self,
        hits: Sequence[Hit],
        settings: PreflightSettings,
        name: Callable[[Hit], str] | None = None,
    ) -> Preflight:
        """Pack lessons without a prompt into a block for this event, in the given order.

        ``name`` returns the name of a card in the block, by default its id.
        """
        packed: Preflight = load(PREFLIGHT_BLOCK).pack(
            hits,
            [],
            query="",
            frequencies={},
            size=1,
            settings=replace(settings, budget=min(settings.budget, self.tokens)),
            counter=self.count_tokens,
            max_chars=self.max_bytes,
            name=name,
        )
        return packed


@frozen
class Answer:
    """The answer to an event, which is empty by default."""

    context: str = ""
    """Text for the model."""
    block: Preflight | None = None
    """The lessons that this event gives, whether they are in ``context`` or wait."""
    check: Check | None = None
    lines: tuple[str, ...] = ()
    """Lines for the user, not for the model."""
    question: str = ""
    """Reason for which the user decides about the call, or "" if there is no question."""
    refusal: str = ""
    """Reason for which the call is refused. The model gets it in place of ``context``."""
    stop_line: str = ""
    """Line for the user with which the turn ends, so that it can be resumed, or "" if the turn
    continues.
    """
    go_on: str = ""
    """Text with which the model goes on instead of ending its turn. Only a trial uses it."""
    language: str = ""
    """Language of the texts, or "" for the language of the nearest brain."""
    footer: bool = True
    """Whether the user sees the names of the lessons in ``block``."""
    named: tuple[str, ...] = ()
    """Lessons of an earlier event that could not show anything to the user. They are named with the
    lessons of ``block``.
    """
    trouble: str = ""
    """An error that affected only a part of the answer. It is written to the log."""
    is_unasked: bool = False
    """Whether the error prevented the gates of all brains from being checked."""


NOTHING = Answer()
_ENDLESS = 1_000_000_000
