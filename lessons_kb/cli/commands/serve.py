"""`lessons serve`: serve brains over HTTP."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Annotated

from typer import Argument, Option

from lessons_kb.brain.discovery import discover
from lessons_kb.cli.options import Host, Port
from lessons_kb.cli.output import options, pick, print_answer, print_json, print_table, say
from lessons_kb.collection.branch_review import BRANCH, find_review_obstacle
from lessons_kb.errors import BrainNotFound, InputError
from lessons_kb.process.git import check_name
from lessons_kb.process.installation import install_command
from lessons_kb.store.server_tokens import NAME, add_token, read_tokens, remove_token


def serve(
    words: Annotated[
        list[str] | None,
        Argument(
            metavar="BRAIN…",
            help="Folders of brains, or NAME=FOLDER; default: the nearest brain. Or: token add "
            "NAME, token list, token remove NAME.",
        ),
    ] = None,
    may: Annotated[
        str,
        Option(
            "--may",
            metavar="SCOPES",
            help="Scopes of a new token: read, propose, review, metrics.",
        ),
    ] = "read",
    name: Annotated[
        str,
        Option(
            "--name",
            metavar="NAME",
            help="With --may review: author of the commits of accepted drafts.",
        ),
    ] = "",
    email: Annotated[
        str, Option("--email", metavar="EMAIL", help="Email address of that author.")
    ] = "",
    host: Host = "127.0.0.1",
    port: Port = 8766,
    tls_cert: Annotated[
        str, Option("--tls-cert", metavar="FILE", help="Certificate chain (PEM).")
    ] = "",
    tls_key: Annotated[str, Option("--tls-key", metavar="FILE", help="Private key (PEM).")] = "",
    behind_proxy: Annotated[bool, Option("--behind-proxy", help="A proxy handles TLS.")] = False,
    branch: Annotated[
        str,
        Option(
            "--branch",
            metavar="BRANCH",
            help="Branch for accepted drafts; default: lessons-review.",
        ),
    ] = "",
    rate: Annotated[
        float,
        Option("--rate", metavar="RATE", min=0.1, help="Maximum requests per second and token."),
    ] = 100.0,
    workers: Annotated[
        int,
        Option(
            "--workers",
            metavar="WORKERS",
            min=1,
            max=64,
            help="Number of processes that answer.",
        ),
    ] = 1,
    max_body: Annotated[
        int,
        Option(
            "--max-body",
            metavar="MAX_BODY",
            min=1_000,
            max=32_000_000,
            help="Maximum bytes of a request.",
        ),
    ] = 4_000_000,
) -> None:
    """Serve brains over HTTP, to agents and as web pages.

    A token gives access to the brains that --brain names, by the names under which they are
    served, and is shown once. If there is no token, every program and user of this machine can
    send requests.

    Example: lessons serve shop=~/src/shop
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
    message = f"serving {names} and pages at {scheme}://{host}:{port}/, press Ctrl-C to stop"
    if not read_tokens():
        message += "; there are no tokens: any user of this machine can send requests"

    def announce() -> None:
        say(message)
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
    """Return a mapping from names to the folders of the brains to serve.

    A word is NAME=FOLDER, or a folder that has its own name. Raises BrainNotFound, or InputError
    for a name that is not plain or is used twice.
    """
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
            scopes = [scope.strip() for scope in may.split(",")]
            secret = add_token(name, brains=brains, may=scopes, person=person, email=email)
            say("the token is shown this once; keep it where only its user can read it")
            for served_as in brains:
                say(f"it opens the brain that `lessons serve {served_as}=FOLDER` serves")
            print_answer({"name": name, "token": secret}, secret)
        case ["remove", name]:
            remove_token(name)
            say(f"{name} is refused from now on")
        case ["list"]:
            tokens = read_tokens()
            if options().json:
                fields = ("name", "brains", "may", "person", "email")
                print_json([pick(token, *fields) for token in tokens])
            elif tokens:
                rows = [
                    (token.name, ", ".join(token.brains), ", ".join(token.may), token.person)
                    for token in tokens
                ]
                print_table(["NAME", "BRAINS", "MAY", "PERSON"], rows)
            else:
                say("there are no tokens; `lessons serve token add NAME --brain BRAIN` makes one")
        case _:
            raise InputError(
                "write `token add NAME --brain BRAIN`, `token list` or `token remove NAME`"
            )
