"""Which event of which agent means what, and what an answer to it may do.

What an agent cannot do has a fallback. Context that an event cannot carry waits for the next
event of the session that can (Cursor and VS Code take none with a prompt). Where the
user cannot be asked about a call, the card is put in front of the model instead. Lines for a
user whom an event cannot reach go to standard error, which agents show in their logs at most.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lessons_kb import render
from lessons_kb.preflight.block import shown_name
from lessons_kb.session.state import Answer
from lessons_kb.text.times import read_time


@dataclass(frozen=True, kw_only=True, slots=True)
class Agent:
    """One coding agent."""

    events: Mapping[str, str]
    """Name of its event → our kind of event; an event that is not here is answered with silence."""
    context: tuple[str, ...] = ()
    """Events whose answer can put text in front of the model."""
    lines: tuple[str, ...] = ()
    """Events whose answer is shown to the user."""
    progress: bool = False
    """What the user is shown are progress messages, printed in front of the answer: an answer over
    HTTP cannot hold them."""
    ask: tuple[str, ...] = ()
    """Events whose answer can ask the user to decide about a call."""
    unattended: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Variable → values with which nobody is there to be asked: a question would be a denial."""
    stop: tuple[str, ...] = ()
    """Events whose answer can end the turn so that it can be resumed."""
    max_bytes: int = 9_900
    """Most of one text, a little below the least of the agents' own limits: Codex cuts out the
    middle of more than 10,000 bytes, Claude Code puts more than 10,000 characters into a file."""
    tokens: int = 3_200
    project: tuple[str, ...] = ()
    """Environment variables that name the project, first one first."""
    lasting: bool = True
    """Lessons given with a prompt stay before the model; else they are gone with the turn."""
    within: float = 0.0
    """Seconds within which the same without an id is one event that was fired twice."""
    keeps_directory: bool = False
    """A command begins where the last one ended; else each one where the session began."""
    call: str = "/{}"
    """How the user calls a command of ours in the chat."""
    silence: str = ""
    """What is printed when there is nothing to say."""


_CLAUDE_EVENTS: Mapping[str, str] = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "PreToolUse": "before",
    "PostToolUse": "after",
    "PostToolUseFailure": "after",
    "Stop": "stop",
    "SessionEnd": "end",
}

