"""The plugin folder for Claude Code and the plugin for opencode, as they are shipped."""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

from lessons_kb import __version__
from lessons_kb.agents.capabilities import AGENTS
from lessons_kb.agents.install.hook_entries import build_hooks, build_plugin

TEMPLATES = pathlib.Path(__file__).parents[2] / "templates"
MARKET = TEMPLATES / "claude-code"
PLUGIN = MARKET / "plugins" / "lessons"


def read(path: pathlib.Path) -> dict:
    return json.loads(path.read_text("utf-8"))


def test_the_plugin_s_hooks_are_those_that_install_writes() -> None:
    hooks = read(PLUGIN / "hooks" / "hooks.json")["hooks"]
    assert hooks == build_hooks("claude-code", "lessons-hook", via="command")


def test_the_marketplace_leads_to_the_plugin() -> None:
    market = read(MARKET / ".claude-plugin" / "marketplace.json")
    (entry,) = market["plugins"]
    manifest = read(MARKET / entry["source"] / ".claude-plugin" / "plugin.json")
    assert manifest["name"] == entry["name"]
    assert manifest["version"] == __version__
    assert read(PLUGIN / ".mcp.json")["mcpServers"]["lessons"]["args"] == ["mcp"]


def test_the_plugin_for_opencode_sends_every_event_of_the_table() -> None:
    text = (TEMPLATES / "opencode" / "lessons.ts").read_text("utf-8")
    assert set(re.findall(r'ask\("(\w+)"', text)) == set(AGENTS["opencode"].events)


def test_what_the_plugin_forgets_with_a_turn_is_given_again(project, fire) -> None:
    def ask(number: int) -> Any:
        text = "Add a telegram command that restarts the service"
        event = {"event": "prompt", "sessionID": "s", "cwd": str(project), "text": text}
        return fire("opencode", event | {"messageID": f"m{number}"}).get("context", "")

    assert "Reject every chat id" in ask(1)
    assert "Reject every chat id" in ask(2)
    assert ask(2) == ""


def test_a_path_is_written_as_a_string_of_the_language() -> None:
    text = build_plugin('C:\\our "tools"\\lessons-hook.exe')
    assert 'const PROGRAM = "C:\\\\our \\"tools\\"\\\\lessons-hook.exe"\n' in text
