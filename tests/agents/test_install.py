"""Install into real-looking settings of each agent: once, in place, and out again byte for byte."""

import json
import os
import pathlib
import re
import stat
import tomllib
from dataclasses import replace

import pytest

from lessons_kb.agents.capabilities import AGENTS
from lessons_kb.agents.install import Entries, Request, install, uninstall
from lessons_kb.agents.install.edit_json import read_data
from lessons_kb.errors import InputError, StorageError

ENTRIES = Entries(hook="/opt/our tools/bin/lessons-hook", server="/opt/our tools/bin/lessons")

CLAUDE = """\
{
    // how I like it
    "model": "opus",
    "hooks": {
        "Stop": [
            {"hooks": [{"type": "command", "command": "say done"}]}, // loud
        ],
        "PreToolUse": [],
    },
    "permissions": { "allow": ["Bash(git:*)"], },
}
"""
CODEX = """\
# my own
model = "gpt-5"   # the big one

[mcp_servers.docs]
command = "docs"
args = [
  "serve", # always
]

[profiles.fast]
model = "mini"
"""


@pytest.fixture
def home(_own_home):
    return _own_home


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def ask(home, project):
    def ask(agent, **more):
        return Request(agent=agent, project=str(project), entries=ENTRIES, **more)

    return ask


def snapshot(*roots):
    return {
        str(path): path.read_bytes() if path.is_file() else None
        for root in roots
        for path in root.rglob("*")
        if ".local" not in path.parts
    }


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def shapes():
    for agent in AGENTS:
        for scope, shared in (("user", False), ("project", False), ("project", True)):
            yield agent, scope, shared, "command"
            if agent in ("claude-code", "codex"):
                yield agent, scope, shared, "mcp"


@pytest.mark.parametrize(("agent", "scope", "shared", "via"), list(shapes()))
def test_twice_is_once_and_nothing_stays_behind(agent, scope, shared, via, ask, home, project):
    before = snapshot(home, project)
    request = ask(agent, scope=scope, shared=shared, via=via)
    first = install(request)
    assert {change.action for change in first} == {"created"}
    once = snapshot(home, project)
    again = install(request)
    assert {change.action for change in again} == {"unchanged"}
    assert snapshot(home, project) == once
    touched = [path for path in once if path not in before]
    inside = project if scope == "project" else home
    if scope == "user" or shared:
        assert all(path.startswith(str(inside)) for path in touched)
    uninstall(request)
    assert snapshot(home, project) == before


@pytest.mark.parametrize("agent", [agent for agent in AGENTS if agent != "opencode"])
def test_every_event_of_the_agent_calls_its_hook(agent, ask):
    """opencode has a plugin instead."""
    path = install(ask(agent))[0].path
    hooks = json.loads(pathlib.Path(path).read_text())["hooks"]
    assert set(AGENTS[agent].events) <= set(hooks)
    assert "lessons-hook" in json.dumps(hooks)
    assert agent in json.dumps(hooks)


def test_another_one_s_settings_keep_every_comment_and_key(ask, home):
    path = write(home / ".claude" / "settings.json", CLAUDE)
    install(ask("claude-code"))
    text = path.read_text()
    assert re.findall("//.*", text) == re.findall("//.*", CLAUDE)
    old, new = read_data(CLAUDE), read_data(text)
    assert list(new) == list(old)
    assert new["permissions"] == old["permissions"]
    assert new["hooks"]["Stop"][0] == old["hooks"]["Stop"][0]
    assert len(new["hooks"]["Stop"]) == 2
    assert '            {"hooks": [{"type": "command", "command": "say done"}]}, // loud\n' in text
    uninstall(ask("claude-code"))
    assert path.read_text() == CLAUDE


