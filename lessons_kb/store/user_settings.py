"""The user's own settings: tables for the judge, the writer, the cluster, the server."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Sequence
from typing import ClassVar, TypeVar

from lessons_kb.config import MAX_CONFIG_BYTES
from lessons_kb.errors import ConfigError, StorageError
from lessons_kb.store.files import read_regular
from lessons_kb.store.locations import user_settings_path
from lessons_kb.values import frozen, list_defaults

DEFAULT_SECONDS, _MAX_SECONDS = 30.0, 600.0


@frozen
class UserSettings:
    """A table of the user's own settings."""

    table: ClassVar[str]


Section = TypeVar("Section", bound=UserSettings)


@frozen
class JudgeSettings(UserSettings):
    """``[check]`` of the user's settings: a program that judges checklist items."""

    table = "check"
    command: str = ""
    """A command line; "" = none."""
    seconds: float = DEFAULT_SECONDS
    """Until it is ended."""


@frozen
class WriterSettings(UserSettings):
    """``[writer]`` of the user's settings: what completes drafts where ``--with`` names nobody."""

    table = "writer"
    command: str = ""
    """An agent such as ``claude``, with its options, or what reads a prompt on stdin."""
    seconds: float = 300.0
    """For one draft, until it is ended."""


@frozen
class ClusterSettings(UserSettings):
    """``[cluster]`` of the user's settings: where a brain with the engine ``qdrant`` is asked."""

    table = "cluster"
    url: str = ""
    """A server, or a folder; "" = nowhere, and the local index answers."""
    key_file: str = ""
    """A file with the server's key, readable by this user alone; "" = the server asks for none."""
    seconds: float = 0.3
    """Until the local index answers in its place."""


@frozen
class ServerSettings(UserSettings):
    """``[server]`` of the user's settings: a shared brain that is asked at each prompt."""

    table = "server"
    url: str = ""
    """Of the brain, ``https://HOST/v1/brains/NAME``; "" = none."""
    token_file: str = ""
    """A file with the token, readable by this user alone."""
    ca_file: str = ""
    """Certificates (PEM) of the authorities to believe; "" = those that this machine believes."""
    seconds: float = 0.5
    """Until the local brain answers alone; at most a quarter of a hook's deadline."""
    folders: tuple[str, ...] = ()
    """Only the prompts of projects in these are sent; empty = those of all projects."""
    gate: bool = False
    """The ``gate`` of its lessons may ask before a change, or refuse it once."""
    detect: bool = False
    """Its lessons' ``detect`` patterns are looked for in changes and commands, here."""


@frozen
class WithholdSettings(UserSettings):
    """``[effect]`` of the user's settings: lessons kept back to see what becomes without them."""

    table = "effect"
    withhold: float = 0.0
    """Share of sessions that each lesson is withheld from."""
    withhold_high: bool = False
    """Cards of high severity and those with a gate, too."""


USER_SECTIONS: tuple[type[UserSettings], ...] = (
    JudgeSettings,
    WriterSettings,
    ClusterSettings,
    ServerSettings,
    WithholdSettings,
)


def read_user_settings(kind: type[Section]) -> Section:
    """Return a table of the user's settings, the defaults without a file.

    Raises ConfigError for one that is not usable.
    """
    name = kind.table
    path = user_settings_path()
    try:
        data = read_regular(path, limit=MAX_CONFIG_BYTES, name=path)
    except FileNotFoundError:
        return kind()
    except (OSError, StorageError) as error:
        raise ConfigError(f"{path}: {error}; grant yourself read access") from None
    try:
        tables = tomllib.loads(data.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{path}: {error}; fix or remove the line") from None
    known_tables = [section.table for section in USER_SECTIONS]
    for key, value in tables.items():
        if key not in known_tables or not isinstance(value, dict):
            written = f"[{key}]" if isinstance(value, dict) else key
            hint = _suggest(key, known_tables, "[{}]")
            raise ConfigError(f"{path}: {written} is no table of these settings; {hint}")
    table = tables.get(name, {})
    defaults = list_defaults(kind)
    for key in table:
        if key not in defaults:
            hint = _suggest(key, list(defaults), "{}")
            raise ConfigError(f"{path}: [{name}] knows no {key}; {hint}")
    values = dict(table)
    for key, value in table.items():
        known_type = type(defaults[key])
        expected = {tuple: "a list of folders", str: "text", bool: "true or false"}.get(known_type)
        fits = type(value) is known_type
        if known_type is tuple:
            fits = isinstance(value, list) and all(isinstance(one, str) for one in value)
        elif key == "withhold":
            fits, expected = type(value) in (int, float) and 0 <= value <= 1, "from 0 to 1"
        elif known_type is float:
            fits = type(value) in (int, float) and 0 < value <= _MAX_SECONDS
            expected = f"more than 0 and at most {_MAX_SECONDS:.0f}"
        if not fits:
            raise ConfigError(f"{path}: {name}.{key} must be {expected}, not {value!r}")
        values[key] = known_type(value)
    return kind(**values)


def _suggest(name: str, known: Sequence[str], form: str) -> str:
    """Return which of the ``known`` names was probably meant, or all of them."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if near:
        return f"did you mean {form.format(near[0])}?"
    return f"use one of {', '.join(map(form.format, known))}"
