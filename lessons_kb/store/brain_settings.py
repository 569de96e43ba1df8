"""Read the settings of a brain: ``lessons.toml`` and ``.lessonsignore``."""

from __future__ import annotations

import os

from lessons_kb.config import MAX_CONFIG_BYTES, Settings, parse_settings
from lessons_kb.errors import ConfigError, InputError, StorageError
from lessons_kb.store.files import open_regular
from lessons_kb.store.locations import CONFIG_NAME, real_path
from lessons_kb.store.scan import IGNORE_NAME
from lessons_kb.text.patterns import Globs, check_pattern, check_sum, compile_globs


def read_settings(root: str) -> tuple[Settings, dict[str, str]]:
    """Return the settings of the brain at ``root``, and the lines that set them.

    The lines are a mapping from each key in the file to ``name:line``. Raises ConfigError, which
    names the line.
    """
    text = _read(root, CONFIG_NAME)
    settings, origins = parse_settings(text, name=CONFIG_NAME)
    if settings.brain and not find_named(root, settings.brain):
        raise ConfigError(
            f"{origins['brain']}: brain must be a folder below the one with this file, "
            f"not {settings.brain!r}"
        )
    patterns = settings.triggers.patterns
    for pattern in patterns:
        if why := check_pattern(pattern):
            at = _find_item(pattern, origins["triggers.patterns"], text)
            raise ConfigError(f"{at}: the pattern {pattern[:60]!r} is not usable: {why}")
    if patterns and (why := check_sum(patterns)):
        raise ConfigError(f"{origins['triggers.patterns']}: {why}")
    return settings, origins


def find_named(root: str, brain: str) -> str:
    """Return the real path of the folder ``brain``; "" if it is not strictly below ``root``."""
    folder = real_path(os.path.join(root, brain))
    below = folder.startswith(real_path(root).rstrip(os.sep) + os.sep)
    return folder if below and os.path.isdir(folder) else ""


def read_ignored(root: str) -> Globs:
    """Return the compiled globs of ``.lessonsignore``. Raises ConfigError for a malformed glob."""
    try:
        return compile_globs(_read(root, IGNORE_NAME).splitlines())
    except InputError as error:
        raise ConfigError(f"{IGNORE_NAME}: {error}") from None


def _find_item(pattern: str, where: str, text: str) -> str:
    """Return ``name:line`` of an item of a list. ``where`` is ``name:line`` of the list in
    ``lessons.toml``, whose content is ``text``.

    If the item cannot be located, return ``where``.
    """
    name, _, first = where.rpartition(":")
    # As written in single quotes or in double quotes.
    spellings = [form for form in (pattern, pattern.replace("\\", "\\\\")) if form]
    for number, line in enumerate(text.splitlines(), 1):
        if number >= int(first) and any(form in line for form in spellings):
            return f"{name}:{number}"
    return where


def _read(root: str, name: str) -> str:
    path = os.path.join(root, name)
    try:
        with open_regular(path) as file:
            data = file.read(MAX_CONFIG_BYTES + 1)
    except (FileNotFoundError, StorageError):
        return ""
    except OSError as error:
        raise ConfigError(f"{name}: {error.strerror}; grant yourself read access") from None
    if len(data) > MAX_CONFIG_BYTES:
        raise ConfigError(f"{name}: more than {MAX_CONFIG_BYTES:,} bytes; shorten it")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{name}:{line}: not UTF-8; save the file as UTF-8") from None
