"""The user's own settings: what no brain may decide, such as a program to run."""

from __future__ import annotations

from dataclasses import dataclass

from lessons_kb.config import MAX_CONFIG_BYTES
from lessons_kb.errors import ConfigError, StorageError
from lessons_kb.store.disk import read_regular
from lessons_kb.store.locate import user_settings_path

DEFAULT_SECONDS, _MAX_SECONDS = 30.0, 600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeSettings:
    """``[check]`` of the user's settings: a program that judges checklist items."""

    command: str = ""
    """A command line; "" = none."""
    seconds: float = DEFAULT_SECONDS
    """Until it is ended."""


def read_user_settings() -> JudgeSettings:
    """Return the user's settings, the defaults without a file; ConfigError if it is not usable."""
    path = user_settings_path()
    try:
        data = read_regular(path, limit=MAX_CONFIG_BYTES, name=path)
    except FileNotFoundError:
        return JudgeSettings()
    except (OSError, StorageError) as error:
        raise ConfigError(f"{path}: {error}; grant yourself read access") from None
    import tomllib

    try:
        table = tomllib.loads(data.decode("utf-8-sig")).get("check", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{path}: {error}; fix or remove the line") from None
    if not isinstance(table, dict) or set(table) - {"command", "seconds"}:
        raise ConfigError(f"{path}: [check] knows command and seconds; remove the other keys")
    command, seconds = table.get("command", ""), table.get("seconds", DEFAULT_SECONDS)
    if not isinstance(command, str):
        raise ConfigError(f"{path}: check.command must be text, not {command!r}")
    is_number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    if not is_number or not 0 < seconds <= _MAX_SECONDS:
        limit = f"more than 0 and at most {_MAX_SECONDS:.0f}"
        raise ConfigError(f"{path}: check.seconds must be {limit}, not {seconds!r}")
    return JudgeSettings(command=command, seconds=float(seconds))
