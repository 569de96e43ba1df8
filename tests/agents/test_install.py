"""Install into real-looking settings of each agent: once, in place, and out again byte for byte."""

import json
import pathlib
import re
import stat
import tomllib

import pytest
import yaml

from lessons_kb import __version__
from lessons_kb.agents.install import Entries, Request, install, settings_files, uninstall
from lessons_kb.agents.install.edit_json import read_data
from lessons_kb.agents.table import AGENTS
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


class Setup:
    """Installing and uninstalling an agent, here or in a project."""

    def __init__(self, project):
        self.project = str(project)

    def ask(self, agent="claude-code", *, entries=ENTRIES, **more):
        return Request(agent=agent, project=self.project, entries=entries, **more)

    def on(self, agent="claude-code", **more):
        return install(self.ask(agent, **more))

    def off(self, agent="claude-code", **more):
        return uninstall(self.ask(agent, **more))


@pytest.fixture
def setup(home, project):
    return Setup(project)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


@pytest.fixture
def claude(home):
    """Write a settings file of Claude Code: ``claude(text)``."""
    return lambda text=CLAUDE: write(home / ".claude" / "settings.json", text)


def snapshot(*roots):
    return {
        str(path): path.read_bytes() if path.is_file() else None
        for root in roots
        for path in root.rglob("*")
        if ".local" not in path.parts
    }


def hooks_of(change):
    held = json.loads(pathlib.Path(change.path).read_text())
    return held.get("hooks") or held["lessons"]


SHAPES = [
    (agent, scope, shared, via)
    for agent in AGENTS
    for scope, shared in (("user", False), ("project", False), ("project", True))
    for via in ("command", "mcp")
    if via == "command" or agent in ("claude-code", "codex")
    if scope == "user" or AGENTS[agent].has_project
]


@pytest.mark.slow
@pytest.mark.parametrize(("agent", "scope", "shared", "via"), SHAPES)
def test_twice_is_once_and_nothing_stays_behind(agent, scope, shared, via, setup, home, project):
    before = snapshot(home, project)
    how = {"scope": scope, "shared": shared, "via": via}
    first = setup.on(agent, **how)
    assert {change.action for change in first} == {"created"}
    if AGENTS[agent].hooks_form == "json" and AGENTS[agent].handler:
        assert set(AGENTS[agent].events) <= set(hooks_of(first[0]))
        assert re.search(
            rf'lessons-hook.*"{agent}"|lessons-hook\S* {agent}',
            str(hooks_of(first[0])).replace("'", '"'),
        )
    once = snapshot(home, project)
    assert {change.action for change in setup.on(agent, **how)} == {"unchanged"}
    assert snapshot(home, project) == once
    if scope == "user" or shared:
        inside = str(project if scope == "project" else home)
        assert all(path.startswith(inside) for path in once if path not in before)
    setup.off(agent, **how)
    assert snapshot(home, project) == before


