"""`lessons setup`, `lessons install` and `lessons uninstall`: agents, git, a shared server."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any

import typer

from lessons_kb.agents.install import install_agent
from lessons_kb.agents.install.edit_json import put_table, take_table
from lessons_kb.agents.install.install_agent import NAMES, find_entries, find_notes, has_sdk
from lessons_kb.agents.install.settings_files import (
    ROUTES,
    SCOPES,
    Entries,
    Request,
    check_request,
    is_committed,
    is_present,
)
from lessons_kb.agents.table import AGENTS
from lessons_kb.brain.discovery import (
    count_cards,
    look,
    make_brain,
    take_first_lesson,
    write_first_lesson,
)
from lessons_kb.cli.options import find_project
from lessons_kb.cli.output import confirm, options, print_answer, print_json, print_wrapped, say
from lessons_kb.collection.doctor import MARKS, check_server
from lessons_kb.collection.exchange import find_rules_files
from lessons_kb.collection.git_merge import share, unshare
from lessons_kb.errors import InputError, LessonsError
from lessons_kb.find.shared_server import name_server
from lessons_kb.model import as_data
from lessons_kb.process.git import list_files
from lessons_kb.process.programs import install_command
from lessons_kb.service.daemon import stop_daemon
from lessons_kb.store.foreign_settings import (
    FileChange,
    list_changed,
    read_settings_file,
    replace_settings_file,
)
from lessons_kb.store.locations import git_top, state_home, user_brain, user_settings_path
from lessons_kb.store.private_files import write_private
from lessons_kb.store.purge import purge_state
from lessons_kb.store.secrets import read_key
from lessons_kb.store.user_settings import ServerSettings, read_user_settings
from lessons_kb.text.sanitize import visible

GIT = "git"
"""Stands where `install` takes the name of an agent."""
WORDS = {
    "created": "created",
    "changed": "changed",
    "unchanged": "already up to date",
    "removed": "removed",
    "kept": "unchanged, because another agent uses the same entries",
    "foreign": "left as it is, because it is not ours",
}
Done = tuple[str, Sequence[FileChange], list[str]]
"""Agent, what was changed, notes on it."""
_COMMIT = "Commit .gitattributes, so that every clone knows which files are cards."
_EACH = (
    "Git never takes a merge driver from a repository. In each clone, run `lessons install git` "
    "once; until then cards are merged line by line."
)
_NO_BRAIN = "No brain in a git repository here; run this again inside one to set its attributes."


def _connect(
    name: str, *, undo: bool, dry_run: bool, via: str = "command", **scope: Any
) -> tuple[Sequence[FileChange], list[str]]:
    """Set up git or an agent, or undo it; return what was changed, and notes on it."""
    if name == GIT:
        return _share(dry_run, undo=undo, **scope)
    fields = {"agent": name, "project": find_project(), "via": via, **scope}
    request = Request(entries=Entries(**NAMES), **fields)
    check_request(request)
    if undo:
        return install_agent.uninstall(request, dry_run=dry_run), []
    if via == "mcp" and not install_agent.has_sdk():
        raise InputError(f"--via mcp needs the MCP server; run `{install_command('mcp')}` first")
    entries = find_entries(bare=is_committed(request))
    request = replace(request, entries=entries, server=install_agent.has_sdk())
    return install_agent.install(request, dry_run=dry_run), list(find_notes(request))


def _connect_all(names: Iterable[str], **how: Any) -> tuple[list[Done], list[str]]:
    """Do it for each of some agents; return what came of each that took it, and the errors."""
    done = []
    refused: list[str] = []
    for name in names:
        try:
            done.append((name, *_connect(name, **how)))
        except LessonsError as error:
            refused.append(f"{name}: {error}")
    return done, refused


def _set_up(name: str | None, dry_run: bool, *, all_: bool, **how: Any) -> None:
    """Set up git or an agent, or all that are here, or undo it, and print what was changed."""
    if all_ == bool(name):
        raise InputError(f"name one agent ({', '.join(AGENTS)}), or add --all for those found here")
    refused: list[str] = []
    if name:
        done = [(name, *_connect(name, dry_run=dry_run, **how))]
    else:
        done, refused = _connect_all(filter(is_present, AGENTS), dry_run=dry_run, **how)
    if options().json:
        names = ("agent", "files", "notes")
        print_json([dict(zip(names, as_data(one), strict=True)) for one in done])
    else:
        for one, changes, notes in done:
            _print_changes(one, changes, notes, dry_run=dry_run, undo=how["undo"])
    if refused or not done:
        raise InputError("; ".join(refused) or "no agent found on this machine; name one")


def _share(dry_run: bool, *, undo: bool, **scope: Any) -> tuple[Sequence[FileChange], list[str]]:
    """Let git merge cards key by key, or stop it; return the changes, and notes on them."""
    roots = options().brains
    if not roots:
        found = look(os.getcwd())
        own = os.path.realpath(user_brain())
        known = (*found.trusted, *found.untrusted)
        roots = tuple(root for root in known if root != own) or known
    if undo:
        return unshare(roots, dry_run=dry_run, **scope), []
    program = find_entries(bare=scope["shared"]).server
    changes = share(roots, program=program, dry_run=dry_run, **scope)
    notes = [_COMMIT, _EACH] if scope["shared"] else []
    return changes, notes + ([] if any(map(git_top, roots)) else [_NO_BRAIN])


def _print_changes(
    name: str, changes: Sequence[FileChange], notes: Sequence[str], *, dry_run: bool, undo: bool
) -> None:
    for change in changes if dry_run else ():
        if change.diff:
            print(visible(change.diff))
    for change in changes:
        would = "would be " if dry_run and change.diff else ""
        kept = f" (backup: {change.backup})" if change.backup else ""
        word = "nothing of ours in it" if undo and change.action == "unchanged" else ""
        done = f"{would}{word or WORDS[change.action]}{kept}"
        print_wrapped(visible(f"{name}: {change.path}: {done}"))
    for note in notes:
        print_wrapped(f"  → {note}")


_TABLE = ("server",)


def _set_server(url: str, token_file: str, *, scope: str, dry_run: bool) -> None:
    """Note in the user's own settings which server hooks ask, and where its token is.

    With the scope ``project``, only prompts of this project are sent. Raises InputError for an
    address or a token that cannot be used; then nothing is changed.
    """
    url = url.rstrip("/")
    name_server(url)
    former = read_user_settings(ServerSettings)
    known = former if former.url == url else ServerSettings()
    folders: list[str] = []
    if scope == "project" and (known.folders or not known.url):
        folders = list(dict.fromkeys([*known.folders, find_project()]))
    authority = os.environ.get("SSL_CERT_FILE") or known.ca_file
    token = _find_token(url, token_file, known, dry_run=dry_run)
    values = {"url": url, "token_file": token, "ca_file": authority, "folders": folders}
    table = {key: value for key, value in values.items() if value or getattr(former, key)}
    _change_settings(lambda text: put_table(text, _TABLE, table), dry_run=dry_run)
    where = "of this project" if folders else "of all projects"
    say(f"prompts {where} are sent to {url} from now on, with secrets taken out")
    if dry_run:
        return
    if not os.path.isdir(user_brain()):  # where no other is trusted, a session is noted there
        root, _made = make_brain(user_brain())
        say(f"{root}: created, your own brain; projects without one use it")
    for line in check_server(os.getcwd()):
        say(f"{MARKS[line.level]} {line.what}: {line.detail}")


def _forget_server(*, dry_run: bool) -> None:
    """Ask no server any more, and remove a token that we keep."""
    settings = read_user_settings(ServerSettings)
    if not settings.url:
        say("no server is set; nothing changed")
        return
    _change_settings(lambda text: take_table(text, _TABLE), dry_run=dry_run)
    if dry_run:
        return
    if settings.token_file == _own_token_file() and os.path.exists(settings.token_file):
        os.unlink(settings.token_file)
    say(f"{settings.url} is asked no more")


def _find_token(url: str, token_file: str, known: ServerSettings, *, dry_run: bool) -> str:
    """Return the token's file: the one given or known, else ours for what is typed, "" for none."""
    if token_file:
        path = os.path.abspath(os.path.expanduser(token_file))
        if not read_key(path):
            raise InputError(f"{token_file} is empty; write the token into it")
        real = os.path.realpath(path)
        top = git_top(os.path.dirname(real))
        inside = os.path.relpath(real, os.path.realpath(top)).replace(os.sep, "/") if top else ""
        if top and list_files(top, [inside]):
            raise InputError(
                f"{path} is in a git repository, and not ignored there; keep the token elsewhere "
                "(and remove it on the server if it was committed)"
            )
        return path
    if known.token_file:
        return known.token_file
    token = ""
    if sys.stdin.isatty() and not dry_run:
        token = typer.prompt("Token", default="", show_default=False, hide_input=True, err=True)
        token = token.strip()
    if not token and url.startswith("https:") and not dry_run:
        raise InputError("a server asks for a token; give --token-file FILE (mode 0600)")
    if token:
        write_private(_own_token_file(), f"{token}\n".encode())
    return _own_token_file() if token else ""


