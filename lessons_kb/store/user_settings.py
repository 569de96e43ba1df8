"""The user's own settings: what no brain may decide, such as a program to run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from lessons_kb.config import MAX_CONFIG_BYTES
from lessons_kb.errors import ConfigError, StorageError
from lessons_kb.store.disk import read_regular
from lessons_kb.store.locate import user_settings_path
from lessons_kb.store.user_state import read_private

DEFAULT_SECONDS, _MAX_SECONDS = 30.0, 600.0
_MAX_KEY_BYTES = 10_000
SERVER = "server"
"""Name of the table that `install --server` writes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeSettings:
    """``[check]`` of the user's settings: a program that judges checklist items."""

    command: str = ""
    """A command line; "" = none."""
    seconds: float = DEFAULT_SECONDS
    """Until it is ended."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterSettings:
    """``[cluster]`` of the user's settings: where a brain with the engine ``qdrant`` is asked."""

    url: str = ""
    """A server, or a folder; "" = nowhere, and the local index answers."""
    key_file: str = ""
    """A file with the server's key, readable by this user alone; "" = the server asks for none."""
    seconds: float = 0.3
    """Until the local index answers in its place."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServerSettings:
    """``[server]`` of the user's settings: a shared brain that is asked at each prompt."""

    url: str = ""
    """Of the brain, ``https://HOST/v1/brains/NAME``; "" = none."""
    token_file: str = ""
    """A file with the token, readable by this user alone."""
    keychain: bool = False
    """The token is in the user's keychain, under this URL."""
    ca_file: str = ""
    """Certificates (PEM) of the authorities to believe; "" = those that this machine believes."""
    seconds: float = 0.5
    """Until the local brain answers alone; at most a quarter of a hook's deadline."""
    folders: tuple[str, ...] = ()
    """Only the prompts of projects in these are sent; empty = those of all projects."""
    gate: bool = False
    """Its lessons with ``gate: ask`` may ask before a change."""
    detect: bool = False
    """Its lessons' ``detect`` patterns are looked for in changes and commands, here."""


def read_user_settings() -> JudgeSettings:
    """Return who judges items, the defaults without a file; ConfigError if it is not usable."""
    path = user_settings_path()
    table = _read_table(path, "check", ("command", "seconds"))
    seconds = _read_seconds(path, "check", table, DEFAULT_SECONDS)
    return JudgeSettings(command=_read_text(path, "check", table, "command"), seconds=seconds)


def read_cluster_settings() -> ClusterSettings:
    """Return where the user searches, the defaults without a file; ConfigError if not usable."""
    path = user_settings_path()
    table = _read_table(path, "cluster", ("url", "key_file", "seconds"))
    return ClusterSettings(
        url=_read_text(path, "cluster", table, "url"),
        key_file=_read_text(path, "cluster", table, "key_file"),
        seconds=_read_seconds(path, "cluster", table, ClusterSettings().seconds),
    )


def read_server_settings() -> ServerSettings:
    """Return which server the user asks, the defaults without a file; ConfigError if not usable."""
    path, default = user_settings_path(), ServerSettings()
    table = _read_table(path, SERVER, tuple(one.name for one in fields(ServerSettings)))
    folders = table.get("folders", [])
    if not isinstance(folders, list) or not all(isinstance(one, str) for one in folders):
        raise ConfigError(f"{path}: {SERVER}.folders must be a list of folders, not {folders!r}")
    return ServerSettings(
        folders=tuple(folders),
        seconds=_read_seconds(path, SERVER, table, default.seconds),
        url=_read_text(path, SERVER, table, "url"),
        token_file=_read_text(path, SERVER, table, "token_file"),
        ca_file=_read_text(path, SERVER, table, "ca_file"),
        keychain=_read_flag(path, SERVER, table, "keychain"),
        gate=_read_flag(path, SERVER, table, "gate"),
        detect=_read_flag(path, SERVER, table, "detect"),
    )


def read_key(path: str) -> str:
    """Return the key in a file, "" for no path; ConfigError where others could read it."""
    if not path:
        return ""
    try:
        data = read_private(os.path.expanduser(path), limit=_MAX_KEY_BYTES)
        key = data.decode("ascii").strip()
    except StorageError as error:
        raise ConfigError(str(error)) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}; give a file that holds the key") from None
    if not key.isprintable() or " " in key:
        raise ConfigError(f"{path} holds more than a key; give a file with the key alone")
    return key


def _read_table(path: str, name: str, keys: tuple[str, ...]) -> dict[str, Any]:
    try:
        data = read_regular(path, limit=MAX_CONFIG_BYTES, name=path)
    except FileNotFoundError:
        return {}
    except (OSError, StorageError) as error:
        raise ConfigError(f"{path}: {error}; grant yourself read access") from None
    import tomllib

    try:
        table = tomllib.loads(data.decode("utf-8-sig")).get(name, {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{path}: {error}; fix or remove the line") from None
    if not isinstance(table, dict) or set(table) - set(keys):
        known = f"{', '.join(keys[:-1])} and {keys[-1]}"
        raise ConfigError(f"{path}: [{name}] knows {known}; remove the other keys")
    return table


def _read_text(path: str, name: str, table: Mapping[str, Any], key: str) -> str:
    value = table.get(key, "")
    if not isinstance(value, str):
        raise ConfigError(f"{path}: {name}.{key} must be text, not {value!r}")
    return value


def _read_flag(path: str, name: str, table: Mapping[str, Any], key: str) -> bool:
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise ConfigError(f"{path}: {name}.{key} must be true or false, not {value!r}")
    return value


def _read_seconds(path: str, name: str, table: Mapping[str, Any], default: float) -> float:
    seconds = table.get("seconds", default)
    is_number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    if not is_number or not 0 < seconds <= _MAX_SECONDS:
        limit = f"more than 0 and at most {_MAX_SECONDS:.0f}"
        raise ConfigError(f"{path}: {name}.seconds must be {limit}, not {seconds!r}")
    return float(seconds)