@pytest.mark.parametrize("line", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_foreign_settings_keep_every_comment_key_line_end_and_mark(setup, claude, line, mark):
    before = mark + CLAUDE.replace("\n", line)
    path = claude(before)
    setup.on()
    text = path.read_bytes().decode()
    assert text.startswith(mark + "{" + line)
    assert text.count("\n") == text.count(line)
    assert re.findall("//.*", text) == re.findall("//.*", before)
    old, new = read_data(CLAUDE), read_data(text.removeprefix(mark))
    assert list(new) == list(old)
    assert new["permissions"] == old["permissions"]
    assert new["hooks"]["Stop"][0] == old["hooks"]["Stop"][0]
    assert len(new["hooks"]["Stop"]) == 2
    assert '{"hooks": [{"type": "command", "command": "say done"}]}, // loud' + line in text
    setup.off()
    assert path.read_bytes() == before.encode()


@pytest.mark.parametrize("line", ["\n", "\r\n"])
def test_toml_keeps_its_comments_and_tables(setup, home, line):
    text = CODEX.replace("\n", line)
    path = write(home / ".codex" / "config.toml", text)
    setup.on("codex")
    new = path.read_bytes().decode()
    assert new.startswith(text)
    assert new.count("\n") == new.count(line)
    server = tomllib.loads(new)["mcp_servers"]["lessons"]
    assert server == {"command": ENTRIES.server, "args": ["mcp"]}
    setup.off("codex")
    assert path.read_bytes() == text.encode()


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { docs = { command = "docs" } } # inline\n',
        '[mcp_servers.lessons]\ncommand = "/old/lessons"\nargs = ["mcp"]\ntimeout = 30\n',
        '[mcp_servers]\ndocs = { command = "docs" }\n',
        'mcp_servers.docs.command = "docs"\n',
        "",
        'model = "x"',
        "# nothing\n",
    ],
)
def test_the_server_is_added_to_toml_of_any_style(setup, home, text):
    path = write(home / ".codex" / "config.toml", text)
    setup.on("codex")
    old, new = tomllib.loads(text), tomllib.loads(path.read_text())
    theirs = old.get("mcp_servers", {})
    ours = {**theirs.pop("lessons", {}), "command": ENTRIES.server, "args": ["mcp"]}
    assert new["mcp_servers"] == {**theirs, "lessons": ours}
    write(path, path.read_text() + "\n[later]\nx = 1\n")
    setup.off("codex")
    left = tomllib.loads(path.read_text())
    assert left.pop("mcp_servers", {}) == theirs
    assert left == {key: value for key, value in old.items() if key != "mcp_servers"} | {
        "later": {"x": 1}
    }


def test_later_changes_by_others_survive_and_our_parts_are_found_without_a_record(
    setup, claude, home, monkeypatch
):
    path = claude()
    setup.on()
    path.write_text(path.read_text().replace('"model": "opus"', '"model": "sonnet"'))
    setup.on()
    setup.off()
    assert path.read_text() == CLAUDE.replace("opus", "sonnet")
    setup.on()
    monkeypatch.setenv("LESSONS_STATE_HOME", str(home / "elsewhere"))
    setup.off()
    left = read_data(CLAUDE.replace("opus", "sonnet"))
    del left["hooks"]["PreToolUse"]
    assert read_data(path.read_text()) == left


@pytest.mark.parametrize("text", ["{}", "", "{\n}\n", '{"hooks": {}}', '{"hooks": {"Stop": []}}'])
def test_empty_settings_come_back_as_they_were(setup, claude, text):
    path = claude(text)
    assert {change.action for change in setup.off()} == {"unchanged"}
    assert path.read_text() == text
    setup.on()
    assert "UserPromptSubmit" in path.read_text()
    setup.off()
    assert path.read_text() == text


def test_the_routes_change_places(setup, claude):
    path = claude()
    setup.on(via="command")
    command = path.read_bytes()
    setup.on(via="mcp")
    hooks = read_data(path.read_text())["hooks"]
    assert [group["hooks"][0]["type"] for group in hooks["UserPromptSubmit"]] == ["mcp_tool"]
    assert [group["hooks"][0]["type"] for group in hooks["SessionStart"]] == ["command"]
    sent = hooks["UserPromptSubmit"][0]["hooks"][0]["input"]["event"]
    assert sent["source"] == "${source}"  # who wrote it: a prompt of the system is none
    assert len(hooks["Stop"]) == 2
    setup.on(via="command")
    assert path.read_bytes() == command
    setup.off()
    assert path.read_text() == CLAUDE


def test_an_older_path_of_ours_is_replaced_not_doubled(setup, home):
    setup.on(entries=Entries(hook="/old/lessons-hook", server="/old/lessons"))
    setup.on()
    path = home / ".claude" / "settings.json"
    assert "/old/" not in path.read_text() + (home / ".claude.json").read_text()
    assert path.read_text().count(ENTRIES.hook) == len(AGENTS["claude-code"].events)
    setup.off()
    assert not path.exists()


