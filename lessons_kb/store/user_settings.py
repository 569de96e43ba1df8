"""The user's own settings, with tables for the judge, the writer, the cluster and the server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeVar

from lessons_kb.config import MAX_CONFIG_BYTES
from lessons_kb.errors import ConfigError, StorageError
from lessons_kb.on_demand import FIND_SIMILAR, READ_TOML, load
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
    """The command line; "" means that there is no program."""
    seconds: float = DEFAULT_SECONDS
    """The time limit of the program."""


@frozen
class WriterSettings(UserSettings):
    """``[writer]`` of the user's settings: the agent that completes drafts by default."""

    table = "writer"
    command: str = ""
    """An agent such as ``claude``, with its options, or a command that reads a prompt on stdin. It
    is used if ``--with`` does not name a writer."""
    seconds: float = 300.0
    """The time limit for one draft."""


@frozen
class ClusterSettings(UserSettings):
    """``[cluster]`` of the user's settings: the cluster for brains with the engine ``qdrant``."""

    table = "cluster"
    url: str = ""
    """The URL of a server, or a folder; "" means that there is no cluster and the local index
    answers."""
    key_file: str = ""
    """The file with the server's key, which only this user can read; "" means that the server needs
    no key."""
    seconds: float = 0.3
    """The time limit after which the local index answers."""


@frozen
class ServerSettings(UserSettings):
    """``[server]`` of the user's settings: a shared brain that receives each prompt."""

    table = "server"
    url: str = ""
    """The URL of the brain, ``https://HOST/v1/brains/NAME``; "" means that there is no server."""
    token_file: str = ""
    """The file with the token, which only this user can read."""
    ca_file: str = ""
    """The certificates (PEM) of the authorities to trust; "" means the authorities that this
    machine trusts."""
    seconds: float = 0.5
    """The time limit after which only the local brain answers. It is at most a quarter of a hook's
    time limit."""
    folders: tuple[str, ...] = ()
    """The folders of the projects whose prompts are sent. If it is empty, the prompts of all
    projects are sent."""
    gate: bool = False
    """Whether the ``gate`` of its lessons may ask before a change, or refuse it once."""
    detect: bool = False
    """Whether the ``detect`` patterns of its lessons are searched in local changes and commands."""


@frozen
class WithholdSettings(UserSettings):
    """``[effect]`` of the user's settings: lessons are withheld to measure their effect."""

    table = "effect"
    withhold: float = 0.0
    """The share of sessions from which each lesson is withheld."""
    withhold_high: bool = False
    """Whether cards of high severity and cards with a gate are withheld as well."""


USER_SECTIONS: tuple[type[UserSettings], ...] = (
    JudgeSettings,
    WriterSettings,
    ClusterSettings,
    ServerSettings,
    WithholdSettings,
)


def read_user_settings(kind: type[Section]) -> Section:
    """Return a table of the user's settings, or its defaults if there is no file.

    Raises ConfigError if the file or the table cannot be used.
    """
    name = kind.table
    path = user_settings_path()
    try:
        data = read_regular(path, limit=MAX_CONFIG_BYTES, name=path)
    except FileNotFoundError:
        return kind()
    except (OSError, StorageError) as error:
        raise ConfigError(f"{path}: {error}; grant yourself read access") from None
    toml = load(READ_TOML)
    try:
        tables = toml.loads(data.decode("utf-8-sig"))
    except (toml.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{path}: {error}; fix or remove the line") from None
    table_names = [section.table for section in USER_SECTIONS]
    for key, value in tables.items():
        if key not in table_names or not isinstance(value, dict):
            shown_key = f"[{key}]" if isinstance(value, dict) else key
            hint = _suggest(key, table_names, "[{}]")
            raise ConfigError(f"{path}: {shown_key} is not a table of these settings; {hint}")
    table = tables.get(name, {})
    defaults = list_defaults(kind)
    for key in table:
        if key not in defaults:
            hint = _suggest(key, list(defaults), "{}")
            raise ConfigError(f"{path}: [{name}] has no key {key}; {hint}")
    values = dict(table)
    for key, value in table.items():
        value_type = type(defaults[key])
        expected = {tuple: "a list of folders", str: "text", bool: "true or false"}.get(value_type)
        is_valid = type(value) is value_type
        if value_type is tuple:
            is_valid = isinstance(value, list) and all(isinstance(item, str) for item in value)
        elif key == "withhold":
            is_valid = type(value) in (int, float) and 0 <= value <= 1
            expected = "from 0 to 1"
        elif value_type is float:
            is_valid = type(value) in (int, float) and 0 < value <= _MAX_SECONDS
            expected = f"more than 0 and at most {_MAX_SECONDS:.0f}"
        if not is_valid:
            raise ConfigError(f"{path}: {name}.{key} must be {expected}, not {value!r}")
        values[key] = value_type(value)
    return kind(**values)


def _suggest(name: str, names: Sequence[str], form: str) -> str:
    """Return a hint with the name that was probably meant, or with all valid names."""
    similar = load(FIND_SIMILAR).get_close_matches(name, names, n=1, cutoff=0.5)
    if similar:
        return f"did you mean {form.format(similar[0])}?"
    return f"use one of {', '.join(map(form.format, names))}"
