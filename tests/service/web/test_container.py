"""The container's recipe, step by step, with no program on the PATH that the image does not have."""

import contextlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
from types import SimpleNamespace

import httpx
import pytest
import yaml

from tests.kit import ROOT, START, free_port, git, wait_until
from tests.service.web.conftest import OWN, PROPOSAL, field

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="a container of Linux"),
]

FOLDER = ROOT / "docker"
COMPOSE = FOLDER / "compose.yaml"
DOCKERFILE = (FOLDER / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
IMAGE = DOCKERFILE.rpartition("\nFROM ")[2]
"""The stage that is run."""
SLUG = "lessons/charged-a-customer-twice-because-the-form-was-sent-twice.md"


def read_command(instruction):
    """Return the words of an instruction that has a JSON list."""
    found = re.search(rf"^{instruction} .*?(\[.*\])$", IMAGE, re.MULTILINE)
    assert found, instruction
    return json.loads(found[1])


def read_recipe(verb):
    """Return program and words of each `docker compose VERB` in the recipe, in order."""
    (entrypoint,) = read_command("ENTRYPOINT")
    steps = []
    for line in COMPOSE.read_text("utf-8").splitlines():
        words = shlex.split(line.lstrip("# ")) if "docker compose" in line else []
        if verb not in words:
            continue
        program = entrypoint if verb == "run" else ""
        if "--entrypoint" in words:
            program = words[words.index("--entrypoint") + 1]
        inner = words[words.index("lessons", words.index(verb)) + 1 :]
        steps.append([program, *inner] if program else inner)
    return steps


@pytest.fixture
def box(tmp_path, monkeypatch):
    """Run a step as in the container: ``box.run(words)``; its data is in ``box.data``."""
    programs, data = tmp_path / "bin", tmp_path / "data"
    programs.mkdir()
    data.mkdir()
    for name in re.findall(r"apt-get install(?: --[\w-]+)* ([\w -]+?) *&&", IMAGE):
        for package in name.split():
            (programs / package).symlink_to(str(shutil.which(package)))
    launcher = programs / "lessons"
    launcher.write_text(f"#!{sys.executable}\n{START}\n")
    launcher.chmod(0o755)
    environment = {
        "PATH": str(programs),
        "HOME": str(data),
        "LESSONS_STATE_HOME": str(data / "state"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "GIT_CONFIG_SYSTEM": str(tmp_path / "gitconfig"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "PYTHONPATH": str(ROOT),
    }

    def run(words, **how):
        program = programs / words[0]
        assert program.exists(), f"the image has no {words[0]}"
        done = subprocess.run(
            [program, *words[1:]], cwd=data, env=environment, capture_output=True, text=True, **how
        )
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout

    for setting in re.findall(r"git (config --system [^&]+?) *&&", IMAGE):
        run(["git", *setting.split()])
    return SimpleNamespace(run=run, data=data, programs=programs, environment=environment)


@pytest.fixture
def serve(box):
    """Start what the image starts, on a free port; return its address, and what it has said."""
    running = []

    def start():
        port = str(free_port())
        words = [port if word == "8766" else word for word in read_command("CMD")]
        words = [word.replace("/data/", f"{box.data}/") for word in words]
        log = box.data / "server.log"
        with log.open("w") as errors:
            command = [box.programs / "lessons", *words]
            server = subprocess.Popen(
                command, cwd=box.data, env=box.environment, stderr=errors, text=True
            )
        running.append(server)
        _python, *options, code = read_command("HEALTHCHECK")
        check = [sys.executable, *options, code.replace("8766", port)]
        wait_until(lambda: subprocess.run(check, capture_output=True).returncode == 0)
        return f"http://127.0.0.1:{port}", log

    yield start
    for server in running:
        server.terminate()
        server.wait(60)


def add_token(box, name, scopes):
    (words,) = [step for step in read_recipe("run") if step[-1:] and name in step]
    assert scopes in words
    return box.run(words).strip()


@pytest.fixture
def log_in():
    """Return a browser's client: the proxy speaks TLS, so the cookie is sent by hand."""
    with contextlib.ExitStack() as stack:

        def log_in(url, token):
            headers = {**OWN, "origin": url}
            client = stack.enter_context(httpx.Client(base_url=url, headers=headers, timeout=60))
            answer = client.post("/login", data={"token": token})
            client.headers["cookie"] = answer.headers["set-cookie"].partition(";")[0]
            return client

        yield log_in


def begin_brain(box):
    """Begin a brain as the recipe says."""
    for words in read_recipe("run"):
        if "token" not in words and "clone" not in words:
            box.run(words)


def accept_a_proposal(client, url, agent):
    """Let an agent propose a lesson and a reviewer's client accept it."""
    headers = {"authorization": f"Bearer {agent}"}
    proposed = httpx.post(f"{url}/v1/brains/brain/propose", json=PROPOSAL, headers=headers)
    assert proposed.status_code == 200, proposed.text
    address = f"/brains/brain/inbox/{proposed.json()['id']}"
    page = client.get(address).text
    fields = {name: field(page, name) for name in ("mark", "seen")}
    answer = client.post(address, data={**fields, "do": "accept"})
    assert answer.status_code == 303, answer.text


def test_a_new_brain_stores_an_accepted_draft_and_serves_it_after_the_merge(box, serve, log_in):
    begin_brain(box)
    agent, reviewer = add_token(box, "ann", "read,propose"), add_token(box, "rita", "read,review")
    url, log = serve()
    client = log_in(url, reviewer)
    accept_a_proposal(client, url, agent)
    assert "cannot" not in log.read_text()
    assert "not accept" not in log.read_text()
    brain = str(box.data / "brain")
    assert git(brain, "log", "-1", "--format=%an", "lessons-review") == "Rita Kim\n"
    for words in read_recipe("exec"):
        box.run(words)
    assert (pathlib.Path(brain) / SLUG).is_file()
    assert git(brain, "status", "--porcelain") == ""
    wait_until(lambda: PROPOSAL["title"] in client.get("/brains/brain").text)


def test_a_clone_stores_an_accepted_draft(box, serve, log_in, root):
    (clone,) = [step for step in read_recipe("run") if "clone" in step]
    box.run([str(root) if word.startswith("https:") else word for word in clone])
    agent, reviewer = add_token(box, "ann", "read,propose"), add_token(box, "rita", "read,review")
    url, _log = serve()
    accept_a_proposal(log_in(url, reviewer), url, agent)
    assert "idempotency" in git(str(box.data / "brain"), "show", f"lessons-review:{SLUG}")


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda box: (box.programs / "git").unlink(), "git is not installed"),
        (lambda box: shutil.rmtree(box.data / "brain" / ".git"), "not in a git repository"),
        (
            lambda box: (
                shutil.rmtree(box.data / "brain" / ".git")
                or box.run(["git", "init", "-q", "brain"])
            ),
            "has no commit",
        ),
    ],
    ids=["no git", "no repository", "no commit"],
)
def test_the_server_reports_at_start_that_a_review_is_impossible(box, serve, spoil, reason):
    begin_brain(box)
    add_token(box, "rita", "read,review")
    spoil(box)
    _url, log = serve()
    said = log.read_text()
    assert "brain: a token with `review` can discard drafts, but not accept or merge them" in said
    assert reason in said


def test_the_compose_file_is_yaml_and_keeps_the_data_of_the_image():
    services = yaml.safe_load(COMPOSE.read_text("utf-8"))["services"]
    assert services["lessons"]["volumes"] == ["data:/data"]
    assert "VOLUME /data" in IMAGE