OWN_LINES = [
    'pgrep -f "lessons-hook" || notify-send gone',
    "my lessons-hook-wrapper",
    "lessons-hook mine",
    "lessons-hook",
    "echo lessons-hook claude-code",
    "lessons-hook {agent} && notify-send done",
    "lessons-hook {agent} || notify-send gone",
    "tee -a log | lessons-hook {agent}",
    "lessons-hook {agent} > log",
    "/opt/my-lessons-hook {agent}",
]
JSON_HOOKS = [
    name
    for name, row in AGENTS.items()
    if row.handler and row.hooks_form == "json" and not row.shares
]


@pytest.mark.parametrize("agent", JSON_HOOKS)
def test_a_hook_of_the_user_that_names_our_program_stays(agent, setup):
    settings = pathlib.Path(setup.on(agent)[0].path)
    row = AGENTS[agent]
    event, (group, *_rest) = next(iter(hooks_of_file(settings, row).items()))
    handler = group["hooks"][0] if row.nested else group
    setup.off(agent)
    lines = [line.format(agent=agent) for line in OWN_LINES]
    own = [rewrite_lines(handler, line) for line in lines]
    if row.nested:
        own = [{**group, "hooks": [entry]} for entry in own]
    before = json.dumps({row.hooks_key: {event: own}}, indent=2)
    write(settings, before)
    setup.on(agent)
    after = hooks_of_file(settings, row)[event]
    assert after[: len(own)] == own
    assert len(after) == len(own) + 1
    settings.write_text(settings.read_text() + "\n")  # restored from our record no longer
    setup.off(agent)
    assert json.loads(settings.read_text())[row.hooks_key] == {event: own}


def hooks_of_file(path, row):
    return json.loads(path.read_text())[row.hooks_key]


def rewrite_lines(handler, line):
    """Return a handler with another command line in each of its keys."""
    entry = {key: value for key, value in handler.items() if key != "args"}
    return {**entry, **dict.fromkeys({"command", "bash", "powershell"} & entry.keys(), line)}


EARLIER_LINES = [
    "lessons-hook {agent}",
    "/old/lessons-hook {agent}",
    "'/an old/lessons-hook' {agent}",
    """'/it'"'"'s old/lessons-hook' {agent}""",
    "C:\\old\\lessons-hook.exe {agent}",
    '"C:\\an old\\lessons-hook.exe" {agent}; exit 0',
    '& "C:\\an old\\lessons-hook.exe" {agent}',
    'try {{ & "C:\\an old\\lessons-hook.exe" {agent} }} catch {{ }}; exit 0',
    "/old/lessons-hook {agent} || true",
    "/old/lessons-hook {agent} || echo '{{}}'",
    '/old/lessons-hook {agent} || echo \'{{"systemMessage": "Lessons are off: run `x`"}}\'',
    "LESSONS_DAEMON=0 /old/lessons-hook {agent}",
]


@pytest.mark.parametrize("agent", JSON_HOOKS)
def test_hooks_of_earlier_releases_are_replaced(agent, setup):
    settings = pathlib.Path(setup.on(agent)[0].path)
    row = AGENTS[agent]
    event, (group, *_rest) = next(iter(hooks_of_file(settings, row).items()))
    handler = group["hooks"][0] if row.nested else group
    setup.off(agent)
    old = [rewrite_lines(handler, line.format(agent=agent)) for line in EARLIER_LINES]
    old.append({"type": "command", "command": "/an old/lessons-hook", "args": [agent]})
    groups = [{"hooks": [entry]} for entry in old] if row.nested else old
    write(settings, json.dumps({row.hooks_key: {event: groups}}))
    setup.on(agent)
    assert hooks_of_file(settings, row)[event] == [group]