@pytest.mark.parametrize("line", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_byte_order_mark_stay(ask, home, line, mark):
    text = mark + CLAUDE.replace("\n", line)
    path = write(home / ".claude" / "settings.json", text)
    install(ask("claude-code"))
    new = path.read_bytes().decode()
    assert new.startswith(mark + "{" + line)
    assert new.count("\n") == new.count(line)
    uninstall(ask("claude-code"))
    assert path.read_bytes() == text.encode()


@pytest.mark.parametrize("line", ["\n", "\r\n"])
def test_toml_keeps_its_comments_and_tables(ask, home, line):
    text = CODEX.replace("\n", line)
    path = write(home / ".codex" / "config.toml", text)
    install(ask("codex"))
    new = path.read_bytes().decode()
    assert new.startswith(text)
    assert new.count("\n") == new.count(line)
    assert tomllib.loads(new)["mcp_servers"]["lessons"] == {
        "command": ENTRIES.server,
        "args": ["mcp"],
    }
    uninstall(ask("codex"))
    assert path.read_bytes() == text.encode()


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { docs = { command = "docs" } } # inline\n',
        '[mcp_servers]\ndocs = { command = "docs" }\n',
        'mcp_servers.docs.command = "docs"\n',
        "",
        'model = "x"',
        "# nothing\n",
    ],
)
def test_toml_of_any_style_takes_the_server(ask, home, text):
    path = write(home / ".codex" / "config.toml", text)
    install(ask("codex"))
    old, new = tomllib.loads(text), tomllib.loads(path.read_text())
    assert new["mcp_servers"].pop("lessons")["args"] == ["mcp"]
    assert new.get("mcp_servers") == old.get("mcp_servers", {})
    write(path, path.read_text() + "\n[later]\nx = 1\n")
    uninstall(ask("codex"))
    assert tomllib.loads(path.read_text()) == {**old, "later": {"x": 1}}


def test_what_others_wrote_meanwhile_survives(ask, home):
    path = write(home / ".claude" / "settings.json", CLAUDE)
    install(ask("claude-code"))
    path.write_text(path.read_text().replace('"model": "opus"', '"model": "sonnet"'))
    install(ask("claude-code"))
    uninstall(ask("claude-code"))
    assert path.read_text() == CLAUDE.replace("opus", "sonnet")


def test_uninstall_finds_our_entries_without_any_memory(ask, home, monkeypatch):
    path = write(home / ".claude" / "settings.json", CLAUDE)
    install(ask("claude-code"))
    monkeypatch.setenv("LESSONS_STATE_HOME", str(home / "elsewhere"))
    uninstall(ask("claude-code"))
    assert read_data(path.read_text()) == {
        **read_data(CLAUDE),
        "hooks": {"Stop": read_data(CLAUDE)["hooks"]["Stop"]},
    }


def test_uninstall_without_an_installation_touches_nothing(ask, home):
    path = write(home / ".claude" / "settings.json", '{"hooks": {}}')
    assert {change.action for change in uninstall(ask("claude-code"))} == {"unchanged"}
    assert path.read_text() == '{"hooks": {}}'


@pytest.mark.parametrize("text", ["{}", "", "{\n}\n", '{"hooks": {}}', '{"hooks": {"Stop": []}}'])
def test_empty_settings_come_back_as_they_were(ask, home, text):
    path = write(home / ".claude" / "settings.json", text)
    install(ask("claude-code"))
    assert "UserPromptSubmit" in path.read_text()
    uninstall(ask("claude-code"))
    assert path.read_text() == text


def test_the_routes_change_places(ask, home):
    path = write(home / ".claude" / "settings.json", CLAUDE)
    install(ask("claude-code", via="command"))
    command = path.read_bytes()
    install(ask("claude-code", via="mcp"))
    hooks = read_data(path.read_text())["hooks"]
    assert [group["hooks"][0]["type"] for group in hooks["UserPromptSubmit"]] == ["mcp_tool"]
    assert [group["hooks"][0]["type"] for group in hooks["SessionStart"]] == ["command"]
    sent = hooks["UserPromptSubmit"][0]["hooks"][0]["input"]["event"]
    assert sent["source"] == "${source}"  # who wrote it: a prompt of the system is none
    assert len(hooks["Stop"]) == 2
    install(ask("claude-code", via="command"))
    assert path.read_bytes() == command
    uninstall(ask("claude-code"))
    assert path.read_text() == CLAUDE


def test_an_older_path_of_ours_is_replaced_not_doubled(ask, home):
    install(
        replace(
            ask("claude-code"), entries=Entries(hook="/old/lessons-hook", server="/old/lessons")
        )
    )
    install(ask("claude-code"))
    path = home / ".claude" / "settings.json"
    assert "/old/" not in path.read_text() + (home / ".claude.json").read_text()
    assert path.read_text().count(ENTRIES.hook) == len(AGENTS["claude-code"].events)
    uninstall(ask("claude-code"))
    assert not path.exists()


