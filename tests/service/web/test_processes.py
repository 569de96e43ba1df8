"""A real server: tenants kept apart at every address, stopped and killed at any moment, fuzzed."""

import asyncio
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
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
import requests
from hypothesis import HealthCheck, given, settings

from lessons_kb import Brain
from lessons_kb.service.web.application import FairLoop
from lessons_kb.store.server_tokens import add_token, remove_token
from tests.kit import free_port, wait_until
from tests.service.web.conftest import field, log_in

pytestmark = pytest.mark.slow

PROMPT = "the zebrafish ledger lost a row after the vaduz rotation at midnight"
WORKERS = 2
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
        self.port = free_port()
        named = [f"{name}={root}" for name, root in roots.items()]
        start = f"{code}\nfrom lessons_kb.cli.entry import main; main()"
        self.process = subprocess.Popen(
            [sys.executable, "-c", start, "serve", *named, "--port", str(self.port), *options],
            stderr=subprocess.PIPE,
            text=True,
        )
        self.url = f"http://127.0.0.1:{self.port}"

    def client(self, token="", **how):
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=self.url, **{"timeout": 60, "headers": headers, **how})

    def is_ready(self, **how):
        assert self.process.poll() is None, self.process.stderr and self.process.stderr.read()
        with contextlib.suppress(httpx.HTTPError), self.client(timeout=10, **how) as client:
            return client.get("/ready").status_code == 200

    def stop(self):
        self.process.terminate()
        return self.process.wait(60)

    def pids(self):
        """Return the workers: its own child beside them tracks resources."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        found = sorted(int(pid) for pid in children.read_text().split())
        return [pid for pid in found if b"spawn_main" in read_command(pid)]

    @contextlib.contextmanager
    def only(self, number, token="", **how):
        """Give a client whose requests one worker answers: the others are halted."""
        pids = self.pids()
        others = [pid for pid in pids if pid != pids[number]]
        for pid in others:
            os.kill(pid, signal.SIGSTOP)
        try:
            with self.client(token, **how) as client:
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
def start(roots):
    with contextlib.ExitStack() as stack:

        def start(*options, code="", only=""):
            chosen = {only: roots[only]} if only else roots
            made = Process(chosen, *options, code=code)
            stack.callback(made.process.communicate)
            stack.callback(made.process.kill)
            wait_until(made.is_ready)
            return made

        yield start


@pytest.fixture
def several(start):
    """Start a server with two workers and wait until each of them answers."""

    def several(*options):
        def answers(number):
            with contextlib.suppress(httpx.HTTPError), server.only(number, timeout=2) as client:
                return client.get("/ready").status_code == 200

        server = start("--workers", str(WORKERS), *options, only="shop")
        wait_until(lambda: len(server.pids()) == WORKERS)
        for number in range(WORKERS):
            wait_until(lambda number=number: answers(number))
        return server

    return several


def search(client, query="telegram"):
    return client.post("/v1/brains/shop/search", json={"query": query})


def add_quokka(roots):
    """Copy a card of the other brain into the served one; return whether a client finds it."""
    new = pathlib.Path(roots["shop"]) / "lessons" / "quokka.md"
    shutil.copy(pathlib.Path(roots["vault"]) / "lessons" / "zebrafish.md", new)
    return lambda client: "lessons/quokka.md" in search(client, "zebrafish ledger").text


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


def test_a_stopping_server_answers_the_requests_in_progress(start, tokens, roots):
    slow = (
        "import time; from lessons_kb.store import draft_files\n"
        "write = draft_files.DraftFolder.write\n"
        "def late(*a, **k):\n"
        "    open(MARK, 'w').close(); time.sleep(1); return write(*a, **k)\n"
        "draft_files.DraftFolder.write = late\n"
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
    wait_until(mark.exists)
    assert server.stop() == 0
    asking.join(30)
    assert answers == [200]
    with Brain.open(roots["shop"]) as brain:
        assert [draft.title for draft in brain.drafts.all()] == ["Something of mine"]


KILL = """
import os, signal
from lessons_kb.store import draft_files
real = draft_files.{name}
def deadly(*a, **k):
    if {behind}: real(*a, **k)
    os.kill(os.getpid(), signal.SIGKILL)