def test_ours_is_taken_out_of_a_group_that_others_share_and_keeps_its_place(setup, claude):
    theirs = {"type": "command", "command": "say done"}
    data = {"hooks": hooks_of(setup.on()[0])}
    data["hooks"]["Stop"][0]["hooks"].append(theirs)
    data["hooks"]["PreToolUse"].append({"hooks": [theirs]})
    path = claude(json.dumps(data, indent=2))
    setup.on()
    doubled = json.loads(path.read_text())
    doubled["hooks"]["Stop"].append({"hooks": [theirs, *doubled["hooks"]["Stop"][-1]["hooks"]]})
    path.write_text(json.dumps(doubled))
    setup.on()
    hooks = json.loads(path.read_text())["hooks"]
    assert hooks["PreToolUse"] == data["hooks"]["PreToolUse"]
    assert str(hooks).count("lessons-hook") == len(AGENTS["claude-code"].events)
    setup.off()
    left = [{"hooks": [theirs]}]
    assert json.loads(path.read_text()) == {"hooks": {"PreToolUse": left, "Stop": 2 * left}}


@pytest.mark.parametrize(("agent", "name", "text"), [
    ("claude-code", ".claude.json",
     '{"mcpServers": {"lessons": {"command": "npx", "args": ["their-lessons"]}}}'),
    ("opencode", ".config/opencode/plugins/lessons.ts", "export {}\n"),
])  # fmt: skip
def test_foreign_entries_with_our_name_stay(setup, home, agent, name, text):
    path = write(home / name, text)
    before = snapshot(home)
    with pytest.raises(InputError, match="rename it"):
        setup.on(agent)
    assert snapshot(home) == before
    setup.off(agent)
    assert path.read_text() == text


@pytest.mark.parametrize(("name", "text", "where"), [
    (".claude/settings.json", '{\n  "a": 1\n  "b": 2\n}', "line 3"),
    (".claude.json", "{", "line 1"),
    (".claude/settings.json", '{"a": "\xff"}', "not UTF-8"),
    (".claude/settings.json", '{"hooks": 3}', "hooks must be an object"),
    (".claude/settings.json", '{"hooks": {"Stop": {}}}', "must be a list"),
    (".codex/config.toml", 'a = 1\nb = "\n', "line 2"),
    (".codex/config.toml", "mcp_servers = 3\n", "must be a table"),
])  # fmt: skip
def test_a_broken_file_is_named_and_nothing_is_touched(setup, home, name, text, where):
    write(home / name, "").write_bytes(text.encode("latin-1"))
    before = snapshot(home)
    with pytest.raises(InputError, match=where) as caught:
        setup.on("codex" if "codex" in name else "claude-code")
    assert name.rpartition("/")[2] in str(caught.value)
    assert "\n" not in str(caught.value)
    assert snapshot(home) == before


def test_a_file_that_cannot_be_written_stays_and_is_reported(setup, claude, home):
    path = claude()
    path.chmod(0o444)
    before = snapshot(home)
    with pytest.raises(StorageError, match=r"read-only; run `chmod u\+w "):
        setup.on()
    assert snapshot(home) == before
    path.unlink()
    path.mkdir()
    with pytest.raises(StorageError, match="a folder, not a file"):
        setup.on()


def test_a_link_is_followed_and_modes_stay(setup, home):
    real = write(home / "dotfiles" / "settings.json", CLAUDE)
    real.chmod(0o600)
    link = home / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(real)
    backup = pathlib.Path(setup.on()[0].backup)
    assert (link.is_symlink(), "lessons-hook" in real.read_text()) == (True, True)
    assert backup.read_text() == CLAUDE
    assert {stat.S_IMODE(path.stat().st_mode) for path in (real, backup)} == {0o600}
    setup.off()
    assert (link.is_symlink(), real.read_text()) == (True, CLAUDE)


def test_a_file_with_a_second_name_keeps_it(setup, claude, tmp_path):
    path = claude()
    second = tmp_path / "dotfiles.json"
    second.hardlink_to(path)
    setup.on()
    assert path.samefile(second)
    assert "lessons-hook" in second.read_text()
    setup.off()
    assert path.samefile(second)
    assert second.read_text() == CLAUDE


