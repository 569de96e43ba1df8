"""Text that a user adds around our entries survives an uninstall, in every format of settings."""

import os
import pathlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lessons_kb.agents.install import Entries, Request, install, uninstall
from lessons_kb.agents.install.edit_json import read_data, read_toml
from lessons_kb.agents.table import AGENTS

ENTRIES = Entries(hook="/opt/our tools/bin/lessons-hook", server="/opt/our tools/bin/lessons")
STARTS = {
    "json": ("", "{}\n", '{\n  "model": "x"\n}\n', '{\n\t// mine\n\t"a": [1], // why\n}\n'),
    "toml": ("", 'model = "x" # big\n', '# mine\n\n[mcp_servers.docs]\ncommand = "docs"\n'),
}
PLACES = st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=4)


@pytest.fixture
def home(_own_home):
    return _own_home


def list_settings_files(request):
    """Yield the files of an installation in which the user has text, too, and their formats."""
    for change in install(request, dry_run=True):
        syntax = pathlib.Path(change.path).suffix[1:].removesuffix("c")
        if syntax in STARTS and "lessons" not in os.path.basename(change.path):
            yield pathlib.Path(change.path), syntax


def list_lines(text):
    """Return the lines of a text, without blank lines, indentation and trailing commas."""
    lines = (line.strip().removesuffix(",") for line in text.splitlines())
    return sorted(line for line in lines if line)


def add_comments(text, syntax, places):
    """Return the text with comments between its lines, and the comments."""
    lines = text.splitlines(keepends=True)
    mark = "#" if syntax == "toml" else "//"
    comments = [f"{mark} drawer {number}" for number in range(len(places))]
    first = 0 if syntax == "toml" else 1  # inside of the object
    for comment, place in zip(comments, places, strict=True):
        position = first + int(place * (len(lines) - first))
        lines.insert(position, comment + "\n")
    return "".join(lines), comments


@pytest.mark.parametrize("agent", AGENTS)
@settings(
    max_examples=settings().max_examples // 5,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(number=st.integers(0, 3), places=PLACES)
def test_comments_between_our_entries_survive(agent, home, tmp_path, number, places):
    request = Request(agent=agent, project=str(tmp_path), entries=ENTRIES)
    starts = {}
    for path, syntax in list_settings_files(request):
        start = STARTS[syntax][number % len(STARTS[syntax])]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(start)
        starts[path] = (syntax, start)
    install(request)
    added = {}
    for path, (syntax, _start) in starts.items():
        text, added[path] = add_comments(path.read_text(), syntax, places)
        path.write_text(text)
    uninstall(request)
    for path, (syntax, start) in starts.items():
        text = path.read_text()
        data = read_toml(text) if syntax == "toml" else read_data(text)
        assert "our tools" not in str(data)
        remaining = [line for line in list_lines(text) if line not in "{}"]
        expected = [line for line in list_lines(start) if line not in "{}"]
        marks = [line for line in remaining if line.startswith('"version"')]
        assert remaining == sorted([*expected, *added[path], *marks])
        path.unlink()


TOML_SERVERS = ("codex", "grok-cli")
START = '# codex conf\nmodel = "o"\n'


@pytest.mark.parametrize("agent", TOML_SERVERS)
@pytest.mark.parametrize("line", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "added",
    [
        "\n# added by user\n",
        "# note to self\n",
        '\n[profiles.mine]\nmodel = "z"\n',
        '\n# my lab key is in drawer 3\n[profiles.mine]\nmodel = "z"\n',
        "# no line end",
        "\n\n\n[later] # why\nx = '''\n[mcp_servers.lessons]\n'''\n",
    ],
)
def test_text_after_our_table_stays_byte_for_byte(agent, line, added, home, tmp_path):
    request = Request(agent=agent, project=str(tmp_path), entries=ENTRIES)
    ((path, _syntax),) = [pair for pair in list_settings_files(request) if pair[1] == "toml"]
    path.parent.mkdir(parents=True, exist_ok=True)
    start, added = START.replace("\n", line), added.replace("\n", line)
    path.write_bytes(start.encode())
    install(request)
    path.write_bytes(path.read_bytes() + added.encode())
    uninstall(request)
    assert path.read_bytes().decode() == start + added


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        ("startup_timeout_sec = 99\n", "# startup_timeout_sec = 99\n"),
        (
            '\n[mcp_servers.lessons.env]\nKEY = """\na\n\nb"""\n[mine]\nx = 1\n',
            '\n# [mcp_servers.lessons.env]\n# KEY = """\n# a\n\n# b"""\n[mine]\nx = 1\n',
        ),
    ],
)
def test_keys_that_a_user_added_to_our_table_become_comments(added, expected, home, tmp_path):
    """Without our command they would be a server that Codex refuses to load."""
    request = Request(agent="codex", project=str(tmp_path), entries=ENTRIES)
    path = home / ".codex" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(START)
    install(request)
    path.write_text(path.read_text() + added)
    uninstall(request)
    assert path.read_text() == START + expected


def test_a_comment_at_the_end_of_our_line_stays(home, tmp_path):
    request = Request(agent="codex", project=str(tmp_path), entries=ENTRIES)
    path = home / ".codex" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(START)
    install(request)
    path.write_text(path.read_text().replace('["mcp"]', '["mcp"] # drawer # 3'))
    uninstall(request)
    assert path.read_text() == START + "# drawer # 3\n"


def test_a_file_that_holds_nothing_but_a_users_comment_stays(home, tmp_path):
    request = Request(agent="claude-code", project=str(tmp_path), entries=ENTRIES)
    path = home / ".claude" / "settings.json"
    install(request)
    text = path.read_text().replace('"Stop"', '/* drawer 6,\n  top */ "Stop"')
    path.write_text(text)
    uninstall(request)
    assert "/* drawer 6,\n  top */" in path.read_text()
    assert read_data(path.read_text()) == {}
