"""The coding agents, one row each: their events, what an answer may do, where they are set up.

What an agent cannot do has a fallback. Context that an event cannot carry waits for the next
event of the session that can (Cursor and VS Code take none with a prompt). Where the
user cannot be asked about a call, the card is put in front of the model instead. Lines for a
user whom an event cannot reach go to standard error, which agents show in their logs at most.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from importlib import import_module
from typing import Any

from lessons_kb import hook_gates, render
from lessons_kb.agents.payloads import Payload, read_common, text_of
from lessons_kb.hook_client import SILENT
from lessons_kb.hook_gates import EVENT_KEYS, NOBODY_ANSWERS, name_event
from lessons_kb.preflight.block import footer
from lessons_kb.session.state import AgentTraits, Answer, HookEvent
from lessons_kb.text.sanitize import defang_line, visible
from lessons_kb.values import frozen


@frozen
class Agent(AgentTraits):
    """One coding agent; its file of this room reads what it sends and writes what it takes."""

    name: str
    events: Mapping[str, str]
    """Name of its event → our kind of event; an event that is not here is answered with silence."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Another name of an event → that in ``events``, whose first letter may be of either case."""
    told_by: Mapping[str, str] = field(default_factory=dict)
    """Key of a payload that names no event → the event that alone has it."""
    context_at: tuple[str, ...] = ()
    """Events whose answer can put text in front of the model."""
    lines_at: tuple[str, ...] = ()
    """Events whose answer is shown to the user."""
    progress: bool = False
    """What the user is shown are progress messages, printed in front of the answer: an answer over
    HTTP cannot hold them."""
    asks_at: tuple[str, ...] = ()
    """Events whose answer can ask the user to decide about a call."""
    refuses_at: tuple[str, ...] = ("PreToolUse",)
    """Events whose answer can refuse a call with a reason for the model, which goes on."""
    unexplained: tuple[str, ...] = ()
    """Tools whose dialog shows the user no reason: a refusal, which shows one, comes before it."""
    unattended: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Variable → values with which nobody is there to be asked: a question would be a denial."""
    stops_at: tuple[str, ...] = ()
    """Events whose answer can end the turn so that it can be resumed."""
    project: tuple[str, ...] = ()
    """Environment variables that name the project, first one first."""
    within: float = 0.0
    """Seconds within which the same without an id is one event that was fired twice."""
    call: str = "/{}"
    """How the user calls a command of ours in the chat."""
    seen: str = ""
    """The version that was driven; "" = by its documents."""
    begins: str = '"SessionStart"'
    """What the payload holds of the event that begins a session; "" where that shows no line."""

    headless: str = ""
    """The words behind its program with which it answers a prompt on stdin (or PROMPT) in an empty
    FOLDER, without tools, hooks, memory and the project's settings; words in capitals are filled
    in. "" = it cannot. Each was seen to fire no hook."""
    headless_files: Mapping[str, str] = field(default_factory=dict)
    """Path in that folder → text."""
    headless_variables: Mapping[str, str] = field(default_factory=dict)
    task: str = ""
    """The words behind its program with which it does a task alone: it may change files, and what
    else it may do the user's settings say. "" = it cannot. A prompt that begins with ``-`` must
    not be read as an option: it stands behind ``--``, or is joined to its option by ``=``."""
    program: str
    folder: str
    """Its own folder of this user: {home}, {config}, {code} or {NAME:default} of a variable."""
    project_folder: str
    hooks_file: str = "hooks.json"
    """Where its hooks stand, or the plugin that calls us, below its folder."""
    personal_file: str = ""
    """Where they stand in a project for this user alone."""
    hooks_key: str = "hooks"
    """Under which key they stand in the file."""
    marks: Mapping[str, Any] = field(default_factory=dict)
    """What its file of hooks has to say besides."""
    shares: str = ""
    """The agent whose file of hooks, and whose commands, it reads."""
    matchers: Mapping[str, str] = field(default_factory=dict)
    """Event → which tools fire it; without one all do. A success of any tool ends a run of
    failures, but a process for each call of a tool that nothing is learned from is too dear where
    matchers are exact."""
    handler: Mapping[str, str] = field(default_factory=dict)
    """An entry of its list of hooks, where words in capitals are filled in; a plugin has none."""
    nested: bool = True
    """Entries stand in groups; else in the event's list themselves."""
    end_seconds: int = 10
    """The most that it grants at the end of a session."""
    mcp_fields: tuple[str, ...] = ()
    """What every payload of its hooks has, where these can call a tool of a running server."""
    mcp_lacks: tuple[str, ...] = ()
    """Fields of single events that its payloads do not have: it would drop the call."""
    plugin: str = ""
    """Where the manifest of our plugin is once the agent has installed it, a glob in its folder."""
    update: str = ""
    """The command that updates it there."""
    server: str
    """The file that lists its MCP servers, and the keys that lead to them."""
    project_server: str = ""
    """Those of a project, where they are others."""
    personal_server: str = ""
    """Those of a project for this user alone."""
    server_entry: Mapping[str, Any] = field(default_factory=dict)
    user_entry: Mapping[str, Any] = field(default_factory=dict)
    """What the entry has besides where it is this user's."""
    command_file: str = ""
    layout: str = "silent"
    """Of a command's file, see ``settings_files``."""
    arguments: str = ""
    """What stands in a command for the words that the user typed behind it."""
    notes: str = ""
    """What to tell the user who sets it up, a line each."""
    project_note: str = ""
    shared_note: str = ""
    """About the server in a file that belongs to the project."""

    @property
    def silence(self) -> str:
        """What is printed when there is nothing to say."""
        return "" if self.name in SILENT else "{}"

    @property
    def module(self) -> Any:
        """Its file of this room, of which one process needs but one."""
        return import_module(f"lessons_kb.agents.{self.name.replace('-', '_')}")

    def read(self, payload: Payload, name: str, event: HookEvent) -> None:
        """Fill in what a payload tells of the event; ``what`` "" is to be passed over."""
        read_common(payload, event)
        self.module.read(payload, name, event)

    def show(self, name: str, answer: Answer, *, lines: bool) -> tuple[str, str]:
        """Return what goes to standard output for an answer, and to standard error.

        What the user is told goes to the latter unless the event shows ``lines``.
        """
        message = format_message(answer)
        shown = message if lines else ""
        output = self.module.write(name, answer, shown)
        progress = self.module.write_progress(shown) if self.progress else ""
        printed = progress + json.dumps(output) if output or progress else self.silence
        return printed, "" if lines else message

    def show_line(self, line: str) -> str:
        """Return what is printed when a session begins so that the user sees a line."""
        if self.progress:
            return str(self.module.write_progress(line)).rstrip()
        start = next(name for name, what in self.events.items() if what == "start")
        return json.dumps(self.module.write(start, Answer(), line))


