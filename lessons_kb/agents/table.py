"""The table of coding agents: events, possible answers and settings files, in one row per agent.

If an agent lacks an ability, there is a fallback:

- Context that the answer to an event cannot contain waits for the next event of the session whose
  answer can contain it (Cursor and VS Code accept no context with a prompt).
- If the user cannot be asked about a call, the model gets the card instead.
- Lines for the user that the answer to an event cannot contain are written to standard error,
  which agents show in their logs at most.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from lessons_kb import hook_gates
from lessons_kb.agents.payloads import Payload, read_common, text_of
from lessons_kb.hook_client import SILENT
from lessons_kb.hook_gates import EVENT_KEYS, NOBODY_ANSWERS, name_event
from lessons_kb.on_demand import PREFLIGHT_BLOCK, RENDER, load
from lessons_kb.session.event_types import AgentTraits, Answer, HookEvent
from lessons_kb.text.sanitize import defang_line, visible
from lessons_kb.values import field, frozen


@frozen
class Agent(AgentTraits):
    """A coding agent. Its module in this package reads its payloads and writes its answers."""

    name: str
    dialect: str = ""
    """The agent whose payloads it sends and whose module reads them, or "" for its own."""
    events: Mapping[str, str]
    """Maps the names of its events to our kinds of events. Any other event gets no answer."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Maps other names of events to their names in ``events``, with the first letter in any
    case."""
    event_keys: Mapping[str, str] = field(default_factory=dict)
    """Maps a key of a payload that names no event to the only event whose payload has this key."""
    context_at: tuple[str, ...] = ()
    """The events whose answer can put text in front of the model."""
    lines_at: tuple[str, ...] = ()
    """The events whose answer is shown to the user."""
    progress: bool = False
    """Whether messages for the user are progress lines, which are printed before the answer. An
    answer over HTTP cannot contain them."""
    late_before: str = ""
    """When context from before a call reaches the model only after the call, or "" for never."""
    asks_at: tuple[str, ...] = ()
    """The events whose answer can ask the user to decide about a call."""
    refuses_at: tuple[str, ...] = ("PreToolUse",)
    """The events whose answer can refuse a call and give the model a reason. The turn continues."""
    unexplained: tuple[str, ...] = ()
    """Tools whose permission dialog shows no reason. We refuse first, because a refusal shows
    it."""
    unattended: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Maps an environment variable to the values that mean that no user is present. The agent would
    treat a question as a denial."""
    stops_at: tuple[str, ...] = ()
    """The events whose answer can end the turn so that it can be resumed."""
    goes_on_at: tuple[str, ...] = ()
    """The events at the end of a turn whose answer can let the model go on."""
    project: tuple[str, ...] = ()
    """The environment variables that name the project, in order of preference."""
    within: float = 0.0
    """In seconds. Two equal events without an id within this time are one event that fired
    twice."""
    call: str = "/{}"
    """The form in which the user calls a command of ours in the chat."""
    tested_version: str = ""
    """The version that we ran, or "" if the row is based on documentation."""
    begins: str = '"SessionStart"'
    """Text that only the payload of a session's start contains, or "" if that event shows no
    line."""

    headless: str = ""
    """The arguments with which its program answers a prompt from stdin (or PROMPT) in an empty
    FOLDER, without tools, hooks, memory and the settings of the project. Words in capitals are
    placeholders. The value is "" if it cannot do so. A test run of each showed that it fires no
    hook."""
    headless_files: Mapping[str, str] = field(default_factory=dict)
    """Maps paths in that folder to texts."""
    headless_variables: Mapping[str, str] = field(default_factory=dict)
    task: str = ""
    """The arguments with which its program does a task alone, or "" if it cannot. The agent may
    change files, and the settings of the user decide about other actions. The prompt follows ``--``
    or is joined to its option by ``=``, so that a prompt that begins with ``-`` is not read as an
    option."""
    program: str
    folder: str
    """The user's folder for this agent. The placeholders are {home}, {config}, {code}, and
    {NAME:default} for an environment variable."""
    project_folder: str
    has_project: bool = True
    """Whether a project can have hooks for it. False also means that nobody has seen them run."""
    hooks_file: str = "hooks.json"
    """The file with its hooks, or the plugin that calls us, relative to its folder."""
    personal_file: str = ""
    """The file in a project with hooks only for this user."""
    hooks_form: str = "json"
    """``json`` is an object in its file, and ``toml`` is a block of tables at the end of its file.
    ``files`` are programs in the folder ``hooks_file``, one for each event and named after it."""
    hooks_key: str = "hooks"
    """The key of the hooks in that file."""
    marks: Mapping[str, Any] = field(default_factory=dict)
    """Other keys that its file of hooks needs."""
    hook_server: str = ""
    """The arguments with which its program lists the hooks and those that the user has approved. It
    skips the other hooks silently. The value is "" if hooks need no approval or if it cannot list
    them."""
    held_version: str = ""
    """The version that npm installs silently if Node.js is older than ``newer_node``."""
    newer_node: str = ""
    """The version of Node.js that the version we ran needs."""
    shares: str = ""
    """The agent whose file of hooks and commands it reads."""
    matchers: Mapping[str, str] = field(default_factory=dict)
    """Maps an event to the tools that fire it. All tools fire an event that is missing here.
    Matchers name only tools that we learn from, because one process per call of the other tools
    costs too much, although a success of any tool would end a run of failures."""
    handler: Mapping[str, str] = field(default_factory=dict)
    """An entry of its list of hooks, empty for a plugin. Words in capitals are placeholders."""
    nested: bool = True
    """Whether the entries are in groups. Otherwise, they are directly in the list of the event."""
    strict: Mapping[str, Any] = field(default_factory=dict)
    """The keys of a handler whose failure refuses the call. ``limit_to_files`` of its module limits
    the handler to files. Empty if a failure cannot refuse a call, or if a handler cannot be
    limited."""
    end_seconds: int = 10
    """The maximum timeout, in seconds, of a hook at the end of a session."""
    mcp_fields: tuple[str, ...] = ()
    """The fields that every payload of its hooks has, or () if a hook cannot call a server's
    tool."""
    mcp_lacks: tuple[str, ...] = ()
    """The fields of single events that its payloads lack. With such a field, it would drop the
    call."""
    plugin_template: str = ""
    """Our plugin, below ``templates/``, for an agent that has plugins instead of hooks."""
    plugin: str = ""
    """A glob, below its folder, for the manifest of our plugin after its installation."""
    update: str = ""
    """The command that updates the plugin."""
    cloud_template: str = ""
    """The setup of its cloud environment, below ``templates/``, or "" if we know of none."""
    cloud_file: str = ""
    """The file of a project from which it reads the setup, or "" if the user pastes the setup."""
    server: str
    """The file that lists its MCP servers, followed by the keys that lead to the list."""
    project_server: str = ""
    """The same for a project, if it differs."""
    personal_server: str = ""
    """The same for a project, but only for this user."""
    server_entry: Mapping[str, Any] = field(default_factory=dict)
    user_entry: Mapping[str, Any] = field(default_factory=dict)
    """Additional keys of the entry in the user's own file."""
    command_file: str = ""
    second_copy: str = "it shows one of them"
    """Its treatment of a command with one name in both the user's folder and the project."""
    layout: str = "silent"
    """The layout of a command's file, which is a key of ``settings_files._LAYOUTS``."""
    arguments: str = ""
    """The placeholder in a command for the words that the user types after it."""
    notes: str = ""
    """The notes that `lessons install` prints, one per line."""
    project_note: str = ""
    shared_note: str = ""
    """A note about the server in a file that belongs to the project."""

    @property
    def silence(self) -> str:
        """The output of a hook that has no answer."""
        return "" if self.name in SILENT else "{}"

    @property
    def module(self) -> Any:
        """Its module in this package, imported on demand because a process needs only one."""
        return import_module(f"lessons_kb.agents.{(self.dialect or self.name).replace('-', '_')}")

    def read(self, payload: Payload, name: str, event: HookEvent) -> None:
        """Fill in the event from its payload. Set ``what`` to "" if the event is to be ignored."""
        read_common(payload, event)
        self.module.read(payload, name, event)

    def show(self, name: str, answer: Answer, *, lines: bool) -> tuple[str, str]:
        """Return the texts for standard output and standard error.

        ``lines`` states whether the answer to this event can show lines to the user. Otherwise, the
        message for the user is written to standard error.
        """
        message = format_message(answer)
        shown = message if lines else ""
        output = self.module.write(name, answer, shown)
        progress = self.module.write_progress(shown) if self.progress else ""
        text = output if isinstance(output, str) else json.dumps(output)
        printed = progress + text if output or progress else self.silence
        return printed, "" if lines else message

    def show_line(self, line: str) -> str:
        """Return the output with which the start of a session shows the user a line."""
        if self.progress:
            return str(self.module.write_progress(line)).rstrip()
        start = next(name for name, kind in self.events.items() if kind == "start")
        return json.dumps(self.module.write(start, Answer(), line))


