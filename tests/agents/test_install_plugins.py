"""The folders with plugins and extensions, as they are shipped; ``--update`` writes them."""

import json
import pathlib
import re

import pytest

from lessons_kb import __version__
from lessons_kb.agents.capabilities import AGENTS
from lessons_kb.agents.install.settings_files import build_commands, build_hooks, build_plugin

TEMPLATES = pathlib.Path(__file__).parents[2] / "templates"
SERVER = {"command": "lessons", "args": ["mcp"]}


def read(path):
    return json.loads((TEMPLATES / path).read_text("utf-8"))


@pytest.mark.parametrize(
    ("agent", "folder", "prefix"),
    [
        ("claude-code", "claude-code/plugins/lessons", "lessons:"),
        ("codex", "codex/plugins/lessons", "lessons:"),
        ("gemini-cli", "gemini-cli", ""),
    ],
)
def test_a_folder_holds_what_an_installation_writes(agent, folder, prefix, request):
    """Hooks and commands, without the notes on how they came there."""
    about = "Lessons before each prompt, guards after each tool, a check after the answer"
    hooks = {"description": about, "hooks": build_hooks(agent, "lessons-hook", via="command")}
    if agent == "gemini-cli":
        del hooks["description"]
    files = {"hooks/hooks.json": json.dumps(hooks, indent=2) + "\n"}
    for path, text in build_commands(agent, "lessons").items():
        lines = [line for line in text.split("\n") if not line.startswith("# Written")]
        called, inside = (AGENTS[agent].call.format(f"{p}lessons-review") for p in ("", prefix))
        files[path] = "\n".join(lines).replace(f"`{called}`", f"`{inside}`")
    for path, text in files.items():
        place = TEMPLATES / folder / path
        if request.config.getoption("--update"):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        assert place.read_text("utf-8") == text


@pytest.mark.parametrize(
    ("manifest", "servers"),
    [
        ("claude-code/plugins/lessons/.claude-plugin/plugin.json", "../.mcp.json"),
        ("codex/plugins/lessons/.codex-plugin/plugin.json", "../.mcp.json"),
        ("gemini-cli/gemini-extension.json", "gemini-extension.json"),
    ],
)
def test_a_manifest_names_this_version_and_the_server(manifest, servers):
    data, folder = read(manifest), (TEMPLATES / manifest).parent
    assert (data["name"], data["version"]) == ("lessons", __version__)
    server = read(folder / servers)["mcpServers"]["lessons"]
    assert {**server, **SERVER} == server
    for key in ("skills", "mcpServers", "hooks"):
        assert not isinstance(data.get(key), str) or (folder.parent / data[key]).exists()


@pytest.mark.parametrize(
    ("market", "top"),
    [
        ("claude-code/.claude-plugin/marketplace.json", "claude-code"),
        ("codex/.agents/plugins/marketplace.json", "codex"),
    ],
)
def test_a_marketplace_leads_to_the_plugin(market, top):
    (entry,) = read(market)["plugins"]
    source = entry["source"] if isinstance(entry["source"], str) else entry["source"]["path"]
    (manifest,) = (TEMPLATES / top / source).glob(".*-plugin/plugin.json")
    assert read(manifest)["name"] == entry["name"]


def test_the_plugin_for_opencode_sends_every_event_of_the_table():
    text = (TEMPLATES / "opencode" / "lessons.ts").read_text("utf-8")
    assert set(re.findall(r'ask\("(\w+)"', text)) == set(AGENTS["opencode"].events)


def test_what_the_plugin_forgets_with_a_turn_is_given_again(project, fire):
    event = {"event": "prompt", "sessionID": "s", "cwd": str(project)}
    event["text"] = "Add a telegram command that restarts the service"
    texts = [
        fire("opencode", event | {"messageID": i}).get("context", "") for i in ("m1", "m2", "m2")
    ]
    assert ["Reject every chat id" in text for text in texts] == [True, True, False]


def test_a_path_is_written_as_a_string_of_the_language():
    text = build_plugin('C:\\our "tools"\\lessons-hook.exe')
    assert 'const PROGRAM = "C:\\\\our \\"tools\\"\\\\lessons-hook.exe"\n' in text
