"""Ask git to merge texts, and how it merges the cards of a repository."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence

from lessons_kb.errors import GitError
from lessons_kb.process.git import MAX_BYTES, Done, explain, find_git, run_git

SCOPES = {"user": "--global", "project": "--local"}
"""Where a driver is configured: for every repository of this user, or for one clone."""

_FAILED = 128
"""Exit code from which git means an error and not a number of conflicts."""


def merge_lines(
    base: bytes, ours: bytes, theirs: bytes, *, labels: Sequence[str], marker_size: int, cwd: str
) -> tuple[bytes, bool]:
    """Merge three texts as ``git merge-file`` does; return the result and whether it conflicts.

    ``labels`` name ours, the base and theirs in the markers. The style of conflicts is the one
    configured for ``cwd``. Raises GitError for what git takes for binary.
    """
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for name, data in (("ours", ours), ("base", base), ("theirs", theirs)):
            path = os.path.join(folder, name)
            with open(path, "wb") as file:
                file.write(data)
            names.append(path)
        named = [option for label in labels for option in ("-L", label)]
        size = f"--marker-size={marker_size}"
        done = run_git(find_git(), cwd, "merge-file", "-p", "-q", size, *named, "--", *names)
    if done.code >= _FAILED or done.code < 0 or done.truncated:
        no_text = "it is not text"  # of which git says nothing where it is to be quiet
        why = f"more than {MAX_BYTES:,} bytes" if done.truncated else _last_line(done, no_text)
        raise GitError(f"git merge-file: {why}; merge it by hand")
    return done.output, done.code > 0


def find_attributes_file(cwd: str) -> str:
    """Return the path of the clone's own attributes, which are not part of any commit."""
    done = run_git(find_git(), cwd, "rev-parse", "--git-path", "info/attributes")
    if done.code:
        raise GitError(explain(done.error, cwd))
    return os.path.join(cwd, os.fsdecode(done.output.rstrip(b"\n")))


def read_merge_attribute(cwd: str, path: str) -> str:
    """Return which driver git merges ``path`` (relative to ``cwd``) with; "" for its own."""
    done = run_git(find_git(), cwd, "check-attr", "-z", "merge", "--", path)
    if done.code:
        raise GitError(explain(done.error, cwd))
    value = done.output.split(b"\0")[2:3]
    if not value or value[0] in (b"unspecified", b"set", b"unset"):
        return ""
    return os.fsdecode(value[0])


def read_driver(cwd: str, name: str, scope: str | None = None) -> tuple[str | None, str]:
    """Return the command of a merge driver, None without one, and the file that configures it.

    Looks into one scope, or into all.
    """
    where = [SCOPES[scope]] if scope else []
    key = f"merge.{name}.driver"
    done = run_git(find_git(), cwd, "config", *where, "--show-origin", "-z", "--get", key)
    if done.code not in (0, 1):  # 1: not configured
        raise GitError(explain(done.error, cwd))
    if done.code:
        return None, ""
    origin, command = os.fsdecode(done.output).split("\0")[:2]
    return command, os.path.join(cwd, origin.removeprefix("file:"))


def has_config(cwd: str, scope: str) -> bool:
    """Tell whether there is a file of git's configuration for this scope."""
    return run_git(find_git(), cwd, "config", SCOPES[scope], "--list", "--name-only").code == 0


def set_driver(cwd: str, name: str, command: str, *, title: str, scope: str) -> None:
    """Configure a merge driver. Raises GitError when the configuration cannot be written."""
    for key, value in (("name", title), ("driver", command)):
        _config(cwd, SCOPES[scope], f"merge.{name}.{key}", value)


def unset_driver(cwd: str, name: str, *, scope: str) -> None:
    """Take a merge driver out of the configuration; its section goes when nothing is left."""
    for key in ("name", "driver"):
        if run_git(find_git(), cwd, "config", SCOPES[scope], "--get", f"merge.{name}.{key}").code:
            continue
        _config(cwd, SCOPES[scope], "--unset-all", f"merge.{name}.{key}")


def _config(cwd: str, *arguments: str) -> None:
    done = run_git(find_git(), cwd, "config", *arguments)
    if done.code:
        what = _last_line(done, "git config failed")
        raise GitError(f"{what}; grant yourself write access to git's configuration")


def _last_line(done: Done, usual: str) -> str:
    """Return what git said last, ``usual`` where it said nothing."""
    said = done.error.strip().splitlines() or [usual]
    return said[-1].removeprefix("fatal: ").removeprefix("error: ")