def _own_token_file() -> str:
    return os.path.join(os.path.dirname(user_settings_path()), "server.token")


def _change_settings(edit: Callable[[str], str], *, dry_run: bool) -> None:
    path = user_settings_path()
    found = read_settings_file(path)
    before = found or b""
    after = edit(before.decode()).encode()
    if after == before:
        say(f"{path}: already up to date")
        return
    if not dry_run:
        replace_settings_file(path, after, expected=found)
    say(f"{path}: {'would be ' if dry_run else ''}changed")


def install(
    agent: str | None = None,
    scope: Annotated[str, SCOPES] = "user",
    shared: bool = False,
    via: Annotated[str, ROUTES] = "command",
    server: str = "",
    token_file: str = "",
    dry_run: bool = False,
    all_: bool = False,
) -> None:
    """Connect a coding agent: add hooks and the MCP server.

    Comments and other entries stay. Running it twice changes nothing. `lessons uninstall` restores
    the former files. With `git`, git merges cards key by key: counts add up, lists are united.
    With `--server`, prompts are sent to a server, without secrets: see docs/server.md.

    Example: lessons install claude-code --dry-run

    AGENT              claude-code, codex, gemini-cli, qwen-code, opencode, cursor, copilot-cli,
                       vscode, grok-cli, crush, antigravity; or git.
    --scope            user: all projects; project: this one.
    --shared           Use the committed settings file of the project.
    --via              command: one process per event; mcp: the MCP server answers.
    --server URL       Ask this shared brain too: https://HOST/v1/brains/NAME.
    --token-file FILE  Its token, in a file that only you can read.
    --dry-run          Show the diff without writing.
    --all              Every agent that is found on this machine.
    """
    if token_file and not server:
        raise InputError("--token-file belongs to a server; add --server URL")
    if server:
        _set_server(server, token_file, scope=scope, dry_run=dry_run)
        if agent is None and not all_:  # hooks that are installed ask it from now on
            return
    _set_up(agent, dry_run, all_=all_, undo=False, via=via, scope=scope, shared=shared)


