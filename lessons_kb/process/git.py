"""Ask git what changed, without letting the repository run anything.

A repository brings its own configuration, and git runs programs that it names: file system
monitors, hooks, diff drivers, text converters, clean filters, transports for objects that are
missing. All of them are switched off here, for the repository may be anyone's.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO

from lessons_kb.errors import GitError
from lessons_kb.process.find_program import find_program

MAX_BYTES = 4_000_000
"""A longer diff is cut."""
_MAX_UNTRACKED = 500
_MAX_UNTRACKED_BYTES = 200_000
"""Of one file; a larger one is named without its text."""
_SECONDS = 30.0

_SAFE = (
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "core.quotePath=false"),
    *("-c", "protocol.allow=never"),
    *("-c", "safe.bareRepository=explicit"),
    *("-c", "submodule.recurse=false"),
)
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_DROPPED = (
    *("GIT_DIFF_OPTS", "GIT_EXTERNAL_DIFF", "GIT_TRACE", "GIT_ASKPASS"),
    *("GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS"),
)
FORM = (
    *("--find-renames", "--unified=3"),
    *("--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all"),
    *("--src-prefix=a/", "--dst-prefix=b/", f"-O{os.devnull}", "--output-indicator-new=+"),
)
_DIFF = ("diff", "--patch-with-raw", "-z", *FORM)
_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_GLOB_SIGN, _ESCAPED = re.compile(r"[*?\[\]\\]"), r"\\\g<0>"
_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_FILTER_KEY = re.compile(r"filter\.(.+)\.(?:clean|smudge|process|required)", re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class Diff:
    """A change, as git tells it."""

    files: tuple[str, ...]
    """Changed, added, removed and renamed files (by both names); POSIX, from git's top folder."""
    added: tuple[str, ...]
    """Lines added, without their mark and line end, in the order of the text."""
    text: str
    """The unified diff."""
    truncated: bool = False
    """Whether ``text`` was cut; then ``added`` is as well."""


def read_diff(
    cwd: str, revision: str | None = None, *, without: Iterable[tuple[str, str]] = ()
) -> Diff:
    """Return what changed in the git work tree around ``cwd``.

    Without a revision: working tree and index against HEAD (against nothing, before the first
    commit), untracked text files included. With one, as ``git diff`` takes it: a commit against
    the working tree, or ``a..b``, ``a...b``. ``without`` leaves files out: pairs of a folder and a
    glob below it. Nothing the repository configures is run and no network is used. Raises GitError
    where there is no git, no repository or no such revision.
    """
    git = find_git(", or leave out --diff")
    if not os.path.isdir(cwd):
        raise GitError(f"{cwd!r} is not a folder; give a folder inside a git repository")
    if revision is not None and (not revision.strip() or revision.startswith("-")):
        raise GitError(f"{revision!r} is not a revision; give a commit, a..b or a...b")
    repository = Repository(git, cwd)
    paths = list(repository.find_excluded(without))
    if revision is None:
        return repository.diff(repository.head(), paths, untracked=True)
    return repository.diff(revision, paths, untracked=False)


