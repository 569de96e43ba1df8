"""What the user must still do, or should know, after an installation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lessons_kb.agents.install.places import Request, is_committed

HOW_TO_GET_SDK = "`pip install 'lessons-kb[mcp]'`, then run this again"
NO_SDK = f"The MCP server was left out, for the `mcp` package is missing: {HOW_TO_GET_SDK}."

_LATE = "{} takes no context with a prompt: lessons arrive when a session starts and {}."

_ALWAYS: Mapping[str, tuple[str, ...]] = {
    "claude-code": (
        "Claude Code takes the hooks up at once; a folder it does not trust yet runs none.",
    ),
    "codex": ("Codex runs no hook before you trust it: open `codex`, type /hooks, approve ours.",),
    "gemini-cli": ("Restart Gemini CLI; it may warn once of hooks it has not seen before.",),
    "cursor": (_LATE.format("Cursor", "with the result of a tool"),),
    "copilot-cli": ("Copilot CLI shows users nothing of what hooks say: see `lessons why`.",),
    "vscode": (
        "VS Code ignores matchers: the hook runs for every tool (it is quick and silent).",
        _LATE.format("VS Code", "with the result of a tool"),
        "Agent hooks are a preview in VS Code: your organisation may have turned them off.",
    ),
    "opencode": ("Restart opencode: it loads plugins when it starts.",),
}
_PROJECT: Mapping[str, tuple[str, ...]] = {
    "codex": ("Codex reads a project's settings only if the project is trusted.",),
    "cursor": ("Cursor reads a project's hooks only in a trusted workspace.",),
    "gemini-cli": ("Gemini CLI asks about hooks of a project when they change.",),
}
_SHARED_SERVER: Mapping[str, tuple[str, ...]] = {
    "claude-code": ("Claude Code asks each user once to approve the server of `.mcp.json`.",),
}


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
        yield NO_SDK
