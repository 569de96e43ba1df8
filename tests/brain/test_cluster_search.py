"""A brain is searched in the cluster that its user named, and locally where that cannot answer."""

import pathlib

import pytest

from lessons_kb.config import parse_settings
from lessons_kb.errors import ConfigError
from lessons_kb.store.locations import user_settings_path
from lessons_kb.store.secrets import read_key
from lessons_kb.store.user_settings import ClusterSettings, read_user_settings
from tests import kit
from tests.kit import OpenBrains, trust_brain
from tests.qdrant_server import QdrantServer

pytestmark = pytest.mark.slow  # an embedded cluster is written in pure Python

CARD = "# Mind the {0}\n\n## Prevention Checklist\n\n- Look at the {0}\n"
WORDS = ("zebra crossing", "giraffe neck", "결제 모듈 환불", "walrus tooth")
PROMPTS = ("paint the zebra crossing", "결제 환불을 고쳐줘", "a giraffe and a walrus")
PATIENT = 30.0


@pytest.fixture
def server():
    with QdrantServer() as running:
        yield running


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "brain"
    kit.write(folder, "lessons.toml", '[index]\nengine = "qdrant"\ncollection = "zoo"\n')
    for number, words in enumerate(WORDS):
        kit.write(folder, f"lessons/{number}.md", CARD.format(words))
    return folder


@pytest.fixture
def push(lessons):
    """Send what a brain holds to a server."""

    def push(root, server):
        done = lessons("--brain", root, "sync", "--to", server.url)
        assert done.code == 0, done.err
        server.requests.clear()

    return push


def name_server(url, *, seconds=PATIENT, more=""):
    configure(f'url = "{url}"\nseconds = {seconds}\n{more}')


def configure(lines):
    kit.write(pathlib.Path("/"), user_settings_path(), f"[cluster]\n{lines}\n")


def ask(root):
    workspace = OpenBrains(str(root), roots=[str(root)], watched=False)
    brain = workspace.find()
    answers = [brain.search(prompt) for prompt in PROMPTS]
    workspace.close()
    return [[(hit.card.id, pytest.approx(hit.score, rel=1e-3)) for hit in hits] for hits in answers]


def asked(server):
    return sum(request.endswith("/points/query") for request in server.requests)


def test_the_cluster_answers_as_the_local_index_does(root, server, push):
    push(root, server)
    local = ask(root)
    assert server.requests == []  # the brain alone sends nothing anywhere
    name_server(server.url)
    assert ask(root) == local
    assert asked(server) == len(PROMPTS)
    assert local[0][0][0] == "lessons/0.md"
    assert local[1][0][0] == "lessons/2.md"
    server.requests.clear()
    (root / "lessons.toml").write_text('[index]\ncollection = "zoo"\n')
    ask(root)
    assert server.requests == [], "a brain of another engine is never sent"


def test_a_brain_cannot_name_a_server_by_settings_of_its_own(root, server, monkeypatch, push):
    with pytest.raises(ConfigError, match="cluster"):
        parse_settings('[cluster]\nurl = "https://example.com"\n')
    push(root, server)
    local = ask(root)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(root / ".config"))
    name_server(server.url)
    assert ask(root) == local
    assert server.requests == []


def be_written(server, _root):
    server.client.set_payload("zoo~statistics", {"pending": "another", "parts": 1}, points=[0])


def be_slow(server, _root):
    name_server(server.url, seconds=0.2)
    server.seconds = 600.0


def hold_another_state(_server, root):
    (root / "lessons/9.md").write_text(CARD.format("zebra crossing at night"))


@pytest.mark.parametrize("disturb", [be_written, be_slow, hold_another_state])
def test_the_local_index_answers_while_the_cluster_cannot(root, server, push, disturb):
    push(root, server)
    name_server(server.url)
    disturb(server, root)
    answers = ask(root)
    assert asked(server) == 0
    assert ("lessons/9.md" in dict(answers[0])) == (disturb is hold_another_state)
    name_server("")
    assert ask(root) == answers


def test_the_local_index_answers_for_a_missing_server_or_brain(root, server):
    local = ask(root)
    for url in (server.url, "http://127.0.0.1:1", "http://example.com"):  # not over plain http
        name_server(url)
        assert ask(root) == local
    assert asked(server) == 0


def test_the_doctor_says_who_answers(root, server, health, push):
    def tell():
        (line,) = health("cluster", root)
        return line.level, line.detail

    trust_brain(str(root))

    assert tell() == ("warning", "the local index answers: your settings name no cluster")
    name_server(server.url)
    level, detail = tell()
    assert (level, "lessons sync" in detail) == ("warning", True)
    push(root, server)
    assert tell()[0] == "ok"
    (root / "lessons/9.md").write_text(CARD.format("zebra crossing at night"))
    assert "another state" in tell()[1]


def test_a_key_that_others_can_read_is_not_used(root, server, tmp_path, push):
    push(root, server)
    server.key = "secret"
    key = tmp_path / "key"
    key.write_text("secret\n")
    key.chmod(0o644)
    name_server(server.url, more=f'key_file = "{key}"\n')
    local = ask(root)
    assert server.requests == []
    with pytest.raises(ConfigError, match="chmod 600"):
        read_key(str(key))
    key.chmod(0o600)
    assert ask(root) == local
    assert asked(server) == len(PROMPTS)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("url = 5", "url"),
        ("seconds = 0", "seconds"),
        ("place = 'x'", "use one of url, key_file, seconds"),
    ],
)
def test_settings_that_cannot_be_used_are_named(root, server, line, words):
    local = ask(root)
    configure(line)
    with pytest.raises(ConfigError, match=words):
        read_user_settings(ClusterSettings)
    assert ask(root) == local
