"""`lessons install`: set up hooks and the MCP server in an agent."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lessons_kb.cli.options import options, print_json, print_wrapped, say
from lessons_kb.errors import InputError, LessonsError
from lessons_kb.model import as_data
from lessons_kb.process.programs import install_command
from lessons_kb.text.sanitize import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lessons_kb.agents.install.install_agent import Change
    from lessons_kb.agents.install.settings_files import Request
    from lessons_kb.brain.git_merge import SharingChange
    from lessons_kb.store.settings import ServerSettings


Agent = Annotated[
    str | None,
    typer.Argument(
        metavar="AGENT",
        help="claude-code, codex, gemini-cli, cursor, copilot-cli, vscode, opencode; or git.",
    ),
]
Scope = Annotated[str, typer.Option(help="user: all projects; project: this one.")]
Shared = Annotated[
    bool, typer.Option("--shared", help="Use the committed settings file of the project.")
]
Dry = Annotated[bool, typer.Option("--dry-run", help="Show the diff without writing.")]
Every = Annotated[bool, typer.Option("--all", help="Every agent found on this machine.")]
WORDS = {
    "created": "created",
    "changed": "changed",
    "unchanged": "already up to date",
    "removed": "removed",
    "kept": "unchanged, because another agent uses the same entries",
    "foreign": "left as it is, because it is not ours",
}


def install_or_remove(
    agent: str | None, every: bool, *, dry_run: bool, undo: bool, **fields: Any
) -> None:
    """Set up one agent or all, or undo it, and print what was changed."""
    from lessons_kb.agents.install.install_agent import find_notes
    from lessons_kb.agents.install.install_agent import install as set_up
    from lessons_kb.agents.install.install_agent import uninstall as take_out

    done: list[dict[str, Any]] = []
    failed = None
    for name in find_agents(agent, every, undo=undo):
        try:
            request = make_request(name, undo=undo, **fields)
            changes = (take_out if undo else set_up)(request, dry_run=dry_run)
        except LessonsError as error:
            if not every:
                raise
            failed = error
            say(f"{name}: {error}")
            continue
        notes = [] if undo else list(find_notes(request))
        done.append(
            {"agent": name, "files": [as_data(change) for change in changes], "notes": notes}
        )
        if not options().json:
            print_changes(name, changes, notes, dry_run=dry_run)
    if options().json:
        print_json(done)
    if failed is not None:
        raise typer.Exit(2)


def find_agents(agent: str | None, every: bool, *, undo: bool = False) -> list[str]:
    """Return the agent that was named, or every one found on this machine."""
    from lessons_kb.agents.capabilities import AGENTS
    from lessons_kb.agents.install.settings_files import is_present

    if every == (agent is not None):
        raise InputError(f"give one agent ({', '.join(AGENTS)}), or use --all")
    if agent is not None:
        return [agent]
    found = [name for name in AGENTS if is_present(name)]
    if not found and undo:
        say("no agent found on this machine; nothing to remove")
    elif not found:
        first, *others = AGENTS
        raise InputError(
            f"no agent found on this machine; `lessons install {first}` connects it all the same, "
            f"and so for {', '.join(others)}"
        )
    return found


def make_request(name: str, *, undo: bool, **fields: Any) -> Request:
    """Return what is to be set up in an agent, checked; InputError where it cannot be."""
    from lessons_kb.agents.install.install_agent import (
        NAMES,
        find_entries,
        has_sdk,
    )
    from lessons_kb.agents.install.settings_files import (
        Entries,
        Request,
        check_request,
        is_committed,
    )
    from lessons_kb.store.user_state import git_top

    here = os.path.realpath(os.getcwd())
    request = Request(agent=name, project=git_top(here) or here, entries=Entries(**NAMES), **fields)
    check_request(request)
    if undo:
        return request
    bare = is_committed(request)
    if request.via == "mcp" and not has_sdk():
        raise InputError(f"--via mcp needs the MCP server; run `{install_command('mcp')}` first")
    return replace(request, entries=find_entries(bare=bare), server=has_sdk())


def print_changes(name: str, changes: list[Change], notes: list[str], *, dry_run: bool) -> None:
    """Print the differences, the files and the notes of one agent."""
    for change in changes:
        if change.diff:
            print(visible(change.diff))
    for change in changes:
        word = WORDS[change.action]
        backup = f" (backup: {change.backup})" if change.backup else ""
        would = "would be " if dry_run and change.diff else ""
        print_wrapped(visible(f"{name}: {change.path}: {would}{word}{backup}"), hang=2)
    for note in notes:
        print_wrapped(f"  → {note}", hang=2)


GIT = "git"
"""Stands where `install` takes the name of an agent."""
_WORDS = {
    "created": "created",
    "changed": "changed",
    "unchanged": "already up to date",
    "removed": "removed",
}
_COMMIT = "Commit .gitattributes, so that every clone knows which files are cards."
_EACH = (
    "Git never takes a merge driver from a repository. In each clone, run `lessons install git` "
    "once; until then cards are merged line by line."
)


_NO_BRAIN = "No brain in a git repository here; run this again inside one to set its attributes."


def set_up(*, scope: str, shared: bool, dry_run: bool, undo: bool) -> None:
    """Let git merge cards key by key, or stop it."""
    from lessons_kb.agents.install.install_agent import find_entries
    from lessons_kb.brain.git_merge import share, unshare
    from lessons_kb.store.user_state import git_top

    roots = _roots()
    notes: list[str] = []
    if undo:
        changes = unshare(roots, scope=scope, shared=shared, dry_run=dry_run)
    else:
        program = find_entries(bare=shared).server
        changes = share(roots, program=program, scope=scope, shared=shared, dry_run=dry_run)
        notes = [_COMMIT, _EACH] if shared else []
        notes += [] if any(map(git_top, roots)) else [_NO_BRAIN]
    if options().json:
        print_json([{"agent": GIT, "files": [as_data(c) for c in changes], "notes": notes}])
        return
    _print(changes, notes, dry_run=dry_run)


def _roots() -> Sequence[str]:
    from lessons_kb.brain.discovery import look
    from lessons_kb.store.user_state import user_brain

    if options().brains:
        return options().brains
    found = look(os.getcwd())
    own = os.path.realpath(user_brain())
    roots = (*found.trusted, *found.untrusted)
    return [root for root in roots if root != own] or [root for root in roots if root == own]


def _print(changes: Sequence[SharingChange], notes: Sequence[str], *, dry_run: bool) -> None:
    for change in changes:
        if change.diff:
            print(visible(change.diff))
    for change in changes:
        would = "would be " if dry_run and change.diff else ""
        print(visible(f"{GIT}: {change.path}: {would}{_WORDS[change.action]}"))
    for note in notes:
        print(f"  → {note}")
    sys.stdout.flush()


_TOKEN_NAME = "server.token"  # noqa: S105 the name of a file
_TABLE = ("server",)


def set_server(url: str, token_file: str, *, scope: str, dry_run: bool) -> None:
    """Note in the user's own settings which server hooks ask, and where its token is.

    With the scope ``project``, only prompts of this project are sent. Raises InputError for an
    address or a token that cannot be used; then nothing is changed.
    """
    from lessons_kb.agents.install.edit_json import put_table
    from lessons_kb.brain.shared_server import name_server
    from lessons_kb.store.settings import ServerSettings, read_server_settings

    url = url.rstrip("/")
    name_server(url)
    former = read_server_settings()
    known = former if former.url == url else ServerSettings()
    given = {
        "url": url,
        **_find_token(url, token_file, known, dry_run=dry_run),
        "ca_file": os.environ.get("SSL_CERT_FILE") or known.ca_file,
        "folders": _find_folders(known, scope),
    }
    table = {key: value for key, value in given.items() if value or getattr(former, key)}
    _change(lambda text: put_table(text, _TABLE, table), dry_run=dry_run)
    where = "of this project" if given["folders"] else "of all projects"
    say(f"prompts {where} are sent to {url} from now on, with secrets taken out")
    if not dry_run:
        _make_own_brain()
        _tell_health()


def forget_server(*, dry_run: bool) -> None:
    """Ask no server any more, and remove a token that we keep."""
    from lessons_kb.agents.install.edit_json import take_table
    from lessons_kb.store.settings import keep_in_keychain, read_server_settings

    settings = read_server_settings()
    if not settings.url:
        say("no server is set; nothing changed")
        return
    _change(lambda text: take_table(text, _TABLE), dry_run=dry_run)
    if dry_run:
        return
    if settings.keychain:
        keep_in_keychain(settings.url, "")
    if settings.token_file == _own_token_file() and os.path.exists(settings.token_file):
        os.unlink(settings.token_file)
    say(f"{settings.url} is asked no more")


def _find_token(
    url: str, token_file: str, known: ServerSettings, *, dry_run: bool
) -> dict[str, Any]:
    """Return where the token is: the file that was given, what was known, or what is typed now."""
    from lessons_kb.store.settings import keep_in_keychain, read_key
    from lessons_kb.store.user_state import make_private, write_private

    if token_file:
        path = os.path.abspath(os.path.expanduser(token_file))
        if not read_key(path):
            raise InputError(f"{token_file} is empty; write the token into it")
        _check_not_in_repository(path)
        return {"token_file": path, "keychain": False}
    if known.token_file or known.keychain:
        return {"token_file": known.token_file, "keychain": known.keychain}
    token = ""
    if sys.stdin.isatty() and not dry_run:
        token = typer.prompt("Token", default="", show_default=False, hide_input=True, err=True)
    token = token.strip()
    if not token and url.startswith("https:") and not dry_run:
        raise InputError("a server asks for a token; give --token-file FILE (mode 0600)")
    if not token or keep_in_keychain(url, token):
        return {"token_file": "", "keychain": bool(token)}
    path = _own_token_file()
    make_private(os.path.dirname(path))
    write_private(path, f"{token}\n".encode())
    return {"token_file": path, "keychain": False}


def _check_not_in_repository(path: str) -> None:
    """Raise InputError for a file that is committed, or that git would take into a commit."""
    from lessons_kb.process.git import list_files
    from lessons_kb.store.user_state import git_top

    real = os.path.realpath(path)
    top = git_top(os.path.dirname(real))
    if top and list_files(top, [os.path.relpath(real, os.path.realpath(top)).replace(os.sep, "/")]):
        raise InputError(
            f"{path} is in a git repository, and not ignored there; keep the token elsewhere (and "
            "remove it on the server if it was committed)"
        )


def _find_folders(known: ServerSettings, scope: str) -> list[str]:
    """Return the projects whose prompts are sent, none for all."""
    from lessons_kb.store.user_state import git_top

    if scope != "project" or (known.url and not known.folders):
        return []
    here = os.path.realpath(os.getcwd())
    return list(dict.fromkeys([*known.folders, git_top(here) or here]))


def _own_token_file() -> str:
    from lessons_kb.store.user_state import user_settings_path

    return os.path.join(os.path.dirname(user_settings_path()), _TOKEN_NAME)


def _change(edit: Any, *, dry_run: bool) -> None:
    from lessons_kb.store.settings import read_settings_file, replace_settings_file
    from lessons_kb.store.user_state import user_settings_path

    path = user_settings_path()
    before = read_settings_file(path)
    after = edit((before or b"").decode()).encode()
    if after != (before or b"") and not dry_run:
        replace_settings_file(path, after, expected=before)
    would = "would be " if dry_run else ""
    say(f"{path}: {would}changed" if after != (before or b"") else f"{path}: already up to date")


def _make_own_brain() -> None:
    """Make the user's own brain: where no other is trusted, a session is noted there."""
    from lessons_kb.brain.init import make_brain
    from lessons_kb.store.user_state import user_brain

    if not os.path.isdir(user_brain()):
        root, _made = make_brain(user_brain())
        say(f"{root}: created, your own brain; projects without one use it")


