"""A real server: tenants kept apart at every address, stopped and killed at any moment, fuzzed."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings

from lessons_kb import Brain
from lessons_kb.store.settings import add_token, remove_token

pytestmark = pytest.mark.slow

PROMPT = "the zebrafish ledger lost a row after the vaduz rotation at midnight"
SECRETS = ("zebrafish", "vaduz", "vault")
"""Words of the other brain: title, symptoms, file and the brain's own name."""
BODIES = {
    "preflight": {"prompt": PROMPT},
    "match": {"prompt": PROMPT},
    "search": {"query": PROMPT},
    "check": {"answer": "done", "cards": ["lessons/zebrafish.md"]},
    "propose": {"title": "Something of mine", "root_cause": "a concrete mechanism that failed",
                "prevention": ["Check the return value"], "symptoms": ["it hung", "no output"]},
    "hooks": {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": "/x",
              "prompt": PROMPT},
    "mcp": {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "lessons_search", "arguments": {"query": PROMPT}}},
}  # fmt: skip
MCP_CALLS = [
    {"method": "tools/list"},
    {
        "method": "prompts/get",
        "params": {"name": "retrospective", "arguments": {"session_id": "s"}},
    },
    {"method": "resources/read", "params": {"uri": "lesson://lessons/zebrafish.md"}},
    {"method": "resources/templates/list"},
    *(
        {"method": "tools/call", "params": {"name": name, "arguments": arguments}}
        for name, arguments in (
            ("lessons_preflight", {"prompt": "it lost a row", "directory": "{vault}"}),
            ("lessons_search", {"query": "row", "directory": "{vault}"}),
            ("lessons_get", {"id": "lessons/zebrafish.md", "directory": "{vault}"}),
            ("lessons_get", {"id": "{vault}/lessons/zebrafish.md"}),
            ("lessons_check", {"answer": "done", "cards": ["{vault}/lessons/zebrafish.md"]}),
            ("lessons_check", {"answer": "done", "session": "s"}),
            ("lessons_mark", {"id": "lessons/zebrafish.md", "mark": "helpful"}),
            ("session_history", {"session_id": "@bob s"}),
        )
    ),
]


class Process:
    """`lessons serve` over some brains, at an address of its own."""

    def __init__(self, roots, *options, code=""):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        named = [f"{name}={root}" for name, root in roots.items()]
        start = f"{code}\nfrom lessons_kb.cli.entry import main; main()"
        self.process = subprocess.Popen(
            [sys.executable, "-c", start, "serve", *named, "--port", str(self.port), *options],
            stderr=subprocess.PIPE,
            text=True,
        )
        self.url = f"http://127.0.0.1:{self.port}"

    def client(self, token):
        return httpx.Client(
            base_url=self.url, timeout=60, headers={"authorization": f"Bearer {token}"}
        )

    def wait(self):
        until = time.monotonic() + 60
        while time.monotonic() < until:
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{self.url}/ready", timeout=10).status_code == 200:
                    return
            assert self.process.poll() is None, self.process.stderr and self.process.stderr.read()
            time.sleep(0.05)
        raise AssertionError("the server is never ready")

    def stop(self):
        self.process.terminate()
        return self.process.wait(60)


@pytest.fixture
def start(roots):
    running = []

    def start(*options, code="", only=""):
        chosen = {only: roots[only]} if only else roots
        made = Process(chosen, *options, code=code)
        running.append(made)
        made.wait()
        return made

    yield start
    for one in running:
        if one.process.poll() is None:
            one.process.kill()
        one.process.communicate()


def ask(client, route, brain, body):
    path = f"/v1/brains/{brain}/{route}" + "/claude-code" * (route == "hooks")
    headers = {"accept": "application/json, text/event-stream"}
    return client.post(path, json=body, headers=headers)


def comparable(answer):
    return answer.status_code, answer.content, {**answer.headers, "date": ""}


