"""What the user must still do, or should know, after an installation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lessons_kb.agents.install.settings_files import Request, is_committed
from lessons_kb.process.installation import install_command

_NO_SDK = "The MCP server was not added because the `mcp` package is missing; run {}."

_LATE = "{} accepts no context with a prompt; lessons arrive at the start of a session and {}."

_ALWAYS: Mapping[str, tuple[str, ...]] = {
    "claude-code": (
        "The hooks take effect at once, except in folders that Claude Code does not trust yet.",
    ),
    "codex": (
        "Codex runs hooks only after you approve them: open `codex`, type /hooks, approve these.",
    ),
    "gemini-cli": ("Restart Gemini CLI. It may warn once about new hooks.",),
    "cursor": (_LATE.format("Cursor", "with tool results"),),
    "copilot-cli": (
        "Copilot CLI names the lessons in its timeline; with `-s` it shows nothing: `lessons why`.",
    ),
    "vscode": (
        "VS Code ignores matchers, so the hook runs for every tool.",
        _LATE.format("VS Code", "with tool results"),
        "Agent hooks are a preview feature of VS Code; your organisation may have disabled them.",
    ),
    "opencode": ("Restart opencode: it loads plugins when it starts.",),
}
_PROJECT: Mapping[str, tuple[str, ...]] = {
    "codex": ("Codex reads project settings only in trusted projects.",),
    "cursor": ("Cursor reads project hooks only in trusted workspaces.",),
    "gemini-cli": ("Gemini CLI asks for approval when the hooks of a project change.",),
}
_SHARED_SERVER: Mapping[str, tuple[str, ...]] = {
    "claude-code": ("Claude Code asks each user once to approve the server in `.mcp.json`.",),
}


def how_to_get_sdk() -> str:
    """Return what to do about the SDK that ``lessons mcp`` needs."""
    return f"`{install_command('mcp')}`, then run this again"


def find_notes(request: Request) -> Iterator[str]:
    """Yield what to tell the user, one sentence or two each."""
    yield from _ALWAYS[request.agent]
    if request.scope == "project":
        yield from _PROJECT.get(request.agent, ())
    if is_committed(request):
        yield (
            "These files belong to the project: whoever works in it needs `lessons` and"
            " `lessons-hook` on the PATH."
        )
        if request.server:
            yield from _SHARED_SERVER.get(request.agent, ())
    if request.via == "mcp":
        yield (
            "By this route hooks are answered by the MCP server: while it is not connected,"
            " they say nothing."
        )
    if not request.server:
        yield _NO_SDK.format(how_to_get_sdk())
