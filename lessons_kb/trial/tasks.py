"""Read and write a file of tasks: TOML with ``[[task]]`` tables, or JSON Lines."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from lessons_kb.errors import InputError
from lessons_kb.text.sanitize import clean_line
from lessons_kb.values import frozen

_NAME = re.compile(r"[\w.-]{1,80}")
_REQUIRED = ("prompt", "commit", "check")


@frozen
class Task:
    """A task for an agent: the prompt, the commit where it starts, and the check of its result."""

    name: str
    prompt: str
    commit: str
    """The commit at which the work starts."""
    check: str
    """A shell command that runs afterwards in the work's folder. Exit code 0 means success."""
    setup: str = ""
    """A shell command that runs first, such as an installation."""
    check_from: str = ""
    """The commit from which ``check_files`` are copied just before the check."""
    check_files: tuple[str, ...] = ()
    lesson: str = ""
    """The id of the card that the task is about, or "" if it is not about a particular card."""
    source: str = ""
    """The hash of the fix from which the task was made."""
    own: bool = False
    """Whether ``lesson`` was written from ``source`` itself. Such tasks are reported separately."""


def read_tasks(text: str, name: str) -> tuple[Task, ...]:
    """Parse the tasks in a file's ``text``. The format depends on ``name``, the file's name.

    Raises InputError, a single line with the place and a fix.
    """
    tables: list[tuple[str, Any]] = []
    if name.endswith((".jsonl", ".json", ".ndjson")):
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                try:
                    tables.append((f"{name}:{number}", json.loads(line)))
                except ValueError as error:
                    raise InputError(f"{name}:{number}: {error}; write one object a line") from None
    else:
        try:
            found = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"{name}: {error}; fix or remove the line") from None
        listed = found.get("task", [])
        if not isinstance(listed, list) or set(found) - {"task"}:
            raise InputError(f"{name}: write each task as a table [[task]], and nothing else")
        tables = [(f"{name}: task {number}", table) for number, table in enumerate(listed, 1)]
    if not tables:
        raise InputError(f"{name}: no task; write [[task]] with prompt, commit and check")
    tasks = [_read_task(table, place, number) for number, (place, table) in enumerate(tables, 1)]
    seen: dict[str, str] = {}
    for task, (place, _table) in zip(tasks, tables, strict=True):
        first = seen.setdefault(task.name, place)
        if first != place:
            raise InputError(f"{place}: {first} also has the name {task.name!r}; rename one")
    return tuple(tasks)


def _read_task(table: object, where: str, number: int) -> Task:
    if not isinstance(table, dict):
        raise InputError(f"{where}: not a table; write prompt, commit and check")
    known = {field.name: field for field in fields(Task)}
    for key, value in table.items():
        if key not in known:
            raise InputError(f"{where}: {key!r} is unknown; use one of {', '.join(known)}")
        kind: type = {"check_files": list, "own": bool}.get(key, str)
        if not isinstance(value, kind):
            raise InputError(f"{where}: {key} must be a {kind.__name__}, not {value!r}")
    for key in _REQUIRED:
        if not table.get(key, "").strip():
            raise InputError(f"{where}: {key} is missing; a task needs {', '.join(_REQUIRED)}")
    name = table.get("name", f"task-{number}")
    if not _NAME.fullmatch(name):
        raise InputError(f"{where}: name {name!r} must be letters, digits, '.', '-' and '_'")
    files = tuple(map(str, table.get("check_files", ())))
    if bool(files) != bool(table.get("check_from")):
        raise InputError(f"{where}: check_from (a commit) and check_files belong together")
    return Task(**{**table, "name": name, "check_files": files})


def check_texts(task: Task) -> None:
    """Raise InputError for a text that cannot be an argument of a command."""
    texts = {"prompt": task.prompt, "setup": task.setup, "check": task.check}
    for name in task.check_files:
        texts[f"check_files {name!r}"] = name
    for name, text in texts.items():
        if not is_sendable(text):
            raise InputError(f"{name} contains a NUL or half a surrogate pair; remove it")


def is_sendable(text: str) -> bool:
    """Return whether a text can be an argument of a command."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def write_tasks(tasks: Sequence[Task], *, heading: Sequence[str] = ()) -> str:
    """Return tasks as TOML for editing, preceded by the lines of ``heading`` as comments."""
    lines = [f"# {line}".rstrip() for line in heading]
    for task in tasks:
        lines += ["", "[[task]]"]
        values = {field.name: getattr(task, field.name) for field in fields(Task)}
        lines += [f"{name} = {_dump(value)}" for name, value in values.items() if value]
    return "\n".join(lines) + "\n"


def _dump(value: object) -> str:
    """Return a TOML value. A text of several lines becomes a multi-line string."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_dump, value))}]"
    if isinstance(value, str) and "\n" in value:
        return '"""\n' + "\n".join(_dump(line)[1:-1] for line in value.split("\n")) + '"""'
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def make_name(subject: str, commit: str) -> str:
    """Return a short name for a task that is made from a commit."""
    words = re.findall(r"[a-z0-9]+", clean_line(subject).lower())
    return f"{'-'.join(words)[:40].strip('-')}-{commit[:7]}".strip("-")
