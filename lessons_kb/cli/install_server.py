"""The server that hooks ask beside the local brain: `install --server`, `uninstall --server`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import typer

from lessons_kb.cli.options import say
from lessons_kb.errors import InputError

if TYPE_CHECKING:
    from lessons_kb.store.user_settings import ServerSettings

_TOKEN_NAME = "server.token"  # noqa: S105 the name of a file
_TABLE = ("server",)


def set_server(url: str, token_file: str, *, scope: str, dry_run: bool) -> None:
    """Note in the user's own settings which server hooks ask, and where its token is.

    With the scope ``project``, only prompts of this project are sent. Raises InputError for an
    address or a token that cannot be used; then nothing is changed.
    """
    from lessons_kb.agents.install.edit_toml import put_table
    from lessons_kb.brain.shared_server.ask_server import name_server
    from lessons_kb.store.user_settings import ServerSettings, read_server_settings

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
    from lessons_kb.agents.install.edit_toml import take_table
    from lessons_kb.store.keychain import keep_in_keychain
    from lessons_kb.store.user_settings import read_server_settings

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
    from lessons_kb.store.keychain import keep_in_keychain
    from lessons_kb.store.user_settings import read_key
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
    from lessons_kb.store.locate import git_top

    real = os.path.realpath(path)
    top = git_top(os.path.dirname(real))
    if top and list_files(top, [os.path.relpath(real, os.path.realpath(top)).replace(os.sep, "/")]):
        raise InputError(
            f"{path} is in a git repository, and not ignored there; keep the token elsewhere (and "
            "remove it on the server if it was committed)"
        )


def _find_folders(known: ServerSettings, scope: str) -> list[str]:
    """Return the projects whose prompts are sent, none for all."""
    from lessons_kb.store.locate import git_top

    if scope != "project" or (known.url and not known.folders):
        return []
    here = os.path.realpath(os.getcwd())
    return list(dict.fromkeys([*known.folders, git_top(here) or here]))


def _own_token_file() -> str:
    from lessons_kb.store.locate import user_settings_path

    return os.path.join(os.path.dirname(user_settings_path()), _TOKEN_NAME)


def _change(edit: Any, *, dry_run: bool) -> None:
    from lessons_kb.store.agent_settings import read_settings_file, replace_settings_file
    from lessons_kb.store.locate import user_settings_path

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
    from lessons_kb.store.locate import user_brain

    if not os.path.isdir(user_brain()):
        root, _made = make_brain(user_brain())
        say(f"{root}: created, your own brain; projects without one use it")


def _tell_health() -> None:
    from lessons_kb.brain.doctor.health import MARKS
    from lessons_kb.brain.doctor.server_check import check_server

    for line in check_server(os.getcwd()):
        say(f"{MARKS[line.level]} {line.what}: {line.detail}")