def uninstall(
    agent: str | None = None,
    scope: Annotated[str, SCOPES] = "user",
    shared: bool = False,
    dry_run: bool = False,
    server: bool = False,
    all_: bool = False,
) -> None:
    """Remove hooks and the MCP server from a coding agent.

    Example: lessons uninstall claude-code

    AGENT      claude-code, codex, gemini-cli, qwen-code, opencode, cursor, copilot-cli, vscode,
               grok-cli, crush, antigravity; or git.
    --scope    user: all projects; project: this one.
    --shared   Use the committed settings file of the project.
    --dry-run  Show the diff without writing.
    --server   Forget the shared brain, and its token.
    --all      Every agent that is found on this machine.
    """
    if server:
        _forget_server(dry_run=dry_run)
        if agent is None and not all_:
            return
    _set_up(agent, dry_run, all_=all_, undo=True, scope=scope, shared=shared)


EDITORS = {"code": "VS Code", "nvim": "Neovim", "hx": "Helix", "zed": "Zed"}
"""Program → editor that can check cards while they are written."""
ASK = "Show me that a lesson arrives."
"""A prompt that draws the first lesson."""


NOBODY = (
    f"no agent found on this machine; `lessons install {next(iter(AGENTS))}` connects it all the"
    f" same, and so for {', '.join(list(AGENTS)[1:])}"
)


def setup(yes: bool = False, undo: bool = False, purge: bool = False) -> None:
    """Connect the agents found here, and see a lesson arrive.

    Shows what it would change and asks once. Comments and other entries of the agents' settings
    stay. `lessons install` connects one agent, or a project.

    Example: lessons setup --yes

    --yes    Do not ask.
    --undo   Disconnect the agents, restore their former files, remove the first lesson, and stop
             the daemon.
    --purge  With --undo: delete the state folder, too, with journal, drafts, trash and trust.
             Cards stay.
    """
    if purge and not undo:
        raise InputError("--purge deletes what was observed; run `lessons setup --undo --purge`")
    if undo:
        _disconnect_all(yes=yes, purge=purge)
    else:
        _connect_found(yes=yes)


def _connect_found(*, yes: bool) -> None:
    how: dict[str, Any] = {"undo": False, "scope": "user", "shared": False}
    present = list(filter(is_present, AGENTS))
    plan, refused = _connect_all(present, dry_run=True, **how)
    if not plan:
        raise InputError("; ".join(refused) or NOBODY)
    if not options().json:
        print("\n".join(_tell(plan, refused)))
    if not (_changed(plan) or refused or not count_cards(user_brain())):
        print_answer([], "Nothing to change.")
        return
    if not yes and not confirm("Connect them?"):
        raise InputError("nothing was changed; agree to it, or run `lessons setup --yes`")
    done, refused = _connect_all(present, dry_run=False, **how)
    first = write_first_lesson()
    if options().json:
        _print_done(done)
    else:
        _tell_next(done, first)
    if refused:
        raise InputError("; ".join(refused))