def _pairs(text: str) -> dict[str, str]:
    """Return the pairs of a text such as ``key=value other=one``."""
    return dict(pair.split("=", 1) for pair in text.split())


_CLAUDE_EVENTS = _pairs(
    "SessionStart=start UserPromptSubmit=prompt PreToolUse=before PostToolUse=after"
    " PostToolUseFailure=after Stop=stop SessionEnd=end"
)
SILENCED = "LESSONS_HOOKS"
"""Variable whose value 0 silences the hooks that no daemon answers: an agent that writes for us,
which is given ``LESSONS_DAEMON=0``, too, is not watched."""
_DENIED = '{"mode":"primary","prompt":SYSTEM,"tools":{"*":false},"permission":{"*":"deny"}}'
_CLAUDE_LINES = tuple(name for name in _CLAUDE_EVENTS if name != "SessionEnd")
_CLAUDE_CONTEXT = tuple(name for name in _CLAUDE_LINES if name != "Stop")
_CODEX_EVENTS = {n: what for n, what in _CLAUDE_EVENTS.items() if n != "PostToolUseFailure"}
_CALL = _pairs("type=command command=LINE timeout=SECONDS")
_MARKDOWN, _SKILL = "commands/{}.md", "skills/{}/SKILL.md"
_LATE = (
    "{} accepts no context with a prompt; lessons arrive at the start of a session and with tool"
    " results."
)