AGENTS: Mapping[str, Agent] = {
    "claude-code": Agent(
        # PreCompact takes no context: the session that starts from the summary does.
        events={**_CLAUDE_EVENTS, "SubagentStart": "subagent"},
        context=(
            *("SessionStart", "UserPromptSubmit", "SubagentStart", "PreToolUse"),
            *("PostToolUse", "PostToolUseFailure"),
        ),
        lines=tuple(name for name in _CLAUDE_EVENTS if name != "SessionEnd"),
        ask=("PreToolUse",),
        unattended={"CLAUDE_CODE_SESSION_ATTENDED": ("0",), "CLAUDE_CODE_ENTRYPOINT": ("sdk-cli",)},
        # After a failed call its "continue" counts for nothing.
        stop=("PreToolUse",),
        project=("CLAUDE_PROJECT_DIR",),
        within=0.5,
        keeps_directory=True,
    ),
    "codex": Agent(
        # Its PreToolUse takes no "ask"; a stop after a tool would replace the tool's result.
        events={n: o for n, o in _CLAUDE_EVENTS.items() if n != "PostToolUseFailure"},
        context=("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse"),
        lines=("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"),
        call="${}",  # a skill: it has no commands of the user's own
        tokens=2_200,
        within=0.5,
    ),
    "gemini-cli": Agent(
        events={
            "SessionStart": "start",
            "BeforeAgent": "prompt",
            "BeforeTool": "before",
            "AfterTool": "after",
            "AfterAgent": "stop",
            "SessionEnd": "end",
        },
        # Where SessionStart gives context, --resume drops the user's own first prompt with it;
        # that of BeforeTool never arrives. What waits comes with BeforeAgent or AfterTool.
        context=("BeforeAgent", "AfterTool"),
        # `gemini -p` shows a line of SessionStart twice.
        lines=("BeforeAgent", "AfterTool", "AfterAgent"),
        stop=("BeforeTool",),
        project=("GEMINI_PROJECT_DIR",),
        within=0.02,
        silence="{}",
    ),
    "opencode": Agent(
        # The names are those of the events our plugin sends; it adds what they carry.
        events={
            "start": "start",
            "prompt": "prompt",
            "before": "before",
            "after": "after",
            "failed": "after",
            "stop": "stop",
            "compact": "compact",
            "end": "end",
        },
        context=("start", "prompt", "before", "after", "failed", "compact"),
        lines=("prompt", "after", "failed", "stop"),
        lasting=False,  # the system prompt is built anew each time
        within=0.5,
        silence="{}",
    ),
    "cursor": Agent(
        events={
            "sessionStart": "start",
            "beforeSubmitPrompt": "prompt",
            "preToolUse": "before",
            "beforeShellExecution": "before",
            "postToolUse": "after",
            "postToolUseFailure": "after",
            "preCompact": "compact",
            "afterAgentResponse": "stop",  # its stop does not say what was answered
            "sessionEnd": "end",
        },
        context=("sessionStart", "postToolUse"),
        lines=("preCompact",),
        ask=("beforeShellExecution",),
        project=("CURSOR_PROJECT_DIR",),
        within=0.5,
        silence="{}",
    ),
    "copilot-cli": Agent(
        events={**_CLAUDE_EVENTS, "PreCompact": "compact"},
        context=(
            *("SessionStart", "UserPromptSubmit", "PreToolUse"),
            *("PostToolUse", "PostToolUseFailure"),
        ),
        lines=(*(name for name in _CLAUDE_EVENTS if name != "SessionEnd"), "PreCompact"),
        progress=True,
        ask=("PreToolUse",),
        project=("COPILOT_PROJECT_DIR",),
        within=0.3,
        silence="{}",
    ),
    "vscode": Agent(
        events={
            **{n: o for n, o in _CLAUDE_EVENTS.items() if n != "PostToolUseFailure"},
            "PreCompact": "compact",
        },
        context=("SessionStart", "PreToolUse", "PostToolUse"),
        lines=("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "PreCompact"),
        ask=("PreToolUse",),
        stop=("PreToolUse",),
        within=0.3,
        silence="{}",
    ),
}


Payload = Mapping[str, Any]


MAX_OUTPUT_CHARS = 20_000
"""Beyond this only the end of what a tool printed is looked at."""


def text_of(payload: Payload, *names: str) -> str:
    """Return the first of these values that is a text, "" if none is."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def object_of(payload: Payload, *names: str) -> Payload:
    """Return the first of these values that is an object, {} if none is."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, dict):
            return value
    return {}


def arguments_of(payload: Payload, *names: str) -> object:
    """Return the arguments of a call: an object or a text."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, (dict, str)):
            return value
    return {}


def time_of(payload: Payload) -> float:
    """Return the payload's ``timestamp`` in seconds since the epoch, 0 when it has none."""
    return read_time(payload.get("timestamp"))


def end_of(text: str) -> str:
    """Return the end of a long text, where tools say how it went."""
    return text[-MAX_OUTPUT_CHARS:]


def output_of(arguments: object, printed: str) -> str:
    """Return the text that an edit writes, be it none; of other calls the end of what is printed.

    What a tool prints of an edit shows the file around it.
    """
    if not isinstance(arguments, dict):
        return end_of(printed)
    edits = arguments.get("edits")
    parts = [arguments, *(edits if isinstance(edits, list) else ())]
    parts = [part for part in parts if isinstance(part, dict) and any(n in part for n in _WRITTEN)]
    if not parts:
        return end_of(printed)
    texts = [text_of(part, *_WRITTEN) for part in parts]
    return end_of("\n".join(text for text in texts if text))


def replaced_by(arguments: object) -> str:
    """Return the text that an edit replaces, "" of other calls."""
    if not isinstance(arguments, dict):
        return ""
    edits = arguments.get("edits")
    parts = [arguments, *(edits if isinstance(edits, list) else ())]
    texts = [text_of(part, *_REPLACED) for part in parts if isinstance(part, dict)]
    return end_of("\n".join(text for text in texts if text))


_REPLACED = ("old_string", "oldString", "old_str")
_WRITTEN = (
    *("new_string", "newString", "content", "new_str", "file_text", "new_source", "code"),
    *("patch", "patchText", "input"),
)


EVENT_NAMES = ("hook_event_name", "hookEventName", "event")
_RENAMED: Mapping[str, Mapping[str, str]] = {
    "copilot-cli": {
        "sessionStart": "SessionStart",
        "userPromptSubmitted": "UserPromptSubmit",
        "preToolUse": "PreToolUse",
        "postToolUse": "PostToolUse",
        "postToolUseFailure": "PostToolUseFailure",
        "agentStop": "Stop",
        "preCompact": "PreCompact",
        "sessionEnd": "SessionEnd",
    },
    "cursor": {
        "SessionStart": "sessionStart",
        "UserPromptSubmit": "beforeSubmitPrompt",
        "PreToolUse": "preToolUse",
        "PostToolUse": "postToolUse",
        "PostToolUseFailure": "postToolUseFailure",
        "PreCompact": "preCompact",
        "SessionEnd": "sessionEnd",
    },
    "opencode": {
        "chat.message": "prompt",
        "tool.execute.before": "before",
        "tool.execute.after": "after",
        "session.idle": "stop",
        "experimental.session.compacting": "compact",
    },
}
"""Agent → another spelling of an event → the one in the table."""


def find_host(agent: str, payload: Payload, environment: Mapping[str, str]) -> str:
    """Return the agent that fired the hook; ``agent`` is whom it was set up for.

    What is in the payload decides: variables are inherited by an agent that another one starts.
    """
    event = event_name(payload)
    if "cursor_version" in payload or ("conversation_id" in payload and "generation_id" in payload):
        return "cursor"
    for name in ("gemini-cli", "cursor", "opencode"):
        own = AGENTS[name].events
        if event in own and event not in AGENTS["claude-code"].events and name != agent:
            return agent if event in AGENTS[agent].events else name
    if agent not in _CLAUDE_LIKE:
        return agent
    if "turn_id" in payload:
        return "codex"
    if agent == "codex":
        return agent
    if "CURSOR_VERSION" in environment and "session_id" not in payload:
        return "cursor"
    if agent == "vscode" and _COPILOTS_OWN in environment and "session_id" in payload:
        return "copilot-cli"
    if "hookEventName" in payload:
        return "vscode"
    if "sessionId" in payload:
        return agent if agent in ("vscode", "copilot-cli") else "vscode"
    if agent == "claude-code" and "timestamp" in payload:
        of_copilot = "transcript_path" not in payload or any(key in payload for key in _COPILOTS)
        return "copilot-cli" if of_copilot else "vscode"
    return agent


def is_attended(agent: str, payload: Payload, environment: Mapping[str, str]) -> bool:
    """Return whether somebody is there, and willing, to answer a question about a call."""
    if text_of(payload, "permission_mode") in _NOT_TO_BE_ASKED:
        return False
    told = ((environment.get(name), values) for name, values in AGENTS[agent].unattended.items())
    return not any(value in values for value, values in told if value)


def event_name(payload: Payload, agent: str = "") -> str:
    """Return the event's name as the table of the agent spells it."""
    name = text_of(payload, *EVENT_NAMES)
    return _RENAMED.get(agent, {}).get(name, name)


_NOT_TO_BE_ASKED = ("bypassPermissions", "dontAsk")
_COPILOTS = ("stop_reason", "custom_instructions")
"""Keys beside a transcript's path that VS Code does not send."""
_COPILOTS_OWN = "COPILOT_HOOK_DIR"
"""Copilot CLI gives it to hooks alone; it reads the folders that VS Code reads."""
_CLAUDE_LIKE = ("claude-code", "codex", "copilot-cli", "vscode")


MAX_MESSAGE_BYTES = 4_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """What an agent module writes."""

    context: str = ""
    """For the model."""
    message: str = ""
    """For the user."""
    ask: str = ""
    """Why the user should decide about the call."""
    stop: str = ""
    """Why the turn ends."""


def put_into_words(answer: Answer) -> Said:
    """Render what an answer holds as values: the footer of a block, the post-check."""
    lines = list(answer.lines)
    given = answer.block.lessons if answer.block is not None else ()
    if answer.footer and (names := [*answer.named, *map(shown_name, given)]):
        lines.append(render.footer(names, answer.language))
    if answer.check is not None:
        lines.append(render.check_line(answer.check, answer.language))
    message = "\n".join(line for line in lines if line and line != answer.stop)
    if len(encoded := message.encode(errors="replace")) > MAX_MESSAGE_BYTES:
        kept = encoded[: MAX_MESSAGE_BYTES - len("\n…".encode())].decode(errors="ignore")
        message = kept.rsplit("\n", 1)[0] + "\n…"
    return Said(context=answer.context, message=message, ask=answer.ask, stop=answer.stop)
