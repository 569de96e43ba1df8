"""The folders with plugins and extensions, as they are shipped; ``--update`` writes them."""

import json
import pathlib
import re

import pytest

from lessons_kb import __version__
from lessons_kb.agents.capabilities import AGENTS
from lessons_kb.agents.install.settings_files import build_commands, build_hooks, build_plugin

TEMPLATES = pathlib.Path(__file__).parents[2] / "templates"
MARKET = TEMPLATES / "claude-code"
PLUGIN = MARKET / "plugins" / "lessons"


def read(path):
    return json.loads(path.read_text("utf-8"))


ABOUT = "Puts the few lessons that matter in front of the agent; needs lessons-kb on the PATH"
SERVER = {"lessons": {"command": "lessons", "args": ["mcp"]}}


def written(agent, *, prefix=""):
    """Return hooks and commands of a folder: what an installation writes, without its notes."""
    about = "Lessons before each prompt, guards after each tool, a check after the answer"
    hooks = {"description": about, "hooks": build_hooks(agent, "lessons-hook", via="command")}
    if agent == "gemini-cli":
        del hooks["description"]
    files = {"hooks/hooks.json": json.dumps(hooks, indent=2) + "\n"}
    for path, text in build_commands(agent, "lessons").items():
        lines = [line for line in text.split("\n") if not line.startswith("# Written")]
        called, inside = (AGENTS[agent].call.format(f"{p}lessons-review") for p in ("", prefix))
        files[path] = "\n".join(lines).replace(f"`{called}`", f"`{inside}`")
    return files


FOLDERS = {
    "claude-code/plugins/lessons": written("claude-code", prefix="lessons:"),
    "gemini-cli": {
        **written("gemini-cli"),
        "gemini-extension.json": json.dumps(
            {
                "name": "lessons", "version": __version__, "description": ABOUT,
                "mcpServers": SERVER,
            },
            indent=2,
        ) + "\n",
    },
    "codex/plugins/lessons": {
        **written("codex", prefix="lessons:"),
        ".codex-plugin/plugin.json": json.dumps(
            {
                "name": "lessons", "version": __version__, "description": ABOUT,
                "author": {"name": "lessons_kb"}, "license": "MIT",
                "skills": "./skills/", "mcpServers": "./.mcp.json", "hooks": "./hooks/hooks.json",
                "interface": {
                    "displayName": "Lessons", "shortDescription": ABOUT, "category": "Coding",
                },
            },
            indent=2,
        ) + "\n",
        ".mcp.json": json.dumps({"mcpServers": SERVER}, indent=2) + "\n",
    },
    "codex": {
        ".agents/plugins/marketplace.json": json.dumps(
            {
                "name": "lessons-kb",
                "interface": {"displayName": "lessons_kb"},
                "plugins": [
                    {
                        "name": "lessons",
                        "source": {"source": "local", "path": "./plugins/lessons"},
                        "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
                        "category": "Coding",
                    }
                ],
            },
            indent=2,
        ) + "\n",
    },
}  # fmt: skip


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_holds_what_an_installation_writes(folder, request):
    for path, text in FOLDERS[folder].items():
        place = TEMPLATES / folder / path
        if request.config.getoption("--update"):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        assert place.read_text("utf-8") == text


def test_the_marketplace_leads_to_the_plugin():
    market = read(MARKET / ".claude-plugin" / "marketplace.json")
    (entry,) = market["plugins"]
    manifest = read(MARKET / entry["source"] / ".claude-plugin" / "plugin.json")
    assert manifest["name"] == entry["name"]
    assert manifest["version"] == __version__
    assert read(PLUGIN / ".mcp.json")["mcpServers"]["lessons"]["args"] == ["mcp"]


def test_the_plugin_for_opencode_sends_every_event_of_the_table():
    text = (TEMPLATES / "opencode" / "lessons.ts").read_text("utf-8")
    assert set(re.findall(r'ask\("(\w+)"', text)) == set(AGENTS["opencode"].events)


def test_what_the_plugin_forgets_with_a_turn_is_given_again(project, fire):
    def ask(number):
        text = "Add a telegram command that restarts the service"
        event = {"event": "prompt", "sessionID": "s", "cwd": str(project), "text": text}
        return fire("opencode", event | {"messageID": f"m{number}"}).get("context", "")

    assert "Reject every chat id" in ask(1)
    assert "Reject every chat id" in ask(2)
    assert ask(2) == ""


def test_a_path_is_written_as_a_string_of_the_language():
    text = build_plugin('C:\\our "tools"\\lessons-hook.exe')
    assert 'const PROGRAM = "C:\\\\our \\"tools\\"\\\\lessons-hook.exe"\n' in text