def test_ours_is_taken_out_of_a_group_that_others_share(ask, home):
    install(ask("claude-code"))
    path = home / ".claude" / "settings.json"
    data = json.loads(path.read_text())
    data["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "say done"})
    path.write_text(json.dumps(data, indent=2))
    install(ask("claude-code"))
    assert path.read_text().count("lessons-hook") == len(AGENTS["claude-code"].events)
    uninstall(ask("claude-code"))
    assert json.loads(path.read_text()) == {
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}
    }


def test_a_server_of_that_name_that_is_not_ours_stays(ask, home):
    text = '{"mcpServers": {"lessons": {"command": "npx", "args": ["their-lessons"]}}}'
    path = write(home / ".claude.json", text)
    before = snapshot(home)
    with pytest.raises(InputError, match="rename it"):
        install(ask("claude-code"))
    assert snapshot(home) == before
    uninstall(ask("claude-code"))
    assert path.read_text() == text


def test_keys_added_to_our_server_stay(ask, home):
    path = write(
        home / ".codex" / "config.toml",
        '[mcp_servers.lessons]\ncommand = "/old/lessons"\nargs = ["mcp"]\nstartup_timeout_sec = 30\n',
    )
    install(ask("codex"))
    server = tomllib.loads(path.read_text())["mcp_servers"]["lessons"]
    assert server == {"command": ENTRIES.server, "args": ["mcp"], "startup_timeout_sec": 30}


@pytest.mark.parametrize(
    ("agent", "name", "text", "where"),
    [
        ("claude-code", ".claude/settings.json", '{\n  "a": 1\n  "b": 2\n}', "line 3"),
        ("claude-code", ".claude.json", "{", "line 1"),
        ("claude-code", ".claude/settings.json", '{"a": "\xff"}', "not UTF-8"),
        ("claude-code", ".claude/settings.json", '{"hooks": 3}', "hooks must be an object"),
        ("claude-code", ".claude/settings.json", '{"hooks": {"Stop": {}}}', "must be a list"),
        ("codex", ".codex/config.toml", 'a = 1\nb = "\n', "line 2"),
        ("codex", ".codex/config.toml", "mcp_servers = 3\n", "must be a table"),
    ],
)
def test_a_broken_file_is_named_and_nothing_is_touched(ask, home, agent, name, text, where):
    write(home / name, "").write_bytes(text.encode("latin-1"))
    before = snapshot(home)
    with pytest.raises(InputError, match=where) as caught:
        install(ask(agent))
    assert name.rsplit("/", maxsplit=1)[-1] in str(caught.value)
    assert "\n" not in str(caught.value)
    assert snapshot(home) == before


def test_a_read_only_file_stays(ask, home):
    path = write(home / ".claude" / "settings.json", CLAUDE)
    path.chmod(0o444)
    before = snapshot(home)
    with pytest.raises(StorageError, match=r"read-only; run `chmod u\+w "):
        install(ask("claude-code"))
    assert snapshot(home) == before
    assert not (home / ".claude.json").exists()


def test_a_folder_in_a_file_s_place_is_named(ask, home):
    (home / ".claude" / "settings.json").mkdir(parents=True)
    with pytest.raises(StorageError, match="a folder, not a file"):
        install(ask("claude-code"))


def test_a_link_is_followed_and_modes_stay(ask, home):
    real = write(home / "dotfiles" / "claude.json", CLAUDE)
    real.chmod(0o600)
    link = home / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(real)
    install(ask("claude-code"))
    assert link.is_symlink()
    assert "lessons-hook" in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    uninstall(ask("claude-code"))
    assert link.is_symlink()
    assert real.read_text() == CLAUDE


def test_a_difference_shows_no_secret(ask, home):
    secret = "sk-ant-api03-" + "aB3dE6gH9" * 10
    write(home / ".claude.json", json.dumps({"env": {"ANTHROPIC_API_KEY": secret}}, indent=2))
    changes = install(ask("claude-code"))
    assert secret not in "".join(change.diff for change in changes)


