"""`lessons serve`: answer for brains over HTTP, and the tokens of those who may ask."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from lessons_kb.cli.options import options, print_json, print_table, say
from lessons_kb.errors import BrainNotFound, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_TOKEN = "token"  # noqa: S105 a word of the command line
_ACTIONS = ("add", "list", "remove")


def serve(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[BRAIN…|token add NAME|token list|token remove NAME]",
            help="Folders to serve, each under its own name or NAME=FOLDER; default: the nearest "
            "brain. Or what to do with tokens.",
        ),
    ] = None,
    may: Annotated[
        str, typer.Option(metavar="SCOPES", help="Of a new token: read, propose, review, metrics.")
    ] = "read",
    name: Annotated[
        str, typer.Option(help="Of a new token that may review: who signs what is accepted.")
    ] = "",
    email: Annotated[str, typer.Option(help="The reviewer's address, for the same.")] = "",
    host: Annotated[
        str, typer.Option(help="Address to listen on; other than loopback needs tokens and TLS.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8766,
    tls_cert: Annotated[str, typer.Option(metavar="FILE", help="Certificate chain (PEM).")] = "",
    tls_key: Annotated[str, typer.Option(metavar="FILE", help="Its private key (PEM).")] = "",
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="A proxy in front of this server speaks TLS.")
    ] = False,
    branch: Annotated[
        str,
        typer.Option(
            help="Branch of a brain's repository for what is accepted; default: lessons-review."
        ),
    ] = "",
    rate: Annotated[
        float, typer.Option(min=0.1, help="Requests a second that one token may send.")
    ] = 100.0,
    max_body: Annotated[
        int, typer.Option(min=1_000, max=32_000_000, help="Bytes that a request may have.")
    ] = 4_000_000,
) -> None:
    """Serve brains over HTTP: to agents, and to people as pages.

    A token opens the brains that --brain names, as they are served, and is shown once. Without any
    token, every program and user of this machine can ask. See docs/server.md.

    Example: lessons serve shop=~/src/shop
    """
    words = words or []
    if words[:1] == [_TOKEN]:
        _manage_tokens(words[1:], may, person=name, email=email)
        return
    if find_spec("mcp") is None or find_spec("prometheus_client") is None:
        from lessons_kb.process.installation import install_command

        raise InputError(f"the server needs more packages: `{install_command('server')}`")
    from lessons_kb.brain.drafts.branch_review import BRANCH
    from lessons_kb.process.git_commit import check_name
    from lessons_kb.service.web.server import Address, serve
    from lessons_kb.store.server_tokens import read_tokens

    if branch:
        check_name(branch)
    roots = _name_roots([*options().brains, *words] or [_nearest()])
    address = Address(
        host=host, port=port, tls_cert=tls_cert, tls_key=tls_key, behind_proxy=behind_proxy
    )
    scheme = "https" if tls_cert else "http"
    names = ", ".join(f"{scheme}://{host}:{port}/v1/brains/{name}" for name in roots)
    whom = "" if read_tokens() else "; there are no tokens: any user of this machine can ask"
    told = f"serving {names} and pages at {scheme}://{host}:{port}/, press Ctrl-C to stop{whom}"
    serve(
        roots,
        address,
        rate=rate,
        max_body=max_body,
        branch=branch or BRANCH,
        ready=lambda: say(told),
    )


def _name_roots(words: Iterable[str]) -> dict[str, str]:
    """Return name → folder of what is to be served."""
    from lessons_kb.store.server_tokens import NAME

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


def _nearest() -> str:
    from lessons_kb.brain.discovery import discover

    return next(iter(discover(os.getcwd()).trusted))


def _manage_tokens(words: Sequence[str], may: str, *, person: str, email: str) -> None:
    from lessons_kb.store import server_tokens

    action, *names = words or ["list"]
    if action not in _ACTIONS or len(names) != (action != "list"):
        raise InputError(
            "write `token add NAME --brain BRAIN`, `token list` or `token remove NAME`"
        )
    if action == "add":
        scopes = [one.strip() for one in may.split(",")]
        secret = server_tokens.add_token(
            names[0], brains=options().brains, may=scopes, person=person, email=email
        )
        say("the token is shown this once; keep it where only its user can read it")
        for brain in options().brains:
            say(f"it opens what is served as {brain}: `lessons serve {brain}=FOLDER`")
        print_json({"name": names[0], "token": secret}) if options().json else print(secret)
    elif action == "remove":
        server_tokens.remove_token(names[0])
        say(f"{names[0]} is refused from now on")
    else:
        _print_tokens()


def _print_tokens() -> None:
    from lessons_kb.store.server_tokens import read_tokens

    tokens = read_tokens()
    if options().json:
        fields = ("name", "brains", "may", "person", "email")
        print_json([{field: getattr(one, field) for field in fields} for one in tokens])
    elif tokens:
        rows = [(t.name, ", ".join(t.brains), ", ".join(t.may), t.person) for t in tokens]
        print_table(["NAME", "BRAINS", "MAY", "PERSON"], rows)
    else:
        say("there are no tokens; `lessons serve token add NAME --brain BRAIN` makes one")
