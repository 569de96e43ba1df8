"""`lessons install --server`: where the address and the token go, and what is refused."""

import json
import os
import pathlib
import subprocess
import tomllib

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends import fail

from lessons_kb.store.user_state import user_brain, user_settings_path
from tests.agents.shared_server import FakeServer, send

URL = "https://lessons.example.com/v1/brains/shop"


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)


@pytest.fixture(autouse=True)
def _no_keychain():
    before = keyring.get_keyring()
    keyring.set_keyring(fail.Keyring())
    yield
    keyring.set_keyring(before)


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


def test_it_is_noted_in_the_users_own_settings_alone(lessons, server, token, tmp_path):
    path = pathlib.Path(user_settings_path())
    path.parent.mkdir(parents=True)
    path.write_text("# mine\n[check]\nseconds = 3  # patient\n")
    done = lessons("install", "claude-code", "--server", server.url + "/", "--token-file", token)
    assert done.code == 0
    assert f"prompts of all projects are sent to {server.url}" in done.err
    assert "✓ server: shop at " in done.err
    assert settings() == {
        "check": {"seconds": 3},
        "server": {"url": server.url, "token_file": str(token)},
    }
    assert path.read_text().startswith("# mine\n[check]\nseconds = 3  # patient\n")
    home = pathlib.Path.home()
    agents = [*home.glob(".claude/**/*.json"), home / ".claude.json"]
    assert not [one for one in agents if "lsn_" in one.read_text() or "http" in one.read_text()]
    assert os.path.isdir(user_brain())
    again = lessons("install", "--server", server.url)
    assert (again.code, "already up to date" in again.err) == (0, True)
    forgotten = lessons("uninstall", "claude-code", "--server")
    assert (forgotten.code, settings()) == (0, {"check": {"seconds": 3}})
    assert token.exists()
    assert "no server is set" in lessons("uninstall", "--server").err


def test_a_project_sends_its_own_prompts_alone(lessons, server, token, tmp_path):
    given = ("--server", server.url, "--token-file", token, "--scope", "project")
    assert "prompts of this project" in lessons("install", "claude-code", *given).err
    assert settings()["server"]["folders"] == [str(tmp_path / "project")]
    assert "from " + str(tmp_path / "project") in lessons("doctor").out
    other = tmp_path / "other"
    other.mkdir()
    os.chdir(other)
    lessons("install", "claude-code", *given)
    assert settings()["server"]["folders"] == [str(tmp_path / "project"), str(other)]
    lessons("install", "--server", server.url)
    assert settings()["server"]["folders"] == []


def test_a_dry_run_changes_nothing(lessons, server, token):
    done = lessons("install", "codex", "--server", server.url, "--token-file", token, "--dry-run")
    assert (done.code, "would be changed" in done.err) == (0, True)
    assert settings() == {}
    assert server.seen == []
    assert not os.path.isdir(user_brain())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--server", "http://lessons.example.com/v1/brains/shop"), "in the clear"),
        (("--server", "https://lessons.example.com"), "names no brain"),
        (("--server", "lessons.example.com/v1/brains/shop"), "https://"),
        (("--server", URL), "--token-file FILE"),
        (("--server", URL, "--token-file", "none"), "give a file that holds the key"),
        (("--server", URL, "--token-file", "empty"), "is empty"),
        (("--server", URL, "--token-file", "two"), "more than a key"),
        (("--server", URL, "--token-file", "open"), "others can read"),
        (("--server", URL, "--token-file", "repository/token"), "in a git repository"),
        (("--token-file", "two"), "add --server URL"),
    ],
)
def test_what_cannot_be_is_said_in_one_line_and_nothing_is_changed(lessons, words, told):
    for name, text, mode in (
        ("empty", "", 0o600),
        ("two", "lsn_a\nlsn_b\n", 0o600),
        ("open", "lsn_a\n", 0o644),
        ("repository/token", "lsn_a\n", 0o600),
    ):
        path = pathlib.Path(name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
    subprocess.run(["git", "init", "-q", "repository"], check=True)
    done = lessons("install", "claude-code", *words)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert told in done.err
    assert settings() == {}
    assert not (pathlib.Path.home() / ".claude").exists()


def test_a_token_that_a_repository_ignores_may_lie_in_it(lessons, server, token):
    subprocess.run(["git", "init", "-q"], check=True)
    pathlib.Path(".gitignore").write_text(".token\n")
    token = token.rename(pathlib.Path(".token").absolute())
    assert lessons("install", "--server", server.url, "--token-file", token).code == 0


class Keychain(KeyringBackend):
    """A keychain in memory."""

    priority = 9

    def __init__(self):
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service, username):
        return self.kept.get((service, username))

    def set_password(self, service, username, password):
        self.kept[service, username] = password

    def delete_password(self, service, username):
        del self.kept[service, username]


def test_a_token_that_is_typed_goes_to_the_keychain(answer, lessons, server, monkeypatch):
    monkeypatch.setattr("getpass.getpass", lambda _prompt: "lsn_typed")
    chain = Keychain()
    keyring.set_keyring(chain)
    answer("install", "--server", server.url, typed="")
    assert chain.kept == {("lessons-kb", server.url): "lsn_typed"}
    assert settings()["server"] == {"url": server.url, "keychain": True}
    lessons("doctor")
    assert server.seen[-1][1]["Authorization"] == "Bearer lsn_typed"
    lessons("uninstall", "--server")
    assert chain.kept == {}


def test_where_there_is_no_keychain_it_goes_to_a_private_file(answer, lessons, server, monkeypatch):
    monkeypatch.setattr("getpass.getpass", lambda _prompt: "lsn_typed")
    answer("install", "--server", server.url, typed="")
    kept = pathlib.Path(settings()["server"]["token_file"])
    assert (kept.read_text(), kept.stat().st_mode & 0o777) == ("lsn_typed\n", 0o600)
    assert kept.parent == pathlib.Path(user_settings_path()).parent
    lessons("uninstall", "--server")
    assert not kept.exists()


def test_the_doctor_says_what_is_wrong(lessons, server, token):
    lessons("install", "--server", server.url, "--token-file", token)

    def told():
        lines = json.loads(lessons("doctor", "--json").out)
        (line,) = [one for one in lines if one["what"] == "server"]
        return line

    assert (told()["level"], "ms; prompts are sent" in told()["detail"]) == ("ok", True)
    server.answer = lambda handler: send(handler, b"{}", status=401)
    assert told()["level"] == "warning"
    assert "does not accept the token" in told()["detail"]

    def stale(handler):
        handler.send_response(200)
        handler.send_header("lessons-stale", "the index is being built")
        handler.end_headers()
        handler.wfile.write(b'{"lessons": []}')

    server.answer = stale
    assert told()["detail"].endswith("the index is being built")
    token.chmod(0o644)
    assert "others can read" in told()["detail"]
    server.http.shutdown()
    server.http.server_close()
    token.chmod(0o600)
    assert "does not answer" in told()["detail"]


def test_a_command_that_names_a_servers_card_is_shown_its_page(lessons, server, token):
    lessons("install", "--server", server.url, "--token-file", token)
    lessons("init")
    card = "shop@server:lessons/send-a-key.md"
    page = f"{server.url.replace('/v1/', '/')}/cards/lessons/send-a-key.md"
    for command, *rest in (["show"], ["bump"], ["mark", "harmful"], ["archive"]):
        done = lessons(command, card, *rest)
        assert done.code == 2
        assert done.err == f"lessons: {card} is a card of a server; read it at {page}\n"
    lessons("uninstall", "--server")
    assert "is a card of a server; none is set" in lessons("show", card).err
