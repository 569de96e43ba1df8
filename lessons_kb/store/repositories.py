"""Find repositories and brains above and below a folder."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence

from lessons_kb.errors import StorageError
from lessons_kb.store.files import open_regular
from lessons_kb.store.locations import CACHE_NAME, CONFIG_NAME, upwards

_FOREIGN_TOPS = (".hg", ".jj", ".sl", ".svn/wc.db", ".bzr")
"""Files or folders at the top of a clone by a version control system other than git."""


BORDERS = frozenset(
    {CONFIG_NAME, CACHE_NAME, ".git", *(name.partition("/")[0] for name in _FOREIGN_TOPS)}
)
"""The names of which every folder that satisfies ``is_border`` contains at least one."""


_MAX_GIT_BYTES = 65_536


_MAX_DEPTH, _MAX_FOLDERS = 3, 1_000


def find_brains(cwd: str) -> list[str]:
    """Return the real paths of the brains that apply to a working directory, nearest first.

    A brain is ``cwd`` or a folder above it with a file ``lessons.toml`` or a folder ``.lessons``.
    No file is opened.
    """
    return list(filter(is_brain, upwards(cwd)))


def find_borders(folders: Sequence[str], brain: str) -> list[str]:
    """Return the repositories and brains between a brain and a folder in it, innermost first.

    ``folders`` are that folder and its parents, from `upwards`.
    """
    below = folders[: folders.index(brain)] if brain in folders else ()
    return [folder for folder in below if is_border(folder)]


def find_below(top: str) -> list[str]:
    """Return the brains up to three folders below ``top``.

    Hidden folders and repositories are skipped. In a large tree, only the first folders are
    searched.
    """
    brains: list[str] = []
    pending = [(top, 0)]
    for folder, depth in pending:  # the loop appends to the list, level by level
        if depth and is_brain(folder):
            brains.append(folder)
        elif depth < _MAX_DEPTH and not (depth and is_border(folder)):
            inner = [(path, depth + 1) for path in _list_visible_folders(folder)]
            pending += inner[: _MAX_FOLDERS - len(pending)]
    return brains


def _list_visible_folders(folder: str) -> list[str]:
    """Return the sorted folders in a folder, without hidden ones, links and node_modules."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        folders = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
        visible = [entry for entry in folders if entry.name[0] != "."]
        return sorted(entry.path for entry in visible if entry.name != "node_modules")
    return []


def is_brain(folder: str) -> bool:
    """Return whether a folder is marked as a brain."""
    return os.path.isfile(os.path.join(folder, CONFIG_NAME)) or os.path.isdir(
        os.path.join(folder, CACHE_NAME)
    )


def is_work_tree(folder: str) -> bool:
    """Return whether a folder is the top of a git work tree."""
    mark = os.path.join(folder, ".git")
    # HEAD may be a link to a branch that is packed; the link is then broken.
    return os.path.lexists(os.path.join(mark, "HEAD")) or os.path.isfile(mark)


def is_border(folder: str) -> bool:
    """Return whether a folder is a brain or a separate repository, which needs its own trust."""
    return (
        is_brain(folder)
        or is_work_tree(folder)
        or any(os.path.lexists(os.path.join(folder, name)) for name in _FOREIGN_TOPS)
    )


def git_top(cwd: str) -> str | None:
    """Return the real path of the git work tree around ``cwd``, or None outside of one.

    A work tree has a ``.git`` folder with a ``HEAD``, or a ``.git`` file (worktrees and
    submodules). No process is started.
    """
    return find_work_tree(upwards(cwd))


def find_work_tree(folders: Iterable[str]) -> str | None:
    """Return the first folder that is the top of a git work tree, or None."""
    return next(filter(is_work_tree, folders), None)