draft_files.{name} = deadly
"""


@pytest.mark.parametrize(
    ("name", "old", "behind"),
    [
        *((name, False, False) for name in ("write_temp", "rename_new", "sync_folder")),
        *(("write_private", old, behind) for old in (False, True) for behind in (False, True)),
        ("exchange", True, False),
    ],
)
def test_killed_while_a_draft_is_written(start, tokens, roots, name, old, behind):
    """Of the steps in their order, before each; an older draft is renewed by "exchange".

    Whoever got no answer sends the proposal again: then it is there, once, and whole.
    """

    def propose(server, **more):
        with server.client(tokens["shop"]) as client:
            sent = {**BODIES["propose"], **more}
            return client.post("/v1/brains/shop/propose", json=sent).raise_for_status().json()

    if old:
        first = start(only="shop")
        propose(first, root_cause="what was believed at first, with a mechanism")
        first.stop()
    doomed = start(only="shop", code=KILL.format(name=name, behind=behind))
    with pytest.raises(httpx.HTTPError):
        propose(doomed)
    assert doomed.process.wait(30) == -signal.SIGKILL
    told = propose(start(only="shop"))
    with Brain.open(roots["shop"]) as brain:
        (draft,) = brain.drafts.all()
        assert draft.id == told["id"]
        assert "a concrete mechanism that failed" in draft.text
        assert brain.drafts.count() == 1


linux = pytest.mark.skipif(sys.platform != "linux", reason="asks /proc for the workers")
OWN = {"sec-fetch-site": "same-origin"}


@linux
def test_workers_share_their_state(several, tokens, roots):
    """Logins, logouts and cards; one that is killed is replaced, and all of them stop."""
    server = several()
    with server.only(0) as client:
        sent = log_in(client, tokens["shop"], origin=server.url)
        cookie = {"cookie": sent.headers["set-cookie"].partition(";")[0]}
    with server.only(1, headers=cookie) as client:
        mark = {"mark": field(client.get("/brains/shop").text, "mark")}
        own = {**cookie, **OWN, "origin": server.url}
        assert client.post("/logout", data=mark, headers=own).status_code == 303
    finds = add_quokka(roots)
    for number in range(WORKERS):
        with server.only(number, headers=cookie) as client:
            assert client.get("/brains/shop").status_code == 303
        with server.only(number, tokens["shop"]) as client:
            wait_until(lambda client=client: finds(client))
    before = server.pids()[0]
    os.kill(before, signal.SIGKILL)
    with server.client(tokens["shop"]) as client:
        assert search(client).status_code == 200
    wait_until(lambda: len(server.pids()) == WORKERS and before not in server.pids())
    workers = server.pids()
    assert server.stop() == 0
    assert not any(read_command(pid) for pid in workers)


@linux
def test_workers_take_each_others_forms_and_do_not_become_open_again(several):
    server = several()  # without tokens
    with server.only(0) as client:
        mark = field(client.get("/brains/shop/why").text, "mark")
    with server.only(1) as client:
        sent = {"mark": mark, "prompt": "Add a Telegram command"}
        own = {**OWN, "origin": server.url}
        assert client.post("/brains/shop/why", data=sent, headers=own).status_code == 200
    secret = add_token("alice", brains=["shop"], may=["read"])
    with server.only(0, secret) as client:
        assert search(client).status_code == 200
    remove_token("alice")
    with server.only(1) as client:
        assert search(client).status_code == 401
    workers = server.pids()
    server.process.kill()
    wait_until(lambda: not any(read_command(pid) for pid in workers))


@linux
def test_a_rate_is_counted_and_figures_are_summed_over_all_workers(several, tokens):
    server = several("--rate", "0.4")  # two at once
    statuses = []
    for number in (0, 1, 0, 1):
        with server.only(number, tokens["shop"]) as client:
            statuses.append(search(client).status_code)
    assert statuses == [200, 200, 429, 429]
    with server.only(0, add_token("p", brains=["shop"], may=["metrics"])) as client:
        told = client.get("/metrics").text
    assert 'lessons_requests_total{route="search",status="200"} 2.0' in told
    assert 'lessons_request_seconds_count{route="search"} 2.0' in told


def test_connections_are_spread_over_workers():
    """As many loops accept from one socket: none takes most of what comes at once."""
    taken = [0, 0]
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        listening.setblocking(False)

        async def work(number, ended):
            class Counting(asyncio.Protocol):
                def connection_made(self, transport):
                    taken[number] += 1
                    transport.close()

            server = await asyncio.get_running_loop().create_server(Counting, sock=listening.dup())
            async with server:
                await asyncio.to_thread(ended.wait)

        ended = threading.Event()
        with ThreadPoolExecutor(2) as threads, contextlib.ExitStack() as stack:

            def run(number):
                with asyncio.Runner(loop_factory=FairLoop) as runner:
                    runner.run(work(number, ended))

            stack.callback(ended.set)
            done = [threads.submit(run, number) for number in range(2)]
            for _ in range(32):
                stack.enter_context(socket.create_connection(listening.getsockname()))
            wait_until(lambda: sum(taken) == 32)
            ended.set()
            assert [one.result() for one in done] == [None, None]
    assert min(taken) >= 8


def test_no_request_makes_the_server_fail(start, tokens):
    import schemathesis  # in half a second

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
