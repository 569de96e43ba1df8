"""Write and remove the completion of a shell: a script, and a line in a start file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from lessons_kb.store.card_files import read_template
from lessons_kb.store.foreign_settings import (
    forget_change,
    read_change,
    read_settings_file,
    remember_change,
    remove_empty,
    replace_settings_file,
)
from lessons_kb.store.locations import user_settings_path

SHELLS = {"bash": "lessons.bash", "zsh": "_lessons", "fish": "lessons.fish"}
"""Maps a shell to the name of its script."""
_MARK = b"  # completion of lessons"
"""The end of our line in a start file."""
_VARIABLE = b"_LESSONS_COMPLETE"
"""The name that every script of ours contains."""
_FORMER = b".bash_completions/lessons.sh'"
"""The end of a line in `.bashrc` that `lessons --install-completion` added."""


class Change(NamedTuple):
    """A file that was written or removed."""

    path: str
    action: str
    """``wrote``, ``changed`` or ``removed``."""


def read_script(shell: str) -> str:
    """Return the script of a shell."""
    return read_template(f"shell/{SHELLS[shell]}").rstrip("\n")


def install_completion(shell: str) -> list[Change]:
    """Write the completion of a shell. Return the files that changed. Raises StorageError."""
    changes: list[Change] = []
    script = _script_path(shell)
    before = read_settings_file(script)
    text = f"{read_script(shell)}\n".encode()
    if before != text:
        folders = replace_settings_file(script, text, expected=before)
        if folders:
            remember_change(script, {"made": folders}, None)
        changes.append(Change(script, "wrote"))
    start_file = _start_file(shell)
    if start_file:
        if read_settings_file(start_file) == b"":
            remember_change(start_file, {}, b"")  # an empty file stays when the line is removed
        line = _START_LINES[shell].format(path=script).encode() + _MARK
        changes += _edit(start_file, lambda content: _add_line(_drop_lines(content), line))
    return changes


def remove_completion(*, dry_run: bool = False) -> list[Change]:
    """Remove the completion of all shells. Return the files that changed. Raises StorageError.

    With ``dry_run``, nothing is changed.
    """
    changes: list[Change] = []
    for path in _list_scripts():
        before = read_settings_file(path)
        if before is not None and _VARIABLE in before:
            changes.append(Change(path, "removed"))
            if dry_run:
                continue
            replace_settings_file(path, None, expected=before)
            record, _original = read_change(path)
            remove_empty(sorted(map(str, record.get("made", []))))
            forget_change(path)
    for shell in SHELLS:
        start_file = _start_file(shell)
        if start_file:
            changes += _edit(start_file, _drop_lines, dry_run=dry_run)
    return changes


_START_LINES = {
    "bash": '[ -r "{path}" ] && . "{path}"',
    "zsh": (
        "(( $+functions[compdef] )) || {{ autoload -Uz compinit && compinit; }}; "
        '[ -r "{path}" ] && . "{path}"'
    ),
}


def _script_path(shell: str) -> str:
    if shell == "fish":
        return os.path.join(_config_home(), "fish", "completions", SHELLS[shell])
    return os.path.join(os.path.dirname(user_settings_path()), f"completion.{shell}")


def _config_home() -> str:
    """Return the folder in which fish looks for its settings."""
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    return folder if os.path.isabs(folder) else os.path.expanduser("~/.config")


def _start_file(shell: str) -> str:
    """Return the start file of a shell, or "" for fish, which finds the script by its folder."""
    if shell == "bash":
        return os.path.expanduser("~/.bashrc")
    if shell == "zsh":
        return os.path.join(os.environ.get("ZDOTDIR") or os.path.expanduser("~"), ".zshrc")
    return ""


def _list_scripts() -> Iterator[str]:
    """Yield the scripts of this release, and those that `lessons --install-completion` wrote."""
    for shell in SHELLS:
        yield _script_path(shell)
    for former in ("~/.bash_completions/lessons.sh", "~/.zfunc/_lessons"):
        yield os.path.expanduser(former)


def _edit(path: str, edit: Callable[[bytes], bytes], *, dry_run: bool = False) -> list[Change]:
    """Edit a start file. Remove it if only our line created it and it is empty afterwards."""
    before = read_settings_file(path)
    after = edit(before or b"")
    if after == (before or b""):
        return []
    _record, original = read_change(path)
    is_ours = not after and before is not None and original is None
    if not dry_run:
        replace_settings_file(path, None if is_ours else after, expected=before)
        if not after:
            forget_change(path)
    return [Change(path, "removed" if is_ours else "changed")]


def _add_line(content: bytes, line: bytes) -> bytes:
    """Add a line at the end; the file keeps its last line break, or its lack of one."""
    if not content or content.endswith(b"\n"):
        return content + line + b"\n"
    return content + b"\n" + line


def _drop_lines(content: bytes) -> bytes:
    """Remove our lines, and the line breaks that `_add_line` added with them."""
    lines = content.splitlines(keepends=True)
    kept = [line for line in lines if not _is_ours(line)]
    if kept == lines:
        return content
    rest = b"".join(kept)
    had_no_break = not content.endswith(b"\n")
    return rest.removesuffix(b"\n") if had_no_break else rest


def _is_ours(line: bytes) -> bool:
    text = line.rstrip(b"\r\n")
    return text.endswith((_MARK, _FORMER))