def test_a_token_learns_nothing_of_another_brain(start, tokens, roots, request):
    add_token("metrics", brains=["shop"], may=["read", "metrics"])
    server = start()
    mine, theirs = server.client(tokens["shop"]), server.client(tokens["vault"])
    request.addfinalizer(mine.close)
    request.addfinalizer(theirs.close)
    described = mine.get("/openapi.json").json()["paths"]
    of_brains = [path.split("/")[4] for path in described if "{brain}" in path]
    assert sorted(of_brains) == sorted(BODIES)
    found = ask(theirs, "search", "vault", BODIES["search"])
    assert "zebrafish" in found.text, "the other brain does answer its own token"
    for path, methods in described.items():
        if "{brain}" not in path:
            for method in methods:
                told = mine.request(method, path)
                assert not [s for s in SECRETS if s in (told.text + str(told.headers)).lower()]
    for route, body in BODIES.items():
        forbidden, absent = ask(mine, route, "vault", body), ask(mine, route, "no-such", body)
        assert comparable(forbidden) == comparable(absent)
        assert forbidden.status_code == 404
        # Asked of one's own brain, about what only the other one holds.
        own = ask(mine, route, "shop", body)
        heads = str(own.headers).lower()
        assert own.status_code in (200, 204, 422)
        allowed = body["cards"][0] if route == "check" else ""  # the caller's own words
        text = own.text.lower().replace(allowed, "")
        assert not [s for s in SECRETS if s in text + heads], (route, text)
    for one in MCP_CALLS:
        sent = json.loads(json.dumps(one).replace("{vault}", roots["vault"]))
        said = ask(mine, "mcp", "shop", {"jsonrpc": "2.0", "id": 1, **sent})
        text = said.text.replace("lessons/zebrafish.md", "")  # what was asked for is repeated
        text = text.replace(roots["vault"], "") if roots["vault"] in json.dumps(sent) else text
        assert not [s for s in SECRETS[:2] if s in text.lower()], (one, said.text)
        assert os.path.dirname(roots["vault"]) not in text, (one, said.text)


def test_told_to_stop_it_finishes_what_it_is_answering(start, tokens, roots):
    slow = (
        "import time; from lessons_kb.store import card_files\n"
        "write = card_files.DraftFolder.write\n"
        "def late(*a, **k):\n"
        "    open(MARK, 'w').close(); time.sleep(1); return write(*a, **k)\n"
        "card_files.DraftFolder.write = late\n"
    )
    mark = pathlib.Path(roots["shop"]).parent / "writing"
    server = start(code=slow.replace("MARK", repr(str(mark))))
    answers = []

    def propose():
        with server.client(tokens["shop"]) as client:
            sent = client.post("/v1/brains/shop/propose", json=BODIES["propose"])
            answers.append(sent.status_code)

    asking = threading.Thread(target=propose)
    asking.start()
    until = time.monotonic() + 30
    while not mark.exists():
        assert time.monotonic() < until
        time.sleep(0.01)
    assert server.stop() == 0
    asking.join(30)
    assert answers == [200]
    with Brain.open(roots["shop"]) as brain:
        assert [draft.title for draft in brain.drafts.all()] == ["Something of mine"]


KILL = """
import os, signal
from lessons_kb.store import card_files
real = card_files.{name}
def deadly(*a, **k):
    if {before}: os.kill(os.getpid(), signal.SIGKILL)
    real(*a, **k)
    os.kill(os.getpid(), signal.SIGKILL)
card_files.{name} = deadly
"""


STEPS = ("write_temp", "rename_new", "sync_folder", "write_private")
"""Of writing a draft, in their order; where an older one is renewed, "exchange" takes its place."""


@pytest.mark.parametrize("before", [True, False], ids=["before", "behind"])
@pytest.mark.parametrize(
    ("name", "changed"),
    [*((name, False) for name in STEPS), ("exchange", True), ("write_private", True)],
)
def test_killed_while_a_draft_is_written(start, tokens, roots, name, changed, before):
    """Whoever got no answer sends the proposal again: then it is there, once, and whole."""
    old = {**BODIES["propose"], "root_cause": "what was believed at first, with a mechanism"}
    if changed:
        first = start(only="shop")
        with first.client(tokens["shop"]) as client:
            assert client.post("/v1/brains/shop/propose", json=old).status_code == 200
        first.stop()
    code = KILL.format(name=name, before=before)
    doomed = start(only="shop", code=code)
    with doomed.client(tokens["shop"]) as client, pytest.raises(httpx.HTTPError):
        client.post("/v1/brains/shop/propose", json=BODIES["propose"])
    assert doomed.process.wait(30) == -signal.SIGKILL
    again = start(only="shop")
    with again.client(tokens["shop"]) as client:
        told = client.post("/v1/brains/shop/propose", json=BODIES["propose"])
        assert told.status_code == 200
    with Brain.open(roots["shop"]) as brain:
        (draft,) = brain.drafts.all()
        assert draft.id == told.json()["id"]
        assert "a concrete mechanism that failed" in draft.text
        assert brain.drafts.count() == 1