@pytest.mark.parametrize("link", [".claude", ".claude/settings.local.json"])
def test_a_projects_links_lead_no_installation_out_of_it(setup, project, tmp_path, link):
    """A clone chose where they point."""
    theirs = write(tmp_path / "outside" / "settings.local.json", "{}")
    (project / link).parent.mkdir(exist_ok=True)
    (project / link).symlink_to(theirs if link.endswith(".json") else theirs.parent)
    with pytest.raises(InputError, match="is a link out of the project"):
        setup.on(scope="project")
    assert snapshot(theirs.parent) == {str(theirs): b"{}"}


def test_a_link_within_a_project_is_followed(setup, project):
    (project / "config").mkdir()
    (project / ".claude").symlink_to("config")
    setup.on(scope="project")
    assert "hooks" in json.loads((project / "config" / "settings.local.json").read_text())


def test_a_difference_shows_no_secret(setup, home):
    secret = "sk-ant-api03-" + "aB3dE6gH9" * 10
    write(home / ".claude.json", json.dumps({"env": {"ANTHROPIC_API_KEY": secret}}, indent=2))
    assert secret not in "".join(change.diff for change in setup.on())


def test_two_agents_that_share_a_file_do_not_take_it_from_each_other(setup, home):
    before = snapshot(home)
    setup.on("copilot-cli")
    setup.on("vscode")
    hooks = home / ".copilot" / "hooks" / "lessons.json"
    shared = hooks.read_bytes()
    assert next(change.action for change in setup.off("copilot-cli")) == "kept"
    assert hooks.read_bytes() == shared
    setup.off("vscode")
    assert snapshot(home) == before


@pytest.mark.slow
def test_two_scopes_in_one_file_are_removed_one_after_the_other(setup, home):
    text = '{\n  "projects": {},\n  "numStartups": 3\n}\n'
    path = write(home / ".claude.json", text)
    setup.on()
    user = path.read_bytes()
    setup.on(scope="project")
    setup.off(scope="project")
    assert read_data(path.read_text()) == read_data(user.decode())
    setup.on(scope="project")
    path.write_text(path.read_text().replace('"numStartups": 3', '"numStartups": 4'))
    setup.on(scope="project")
    setup.off()
    setup.off(scope="project")
    left = json.loads(path.read_text())
    assert left.pop("projects", {}) == left.pop("mcpServers", {}) == {}
    assert left == {"numStartups": 4}


def test_a_tool_call_names_only_what_codex_sends(setup):
    """Codex drops a call with a placeholder that its payload has no value for."""
    call = {"tool_name", "tool_input", "tool_use_id"}
    always = {"session_id", "transcript_path", "cwd", "turn_id", "hook_event_name"}
    hooks = hooks_of(setup.on("codex", via="mcp")[0])
    for event, fields in {
        "UserPromptSubmit": {"prompt"},
        "PreToolUse": call,
        "PostToolUse": call | {"tool_response"},
        "Stop": {"last_assistant_message"},
    }.items():
        assert set(hooks[event][0]["hooks"][0]["input"]["event"]) <= always | fields


def test_codex_imports_none_of_our_hooks_of_claude_code(setup):
    """Codex 0.171 drops handlers with ``args`` when it imports; else both would answer."""
    hooks = hooks_of(setup.on("claude-code")[0])
    assert all("args" in group["hooks"][0] for groups in hooks.values() for group in groups)


# The commands that a user types in the chat

FILES = {
    "claude-code": ".claude/commands/{}.md",
    "codex": ".codex/skills/{}/SKILL.md",
    "gemini-cli": ".gemini/commands/{}.toml",
    "qwen-code": ".qwen/commands/{}.md",
    "cursor": ".cursor/commands/{}.md",
    "copilot-cli": ".copilot/skills/{}/SKILL.md",
    "vscode": ".copilot/skills/{}/SKILL.md",
    "opencode": ".config/opencode/commands/{}.md",
    "kilo": ".config/kilo/commands/{}.md",
    "pi": ".pi/agent/prompts/{}.md",
    "droid": ".factory/skills/{}/SKILL.md",
    "kimi": ".kimi-code/skills/{}/SKILL.md",
    "grok-cli": ".grok/skills/{}/SKILL.md",
    "antigravity": ".gemini/config/skills/{}/SKILL.md",
}
OWN = "---\nname: lesson\ndescription: Teach me something\n---\n"
POLICY = {"policy": {"allow_implicit_invocation": False}}


