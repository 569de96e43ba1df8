"""Which commands take changes back: git revert, reset --hard, restore and checkout of files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_WITH_VALUE = ("-C", "-c", "--git-dir", "--work-tree", "-s", "--source", "-m", "--mainline")
_EVERYTHING = (".", "./", ":/", "*", "-A", "--all")
_LEADERS = ("sudo", "env", "time", "command", "then", "do", "!", "(")
_STOPS = ("--abort", "--quit", "--skip", "--continue")
_REMOTE = r"^(?:origin|upstream)/|^@\{u(?:pstream)?\}$|^FETCH_HEAD$"
_SPLIT = r"&&|\|\||[;|\n]"


@dataclass(frozen=True, kw_only=True, slots=True)
class RolledBack:
    """What a command took back."""

    always: bool
    """Commits, or the whole work tree; otherwise the files below."""
    files: tuple[str, ...] = ()

    def touches(self, path: str) -> bool:
        """Return whether a changed file, as a POSIX path, was taken back."""
        return any(
            name in _EVERYTHING
            or path == name
            or path.endswith(f"/{name}")
            or name.endswith(f"/{path}")
            or path.startswith(f"{name.rstrip('/')}/")
            for name in self.files
        )


def find_rolled_back(command: str) -> RolledBack | None:
    """Return what a command line takes back with git, None when it does not.

    A reset to what the remote has, and a checkout of a branch, take files back only where some
    were changed.
    """
    for piece in re.split(_SPLIT, command[:20_000]):
        words = piece.replace('"', " ").replace("'", " ").split()
        place = next((n for n, word in enumerate(words) if not _leads(word)), len(words))
        if words[place : place + 1] == ["git"]:
            name, options, operands = _parse(words[place + 1 :])
            rule = _RULES.get(name)
            if rule and (found := rule(options, operands)):
                return found
    return None


def _leads(word: str) -> bool:
    return word in _LEADERS or (word.partition("=")[0].isidentifier() and "=" in word)


def _parse(words: Sequence[str]) -> tuple[str, list[str], list[str]]:
    """Return subcommand, options and operands; what follows ``--`` is marked by a ``--`` before."""
    name, options, operands = "", [], []
    skip = plain = False
    for word in words:
        if skip:
            skip = False
        elif plain:
            operands.append(word)
        elif word == "--":
            plain = True
            operands.append(word)
        elif word.startswith("-"):
            options.append(word)
            skip = word in _WITH_VALUE
        elif not name:
            name = word
        else:
            operands.append(word)
    return name, options, operands


def _reverted(options: Sequence[str], operands: Sequence[str]) -> RolledBack | None:
    stopped = any(option in _STOPS for option in options)
    return None if stopped or not operands else RolledBack(always=True)


def _reset(options: Sequence[str], operands: Sequence[str]) -> RolledBack | None:
    if not any(option in ("--hard", "--merge", "--keep") for option in options):
        return None
    remote = any(re.search(_REMOTE, operand) for operand in operands)
    return RolledBack(always=not remote, files=(".",))


def _restored(options: Sequence[str], operands: Sequence[str]) -> RolledBack | None:
    staged = any(option in ("--staged", "-S") for option in options)
    if staged and not any(option in ("--worktree", "-W", "-SW") for option in options):
        return None
    files = tuple(operand for operand in operands if operand != "--")
    return RolledBack(always=False, files=files) if files else None


def _checked_out(options: Sequence[str], operands: Sequence[str]) -> RolledBack | None:
    if any(option in ("-b", "-B", "--orphan", "-t", "--track", "--detach") for option in options):
        return None
    # Without a mark, a branch or commit among the operands touches no changed file.
    start = operands.index("--") + 1 if "--" in operands else 0
    files = tuple(operands[start:])
    return RolledBack(always=False, files=files) if files else None


_RULES = {
    "revert": _reverted,
    "reset": _reset,
    "restore": _restored,
    "checkout": _checked_out,
}