def _tell_health() -> None:
    from lessons_kb.brain.doctor import MARKS, check_server

    for line in check_server(os.getcwd()):
        say(f"{MARKS[line.level]} {line.what}: {line.detail}")


def install(
    agent: Agent = None,
    scope: Scope = "user",
    shared: Shared = False,
    via: Annotated[
        str, typer.Option(help="command: one process per event; mcp: the MCP server answers.")
    ] = "command",
    server: Annotated[
        str,
        typer.Option(metavar="URL", help="Ask this shared brain too: https://HOST/v1/brains/NAME."),
    ] = "",
    token_file: Annotated[
        str,
        typer.Option(metavar="FILE", help="Its token, in a file that only you can read."),
    ] = "",
    dry_run: Dry = False,
    every: Every = False,
) -> None:
    """Connect a coding agent: add hooks and the MCP server.

    Comments and other entries stay. Running it twice changes nothing. `lessons uninstall` restores
    the former files. With `git`, git merges cards key by key: counts add up, lists are united.
    With `--server`, prompts are sent to a server, without secrets: see docs/server.md.

    Example: lessons install claude-code --dry-run
    """
    if token_file and not server:
        raise InputError("--token-file belongs to a server; add --server URL")
    if server:
        set_server(server, token_file, scope=scope, dry_run=dry_run)
        if agent is None and not every:  # hooks that are installed ask it from now on
            return
    if agent == GIT and not every:
        set_up(scope=scope, shared=shared, dry_run=dry_run, undo=False)
        return
    install_or_remove(
        agent, every, scope=scope, shared=shared, via=via, dry_run=dry_run, undo=False
    )


def uninstall(
    agent: Agent = None,
    scope: Scope = "user",
    shared: Shared = False,
    dry_run: Dry = False,
    every: Every = False,
    server: Annotated[
        bool, typer.Option("--server", help="Forget the shared brain, and its token.")
    ] = False,
) -> None:
    """Remove hooks and the MCP server from a coding agent.

    Example: lessons uninstall --all
    """
    if server:
        forget_server(dry_run=dry_run)
        if agent is None and not every:
            return
    if agent == GIT and not every:
        set_up(scope=scope, shared=shared, dry_run=dry_run, undo=True)
        return
    install_or_remove(
        agent, every, scope=scope, shared=shared, via="command", dry_run=dry_run, undo=True
    )