def _disconnect_all(*, yes: bool, purge: bool) -> None:
    how: dict[str, Any] = {"undo": True, "scope": "user", "shared": False}
    present = list(filter(is_present, AGENTS))
    plan, refused = _connect_all(present, dry_run=True, **how)
    state = state_home() if purge and os.path.isdir(state_home()) else ""
    if not options().json:
        print("\n".join(_tell_undo(plan, refused, state)))
    changes = _changed(plan)
    if (changes or refused or state) and not yes:
        question = "Disconnect them, and delete that folder?" if state else "Disconnect them?"
        if not confirm(question):
            again = "lessons setup --undo --purge --yes" if purge else "lessons setup --undo --yes"
            raise InputError(f"nothing was changed; agree to it, or run `{again}`")
    done, refused = _connect_all(present, dry_run=False, **how)
    told = ["Disconnected; a running session gets no more lessons."] if changes else []
    if gone := take_first_lesson():
        told.append(f"Removed {_short(gone)}.")
    if stop_daemon():
        told.append("The daemon was stopped.")
    if refused:
        raise InputError("; ".join(refused))
    if state:
        _purge(state)
        told.append(f"Deleted {_short(state)}.")
    elif changes:
        told.append("What was observed stays; `lessons setup --undo --purge` deletes it.")
    if options().json:
        _print_done(done)
    else:
        print("\n".join(told) or "Nothing to change.")


def _purge(state: str) -> None:
    """Delete the state folder, unless it is needed to restore the settings of a project."""
    if connected := list_changed():
        raise InputError(
            f"{_short(connected[0])} still calls lessons-kb, and its former content is in "
            f"{_short(state)}; run `lessons uninstall --all --scope project` in that project first"
        )
    purge_state()


def _changed(plan: Sequence[Done]) -> list[FileChange]:
    return [one for _name, files, _notes in plan for one in files if one.diff]


def _print_done(done: Sequence[Done]) -> None:
    print_json([{"agent": name, "files": as_data(files)} for name, files, _notes in done])


def _tell_agents(plan: Sequence[Done], refused: list[str], *, state: str) -> Iterator[str]:
    """Yield a line for each agent: its files that would change, else the ``state`` it is in."""
    for name, files, _notes in plan:
        paths = [_short(one.path) for one in files if one.diff]
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        yield f"  {name:<12} {paths[0]}{more}" if paths else f"  {name:<12} {state}"
    yield from (f"  {visible(line)}" for line in refused)


def _tell_undo(plan: Sequence[Done], refused: list[str], state: str) -> Iterator[str]:
    """Yield the screen that says what would be taken back."""
    if plan or refused:
        yield "Agents to disconnect:"
        yield from _tell_agents(plan, refused, state="not connected")
    if state:
        yield f"Folder to delete, with journal, drafts, trash and trust:\n  {_short(state)}"


def _tell(plan: Sequence[Done], refused: list[str]) -> Iterator[str]:
    """Yield the screen that says what would be done."""
    yield "Agents found here, and what would be written:"
    yield from _tell_agents(plan, refused, state="connected already")
    yield "Each former file is kept; `lessons setup --undo` restores it."
    root = user_brain()
    if not count_cards(root):
        yield f"Your own brain, with one card to see arrive:\n  {_short(root)}"
    editors = [name for program, name in EDITORS.items() if shutil.which(program)]
    if editors:
        yield f"Not touched: {', '.join(editors)} (`lessons lsp` checks cards there)."
    top = find_project()
    if rules := [os.path.relpath(path, top) for path in find_rules_files(top)]:
        more = f" and {len(rules) - 1} more" if len(rules) > 1 else ""
        yield visible(f"Not touched: {rules[0]}{more}; `lessons diet` makes cards of such rules.")


def _tell_next(done: Sequence[Done], first: str) -> None:
    """Print what is left to do, and a prompt that draws a lesson."""
    names = [name for name, files, _notes in done if any(one.action != "foreign" for one in files)]
    print(f"Connected: {', '.join(names)}.")
    for name in names:
        print_wrapped(f"  {name}: {AGENTS[name].notes.splitlines()[0]}")
    if not has_sdk():
        needed = f"`{install_command('mcp')}`, then `lessons setup` again"
        print_wrapped(f"`/lesson` in the chat needs the MCP server: {needed}.")
    if first:
        print(f"Open one of them in a new session and paste this:\n\n  {ASK}\n")


def _short(path: str) -> str:
    """Return a path that can be read, as the user would type it."""
    home = os.path.expanduser("~") + os.sep
    return visible(f"~/{path[len(home) :]}" if path.startswith(home) else path)