def git_home(top: str) -> str | None:
    """Return the real path of the git directory that all work trees of ``top`` share.

    Return None if it cannot be verified. Anyone can write a ``.git`` file that names the directory
    of another repository, so it counts only if that directory points back: by the ``gitdir`` of
    ``worktrees/<name>``, or by ``core.worktree`` of a submodule. Git never creates a ``.git`` that
    is a link, or a ``.git`` folder with a ``commondir``, so these do not count.
    """
    mark = os.path.join(top, ".git")
    if os.path.islink(mark):
        return None
    if os.path.isdir(mark):
        return None if os.path.lexists(os.path.join(mark, "commondir")) else mark
    named = _read_lines(mark)[0]
    if not named.startswith("gitdir:"):
        return None
    own = os.path.realpath(os.path.join(top, named.removeprefix("gitdir:").strip()))
    if common := _read_lines(os.path.join(own, "commondir"))[0]:
        shared = os.path.realpath(os.path.join(own, common))
        back = _read_lines(os.path.join(own, "gitdir"))[0]
        listed = os.path.dirname(own) == os.path.join(shared, "worktrees")
        return shared if listed and os.path.realpath(os.path.join(own, back)) == mark else None
    back = _core_worktree(os.path.join(own, "config"))
    return own if back and os.path.realpath(os.path.join(own, back)) == top else None


def _read_lines(path: str) -> list[str]:
    """Return the lines of one of git's small files, or [""] if there is none."""
    try:
        with open_regular(path) as file:
            lines = os.fsdecode(file.read(_MAX_GIT_BYTES)).split("\n")
    except (OSError, ValueError, StorageError):
        return [""]
    return [line.strip() for line in lines]


def _core_worktree(config: str) -> str:
    """Return ``core.worktree`` in the form in which git writes it; "" if it is not set."""
    section, work_tree = "", ""
    for line in _read_lines(config):
        if line.startswith("["):
            section = line.casefold()
        key, _, value = line.partition("=")
        if section == "[core]" and key.strip().casefold() == "worktree":
            work_tree = value.strip().strip('"')
    return work_tree


MANIFESTS = (
    *("uv.lock", "poetry.lock", "requirements.txt", "pyproject.toml", "Pipfile.lock"),
    *("package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "package.json"),
    *("Cargo.lock", "Cargo.toml", "go.mod"),
    *(".python-version", ".node-version", ".nvmrc"),
)
"""The files at the top of a project that specify the versions of its packages."""
_MAX_REF_BYTES = 4_096
_MAX_MANIFEST_BYTES = 30_000_000
_NO_COMMIT = "no commit"


def sign_project(top: str) -> str:
    """Return a signature of a project, which changes when HEAD or a manifest changes."""
    head = _sign_head(top) or _NO_COMMIT
    signatures = {name: _sign(os.path.join(top, name)) for name in MANIFESTS}
    lines = [f"{name} {signature}" for name, signature in signatures.items() if signature]
    return "\n".join([head, *lines])


def read_manifest(top: str, name: str) -> str | None:
    """Return the text of a manifest of a project, or None if there is no usable manifest."""
    try:
        with open_regular(os.path.join(top, name)) as file:
            data = file.read(_MAX_MANIFEST_BYTES + 1)
    except (OSError, ValueError, StorageError):
        return None
    return None if len(data) > _MAX_MANIFEST_BYTES else data.decode("utf-8", "replace")


def _sign_head(top: str) -> str:
    folder = os.path.join(top, ".git")
    pointer = _read_text(folder)
    if pointer.startswith("gitdir:"):
        folder = os.path.join(top, pointer.removeprefix("gitdir:").strip())
    common = os.path.join(folder, _read_text(os.path.join(folder, "commondir")) or ".")
    head = _read_text(os.path.join(folder, "HEAD"))
    ref = head.removeprefix("ref:").strip()
    if ref == head:
        return head
    commit = _read_text(os.path.join(common, *ref.split("/")))
    if commit:
        return commit
    packed = [_sign(os.path.join(common, name)) for name in ("packed-refs", "reftable/tables.list")]
    return " ".join([ref, *packed]) if any(packed) else ""


def _read_text(path: str) -> str:
    try:
        with open_regular(path) as file:
            return os.fsdecode(file.read(_MAX_REF_BYTES)).strip()
    except (OSError, ValueError, StorageError):
        return ""


def _sign(path: str) -> str:
    try:
        info = os.stat(path)
    except (OSError, ValueError):
        return ""
    return f"{info.st_mtime_ns} {info.st_size} {info.st_ino}"
