"""Set and remove the shared server in the user's settings, and store its token."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import fields

import typer

from lessons_kb.agents.install.edit_json import put_table, take_table
from lessons_kb.brain.make_brain import make_brain
from lessons_kb.cli.options import find_project
from lessons_kb.cli.output import say
from lessons_kb.collection.doctor import check_server
from lessons_kb.collection.health import MARKS
from lessons_kb.errors import InputError
from lessons_kb.find.shared_server import name_server
from lessons_kb.process.git import list_files
from lessons_kb.store.foreign_settings import read_settings_file, replace_settings_file
from lessons_kb.store.locations import user_brain, user_settings_path
from lessons_kb.store.private_files import write_private
from lessons_kb.store.repositories import git_top
from lessons_kb.store.secrets import read_key
from lessons_kb.store.user_settings import ServerSettings, read_user_settings

_TABLE = ("server",)


def set_server(url: str, token_file: str, *, scope: str, dry_run: bool) -> None:
    """Write the address of a server and the path of its token to the user's settings.

    Hooks send prompts to this server. With the scope ``project``, only prompts of this project are
    sent. Raises InputError for an address or a token that cannot be used. Nothing is changed in
    this case.
    """
    url = url.rstrip("/")
    name_server(url)  # raises InputError
    former = read_user_settings(ServerSettings)
    same_server = former if former.url == url else ServerSettings()
    folders: list[str] = []
    if scope == "project" and (same_server.folders or not same_server.url):
        folders = list(dict.fromkeys([*same_server.folders, find_project()]))
    authority = os.environ.get("SSL_CERT_FILE") or same_server.ca_file
    token = _find_token(url, token_file, same_server, dry_run=dry_run)
    values = {"url": url, "token_file": token, "ca_file": authority, "folders": folders}
    table = {key: value for key, value in values.items() if value or getattr(former, key)}
    _change_settings(lambda text: put_table(text, _TABLE, table), dry_run=dry_run)
    where = "of this project" if folders else "of all projects"
    say(f"prompts {where} are sent to {url} from now on, with secrets taken out")
    if dry_run:
        return
    if not os.path.isdir(user_brain()):  # sessions without another trusted brain are recorded there
        root, _created = make_brain(user_brain())
        say(f"{root}: created your own brain, for projects without a brain")
    for line in check_server(os.getcwd()):
        say(f"{MARKS[line.level]} {line.what}: {line.detail}")


def forget_server(*, dry_run: bool) -> None:
    """Remove the server from the user's settings, and its token if lessons_kb stored it."""
    settings = read_user_settings(ServerSettings)
    if not settings.url:
        say("no server is set; nothing changed")
        return
    keys = [setting.name for setting in fields(ServerSettings)]
    _change_settings(lambda text: take_table(text, _TABLE, keys), dry_run=dry_run)
    if dry_run:
        return
    if settings.token_file == _own_token_file() and os.path.exists(settings.token_file):
        os.unlink(settings.token_file)
    say(f"prompts are no longer sent to {settings.url}")


def _find_token(url: str, token_file: str, former: ServerSettings, *, dry_run: bool) -> str:
    """Return the path of the file with the token, or "" without a token.

    This is the file in the arguments, or else the file in the settings, or else our own file, to
    which a token that the user types is written.
    """
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
    if former.token_file:
        return former.token_file
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
    content = read_settings_file(path)
    before = content or b""
    after = edit(before.decode()).encode()
    if after == before:
        say(f"{path}: already up to date")
        return
    if not dry_run:
        replace_settings_file(path, after, expected=content)
    say(f"{path}: {'would be ' if dry_run else ''}changed")
