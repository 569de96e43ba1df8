"""A session of any agent, and the cards that its tests use."""

import json
import time

from tests import kit
from tests.kit import Claude

TELEGRAM = kit.TELEGRAM.replace('last-seen: "2026-01-02"\n', 'paths: ["bot/**"]\n')


def card(title, *items, cause="", **header):
    """Return the text of a lesson with a checklist; values of the header are YAML."""
    keys = [f"{key}: {value}" for key, value in {"title": title, **header}.items()]
    body = ["", "## Root Cause", "", cause] if cause else []
    body += ["", "## Prevention Checklist", "", *(f"- {item}" for item in items), ""]
    return "\n".join(["---", "type: lesson", *keys, "---", *body])


MIGRATION = card(
    "Never drop a column in the release that stops writing it", "Drop the column one release later",
    cause="Old processes still wrote the column.", severity="high", gate="ask",
    paths='["migrations/*.sql"]',
)  # fmt: skip


NAMES = {
    "gemini-cli": {
        "UserPromptSubmit": "BeforeAgent", "PreToolUse": "BeforeTool", "PostToolUse": "AfterTool",
        "PostToolUseFailure": "AfterTool", "Stop": "AfterAgent",
    },
    "opencode": {
        "SessionStart": "start", "UserPromptSubmit": "prompt", "PreToolUse": "before",
        "PostToolUse": "after", "PostToolUseFailure": "failed", "Stop": "stop",
        "SubagentStart": "subagent", "PreCompact": "compact", "tool_name": "tool",
        "tool_use_id": "callID", "tool_input": "args", "prompt": "text",
        "last_assistant_message": "text", "prompt_id": "messageID",
    },
    "cursor": {
        "SessionStart": "sessionStart", "UserPromptSubmit": "beforeSubmitPrompt",
        "PreToolUse": "preToolUse", "PostToolUse": "postToolUse", "PreCompact": "preCompact",
        "PostToolUseFailure": "postToolUseFailure", "Stop": "afterAgentResponse",
        "last_assistant_message": "text",
    },
}  # fmt: skip
for _agent in ("kilo", "pi"):
    NAMES[_agent] = NAMES["opencode"]
"""Agent → how it names what Claude Code names so."""


TIMED = ("gemini-cli", "copilot-cli", "vscode")
"""They tell the time of an event; of a call without an id nothing else tells it from others."""


SHOW_LINES = ("claude-code", "codex", "gemini-cli", "opencode", "vscode")
"""They show their user a line with one of the events of ``Session.walk``."""


class Session(Claude):
    """A session of any agent, whose events are named as Claude Code names them."""

    def __init__(self, project, agent, session="s1", **how):
        super().__init__(project, session, agent, **how)
        yesterday = time.gmtime(time.time() - 86_400)  # a journal forgets what is old
        self.day, self.seconds = time.strftime("%Y-%m-%d", yesterday), 9

    def event(self, name, **fields):
        names, cwd = NAMES.get(self.agent, {}), str(self.project)
        self.seconds += 1
        fields = {names.get(key, key): value for key, value in fields.items()}
        name = names.get(name, name) if name[:1].isupper() else name
        if self.agent in ("opencode", "kilo", "pi"):
            return {"event": name, "sessionID": self.session, "cwd": cwd, **fields}
        common = {"session_id": self.session, "cwd": cwd, "hook_event_name": name}
        common["transcript_path"] = str(self.transcript)
        if self.agent == "cline":
            common["taskId"] = self.session
        if self.agent == "cursor":
            common |= {"conversation_id": self.session, "generation_id": "g1", "model": "m"}
            common |= {"cursor_version": "3.7", "workspace_roots": [cwd], "transcript_path": None}
        if self.agent == "codex" and name != "SessionStart":
            common["turn_id"] = "t1"
        if self.agent == "vscode":
            common |= {"sessionId": common.pop("session_id"), "hookEventName": name}
            del common["hook_event_name"]
        if self.agent in TIMED:
            common["timestamp"] = f"{self.day}T10:00:{self.seconds:02d}.100Z"
            if self.agent != "vscode":
                fields.pop("tool_use_id", None)
        return {**common, **fields}

    def walk(self):
        """Return what is answered at the start, to a prompt and at the end."""
        prompt = "Add a telegram command that restarts the service"
        return [self.say("SessionStart", source="startup"), self.prompt(prompt), self.stop("Done.")]


def record_failure(session, number, command="", tool="Bash", text="Exit code 3", **more):
    """Write to the transcript what Claude Code or Codex writes of a call that failed."""
    name, used = f"toolu_{number}", {"command": command or f"make other{number}"}
    if session.agent == "codex":
        call = {"type": "function_call", "name": "exec_command", "call_id": name}
        item = {"type": "CommandExecution", "id": name, "exit_code": 3}
        item["command"] = ["/bin/bash", "-lc", used["command"]]
        ended = {"type": "item_completed", "item": item}
        call["arguments"] = json.dumps({"cmd": used["command"]})
        rows = [("response_item", call), ("event_msg", ended)]
        session.record(*({"type": kind, "payload": row} for kind, row in rows))
        return
    use = {"type": "tool_use", "id": name, "name": tool, "input": used}
    result = {"type": "tool_result", "tool_use_id": name, "is_error": True, "content": text}
    rows = [("assistant", use), ("user", result)]
    first, second = ({"type": role, "message": {"content": [row]}} for role, row in rows)
    session.record(first, second | more)


def context_of(output):
    """What goes to the model, in whichever agent's form."""
    texts = (output.get(key) for key in ("additional_context", "additionalContext", "context"))
    return next(filter(None, (*texts, output.context)), "")
