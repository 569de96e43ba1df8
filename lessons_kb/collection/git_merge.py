"""Configure git to merge the cards of a brain key by key, and undo this configuration.

This is not part of the installation of agents, because git watches no session. The configuration
depends only on the location of the brains and on their folders of cards.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

from lessons_kb.cards.merge import merge_cards
from lessons_kb.collection.merged_by_git import DRIVER, merges_cards
from lessons_kb.errors import BrainNotFound, InputError, StorageError
from lessons_kb.process import git
from lessons_kb.store.brain_settings import read_settings
from lessons_kb.store.files import relative, shown
from lessons_kb.store.foreign_settings import (
    FileChange,
    check_writable,
    overwrite,
    read_settings_file,
    replace_settings_file,
    show_change,
)
from lessons_kb.store.repositories import git_top

_MERGE = f" merge={DRIVER}"
_FIRST = "# lessons_kb: cards are merged key by key (`lessons install git` in each clone)"
_LAST = "# end of lessons_kb"
_ENDINGS = ("md", "markdown")
_BLOCK = re.compile(
    rf"^{re.escape(_FIRST)}(?:\r\n|\n).*?^{re.escape(_LAST)}(?:\r\n|\n|\Z)",
    re.MULTILINE | re.DOTALL,
)
_GLOB = re.compile(r"[\\*?\[\]]")
_PLAIN = re.compile(r"[^\s\"\x00-\x1f\x7f]+")


def build_patterns(brain: str, folders: Sequence[str]) -> tuple[str, ...]:
    """Return the patterns of an attributes file that match the cards of a brain.

    ``brain`` is the POSIX path of the brain relative to the work tree, or "" for the work tree
    itself. A folder of cards may be at any depth, as in ``kind_of``.
    """
    names = [folder.strip("/") for folder in folders]
    start = f"/{_escape_glob(brain)}/" if brain else ""
    patterns: list[str] = []
    for name in names:
        # The pattern of ``lessons`` also matches ``.ai/lessons``.
        is_covered = any(f"/{other}/" in f"/{name}/" for other in names if other != name)
        if not is_covered:
            path = f"{start}**/{_escape_glob(name)}/**/*."
            patterns += [_quote(path + ending) for ending in _ENDINGS]
    return tuple(patterns)


def _escape_glob(text: str) -> str:
    return _GLOB.sub(lambda match: "\\" + match[0], text)


def put_block(text: str, patterns: Sequence[str]) -> str:
    """Return the text of an attributes file with a block of these patterns.

    An existing block of ours is replaced at its present position.
    """
    end = "\r\n" if "\r" in text else "\n"
    lines = (_FIRST, *(pattern + _MERGE for pattern in patterns), _LAST)
    block = "".join(line + end for line in lines)
    if _BLOCK.search(text):
        return _BLOCK.sub(lambda _match: block, text, count=1)
    gap = end if text and not text.endswith("\n") else ""
    return f"{text}{gap}{block}"


def remove_block(text: str) -> str:
    """Return the text of an attributes file without our block."""
    return _BLOCK.sub("", text)


def find_patterns(text: str) -> tuple[str, ...]:
    """Return the patterns of our block, or () if there is no block."""
    lines = "".join(_BLOCK.findall(text)).splitlines()
    return tuple(line.removesuffix(_MERGE) for line in lines if line.endswith(_MERGE))


def _quote(pattern: str) -> str:
    """Return a pattern in the syntax of the file, with quotes around spaces and similar signs."""
    if _PLAIN.fullmatch(pattern) and pattern[0] not in "#!":
        return pattern

    def escape(character: str) -> str:
        if character.isprintable() and character not in '"\\':
            return character
        return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape"))

    return f'"{"".join(map(escape, pattern))}"'


TITLE = "lessons_kb: cards are merged key by key"
PLACEHOLDERS = "%O %A %B %L %P %S %X %Y"
"""The placeholders of git for the three files, the size of the markers, the path and the three
labels. An older git does not support the labels and leaves their placeholders unchanged."""
COMMITTED = ".gitattributes"


def share(
    roots: Sequence[str],
    *,
    program: str,
    scope: str = "user",
    shared: bool = False,
    dry_run: bool = False,
) -> list[FileChange]:
    """Configure git to merge the cards of the brains at ``roots`` with our merge driver.

    ``program`` is the command ``lessons``. The driver is written to the user's git configuration
    or, with the ``scope`` ``project``, to the configuration of each clone. The attributes are
    written to the clone's own file or, with ``shared``, to ``.gitattributes``. A second call
    changes nothing. Raises BrainNotFound, InputError, GitError and StorageError.
    """
    work_trees = _group_by_work_tree(roots, scope, shared=shared)
    plans: list[_Plan] = []
    for top, brains in work_trees.items():
        patterns: dict[str, None] = {}
        for brain in brains:
            inside = "" if brain == top else relative(top, brain)
            patterns |= dict.fromkeys(build_patterns(inside, [*read_settings(brain)[0].folders]))
        committed = () if shared else _read_committed_patterns(top)
        new = [pattern for pattern in patterns if pattern not in committed]
        if new:
            plans.append(_plan(top, new, shared=shared))
    return _carry_out(plans, work_trees, build_command(program), scope, dry_run=dry_run)


def _read_committed_patterns(top: str) -> tuple[str, ...]:
    """Return the patterns of our block in ``.gitattributes``, which a clone need not repeat."""
    data = b""
    with contextlib.suppress(StorageError):
        data = read_settings_file(os.path.join(top, COMMITTED)) or b""
    return find_patterns(data.decode("utf-8", "replace"))


def unshare(
    roots: Sequence[str], *, scope: str = "user", shared: bool = False, dry_run: bool = False
) -> list[FileChange]:
    """Remove what ``share`` wrote. A file that becomes empty is deleted.

    With the scope ``user``, the drivers of these clones are removed as well, because their cards no
    longer have attributes.
    """
    work_trees = _group_by_work_tree(roots, scope, shared=shared)
    plans = [_plan(top, None, shared=shared) for top in work_trees]
    changes = _carry_out(plans, work_trees, None, scope, dry_run=dry_run)
    if scope == "user":
        drivers = [_set_driver(top, None, "project", dry_run=dry_run) for top in work_trees]
        changes += [driver for driver in drivers if driver.diff]
    return changes


def build_command(program: str) -> str:
    """Return the command line of the driver, with git's own merge if ``lessons`` is missing.

    Without that fallback, a missing program would leave one version in the file and report a
    conflict that has no markers.
    """
    # On Windows, git also runs drivers in a POSIX shell, in which / separates folders.
    quoted = shlex.quote(program.replace(os.sep, "/")).replace("%", "%%")
    plain = "git merge-file --marker-size=%L %A %O %B"
    return (
        f"if command -v {quoted} >/dev/null 2>&1;"
        f" then {quoted} merge-driver {PLACEHOLDERS}; else {plain}; fi"
    )


def find_sharing(root: str) -> tuple[bool, bool] | None:
    """Return whether git has attributes for the cards of the brain, and whether it has our driver.

    Returns None outside of a git work tree. Raises GitError.
    """
    if git_top(root) is None:
        return None
    driver = git.read_driver(root, DRIVER)[0]
    return merges_cards(root, "lessons/a.md"), driver is not None


def _group_by_work_tree(roots: Sequence[str], scope: str, *, shared: bool) -> dict[str, list[str]]:
    """Return a mapping from the top of each work tree to its brains.

    Raises InputError and BrainNotFound.
    """
    if scope not in git.SCOPES:
        scopes = ", ".join(git.SCOPES)
        raise InputError(f"--scope must be one of {scopes}, not {scope!r}")
    if shared and scope != "project":
        raise InputError("--shared writes a project's committed file; add --scope project")
    work_trees: dict[str, list[str]] = {}
    for root in roots:
        top = git_top(root)
        if top is not None:
            work_trees.setdefault(top, []).append(os.path.realpath(root))
    if not work_trees and scope == "project":
        where = ", ".join(map(shown, roots)) or "here"
        raise BrainNotFound(
            f"no brain in a git repository ({where}); run this inside one, or use --brain"
        )
    return work_trees


class _Plan(NamedTuple):
    """A change of a file. None means that there is no file."""

    path: str
    before: bytes | None
    after: bytes | None


def _plan(top: str, patterns: Sequence[str] | None, *, shared: bool) -> _Plan:
    """Plan to write ``patterns`` to the block of an attributes file. None removes the block."""
    path = os.path.join(top, COMMITTED) if shared else git.find_attributes_file(top)
    if os.path.islink(path):
        raise StorageError(
            f"{shown(path)}: a symbolic link, which git does not read; replace it with a file"
        )
    before = read_settings_file(path)
    try:
        text = (before or b"").decode()
    except UnicodeDecodeError:
        raise InputError(
            f"{shown(path)}: not UTF-8; save it as UTF-8, then run this again"
        ) from None
    if patterns is None:
        return _Plan(path, before, remove_block(text).encode() or None)
    others = [pattern for pattern in find_patterns(text) if pattern not in patterns]
    return _Plan(path, before, put_block(text, (*others, *patterns)).encode())


def _carry_out(
    plans: Sequence[_Plan], tops: Iterable[str], command: str | None, scope: str, *, dry_run: bool
) -> list[FileChange]:
    """Write the driver first and then the files, because attributes need a driver."""
    places = tops if scope == "project" else [os.getcwd()]
    drivers = [_set_driver(place, command, scope, dry_run=dry_run) for place in places]
    files = []
    for path, before, after in plans:
        action = "removed" if after is None else "changed" if before else "created"
        if before == after:
            action = "unchanged"
        elif not dry_run:
            check_writable(path)
            replace_settings_file(path, after, expected=before)
        files.append(FileChange(path=path, action=action, diff=show_change(path, before, after)))
    return [*files, *drivers]


def _set_driver(cwd: str, command: str | None, scope: str, *, dry_run: bool) -> FileChange:
    """Configure the driver. None removes it."""
    before, file = git.read_driver(cwd, DRIVER, scope)
    action = "created" if before is None else "changed" if command else "removed"
    signed = {"-": before, "+": command} if before != command else {}
    lines = (f"{sign}merge.{DRIVER}.driver = {line}" for sign, line in signed.items() if line)
    if before == command:
        action = "unchanged"
    elif not dry_run:
        git.set_driver(cwd, DRIVER, command, title=TITLE, scope=scope)
        if command is None and not read_settings_file(file):  # git leaves an empty file behind
            replace_settings_file(file, None, expected=b"")
    where = f"driver, git config {git.SCOPES[scope]}"
    return FileChange(path=where, action=action, diff="\n".join(lines))


def merge_files(
    base: str, ours: str, theirs: str, *, labels: Sequence[str], marker_size: int
) -> bool:
    """Merge three versions of a card into the file ``ours``. Return whether it conflicts.

    ``labels`` are the names of ours, base and theirs in conflict markers. Files that are not UTF-8
    are merged by lines. Raises GitError or StorageError. In both cases, ``ours`` is unchanged.
    """
    versions = [read_settings_file(path) or b"" for path in (base, ours, theirs)]
    by_lines = partial(git.merge_lines, labels=labels, marker_size=marker_size, cwd=os.getcwd())

    def by_text(*texts: str) -> tuple[str, bool]:
        merged, conflict = by_lines(*(text.encode() for text in texts))
        return merged.decode(), conflict

    try:
        texts = [data.decode() for data in versions]
    except UnicodeDecodeError:
        data, conflict = by_lines(*versions)
    else:
        merged = merge_cards(*texts, merge_text=by_text)
        data = merged.text.encode()
        conflict = merged.conflict
    overwrite(ours, data)
    return conflict