@pytest.mark.slow
@pytest.mark.parametrize("agent", FILES)
def test_each_agent_gets_two_commands_and_gives_them_back(agent, setup, home):
    setup.on(agent)
    for name in ("lesson", "lessons-review"):
        path = home / FILES[agent].format(name)
        body, header = path.read_text("utf-8"), {"description": "none is shown"}
        if agent == "gemini-cli":
            header = tomllib.loads(body)
            body = header["prompt"]
        elif agent != "cursor":
            _, head, body = body.split("---\n", 2)
            header = yaml.safe_load(head)
        assert header["description"]
        assert ("--draft --json" in body) == (name == "lesson")
        assert (f"'{ENTRIES.server}' review --accept ID" in body) == (name != "lesson")
        assert "{{" not in body.replace("{{args}}", "")
        # The model pays nothing until the user calls.
        if agent in ("claude-code", "copilot-cli", "vscode", "grok-cli", "antigravity"):
            assert header["disable-model-invocation"] is True
        if agent == "codex":
            policy = path.parent / "agents" / "openai.yaml"
            assert yaml.safe_load(policy.read_text("utf-8")) == POLICY
    setup.off(agent)
    assert [path for path in home.rglob("*lesson*") if ".local" not in path.parts] == []


def test_a_command_of_the_user_s_own_stays_and_is_not_missed(setup, home, health):
    own = write(home / FILES["claude-code"].format("lesson"), OWN)
    is_named = lambda: str(own) in str(health("agent", setup.project))  # noqa: E731
    done = {change.path: change.action for change in setup.on()}
    assert (done[str(own)], is_named()) == ("foreign", False)
    review = own.parent / "lessons-review.md"
    assert review.exists()
    own.unlink()
    setup.on()
    write(own, OWN)
    assert is_named()
    setup.on()
    assert not is_named(), "running it again is the cure"
    setup.off()
    assert (own.read_text(), review.exists()) == (OWN, False)


OURS_AS_A_WHOLE = [
    agent
    for agent, row in AGENTS.items()
    if (row.command_file or row.plugin_template or row.hooks_form == "files") and not row.shares
]


@pytest.mark.parametrize("agent", OURS_AS_A_WHOLE)
@pytest.mark.parametrize("has_record", [True, False])
def test_a_file_of_ours_that_somebody_changed_stays(
    agent, has_record, setup, home, monkeypatch, tmp_path
):
    files = [pathlib.Path(change.path) for change in setup.on(agent)]
    ours = [path for path in files if path.suffix not in (".json", ".jsonc", ".yaml")]
    ours = [path for path in ours if path.name != "config.toml"]
    for path in ours:
        path.write_text(path.read_text() + "\nMY OWN TEXT\n")
    if not has_record:
        monkeypatch.setenv("LESSONS_STATE_HOME", str(tmp_path / "elsewhere"))
    actions = {change.path: change.action for change in setup.off(agent)}
    assert {actions[str(path)] for path in ours} == {"edited"}
    assert all(path.read_text().endswith("MY OWN TEXT\n") for path in ours)
    left = [path for path in files if path.exists() and path not in ours]
    assert {path.name for path in left} <= {"openai.yaml"}


@pytest.mark.parametrize("agent", OURS_AS_A_WHOLE)
@pytest.mark.parametrize("line", ["\n", "\r\n"])
def test_a_file_of_ours_needs_no_record_to_be_removed(
    agent, line, setup, home, monkeypatch, tmp_path
):
    """A colleague's clone has the files of the project, and no record of them."""
    files = [pathlib.Path(change.path) for change in setup.on(agent)]
    for path in files:
        path.write_bytes(path.read_bytes().replace(b"\n", line.encode()))
    monkeypatch.setenv("LESSONS_STATE_HOME", str(tmp_path / "elsewhere"))
    setup.off(agent)
    assert [path for path in files if path.exists()] == []