def list_files(cwd: str, paths: Sequence[str] = ()) -> list[str]:
    """Return the files of the work tree around ``cwd`` that git does not ignore, POSIX, sorted.

    They start from git's top folder, and so do ``paths``, files or folders to stay within.
    Raises GitError where there is no git or no repository.
    """
    repository = Repository(find_git(", or name the files"), cwd)
    inside = [f":(top,literal){path}" for path in paths]
    names = ("ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "-z", "--")
    found = repository.ask(*names, *inside)
    return sorted(name for part in found.split(b"\0") if (name := decode(part)))


@contextlib.contextmanager
def spawned(
    git: str, cwd: str, arguments: Sequence[str], *, given: IO[bytes] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Lend a run of git, which ends with the loan; ``given`` is its input."""
    kept = {k: v for k, v in os.environ.items() if k not in _DROPPED}
    with subprocess.Popen(
        [git, "--no-pager", *_SAFE, *arguments],
        cwd=cwd,
        env=kept | _ENVIRONMENT,
        stdin=given or subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def read_head(cwd: str) -> str:
    """Return the hash of HEAD; GitError where there is no git, no repository or no commit."""
    repository = Repository(find_git(""), cwd)
    return repository.ask("rev-parse", "--verify", "HEAD^{commit}").decode().strip()


def leads_to_head(cwd: str, commit: str) -> bool:
    """Tell whether HEAD is a commit, by its hash, or descends from it."""
    return Repository(find_git(""), cwd).leads(commit)


def find_git(else_: str = "") -> str:
    """Return the path of git; GitError when there is none, ``else_`` telling a way without."""
    git = find_program("git")
    if git is None:
        raise GitError(f"git is not installed; install it{else_}")
    return git


class Repository:
    """One repository, asked with everything switched off that would run a program of its own."""

    def __init__(self, git: str, cwd: str) -> None:
        self.git = git
        self.cwd = cwd
        top = self.ask("rev-parse", "--show-toplevel").decode("utf-8", "surrogateescape")
        self.cwd = os.path.realpath(top.removesuffix("\n"))
        nearest = _nearest_work_tree(cwd)
        given = any(name in os.environ for name in ("GIT_DIR", "GIT_WORK_TREE"))
        if not given and nearest != self.cwd:
            raise GitError(f"{cwd}: its core.worktree points elsewhere; unset it")

    def head(self) -> str:
        """Return HEAD, or the empty tree before the first commit."""
        if self.run("rev-parse", "--quiet", "--verify", "HEAD^{commit}").code == 0:
            return "HEAD"
        return self.ask("hash-object", "-t", "tree", "--stdin").decode().strip()

    def leads(self, commit: str) -> bool:
        """Tell whether a commit, by its hash, leads to HEAD."""
        return (
            _HASH.fullmatch(commit) is not None
            and self.run("merge-base", "--is-ancestor", commit, "HEAD").code == 0
        )

    def find_excluded(self, without: Iterable[tuple[str, str]]) -> Iterator[str]:
        """Return pathspecs that leave out what lies in this work tree of some folders' globs."""
        for folder, glob in without:
            inside = os.path.relpath(os.path.realpath(folder), self.cwd).replace(os.sep, "/")
            if inside == "." or all(part == ".." for part in inside.split("/")):
                yield f":(top,exclude,glob){glob}"
            elif not inside.startswith("../"):
                yield f":(top,exclude,glob){_GLOB_SIGN.sub(_ESCAPED, inside)}/{glob}"

    def diff(self, revision: str, paths: Sequence[str], *, untracked: bool) -> Diff:
        """Return the diff for one revision argument, of some pathspecs."""
        command = (*_DIFF, "--end-of-options", revision, "--", *paths)
        if ".." in revision:
            done = self.run(*command)
        else:
            with tempfile.TemporaryDirectory() as folder:
                index = self.copy_index(folder)
                done = self.run(*self.filters_off(), *command, GIT_INDEX_FILE=index)
        if done.code and not done.truncated:
            raise GitError(explain(done.error, revision))
        names, patch = _split_raw(done.output)
        if done.truncated:
            patch = patch[: patch.rfind(b"\n") + 1]
        parts = [patch]
        if untracked:
            room = MAX_BYTES - len(patch)
            for name in self.untracked(paths):
                names.append(name)
                part = _as_new_file(os.fsencode(self.cwd), name)
                if len(part) <= room:
                    parts.append(part)
                    room -= len(part)
        return Diff(
            files=tuple(dict.fromkeys(decode(name) for name in names)),
            added=tuple(decode(line) for part in parts for line in _added_lines(part)),
            text=decode(b"".join(parts)),
            truncated=done.truncated,
        )

    def untracked(self, paths: Sequence[str]) -> list[bytes]:
        """List untracked files that are not ignored, the first 500."""
        done = self.run("ls-files", "--others", "--exclude-standard", "-z", "--", *paths)
        names = done.output.split(b"\0")[:-1]
        return [name for name in names if not name.endswith(b"/")][:_MAX_UNTRACKED]

    def copy_index(self, folder: str) -> str:
        """Copy the index into ``folder`` and return its path.

        ``git diff`` locks and rewrites the index it is given, whatever GIT_OPTIONAL_LOCKS says;
        a commit made at that moment would fail.
        """
        path = self.ask("rev-parse", "--git-path", "index").removesuffix(b"\n")
        copy = os.path.join(folder, "index")
        try:
            # With its times: git tells by them which entries it must not trust.
            shutil.copy2(os.path.join(os.fsencode(self.cwd), path), os.fsencode(copy))
        except FileNotFoundError:
            pass  # nothing was ever added
        except OSError as error:
            raise GitError(f"the index cannot be read: {error.strerror}; check the disk") from None
        return copy

    def filters_off(self) -> list[str]:
        """Return options that disable the clean filters the repository itself defines.

        Comparing with the working tree runs them; those of the user's own configuration stay.
        """
        done = self.run("config", "--show-scope", "--name-only", "-z", "--get-regexp", r"^filter\.")
        if done.code not in (0, 1):  # 1: none
            raise GitError(explain(done.error, "config"))
        fields = done.output.decode("utf-8", "surrogateescape").split("\0")
        drivers = {
            match[1]
            for scope, key in zip(fields[::2], fields[1::2], strict=False)
            if scope not in ("system", "global", "command") and (match := _FILTER_KEY.match(key))
        }
        if any("=" in driver for driver in drivers):
            raise GitError("the repository defines a filter with = in its name; remove it")
        off = ("clean=", "smudge=", "process=", "required=false")
        return [o for d in sorted(drivers) for key in off for o in ("-c", f"filter.{d}.{key}")]

    def ask(self, *arguments: str, **environment: str) -> bytes:
        """Return what git prints; GitError when it fails."""
        done = self.run(*arguments, **environment)
        if done.code:
            raise GitError(explain(done.error, self.cwd))
        return done.output

    def run(self, *arguments: str, **environment: str) -> Done:
        """Run git in the work tree, for a bounded time, with bounded output."""
        return run_git(self.git, self.cwd, *arguments, **environment)


def run_git(git: str, cwd: str, *arguments: str, **environment: str) -> Done:
    """Run git in ``cwd`` so that the repository there starts no program of its own.

    Raises GitError after 30 seconds; what it prints is cut at MAX_BYTES.
    """
    kept = {k: v for k, v in os.environ.items() if k not in _DROPPED}
    command = [git, "--no-pager", *_SAFE, *arguments]
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            command,
            cwd=cwd,
            env=kept | _ENVIRONMENT | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
        ) as process,
    ):
        late = threading.Event()

        def end() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(_SECONDS, end)
        timer.start()
        try:
            output = process.stdout.read(MAX_BYTES + 1) if process.stdout else b""
            truncated = len(output) > MAX_BYTES
            if truncated:
                process.kill()
            code = process.wait()
        finally:
            timer.cancel()
            process.kill()
        if late.is_set():
            raise GitError(f"git took more than {_SECONDS:.0f} seconds; use a smaller range")
        errors.seek(0)
        error = errors.read(10_000).decode("utf-8", "replace")
    return Done(code=code, output=output[:MAX_BYTES], truncated=truncated, error=error)