def test_the_former_file_is_kept_privately(ask, home):
    write(home / ".claude" / "settings.json", CLAUDE)
    backup = pathlib.Path(install(ask("claude-code"))[0].backup)
    assert backup.read_text() == CLAUDE
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600


def test_two_agents_that_share_a_file_do_not_take_it_from_each_other(ask, home):
    before = snapshot(home)
    install(ask("copilot-cli"))
    install(ask("vscode"))
    hooks = home / ".copilot" / "hooks" / "lessons.json"
    shared = hooks.read_bytes()
    assert next(change.action for change in uninstall(ask("copilot-cli"))) == "kept"
    assert hooks.read_bytes() == shared
    uninstall(ask("vscode"))
    assert snapshot(home) == {**before}


@pytest.mark.slow
def test_two_scopes_in_one_file_come_out_one_by_one(ask, home):
    text = '{\n  "projects": {},\n  "numStartups": 3\n}\n'
    path = write(home / ".claude.json", text)
    install(ask("claude-code"))
    user = path.read_bytes()
    install(ask("claude-code", scope="project"))
    uninstall(ask("claude-code", scope="project"))
    assert read_data(path.read_text()) == read_data(user.decode())
    install(ask("claude-code", scope="project"))
    path.write_text(path.read_text().replace('"numStartups": 3', '"numStartups": 4'))
    install(ask("claude-code", scope="project"))
    uninstall(ask("claude-code"))
    uninstall(ask("claude-code", scope="project"))
    left = json.loads(path.read_text())
    assert left.pop("projects", {}) == left.pop("mcpServers", {}) == {}
    assert left == {"numStartups": 4}


def test_a_plugin_of_that_name_that_is_not_ours_stays(ask, home):
    path = write(home / ".config" / "opencode" / "plugins" / "lessons.ts", "export {}\n")
    with pytest.raises(InputError, match="rename it"):
        install(ask("opencode"))
    uninstall(ask("opencode"))
    assert path.read_text() == "export {}\n"


def test_the_line_survives_a_shell(ask, tmp_path):
    import subprocess

    program = tmp_path / "with space" / "lessons-hook"
    write(program, "#!/bin/sh\necho got $1\n").chmod(0o755)
    request = replace(ask("codex"), entries=Entries(hook=str(program), server="lessons"))
    path = install(request)[0].path
    hooks = json.loads(pathlib.Path(path).read_text())["hooks"]
    line = hooks["Stop"][0]["hooks"][0]["command"]
    done = subprocess.run(line, shell=True, capture_output=True, text=True)
    assert done.stdout == "got codex\n"


def test_a_kill_between_record_and_file_is_no_harm(ask, home, monkeypatch):
    path = write(home / ".claude" / "settings.json", CLAUDE)

    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("lessons_kb.store.settings.replace_settings_file", killed)
        with pytest.raises(KeyboardInterrupt):
            install(ask("claude-code"))
    assert path.read_text() == CLAUDE
    assert os.listdir(path.parent) == ["settings.json"]
    uninstall(ask("claude-code"))
    assert path.read_text() == CLAUDE
    install(ask("claude-code"))
    uninstall(ask("claude-code"))
    assert path.read_text() == CLAUDE


def test_a_tool_call_names_only_what_codex_sends(ask):
    """Codex drops a call with a placeholder that its payload has no value for."""
    sent = {
        "UserPromptSubmit": {"prompt"},
        "PreToolUse": {"tool_name", "tool_input", "tool_use_id"},
        "PostToolUse": {"tool_name", "tool_input", "tool_use_id", "tool_response"},
        "Stop": {"last_assistant_message"},
    }
    always = {"session_id", "transcript_path", "cwd", "turn_id", "hook_event_name"}
    path = install(ask("codex", via="mcp"))[0].path
    hooks = json.loads(pathlib.Path(path).read_text())["hooks"]
    for event, fields in sent.items():
        assert set(hooks[event][0]["hooks"][0]["input"]["event"]) <= always | fields


def test_gemini_starts_no_hook_before_every_request(ask, home):
    """``PreCompress`` precedes them all, mostly for nothing."""
    install(ask("gemini-cli"))
    hooks = json.loads((home / ".gemini" / "settings.json").read_text())["hooks"]
    assert "PreCompress" not in hooks
