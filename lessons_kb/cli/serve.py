"""Commands that answer others until they are stopped: MCP, HTTP, an editor, the hooks."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Annotated, Any

from typer import Option

from lessons_kb.agents.install import install_agent
from lessons_kb.agents.table import AGENTS
from lessons_kb.brain.discovery import discover
from lessons_kb.cli.declare import check_choice
from lessons_kb.cli.output import options, pick, print_answer, print_json, print_table, say
from lessons_kb.collection.branch_review import BRANCH, find_review_obstacle
from lessons_kb.errors import BrainNotFound, InputError, StorageError
from lessons_kb.process.git import check_name
from lessons_kb.process.programs import install_command
from lessons_kb.service import daemon as hook_daemon
from lessons_kb.service.hook_event import answer_event
from lessons_kb.service.open_brains import OpenBrains
from lessons_kb.store.server_tokens import NAME, add_token, read_tokens, remove_token

Port = Annotated[int, Option(min=0, max=65535, help="Port to listen on.")]


def daemon(action: str = "run") -> None:
    """Run, inspect or stop the process that answers hooks.

    The first hook starts it; it ends after 15 idle minutes.

    Example: lessons daemon status

    [ACTION]  run (in the foreground), status or stop.
    """
    check_choice("ACTION", action, ("run", "status", "stop"))
    if action == "run":
        if hook_daemon.ask_daemon(hook_daemon.STATUS) is not None:
            print("the daemon is already running; see `lessons daemon status`")
        elif hook_daemon.serve():
            raise StorageError(
                hook_daemon.find_obstacle() or hook_daemon.read_record().get("error", "")
            )
        return
    answer = hook_daemon.ask_daemon(hook_daemon.STATUS if action == "status" else hook_daemon.STOP)
    if options().json:
        print_json(answer)
    elif answer is not None and action == "stop":
        print("the daemon is stopping")
    else:
        found = hook_daemon.find_daemon()
        print(found.detail if answer else f"daemon: {found.detail}")
        if found.fix:
            print(f"  → {found.fix}")


def mcp(http: bool = False, host: str = "127.0.0.1", port: Port = 8765) -> None:
    """Serve lessons to MCP clients, over stdio by default.

    Over HTTP the address is http://HOST:PORT/mcp. Requests from web pages of other sites are
    refused. Every program and user of this machine can send requests, unless LESSONS_MCP_TOKEN
    sets a token that each request must carry. Example: lessons mcp --http --port 8765

    --http  Use streamable HTTP instead of stdio.
    --host  Address to listen on; other than loopback needs a token.
    """
    if not install_agent.has_sdk():
        raise InputError(
            f"the MCP server needs the `mcp` package: `{install_command('mcp')}`, "
            "then run this again"
        )
    from lessons_kb.service.mcp.server import PATH, TOKEN_VARIABLE, build_server, serve_http

    # The agent's project where it names one to its servers, else the current folder.
    named = (os.environ.get(name, "") for agent in AGENTS.values() for name in agent.project)
    workspace = OpenBrains(next(filter(os.path.isdir, named), os.getcwd()), roots=options().brains)

    def answer(agent: str, event: dict[str, Any]) -> str:
        placed = json.dumps({"cwd": workspace.directory, **event})
        return answer_event(agent, placed, os.environ, find=workspace.find)[0]

    server = build_server(workspace, answer_hook=answer)
    try:
        if http:
            told = f"serving on http://{host}:{port}{PATH}, press Ctrl-C to stop"
            token = os.environ.get(TOKEN_VARIABLE, "")
            if not token:
                told += f"; {TOKEN_VARIABLE} is not set: any user of this machine can connect"
            serve_http(server, host=host, port=port, token=token, ready=lambda: say(told))
        else:
            server.run()
    finally:
        workspace.close()


def lsp() -> None:
    """Serve lessons to an editor, over standard input and output.

    Cards are checked while they are written, and the mistakes that their `detect` patterns
    describe are marked in source code. See docs/editors.md for the settings of each editor.
    Example: lessons lsp
    """
    if find_spec("pygls") is None:
        raise InputError(f"the language server needs pygls; run `{install_command('lsp')}` first")
    from lessons_kb.service.lsp.language_server import build_server
    from lessons_kb.service.lsp.language_server import serve as serve_editor

    workspace = OpenBrains(os.getcwd(), roots=options().brains, watched=False)
    try:
        serve_editor(build_server(workspace))
    finally:
        workspace.close()


def serve(
    words: list[str] | None = None,
    may: str = "read",
    name: str = "",
    email: str = "",
    host: str = "127.0.0.1",
    port: Port = 8766,
    tls_cert: str = "",
    tls_key: str = "",
    behind_proxy: bool = False,
    branch: str = "",
    rate: Annotated[float, Option(min=0.1)] = 100.0,
    workers: Annotated[int, Option(min=1, max=64)] = 1,
    max_body: Annotated[int, Option(min=1_000, max=32_000_000)] = 4_000_000,
) -> None:
    """Serve brains over HTTP: to agents, and to people as pages.

    A token opens the brains that --brain names, as they are served, and is shown once. Without any
    token, every program and user of this machine can ask. See docs/server.md.

    Example: lessons serve shop=~/src/shop

    [BRAIN…|token add NAME|token list|token remove NAME]  Folders to serve, each under its own name
                      or NAME=FOLDER; default: the nearest brain. Or what to do with tokens.
    --may SCOPES      Of a new token: read, propose, review, metrics.
    --name            Of a new token that may review: who signs what is accepted.
    --email           The reviewer's address, for the same.
    --host            Address to listen on; other than loopback needs tokens and TLS.
    --tls-cert FILE   Certificate chain (PEM).
    --tls-key FILE    Its private key (PEM).
    --behind-proxy    A proxy in front of this server speaks TLS.
    --branch          Branch of a brain's repository for what is accepted; default: lessons-review.
    --rate            Requests a second that one token may send.
    --workers         Processes that answer; one more keeps the index.
    --max-body        Bytes that a request may have.
    """
    words = words or []
    if words[:1] == ["token"]:
        _manage_tokens(words[1:], may, person=name, email=email)
        return
    if find_spec("mcp") is None or find_spec("prometheus_client") is None:
        raise InputError(f"the server needs more packages: `{install_command('server')}`")
    from lessons_kb.service.web.application import Address
    from lessons_kb.service.web.application import serve as serve_brains

    if branch:
        check_name(branch)
    chosen = [*options().brains, *words]
    roots = _name_roots(chosen or [next(iter(discover(os.getcwd()).trusted))])
    address = Address(
        host=host, port=port, tls_cert=tls_cert, tls_key=tls_key, behind_proxy=behind_proxy
    )
    scheme = "https" if tls_cert else "http"
    names = ", ".join(f"{scheme}://{host}:{port}/v1/brains/{name}" for name in roots)
    told = f"serving {names} and pages at {scheme}://{host}:{port}/, press Ctrl-C to stop"
    if not read_tokens():
        told += "; there are no tokens: any user of this machine can ask"

    def announce() -> None:
        say(told)
        if read_tokens():
            _say_what_reviewers_cannot_do(roots, branch or BRANCH)

    serve_brains(
        roots,
        address,
        rate=rate,
        workers=workers,
        max_body=max_body,
        branch=branch or BRANCH,
        ready=announce,
    )


def _say_what_reviewers_cannot_do(roots: Mapping[str, str], branch: str) -> None:
    for name, root in roots.items():
        obstacle = find_review_obstacle(root, branch)
        if obstacle:
            say(
                f"{name}: a token with `review` can discard drafts, but not accept or merge "
                f"them: {obstacle}"
            )


def _name_roots(words: Iterable[str]) -> dict[str, str]:
    """Return name → folder of what is to be served."""
    roots: dict[str, str] = {}
    for word in words:
        name, equals, folder = word.partition("=")
        if not (equals and NAME.fullmatch(name)):
            name, folder = "", word
        root = os.path.realpath(os.path.expanduser(folder))
        if not os.path.isdir(root):
            raise BrainNotFound(f"{folder} is not a folder; give that of a brain")
        name = name or os.path.basename(root)
        if not NAME.fullmatch(name):
            raise InputError(f"{folder} has no plain name; give it one: NAME={folder}")
        if name in roots:
            raise InputError(f"two brains are called {name}; give one another name: NAME={folder}")
        roots[name] = root
    return roots


def _manage_tokens(words: Sequence[str], may: str, *, person: str, email: str) -> None:
    match words or ["list"]:
        case ["add", name]:
            brains = options().brains
            scopes = [one.strip() for one in may.split(",")]
            secret = add_token(name, brains=brains, may=scopes, person=person, email=email)
            say("the token is shown this once; keep it where only its user can read it")
            for served_as in brains:
                say(f"it opens what is served as {served_as}: `lessons serve {served_as}=FOLDER`")
            print_answer({"name": name, "token": secret}, secret)
        case ["remove", name]:
            remove_token(name)
            say(f"{name} is refused from now on")
        case ["list"]:
            tokens = read_tokens()
            if options().json:
                fields = ("name", "brains", "may", "person", "email")
                print_json([pick(one, *fields) for one in tokens])
            elif tokens:
                rows = [(t.name, ", ".join(t.brains), ", ".join(t.may), t.person) for t in tokens]
                print_table(["NAME", "BRAINS", "MAY", "PERSON"], rows)
            else:
                say("there are no tokens; `lessons serve token add NAME --brain BRAIN` makes one")
        case _:
            raise InputError(
                "write `token add NAME --brain BRAIN`, `token list` or `token remove NAME`"
            )