def _pairs(text: str) -> dict[str, str]:
    """Parse pairs such as ``key=value other=value``."""
    return dict(pair.split("=", 1) for pair in text.split())


_CLAUDE_EVENTS = _pairs(
    "SessionStart=start UserPromptSubmit=prompt PreToolUse=before PostToolUse=after"
    " PostToolUseFailure=after Stop=stop SessionEnd=end"
)
OFF_VARIABLE = "LESSONS_HOOKS"
"""An environment variable. With the value 0, hooks that no daemon answers stay silent. An agent
that writes a card for us gets it together with ``LESSONS_DAEMON=0``, so that we do not observe
it."""
_DENIED = '{"mode":"primary","prompt":SYSTEM,"tools":{"*":false},"permission":{"*":"deny"}}'
_CLAUDE_LINES = tuple(name for name in _CLAUDE_EVENTS if name != "SessionEnd")
_CLAUDE_CONTEXT = tuple(name for name in _CLAUDE_LINES if name != "Stop")
_CODEX_EVENTS = {k: kind for k, kind in _CLAUDE_EVENTS.items() if k != "PostToolUseFailure"}
_CALL = _pairs("type=command command=LINE timeout=SECONDS")
_MARKDOWN, _SKILL = "commands/{}.md", "skills/{}/SKILL.md"
_PLUGIN_EVENTS = _pairs(
    "start=start subagent=subagent prompt=prompt before=before after=after failed=after "
    "stop=stop compact=compact end=end"
)
"""The events that our plugins send, as the plugins name them."""
_LATE = (
    "{} accepts no context with a prompt; lessons arrive at the start of a session and with tool"
    " results."
)