_ROWS = (
    Agent(
        name="claude-code",
        seen="2.1.328",
        # PreCompact takes no context: the session that starts from the summary does.
        events={**_CLAUDE_EVENTS, "SubagentStart": "subagent"},
        context_at=("SubagentStart", *_CLAUDE_CONTEXT),
        lines_at=_CLAUDE_LINES,
        asks_at=("PreToolUse",),
        unexplained=("Edit", "Write", "NotebookEdit"),
        unattended={"CLAUDE_CODE_SESSION_ATTENDED": ("0",), "CLAUDE_CODE_ENTRYPOINT": ("sdk-cli",)},
        # After a failed call its "continue" counts for nothing.
        stops_at=("PreToolUse",),
        project=("CLAUDE_PROJECT_DIR",),
        within=0.5,
        keeps_directory=True,
        hooked_tools=("Read", "Edit", "Write", "NotebookEdit", "Bash", "PowerShell"),
        headless=(
            '-p --output-format json --json-schema SCHEMA --safe-mode --tools "" '
            "--strict-mcp-config --disable-slash-commands --no-session-persistence "
            "--permission-prompts none --system-prompt SYSTEM"
        ),
        task="-p --output-format json --permission-mode acceptEdits -- {prompt}",
        program="claude",
        folder="{CLAUDE_CONFIG_DIR:{home}/.claude}",
        project_folder=".claude",
        hooks_file="settings.json",
        personal_file="settings.local.json",
        plugin="plugins/cache/*/lessons/*/.claude-plugin/plugin.json",
        update="claude plugin update lessons@lessons-kb",
        matchers={
            "PreToolUse": "Bash|PowerShell|Edit|Write|NotebookEdit|Agent|Task",
            "PostToolUse": "Bash|PowerShell|Read|Edit|Write|NotebookEdit|Grep|Glob",
        },
        # With ``args`` no shell stands in between: one process less, and nothing to quote.
        handler=_pairs("type=command command=PROGRAM args=NAMES timeout=SECONDS"),
        mcp_fields=("session_id", "transcript_path", "cwd", "agent_id", "permission_mode"),
        server="{CLAUDE_CONFIG_DIR:{home}}/.claude.json mcpServers",
        personal_server="{CLAUDE_CONFIG_DIR:{home}}/.claude.json projects {project} mcpServers",
        project_server="{project}/.mcp.json mcpServers",
        server_entry={"type": "stdio"},
        command_file=_MARKDOWN,
        arguments="$ARGUMENTS",
        notes=(
            "The hooks take effect at once, except in folders that Claude Code does not trust yet."
        ),
        shared_note="Claude Code asks each user once to approve the server in `.mcp.json`.",
    ),
    Agent(
        name="codex",
        seen="0.169.0",
        # Its PreToolUse takes no "ask"; a stop after a tool would replace the tool's result.
        events=_CODEX_EVENTS,
        context_at=("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse"),
        lines_at=("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"),
        call="${}",  # a skill: it has no commands of the user's own
        tokens=2_200,
        reads_outside=True,
        within=0.5,
        hooked_tools=("apply_patch",),
        # A provider of the user's own has to be given again: `--with 'codex -c model_provider=…'`.
        headless=(
            "exec --ignore-user-config --ignore-rules --ephemeral --skip-git-repo-check "
            "-s read-only --disable hooks --disable memories --disable shell_tool "
            "--disable unified_exec --disable multi_agent --disable apps --disable plugins "
            "-c project_doc_max_bytes=0 -c 'web_search=\"disabled\"' --output-schema SCHEMA_FILE "
            "--color never -C FOLDER -"
        ),
        task="exec --json -s workspace-write -- {prompt}",
        program="codex",
        folder="{CODEX_HOME:{home}/.codex}",
        project_folder=".codex",
        plugin="plugins/cache/*/lessons/*/.codex-plugin/plugin.json",
        update="codex plugin marketplace upgrade && codex plugin add lessons@lessons-kb",
        matchers={"PreToolUse": "Bash|apply_patch", "PostToolUse": "Bash|apply_patch"},
        handler=_CALL,
        end_seconds=3,
        mcp_fields=("session_id", "transcript_path", "cwd", "turn_id"),
        # It drops a call whose input names what the payload lacks; Claude Code leaves it as it is.
        mcp_lacks=("prompt_id", "source"),
        server="config.toml mcp_servers",
        command_file=_SKILL,
        layout="skill",
        notes=(
            "Codex runs hooks only after you approve them: open `codex`, type /hooks, approve"
            " these."
        ),
        project_note="Codex reads project settings only in trusted projects.",
    ),
    Agent(
        name="gemini-cli",
        seen="0.61.0",
        events=_pairs(
            "SessionStart=start BeforeAgent=prompt BeforeTool=before AfterTool=after "
            "AfterAgent=stop SessionEnd=end"
        ),
        # Where SessionStart gives context, --resume drops the user's own first prompt with it;
        # that of BeforeTool never arrives. What waits comes with BeforeAgent or AfterTool.
        context_at=("BeforeAgent", "AfterTool"),
        # `gemini -p` shows a line of SessionStart twice.
        lines_at=("BeforeAgent", "AfterTool", "AfterAgent"),
        refuses_at=("BeforeTool",),
        stops_at=("BeforeTool",),
        project=("GEMINI_PROJECT_DIR",),
        within=0.02,
        rewritten=b'{"$set":{"messages":',
        headless="-o json -e none -p PROMPT",
        headless_files={
            ".gemini/settings.json": '{"hooksConfig":{"enabled":false},"tools":{"core":["none"]},'
            '"skills":{"enabled":false},"context":{"fileName":"none"}}',
            "system.md": "SYSTEM",
        },
        headless_variables={
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GEMINI_SYSTEM_MD": "FOLDER/system.md",
        },
        reads_ignored=False,
        task="--prompt={prompt} -o json --approval-mode auto_edit --skip-trust",
        program="gemini",
        folder="{home}/.gemini",
        project_folder=".gemini",
        plugin="extensions/lessons/gemini-extension.json",
        update="gemini extensions update lessons",
        hooks_file="settings.json",
        matchers={"BeforeTool": "replace|write_file|run_shell_command"},
        handler=_pairs("name=EVENT_NAME type=command command=HARMLESS timeout=MILLISECONDS"),
        server="settings.json mcpServers",
        command_file="commands/{}.toml",
        layout="toml",
        arguments="{{args}}",
        notes="Restart Gemini CLI. It may warn once about new hooks.",
        project_note="Gemini CLI asks for approval when the hooks of a project change.",
    ),
    Agent(
        # As of 0.24: context of PreToolUse never arrives, a refusal does with its reason.
        name="qwen-code",
        seen="0.24.4",
        events=_CLAUDE_EVENTS,
        context_at=("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure"),
        lines_at=("Stop",),
        project=("QWEN_PROJECT_DIR",),
        within=0.02,
        begins="",
        task="--prompt={prompt} -o json --approval-mode auto-edit",
        program="qwen",
        folder="{home}/.qwen",
        project_folder=".qwen",
        hooks_file="settings.json",
        handler=_pairs("name=EVENT_NAME type=command command=LINE timeout=SECONDS"),
        server="settings.json mcpServers",
        command_file=_MARKDOWN,
        layout="described",
        arguments="{{args}}",
        notes="Restart Qwen Code: it reads its settings when it starts.",
        project_note="Qwen Code runs the hooks of a project only in folders that it trusts.",
    ),
    Agent(
        name="opencode",
        seen="1.18.33",
        # The names are those of the events our plugin sends; it adds what they carry.
        events=_pairs(
            "start=start subagent=subagent prompt=prompt before=before after=after failed=after "
            "stop=stop compact=compact end=end"
        ),
        renamed=_pairs(
            "chat.message=prompt tool.execute.before=before tool.execute.after=after "
            "session.idle=stop experimental.session.compacting=compact"
        ),
        context_at=("start", "subagent", "prompt", "before", "after", "failed", "compact"),
        lines_at=("prompt", "after", "failed", "stop"),
        refuses_at=("before",),
        lasting=False,  # the system prompt is built anew each time
        within=0.5,
        begins='"event":"start"',
        headless="run --pure --agent drafter --format json --title draft",
        headless_variables={
            "OPENCODE_CONFIG_CONTENT": f'{{"agent":{{"drafter":{_DENIED}}}}}',
            **_pairs("OPENCODE_DISABLE_PROJECT_CONFIG=1 OPENCODE_DISABLE_CLAUDE_CODE=1"),
            "OPENCODE_PURE": "1",
        },
        task="run --format json -- {prompt}",
        program="opencode",
        folder="{config}/opencode",
        project_folder=".opencode",
        hooks_file="plugins/lessons.ts",
        server="opencode.json mcp",
        project_server="{project}/opencode.json mcp",
        server_entry={"type": "local", "command": ["SERVER", "mcp"], "enabled": True},
        command_file=_MARKDOWN,
        layout="described",
        arguments="$ARGUMENTS",
        notes="Restart opencode: it loads plugins when it starts.",
    ),
    Agent(
        name="cursor",
        # Its own stop does not say what was answered.
        events=_pairs(
            "sessionStart=start beforeSubmitPrompt=prompt preToolUse=before "
            "beforeShellExecution=before postToolUse=after postToolUseFailure=after "
            "preCompact=compact afterAgentResponse=stop sessionEnd=end"
        ),
        renamed=_pairs("UserPromptSubmit=beforeSubmitPrompt"),
        context_at=("sessionStart", "postToolUse"),
        lines_at=("preCompact",),
        asks_at=("beforeShellExecution",),
        refuses_at=("preToolUse", "beforeShellExecution"),
        project=("CURSOR_PROJECT_DIR",),
        within=0.5,
        begins="",
        program="cursor",
        folder="{home}/.cursor",
        project_folder=".cursor",
        marks={"version": 1},
        matchers={"preToolUse": "Write|Delete"},
        handler=_pairs("command=LINE timeout=SECONDS"),
        nested=False,
        server="mcp.json mcpServers",
        command_file=_MARKDOWN,
        layout="plain",
        notes=_LATE.format("Cursor"),
        project_note="Cursor reads project hooks only in trusted workspaces.",
    ),
    Agent(
        # As of 1.0: context with a prompt is dropped, and so is that of a session's start.
        name="grok-cli",
        seen="1.0.41",
        events={**_CLAUDE_EVENTS, "PostCompact": "compact"},
        context_at=("PreToolUse", "PostToolUse", "PostToolUseFailure"),
        asks_at=("PreToolUse",),
        project=("GROK_WORKSPACE_ROOT",),
        within=0.3,
        begins="",
        program="grok",
        folder="{GROK_HOME:{home}/.grok}",
        project_folder=".grok",
        hooks_file="hooks/lessons.json",
        handler=_CALL,
        server="config.toml mcp_servers",
        command_file=_SKILL,
        notes="Grok CLI accepts context with tool results alone: a prompt's lessons wait for one.",
        project_note="Grok CLI runs the hooks of a project only in folders that it trusts.",
    ),
    Agent(
        name="crush",
        events={"PreToolUse": "before"},
        context_at=("PreToolUse",),
        begins="",
        program="crush",
        folder="{config}/crush",
        project_folder="",
        hooks_file="crush.json",
        matchers={"PreToolUse": "^(bash|edit|multiedit|write)$"},
        handler=_pairs("command=LINE timeout=SECONDS"),
        nested=False,
        server="crush.json mcp",
        server_entry={"type": "stdio"},
        notes="Crush tells hooks of calls alone: lessons arrive with a change or a command.",
    ),
    Agent(
        name="antigravity",
        events=_pairs("PreInvocation=prompt Stop=stop"),
        told_by=_pairs("invocationNum=PreInvocation executionNum=Stop"),
        context_at=("PreInvocation",),
        lasting=False,
        begins="",
        program="agy",
        folder="{home}/.gemini/config",
        project_folder=".agents",
        plugin="../antigravity-cli/plugins/lessons/plugin.json",
        update="agy plugin install PATH/templates/plugins/antigravity",
        hooks_key="lessons",
        handler=_pairs("type=command command=HARMLESS timeout=SECONDS"),
        nested=False,
        server="mcp_config.json mcpServers",
        command_file=_SKILL,
        notes=(
            "Written by Antigravity's documents: it was not run. Lessons come with a prompt;"
            " restart `agy`, then ask `lessons why`."
        ),
    ),
    Agent(
        name="copilot-cli",
        seen="1.0.102",
        events={**_CLAUDE_EVENTS, "PreCompact": "compact"},
        renamed=_pairs("userPromptSubmitted=UserPromptSubmit agentStop=Stop"),
        context_at=_CLAUDE_CONTEXT,
        lines_at=(*_CLAUDE_LINES, "PreCompact"),
        progress=True,
        asks_at=("PreToolUse",),
        project=("COPILOT_PROJECT_DIR",),
        within=0.3,
        headless=(
            "-p PROMPT -s --available-tools none --no-custom-instructions --disable-builtin-mcps "
            "--no-ask-user --no-color --stream off --output-format json"
        ),
        headless_files={".copilot/config.json": '{"disableAllHooks":true}'},
        headless_variables={"COPILOT_HOME": "FOLDER/.copilot"},
        task="--prompt={prompt} --output-format json --allow-tool write --no-ask-user",
        program="copilot",
        folder="{COPILOT_HOME:{home}/.copilot}",
        plugin="installed-plugins/*/lessons/plugin.json",
        update="copilot plugin update lessons",
        project_folder=".github",
        hooks_file="hooks/lessons.json",
        marks={"version": 1},
        # VS Code's are the last two. Not "linux" and the like: Copilot CLI would take those.
        handler=_pairs(
            "type=command bash=HARMLESS powershell=POWERSHELL timeoutSec=SECONDS "
            "command=LINE_OF_VSCODE timeout=SECONDS"
        ),
        nested=False,
        server="mcp-config.json mcpServers",
        project_server="{project}/.mcp.json mcpServers",
        server_entry={"type": "stdio"},
        user_entry={"tools": ["*"]},
        command_file=_SKILL,
        notes=(
            "Copilot CLI names the lessons in its timeline; with `-s` it shows nothing:"
            " `lessons why`."
        ),
    ),
    Agent(
        name="vscode",
        events={**_CODEX_EVENTS, "PreCompact": "compact"},
        context_at=("SessionStart", "PreToolUse", "PostToolUse"),
        lines_at=("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "PreCompact"),
        asks_at=("PreToolUse",),
        stops_at=("PreToolUse",),
        within=0.3,
        program="code",
        folder="{code}",
        project_folder=".vscode",
        # One file, or both would fire every event twice. Each finds in an entry the keys that it
        # knows, and VS Code passes over the one event that it does not know.
        shares="copilot-cli",
        server="mcp.json servers",
        server_entry={"type": "stdio"},
        notes=(
            "VS Code ignores matchers, so the hook runs for every tool.\n"
            + _LATE.format("VS Code")
            + "\nAgent hooks are a preview feature of VS Code; your organisation may have disabled"
            " them."
        ),
    ),
)
AGENTS: Mapping[str, Agent] = {agent.name: agent for agent in _ROWS}


def event_name(payload: Payload, agent: str = "") -> str:
    """Return the event's name as the row of the agent spells it."""
    if not agent:
        return text_of(payload, *EVENT_KEYS)
    row = AGENTS[agent]
    return name_event(payload, row.events, row.renamed, row.told_by)


def find_host(agent: str, payload: Payload, environment: Mapping[str, str]) -> str:
    """Return the agent that fired the hook; ``agent`` is whom it was set up for."""
    events = {name: row.events for name, row in AGENTS.items()}
    return hook_gates.find_host(agent, payload, environment, events)


def is_attended(agent: Agent, payload: Payload, environment: Mapping[str, str]) -> bool:
    """Return whether somebody is there, and willing, to answer a question about a call."""
    if text_of(payload, "permission_mode") in NOBODY_ANSWERS:
        return False
    return not any(environment.get(name) in values for name, values in agent.unattended.items())


MAX_MESSAGE_BYTES = 4_000


def format_message(answer: Answer) -> str:
    """Return what an answer says to the user: its lines, the footer of a block, the post-check."""
    lines, language = list(answer.lines), answer.language or "en"
    given = answer.block.lessons if answer.block is not None else ()
    if answer.footer and (titles := [*answer.named, *(hit.card.title for hit in given)]):
        lines.append(footer([f"“{defang_line(title)}”" for title in titles], language))
    if answer.check is not None:
        lines.append(render.check_line(answer.check, language))
    # What a line quotes, such as a path of a clone, neither steers a terminal nor adds a line.
    shown = (visible(line).replace("\n", "\\n") for line in lines if line != answer.stop_line)
    message = "\n".join(filter(None, shown))
    if len(encoded := message.encode(errors="replace")) > MAX_MESSAGE_BYTES:
        kept = encoded[: MAX_MESSAGE_BYTES - len("\n…".encode())].decode(errors="ignore")
        message = kept.rsplit("\n", 1)[0] + "\n…"
    return message