@dataclass(frozen=True, kw_only=True, slots=True)
class Done:
    """A finished run of git."""

    code: int
    output: bytes
    truncated: bool
    error: str


def _nearest_work_tree(cwd: str) -> str | None:
    folder = os.path.realpath(cwd)
    while True:
        mark = os.path.join(folder, ".git")
        if os.path.isfile(mark) or os.path.isfile(os.path.join(mark, "HEAD")):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


_EXPLAINED = (
    ("not a git repository", "not in a git repository; run this inside one"),
    ("must be run in a work tree", "not in a work tree; run this inside one"),
    ("dubious ownership", "the repository belongs to another user; see git's safe.directory"),
    ("no merge base", "no common ancestor in this clone; fetch more history"),
    ("bad revision", "unknown revision; give a commit, a..b or a...b"),
    ("ambiguous argument", "unknown revision; give a commit, a..b or a...b"),
)


def explain(error: str, what: str) -> str:
    """Return what git complained about in one line, with what to do; ``what`` comes first."""
    for words, fix in _EXPLAINED:
        if words in error:
            return f"{what}: {fix}"
    first = next((line for line in error.splitlines() if line.strip()), "git failed")
    return f"{what}: {first.removeprefix('fatal: ').strip()}; try the same with git"


def _split_raw(output: bytes) -> tuple[list[bytes], bytes]:
    """Split ``--patch-with-raw -z``: records of ``:… status``, one or two names, then the patch."""
    names: list[bytes] = []
    at = 0
    while output[at : at + 1] == b":":
        end = output.find(b"\0", at)
        status = output[at:end].rpartition(b" ")[2]
        for _ in range(2 if status[:1] in b"RC" else 1):
            at, end = end + 1, output.find(b"\0", end + 1)
            if end < 0:
                return names, b""
            names.append(output[at:end])
        at = end + 1
    return names, output[at:].removeprefix(b"\0")


def _added_lines(patch: bytes) -> list[bytes]:
    """List the added lines of a patch, hunk by hunk: an added line may look like a header."""
    added = []
    old = new = 0
    for line in patch.split(b"\n"):
        if old <= 0 and new <= 0:
            if hunk := _HUNK.match(line):
                old, new = (1 if count is None else int(count) for count in hunk.groups())
            continue
        mark = line[:1]
        if mark == b"+":
            added.append(line[1:].removesuffix(b"\r"))
        old -= mark in (b" ", b"-", b"")
        new -= mark in (b" ", b"+", b"")
    return added


def _as_new_file(top: bytes, name: bytes) -> bytes:
    """Return an untracked text file as a patch, b"" for anything else."""
    path = os.path.join(top, name)
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return b""
        with open(os.open(path, flags | getattr(os, "O_BINARY", 0)), "rb") as file:
            data = file.read(_MAX_UNTRACKED_BYTES + 1)
    except OSError:
        return b""
    if len(data) > _MAX_UNTRACKED_BYTES or b"\0" in data or b"\n" in name or not data:
        return b""
    lines = data.removesuffix(b"\n").split(b"\n")
    head = b"diff --git a/%b b/%b\nnew file mode 100644\n--- /dev/null\n+++ b/%b\n"
    hunk = b"@@ -0,0 +1,%d @@\n" % len(lines)
    return head % (name, name, name) + hunk + b"".join(b"+%b\n" % line for line in lines)


def decode(data: bytes) -> str:
    """Return what git printed as text; bytes that are no UTF-8 are replaced."""
    return data.decode("utf-8", "replace")
