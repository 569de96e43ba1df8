"""Which event of which agent means what, and what an answer to it may do.

What an agent cannot do has a fallback. Context that an event cannot carry waits for the next
event of the session that can (Cursor and VS Code take none with a prompt). Where the
user cannot be asked about a call, the card is put in front of the model instead. Lines for a
user whom an event cannot reach go to standard error, which agents show in their logs at most.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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