def test_a_file_of_an_earlier_release_is_removed_if_its_record_names_its_bytes(
    setup, home, monkeypatch
):
    texts = {"lesson": "An earlier text", "lessons-review": "Another"}
    earlier = lambda folder: texts[pathlib.Path(folder).stem]  # noqa: E731
    with monkeypatch.context() as patch:
        patch.setattr(settings_files, "read_template", earlier)
        files = [pathlib.Path(change.path) for change in setup.on()]
    assert "An earlier text" in "".join(path.read_text() for path in files)
    setup.off()
    assert [path for path in files if path.exists()] == []


def test_installing_again_keeps_a_command_that_somebody_changed(setup, home):
    setup.on()
    path = home / FILES["claude-code"].format("lesson")
    path.write_text(path.read_text() + "\nMY OWN TEXT\n")
    edited = path.read_text()
    for _time in range(2):
        actions = {change.path: change.action for change in setup.on()}
        assert (actions[str(path)], path.read_text()) == ("edited", edited)
    path.unlink()
    setup.on()
    assert "MY OWN TEXT" not in path.read_text()


def test_a_skill_that_somebody_changed_keeps_its_policy(setup, home):
    setup.on("codex")
    skill = home / FILES["codex"].format("lesson")
    policy = skill.parent / "agents" / "openai.yaml"
    skill.write_text(skill.read_text() + "\nMY OWN TEXT\n")
    setup.off("codex")
    assert skill.read_text().endswith("MY OWN TEXT\n")
    assert yaml.safe_load(policy.read_text("utf-8")) == POLICY
    assert not (home / FILES["codex"].format("lessons-review")).exists()


def test_nothing_is_put_beside_a_skill_of_the_user_s_own(setup, home):
    setup.on("codex")
    skill = write(home / FILES["codex"].format("lesson"), OWN)
    policy = skill.parent / "agents" / "openai.yaml"
    assert policy.is_file()
    setup.on("codex")
    assert not policy.parent.exists(), "it would silence a skill that is not ours"
    assert (home / FILES["codex"].format("lessons-review")).is_file()
    setup.off("codex")
    assert skill.read_text() == OWN


def test_in_a_project_only_committed_files_get_commands(setup, project):
    setup.on(scope="project")
    assert not (project / ".claude" / "commands").exists()
    setup.on(scope="project", shared=True)
    assert (project / ".claude" / "commands" / "lesson.md").is_file()


# The plugin for opencode, which is a program of its own, and plugins that agents have installed


def test_the_plugin_for_opencode_sends_every_event_of_the_table_to_our_program(setup):
    hook = 'C:\\our "tools"\\lessons-hook.exe'
    changes = setup.on("opencode", entries=Entries(hook=hook, server="lessons"))
    text = next(pathlib.Path(c.path) for c in changes if c.path.endswith(".ts")).read_text("utf-8")
    assert set(re.findall(r'ask\("(\w+)"', text)) == set(AGENTS["opencode"].events)
    assert 'const PROGRAM = "C:\\\\our \\"tools\\"\\\\lessons-hook.exe"\n' in text


@pytest.mark.parametrize(("version", "level"), [(__version__, "off"), ("0.0.1", "warning")])
def test_a_plugin_is_a_connection_and_another_version_is_reported(home, health, version, level):
    folder = home / ".codex/plugins/cache/lessons-kb/lessons" / version
    manifest = json.dumps({"name": "lessons", "version": version})
    write(folder / ".codex-plugin" / "plugin.json", manifest)
    (line,) = [line for line in health("") if line.detail.startswith("codex")]
    assert (line.level, version in line.detail) == (level, True)
    if level == "off":
        assert line.detail == f"codex: plugin {__version__}; no call seen yet"
    else:
        assert __version__ in line.detail
        assert "updates it; `" in line.fix