_ROWS = (
    Agent(
        name="claude-code",
        tested_version="2.1.332",
        cloud_template="cloud/setup.sh",
        # PreCompact accepts no context. The SessionStart after the compaction does.
        events={**_CLAUDE_EVENTS, "SubagentStart": "subagent", "PostToolBatch": "batch"},
        context_at=("SubagentStart", "PostToolBatch", *_CLAUDE_CONTEXT),
        lines_at=("PostToolBatch", *_CLAUDE_LINES),
        asks_at=("PreToolUse",),
        unexplained=("Edit", "Write", "NotebookEdit"),
        unattended={"CLAUDE_CODE_SESSION_ATTENDED": ("0",), "CLAUDE_CODE_ENTRYPOINT": ("sdk-cli",)},
        # After a failed call it ignores "continue".
        stops_at=("PreToolUse",),
        goes_on_at=("Stop",),
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
        held_version="2.1.197",
        newer_node="22",
        # With ``args`` it starts no shell, which saves a process and any quoting.
        handler=_pairs("type=command command=PROGRAM args=NAMES timeout=SECONDS"),
        strict={"onFailure": "block"},
        mcp_fields=("session_id", "transcript_path", "cwd", "agent_id", "permission_mode"),
        server="{CLAUDE_CONFIG_DIR:{home}}/.claude.json mcpServers",
        personal_server="{CLAUDE_CONFIG_DIR:{home}}/.claude.json projects {project} mcpServers",
        project_server="{project}/.mcp.json mcpServers",
        server_entry={"type": "stdio"},
        command_file=_MARKDOWN,
        second_copy="the user's hides the project's",
        arguments="$ARGUMENTS",
        notes=(
            "The hooks take effect at once, except in folders that Claude Code does not trust yet."
        ),
        shared_note="Claude Code asks each user once to approve the server in `.mcp.json`.",
    ),
    Agent(
        name="codex",
        tested_version="0.171.0",
        cloud_template="cloud/setup.sh",
        # Its PreToolUse accepts no "ask", and a stop after a tool would replace the tool's result.
        # A subagent of multi-agent v2 has no UserPromptSubmit. A subagent of v1 has both events.
        events={**_CODEX_EVENTS, "SubagentStart": "subagent"},
        context_at=(
            "SubagentStart",
            *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse"),
        ),
        lines_at=("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"),
        late_before="GPT-5.6 and 6 in code mode: after the script",
        call="${}",  # a skill: Codex has no user-defined commands
        tokens=2_200,
        reads_outside=True,
        within=0.5,
        hooked_tools=("apply_patch",),
        # A custom provider has to be named again: `--with 'codex -c model_provider=…'`.
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
        matchers={
            "PreToolUse": "Bash|apply_patch|collaborationspawn_agent",
            "PostToolUse": "Bash|apply_patch",
        },
        handler=_CALL,
        end_seconds=3,
        hook_server="app-server",
        mcp_fields=("session_id", "transcript_path", "cwd", "turn_id"),
        # It drops a call whose input names a field that the payload lacks; Claude Code does not.
        mcp_lacks=("prompt_id", "source"),
        server="config.toml mcp_servers",
        command_file=_SKILL,
        second_copy="Codex lists both, and `$lesson` then brings neither",
        layout="skill",
        notes=(
            "Codex runs hooks only after you approve them: open `codex`, type /hooks, approve"
            " these."
        ),
        project_note="Codex reads project settings only in trusted projects.",
    ),
    Agent(
        name="gemini-cli",
        tested_version="0.61.0",
        events=_pairs(
            "SessionStart=start BeforeAgent=prompt BeforeTool=before AfterTool=after "
            "AfterAgent=stop SessionEnd=end"
        ),
        # If SessionStart returns context, --resume drops the user's own first prompt with it.
        # Context of BeforeTool never arrives. BeforeAgent and AfterTool deliver the waiting
        # context.
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
        # In 0.24, context of PreToolUse, SubagentStart and PostCompact never arrives. A refusal
        # does, with its reason. Waiting context is delivered with the next result of a call.
        name="qwen-code",
        tested_version="0.24.4",
        events={
            **_CLAUDE_EVENTS,
            **_pairs("SubagentStart=subagent PostToolBatch=batch PostCompact=compact"),
        },
        context_at=(
            *("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure"),
            "PostToolBatch",
        ),
        lines_at=("Stop",),
        forgets_start=True,
        project=("QWEN_PROJECT_DIR",),
        within=0.02,
        begins="",
        task="--prompt={prompt} -o json --approval-mode auto-edit",
        program="qwen",
        folder="{home}/.qwen",
        held_version="0.15.10",
        newer_node="22",
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
        tested_version="1.18.33",
        events=_PLUGIN_EVENTS,
        renamed=_pairs(
            "chat.message=prompt tool.execute.before=before tool.execute.after=after "
            "session.idle=stop experimental.session.compacting=compact"
        ),
        context_at=("start", "subagent", "prompt", "before", "after", "failed", "compact"),
        lines_at=("prompt", "after", "failed", "stop"),
        refuses_at=("before",),
        repeats_start=True,  # in the system prompt, which opencode builds for each request
        forgets_start=True,
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
        plugin_template="opencode/lessons.ts",
        server="opencode.json mcp",
        project_server="{project}/opencode.json mcp",
        server_entry={"type": "local", "command": ["SERVER", "mcp"], "enabled": True},
        command_file=_MARKDOWN,
        layout="described",
        arguments="$ARGUMENTS",
        notes="Restart opencode: it loads plugins when it starts.",
        project_note=(
            "With a folder `.opencode` in the project opencode installs 25 packages there at its"
            " first start, which took 38 to 71 s; without `--scope project` it does so once for"
            " all projects."
        ),
    ),
    Agent(
        # A fork of opencode, which reads opencode's settings but not its folder of plugins.
        name="kilo",
        dialect="opencode",
        tested_version="7.7.7",
        events=_PLUGIN_EVENTS,
        context_at=("start", "subagent", "prompt", "before", "after", "failed", "compact"),
        lines_at=("prompt", "after", "failed", "stop"),
        refuses_at=("before",),
        repeats_start=True,
        forgets_start=True,
        within=0.5,
        begins='"event":"start"',
        program="kilo",
        folder="{config}/kilo",
        project_folder=".kilo",
        hooks_file="plugins/lessons.ts",
        plugin_template="opencode/lessons.ts",
        server="kilo.json mcp",
        project_server="{project}/kilo.json mcp",
        server_entry={"type": "local", "command": ["SERVER", "mcp"], "enabled": True},
        command_file=_MARKDOWN,
        layout="described",
        arguments="$ARGUMENTS",
        notes="Restart Kilo: it loads plugins when it starts.",
    ),
    Agent(
        # The text of "start" is sent to the model with the first prompt.
        name="pi",
        dialect="opencode",
        tested_version="1.6.0",
        events={event: what for event, what in _PLUGIN_EVENTS.items() if event != "subagent"},
        context_at=("start", "prompt", "before", "after", "failed", "compact"),
        lines_at=("start", "prompt", "after", "failed", "stop", "compact"),
        refuses_at=("before",),
        within=0.5,
        begins='"event":"start"',
        program="pi",
        folder="{PI_CODING_AGENT_DIR:{home}/.pi/agent}",
        held_version="0.74.2",
        newer_node="22",
        project_folder=".pi",
        hooks_file="extensions/lessons.ts",
        plugin_template="pi/lessons.ts",
        server="mcp.json mcpServers",
        command_file="prompts/{}.md",
        layout="described",
        arguments="$ARGUMENTS",
        notes="Restart pi, or type /reload: it loads extensions when it starts.",
        project_note="pi reads the extensions of a project only in projects that it trusts.",
    ),
    Agent(
        # In 0.215, `droid exec` fires no UserPromptSubmit and no PreCompact, and drops the context
        # for PreToolUse. No event reports a failed call.
        name="droid",
        tested_version="0.215.0",
        events={k: kind for k, kind in _CLAUDE_EVENTS.items() if k != "PostToolUseFailure"},
        context_at=("SessionStart", "UserPromptSubmit", "PostToolUse"),
        within=0.02,
        rewritten=b'{"type":"compaction_state"',
        program="droid",
        folder="{home}/.factory",
        project_folder=".factory",
        hooks_file="settings.json",
        matchers={
            "PreToolUse": "Edit|MultiEdit|ApplyPatch|Create|Execute",
            "PostToolUse": "Edit|MultiEdit|ApplyPatch|Create|Execute|Read",
        },
        handler=_CALL,
        server="mcp.json mcpServers",
        server_entry={"type": "stdio"},
        command_file=_SKILL,
        notes=(
            "`droid exec` fires no event for a prompt: there lessons come as titles, with a"
            " protected change, and as gates."
        ),
    ),
    Agent(
        # In 2.1, only the text of UserPromptSubmit and refusals reach the model.
        name="kimi",
        tested_version="2.1.0",
        events={**_CLAUDE_EVENTS, "PostCompact": "compact"},
        context_at=("UserPromptSubmit",),
        begins="",
        program="kimi",
        folder="{KIMI_CODE_HOME:{home}/.kimi-code}",
        project_folder="",
        has_project=False,
        hooks_file="config.toml",
        hooks_form="toml",
        matchers={"PreToolUse": "Edit|Write|Bash", "PostToolUse": "Edit|Write|Bash|Read"},
        handler=_pairs("command=LINE timeout=SECONDS"),
        nested=False,
        server="mcp.json mcpServers",
        command_file=_SKILL,
        notes=(
            "Restart Kimi Code. It gives the model what a prompt draws, and the reason of a gate;"
            " nothing at a call."
        ),
    ),
    Agent(
        # In 3.0, the texts of both events about a call come after its result.
        name="cline",
        tested_version="3.0.65",
        events=_pairs("TaskStart=start PreToolUse=before PostToolUse=after TaskComplete=stop"),
        event_keys=_pairs(
            "preToolUse=PreToolUse postToolUse=PostToolUse taskStart=TaskStart"
            " taskComplete=TaskComplete"
        ),
        context_at=("PreToolUse", "PostToolUse"),
        refuses_at=(),
        within=0.02,
        begins="",
        program="cline",
        folder="{home}/.cline",
        project_folder="",
        has_project=False,
        hooks_file="hooks",
        hooks_form="files",
        handler=_pairs("command=HARMLESS"),
        server="{home}/.cline/data/settings/cline_mcp_settings.json mcpServers",
        notes=(
            "Cline gives the model lessons with the result of a call; it has no gate, and no event"
            " for a prompt."
        ),
    ),
    Agent(
        name="cursor",
        # The payload of its own `stop` event lacks the answer.
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
        # In 1.0, it drops context with a prompt and at the start of a session.
        name="grok-cli",
        tested_version="1.0.41",
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
        notes=(
            "Grok CLI accepts context only with tool calls and their results; the lessons for a"
            " prompt wait for the next call."
        ),
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
        notes=(
            "Not tested with Crush itself, only written from its source. It runs hooks only for"
            " tool calls; lessons arrive with a change or a command."
        ),
    ),
    Agent(
        name="antigravity",
        events=_pairs("PreInvocation=prompt Stop=stop"),
        event_keys=_pairs("invocationNum=PreInvocation executionNum=Stop"),
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
            "Not tested with Antigravity itself, only written from its documentation. Lessons come"
            " with a prompt; restart `agy`, then check with `lessons why`."
        ),
    ),
    Agent(
        name="copilot-cli",
        tested_version="1.0.102",
        cloud_template="cloud/copilot-setup-steps.yml",
        cloud_file=".github/workflows/copilot-setup-steps.yml",
        events={**_CLAUDE_EVENTS, "PreCompact": "compact"},
        renamed=_pairs("userPromptSubmitted=UserPromptSubmit agentStop=Stop"),
        context_at=_CLAUDE_CONTEXT,
        lines_at=(*_CLAUDE_LINES, "PreCompact"),
        progress=True,
        asks_at=("PreToolUse",),
        forgets_calls=True,
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
        # The last two keys are for VS Code. Copilot CLI would also use "linux" and similar keys.
        handler=_pairs(
            "type=command bash=HARMLESS powershell=POWERSHELL timeoutSec=SECONDS "
            "command=LINE_OF:vscode timeout=SECONDS"
        ),
        nested=False,
        server="mcp-config.json mcpServers",
        project_server="{project}/.mcp.json mcpServers",
        server_entry={"type": "stdio"},
        user_entry={"tools": ["*"]},
        command_file=_SKILL,
        notes=(
            "Copilot CLI names the lessons in its timeline. With `-s` it shows nothing; use"
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
        # The two agents share one file; with two files, both would fire every event twice. Each
        # reads the keys that it supports, and VS Code ignores the one event that it lacks.
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
    """Return the event's name in the spelling of the agent's row, or "" without a name."""
    if not agent:
        return text_of(payload, *EVENT_KEYS)
    row = AGENTS[agent]
    return name_event(payload, row.events, row.renamed, row.event_keys)


def find_host(agent: str, payload: Payload, environment: Mapping[str, str]) -> str:
    """Return the agent that fired the hook. ``agent`` is the agent for which it was set up."""
    events = {name: row.events for name, row in AGENTS.items()}
    return hook_gates.find_host(agent, payload, environment, events)


def is_attended(agent: Agent, payload: Payload, environment: Mapping[str, str]) -> bool:
    """Return whether a user is present who accepts questions about calls."""
    if text_of(payload, "permission_mode") in NOBODY_ANSWERS:
        return False
    return not any(environment.get(name) in values for name, values in agent.unattended.items())


MAX_MESSAGE_BYTES = 4_000


def format_message(answer: Answer) -> str:
    """Return an answer's message for the user: its lines, the footer of a block, the post-check.

    The last lines of a message of more than ``MAX_MESSAGE_BYTES`` are left out.
    """
    lines = list(answer.lines)
    language = answer.language or "en"
    hits = answer.block.lessons if answer.block is not None else ()
    titles = [*answer.named, *(hit.card.title for hit in hits)]
    if answer.footer and titles:
        footer = load(PREFLIGHT_BLOCK).footer
        lines.append(footer([f"“{defang_line(title)}”" for title in titles], language))
    if answer.check is not None:
        lines.append(load(RENDER).check_line(answer.check, language))
    # A line may quote foreign text, such as a path. It must not control a terminal or add a line.
    shown = [visible(line).replace("\n", "\\n") for line in lines if line != answer.stop_line]
    message = "\n".join(filter(None, shown))
    encoded = message.encode(errors="replace")
    if len(encoded) > MAX_MESSAGE_BYTES:
        head = encoded[: MAX_MESSAGE_BYTES - len("\n…".encode())].decode(errors="ignore")
        message = head.rsplit("\n", 1)[0] + "\n…"
    return message