def test_a_change_of_a_card_reaches_the_next_answers(start, tokens, roots):
    server = start()
    new = pathlib.Path(roots["shop"]) / "lessons" / "quokka.md"
    shutil.copy(pathlib.Path(roots["vault"]) / "lessons" / "zebrafish.md", new)
    until = time.monotonic() + 30
    asked = {"query": "zebrafish ledger"}
    found = []
    with server.client(tokens["shop"]) as client:
        while "lessons/quokka.md" not in found:
            assert time.monotonic() < until
            time.sleep(0.05)
            hits = client.post("/v1/brains/shop/search", json=asked).json()["hits"]
            found = [hit["id"] for hit in hits]


WORKERS = 2


class Several(Process):
    """`lessons serve` with several worker processes, each of which can be asked alone."""

    def pids(self):
        """Return the processes that answer: its own child beside them tracks resources."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        found = [int(pid) for pid in children.read_text().split()]
        return [pid for pid in found if b"spawn_main" in read_command(pid)]

    @contextlib.contextmanager
    def only(self, number, token="", **how):
        """Give a client whose requests one worker answers: the others are halted."""
        others = [pid for pid in sorted(self.pids()) if pid != sorted(self.pids())[number]]
        headers = {"authorization": f"Bearer {token}"} if token else {}
        for pid in others:
            os.kill(pid, signal.SIGSTOP)
        try:
            how = {"timeout": 30, "headers": headers, **how}
            with httpx.Client(base_url=self.url, **how) as client:
                yield client
        finally:
            for pid in others:
                os.kill(pid, signal.SIGCONT)


def read_command(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.fixture
def several(roots):
    running = []

    def several(*options):
        server = Several({"shop": roots["shop"]}, "--workers", str(WORKERS), *options)
        running.append(server)
        server.wait()
        until = time.monotonic() + 60
        while len(server.pids()) < WORKERS:
            assert time.monotonic() < until
            time.sleep(0.05)
        for number in range(WORKERS):
            answered = False
            while not answered:
                assert time.monotonic() < until
                with contextlib.suppress(httpx.HTTPError), server.only(number, timeout=2) as client:
                    answered = client.get("/ready").status_code == 200
        return server

    yield several
    for one in running:
        if one.process.poll() is None:
            one.process.kill()
        one.process.communicate()


linux = pytest.mark.skipif(sys.platform != "linux", reason="asks /proc for the workers")


@linux
def test_a_login_at_one_worker_holds_at_the_others_and_so_does_a_logout(
    several: Callable[..., Several], tokens, log_in, field
) -> None:
    server = several()
    with server.only(0) as client:
        sent = log_in(client, tokens["shop"], origin=server.url)
        assert sent.status_code == 303
        cookie = {"cookie": sent.headers["set-cookie"].partition(";")[0]}
    with server.only(1, headers=cookie) as client:
        page = client.get("/brains/shop")
        assert page.status_code == 200
        own = {**cookie, "origin": server.url, "sec-fetch-site": "same-origin"}
        mark = {"mark": field(page.text, "mark")}
        assert client.post("/logout", data=mark, headers=own).status_code == 303
    for number in range(WORKERS):
        with server.only(number, headers=cookie) as client:
            assert client.get("/brains/shop").status_code == 303


@linux
def test_a_form_of_one_worker_is_taken_by_the_others(
    several: Callable[..., Several], field
) -> None:
    server = several()  # without tokens
    with server.only(0) as client:
        mark = field(client.get("/brains/shop/why").text, "mark")
    with server.only(1) as client:
        sent = {"mark": mark, "prompt": "Add a Telegram command"}
        own = {"origin": server.url, "sec-fetch-site": "same-origin"}
        assert client.post("/brains/shop/why", data=sent, headers=own).status_code == 200


@linux
def test_a_server_does_not_become_open_with_a_new_worker(
    several: Callable[..., Several],
) -> None:
    server = several()
    secret = add_token("alice", brains=["shop"], may=["read"])
    path = "/v1/brains/shop/search"
    with server.only(0, secret) as client:
        assert client.post(path, json={"query": "telegram"}).status_code == 200
    remove_token("alice")
    with server.only(1) as client:
        assert client.post(path, json={"query": "telegram"}).status_code == 401


@linux
def test_a_change_of_a_card_reaches_every_worker(
    several: Callable[..., Several], tokens, roots
) -> None:
    server = several()
    new = pathlib.Path(roots["shop"]) / "lessons" / "quokka.md"
    shutil.copy(pathlib.Path(roots["vault"]) / "lessons" / "zebrafish.md", new)
    for number in range(WORKERS):
        until = time.monotonic() + 30
        found = []
        while "lessons/quokka.md" not in found:
            assert time.monotonic() < until
            with server.only(number, tokens["shop"]) as client:
                hits = client.post("/v1/brains/shop/search", json={"query": "zebrafish ledger"})
                found = [hit["id"] for hit in hits.json()["hits"]]
            time.sleep(0.05)


@linux
def test_a_rate_is_counted_and_figures_are_summed_over_all_workers(
    several: Callable[..., Several], tokens
) -> None:
    server = several("--rate", "0.4")  # two at once
    path = "/v1/brains/shop/search"
    statuses = []
    for number in (0, 1, 0, 1):
        with server.only(number, tokens["shop"]) as client:
            statuses.append(client.post(path, json={"query": "telegram"}).status_code)
    assert statuses == [200, 200, 429, 429]
    figures = add_token("prometheus", brains=["shop"], may=["metrics"])
    with server.only(0, figures) as client:
        told = client.get("/metrics").text
    assert 'lessons_requests_total{route="search",status="200"} 2.0' in told
    assert 'lessons_request_seconds_count{route="search"} 2.0' in told


@linux
def test_a_killed_worker_is_replaced_and_all_of_them_stop(
    several: Callable[..., Several], tokens
) -> None:
    server = several()
    before = server.pids()
    os.kill(before[0], signal.SIGKILL)
    with server.client(tokens["shop"]) as client:
        asked = {"query": "telegram"}
        assert client.post("/v1/brains/shop/search", json=asked).status_code == 200
    until = time.monotonic() + 30
    while len(server.pids()) < WORKERS or before[0] in server.pids():
        assert time.monotonic() < until
        time.sleep(0.05)
    workers = server.pids()
    assert server.stop() == 0
    assert not any(read_command(pid) for pid in workers)


@linux
def test_workers_end_with_a_server_that_is_killed(several: Callable[..., Several]) -> None:
    server = several()
    workers = server.pids()
    server.process.kill()
    until = time.monotonic() + 30
    while any(read_command(pid) for pid in workers):
        assert time.monotonic() < until
        time.sleep(0.05)


def test_no_request_makes_the_server_fail(start, tokens):
    secret = add_token("all", brains=["shop"], may=["read", "propose", "metrics"])
    server = start("--rate", "100000")
    headers = {"authorization": f"Bearer {secret}"}
    schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json", headers=headers)
    statuses = set()
    sent = {**headers, "accept": "application/json, text/event-stream"}
    with requests.Session() as session:
        for found in schema.get_all_operations():

            @settings(max_examples=25, suppress_health_check=list(HealthCheck))
            @given(case=found.ok().as_strategy())
            def fuzz(case):
                if "brain" in (case.path_parameters or {}):
                    case.path_parameters["brain"] = "shop"
                answer = case.call(headers=sent, session=session)
                statuses.add(answer.status_code)
                assert answer.status_code < 500, answer.text

            fuzz()
    assert {200, 422} <= statuses
    assert server.process.poll() is None
