"""Ask git for the commits of a repository, without letting the repository run anything."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lessons_kb.errors import GitError
from lessons_kb.process.git import (
    FORM,
    MAX_BYTES,
    Repository,
    Run,
    decode,
    explain,
    find_git,
    spawned,
)

_MAX_GAPS = 50
"""Commits in a row that cannot be read; a clone without any content has no others."""
_PATCH_FORM = (
    *("--unified=0", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all"),
    *("--src-prefix=a/", "--dst-prefix=b/", f"-O{os.devnull}"),
)
_COMMIT = "lessons-commit "
_PATCHES = (
    *("log", "--stdin", "--no-walk=unsorted", "--no-show-signature", "--no-notes", "--patch"),
    f"--format=tformat:%x00{_COMMIT}%H %ct%n%B%x00",
    *_PATCH_FORM,
)
_CHUNK = 1 << 16


@dataclass(frozen=True, kw_only=True, slots=True)
class Commit:
    """One commit of a history."""

    id: str
    """Its hash."""
    date: str
    """ISO date on which it was made."""
    text: str
    """Its unified diff; "" of one longer than MAX_BYTES."""


def read_history(cwd: str, *, since: str = "", most: int = 0) -> Iterator[Commit]:
    """Yield the commits that lead to HEAD, oldest first, merges left out.

    Those that lead to the commit ``since`` are left out, too, if HEAD descends from it; of more
    than ``most``, unless it is 0, the newest are yielded. Nothing the repository configures is
    run. Raises GitError where there is no git, no repository or no commit.
    """
    repository = Repository(find_git(), cwd)
    repository.commit()
    options = ("--reverse", "--no-merges", "--no-show-signature", "--no-notes", "--patch")
    form = f"--format=tformat:%x00{_COMMIT}%H %cs"
    bound = (f"--max-count={most}",) if most else ()
    revisions = (f"{since}..HEAD",) if since and repository.leads(since) else ("HEAD",)
    command = ("log", *options, *bound, form, *FORM, "--end-of-options", *revisions)
    with spawned(repository.git, repository.cwd, command) as output:
        for part in _split_commits(output):
            head, _, patch = part.partition(b"\n")
            name, _, date = decode(head).partition(" ")
            fits = len(part) <= MAX_BYTES
            yield Commit(id=name, date=date, text=decode(patch) if fits else "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Patch:
    """One commit with what it changes, without context lines."""

    id: str
    at: float
    """Seconds since the epoch."""
    message: str
    patch: bytes
    """git's; b"" of one longer than MAX_BYTES."""


def list_commits(cwd: str, *, since: str | None = None) -> list[str]:
    """Return the ids of the commits that lead to HEAD, newest first, merges left out.

    ``since`` is a date as git takes it. Raises GitError where there is no git, no repository or
    no commit.
    """
    repository = Repository(find_git(), cwd)
    repository.commit()
    dated = [f"--since={since}"] if since else []
    command = ("rev-list", "--no-merges", *dated, "--end-of-options", "HEAD")
    with spawned(repository.git, repository.cwd, command) as output:
        found = output.read().decode().split()
        if output.wait():
            raise GitError(explain(output.error(), cwd))
        return found


def read_patches(cwd: str, commits: Sequence[str]) -> Iterator[Patch]:
    """Yield commits with their patches, in the order of their ids.

    git ends at the first file whose content a partial clone lacks: such a commit is left out and
    the rest is asked for again, until 500 in a row cannot be read. Raises GitError where there is
    no content at all.
    """
    repository = Repository(find_git(), cwd)
    place, gaps, size, read = 0, 0, len(commits), 0
    while place < len(commits):
        held: Patch | None = None
        wanted = commits[place : place + size]
        end = place + len(wanted)
        with tempfile.TemporaryFile() as ids:
            ids.write("\n".join(wanted).encode())
            ids.seek(0)
            with spawned(repository.git, repository.cwd, _PATCHES, given=ids) as run:
                for part in _split_commits(run):
                    if held is not None:
                        yield held
                        place, read = place + 1, read + 1
                    held = _read_patch(part)
                whole, error = run.wait() == 0, run.error()
        if whole:
            place, gaps, size, read = end, 0, len(commits), read + 1
            if held is not None:
                yield held
        elif held is not None and len(wanted) > 1:
            size = 1  # the last one may be cut: ask for it alone
        else:
            place, gaps, size = place + 1, gaps + 1, len(commits)
        if gaps > _MAX_GAPS and not read:
            raise GitError(f"{explain(error, cwd)}, or fetch the whole history again")
        if gaps > 10 * _MAX_GAPS:
            return


def read_commit(cwd: str, commit: str) -> str:
    """Return the patch of one commit as a unified diff. Raises GitError."""
    repository = Repository(find_git(), cwd)
    form = ("show", "--format=", "--no-show-signature", "--no-notes", "--patch", *FORM)
    return decode(repository.ask(*form, "--end-of-options", commit))


def _read_patch(part: bytes) -> Patch:
    head, _, rest = part.partition(b"\n")
    message, _, patch = rest.partition(b"\0")
    number, _, at = head.decode().partition(" ")
    fits = len(part) <= MAX_BYTES
    return Patch(
        id=number, at=float(at or 0), message=decode(message), patch=patch if fits else b""
    )


def _split_commits(output: Run) -> Iterator[bytes]:
    """Yield what stands between the marks of commits; of one too long a little more than fits."""
    mark = b"\0" + _COMMIT.encode()
    rest, begun = b"", False
    while chunk := output.read(_CHUNK):
        *whole, rest = (rest + chunk).split(mark)
        for part in whole:
            if begun:
                yield part
            begun = True
        if len(rest) > 2 * MAX_BYTES:
            rest = rest[: MAX_BYTES + 1] + rest[-len(mark) :]
    if begun:
        yield rest
