"""`lessons install --server`: where the address and the token go, and what is refused."""

import os
import pathlib
import re
import tomllib

import pytest

from lessons_kb.store.locations import user_brain, user_settings_path
from tests.kit import git, write
from tests.session.shared_server import FakeServer, send

URL = "https://lessons.example.com/v1/brains/shop"


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)


@pytest.fixture
def server():
    with FakeServer().running() as server:
        yield server


@pytest.fixture
def token(tmp_path):
    path = tmp_path / "token"
    path.write_text("lsn_abc\n")
    path.chmod(0o600)
    return path


def settings():
    path = pathlib.Path(user_settings_path())
    return tomllib.loads(path.read_text()) if path.exists() else {}


@pytest.fixture
def install(lessons, server, token):
    """Run `lessons install` with the server and its token; return what is said on stderr."""

    def install(*words):
        done = lessons("install", *words, "--server", server.url, "--token-file", token)
        assert done.code == 0
        return done.err

    return install


@pytest.mark.slow
def test_it_is_noted_in_the_users_own_settings_alone(lessons, install, server, token):
    path = pathlib.Path(user_settings_path())
    path.parent.mkdir(parents=True)
    mine = "# mine\n[check]\nseconds = 3  # patient\n"
    path.write_text(mine)
    result = install("claude-code")
    assert f"prompts of all projects are sent to {server.url}" in result
    assert "✓ server: shop at " in result
    known = {"url": server.url, "token_file": str(token)}
    assert settings() == {"check": {"seconds": 3}, "server": known}
    assert path.read_text().startswith(mine)
    home = pathlib.Path.home()
    agents = [*home.glob(".claude/**/*.json"), home / ".claude.json"]
    assert not [one for one in agents if "lsn_" in one.read_text() or "http" in one.read_text()]
    assert os.path.isdir(user_brain())
    again = lessons("install", "--server", server.url + "/")
    assert (again.code, "already up to date" in again.err) == (0, True)
    forgotten = lessons("uninstall", "claude-code", "--server")
    assert (forgotten.code, settings()) == (0, {"check": {"seconds": 3}})
    assert token.exists()
    assert "no server is set" in lessons("uninstall", "--server").err


def test_a_project_sends_its_own_prompts_alone(lessons, install, server, tmp_path):
    folders = [str(tmp_path / "project"), str(tmp_path / "other")]
    assert "prompts of this project" in install("claude-code", "--scope", "project")
    assert settings()["server"]["folders"] == folders[:1]
    assert f"from {folders[0]}" in lessons("doctor").out
    os.mkdir(folders[1])
    os.chdir(folders[1])
    install("claude-code", "--scope", "project")
    assert settings()["server"]["folders"] == folders
    lessons("install", "--server", server.url)
    assert settings()["server"]["folders"] == []


def test_a_dry_run_changes_nothing(install, server):
    assert "would be changed" in install("codex", "--dry-run")
    assert (settings(), server.seen) == ({}, [])
    assert not os.path.isdir(user_brain())


def test_what_cannot_be_is_said_in_one_line_and_nothing_is_changed(lessons, tmp_path):
    for name, text, mode in (
        ("empty", "", 0o600),
        ("two", "lsn_a\nlsn_b\n", 0o600),
        ("open", "lsn_a\n", 0o644),
        ("repository/token", "lsn_a\n", 0o600),
    ):
        write(tmp_path / "project", name, text).chmod(mode)
    git(tmp_path / "project" / "repository", "init", "-q")
    for address, told in (
        ("http://lessons.example.com/v1/brains/shop", "unencrypted"),
        ("https://lessons.example.com", "names no brain"),
        ("lessons.example.com/v1/brains/shop", "https://"),
        (URL, "--token-file FILE"),
        (f"{URL} --token-file none", "give a file that contains the key"),
        (f"{URL} --token-file empty", "is empty"),
        (f"{URL} --token-file two", "more than a key"),
        (f"{URL} --token-file open", "others can read"),
        (f"{URL} --token-file repository/token", "in a git repository"),
    ):
        done = lessons("install", "claude-code", "--server", *address.split())
        assert (done.code, done.err.count("\n"), told in done.err) == (2, 1, True), address
    done = lessons("install", "claude-code", "--token-file", "two")
    assert (done.code, "add --server URL" in done.err) == (2, True)
    assert settings() == {}
    assert not (pathlib.Path.home() / ".claude").exists()


def test_a_token_that_a_repository_ignores_may_lie_in_it(lessons, server, token):
    git(".", "init", "-q")
    pathlib.Path(".gitignore").write_text(".token\n")
    token = token.rename(pathlib.Path(".token").absolute())
    assert lessons("install", "--server", server.url, "--token-file", token).code == 0


def test_a_token_that_is_typed_goes_to_a_private_file(answer, lessons, server, monkeypatch):
    monkeypatch.setattr("getpass.getpass", lambda _prompt: "lsn_typed")
    answer("install", "--server", server.url, typed="")
    file = pathlib.Path(settings()["server"]["token_file"])
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("lsn_typed\n", 0o600)
    assert file.parent == pathlib.Path(user_settings_path()).parent
    lessons("doctor")
    assert server.seen[-1][1]["Authorization"] == "Bearer lsn_typed"
    lessons("uninstall", "--server")
    assert not file.exists()


def test_the_doctor_says_what_is_wrong(install, server, token, health):
    install()

    def told():
        (line,) = health("server")
        return f"{line.level}: {line.detail}"

    def stale(handler):
        handler.send_response(200)
        handler.send_header("lessons-stale", "the index is being built")
        handler.end_headers()
        handler.wfile.write(b'{"lessons": []}')

    assert re.fullmatch("ok: .* ms; prompts are sent.*", told())
    server.answer = lambda handler: send(handler, b"{}", status=401)
    assert re.match("warning: .*does not accept the token", told())
    server.answer = stale
    assert told().endswith("the index is being built")
    token.chmod(0o644)
    assert "others can read" in told()
    server.http.shutdown()
    server.http.server_close()
    token.chmod(0o600)
    assert "does not answer" in told()


def test_a_command_that_names_a_servers_card_is_shown_its_page(lessons, install, server):
    install()
    lessons("init")
    card = "shop@server:lessons/send-a-key.md"
    page = f"{server.url.replace('/v1/', '/')}/cards/lessons/send-a-key.md"
    for command, *rest in (["show"], ["bump"], ["mark", "harmful"], ["archive"]):
        done = lessons(command, card, *rest)
        expected = f"lessons: {card} is a card of a server; read it at {page}\n"
        assert (done.code, done.err) == (2, expected)
    lessons("uninstall", "--server")
    assert "is a card of a server; none is set" in lessons("show", card).err
