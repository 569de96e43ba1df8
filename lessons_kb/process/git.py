"""Ask git what changed, without letting the repository run anything.

A repository brings its own configuration, and git runs programs that it names: file system
monitors, hooks, diff drivers, text converters, clean filters, transports for objects that are
missing. All of them are switched off here, for the repository may be anyone's.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import shutil
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from lessons_kb.data import read_mapping, read_words
from lessons_kb.errors import GitError, InputError
from lessons_kb.process.process_tree import end_tree
from lessons_kb.process.programs import find_program
from lessons_kb.text.diffs import parse_hunks
from lessons_kb.values import frozen

MAX_BYTES = 4_000_000
"""A longer diff is cut."""
_MAX_LIST_BYTES, _MAX_BATCH_BYTES = 200_000_000, 40_000_000
"""Of the ids of a history, and of the patches of a batch."""
_MAX_UNTRACKED = 500
_MAX_UNTRACKED_BYTES = 200_000
"""Of one file; a larger one is named without its text."""
_SECONDS = {"rev-parse": 10.0, "config": 10.0, "check-attr": 10.0, "log": 120.0, "rev-list": 120.0}
_USUAL_SECONDS = 30.0
"""How long git may be silent, by its command: what only looks something up is done at once, and a
walk through a history prints nothing before it has its order."""
_OPTIONS = read_words("git_options.txt")
_SAFE = [
    word for one in sorted(_OPTIONS["settings"]) for word in ("-c", one.replace("NULL", os.devnull))
]
_ENVIRONMENT = dict(one.split("=") for one in _OPTIONS["environment"])
FORM = [one.replace("NULL", os.devnull) for one in sorted(_OPTIONS["diff"])]
_GLOB_SIGN, _ESCAPED = re.compile(r"[*?\[\]\\]"), r"\\\g<0>"
_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_FILTER_KEY = re.compile(r"filter\.(.+)\.(?:clean|smudge|process|required)", re.DOTALL)


@frozen
class Done:
    """A finished run of git."""

    code: int
    output: bytes
    truncated: bool
    error: str


def find_git(otherwise: str = "") -> str:
    """Return the path of git; GitError without it, which ends with a way to do without."""
    git = find_program("git")
    if git is None:
        raise GitError(f"git is not installed; install it{otherwise}")
    return git


def run_git(
    cwd: str, *arguments: str, stdin: bytes = b"", limit: int = 0, **environment: str
) -> Done:
    """Run git in ``cwd`` so that the repository there starts no program of its own.

    Raises GitError when git takes too long; what it prints is cut at ``limit`` bytes, without one
    at MAX_BYTES.
    """
    git, limit = find_git(), limit or MAX_BYTES
    for folder in _upwards(cwd):
        for name in sorted(_OPTIONS["read"]):
            path = os.path.join(folder, name)
            with contextlib.suppress(OSError, ValueError):
                if stat.S_ISFIFO(os.stat(path).st_mode):
                    raise GitError(f"{path} is a FIFO, on which git would wait; remove it")
        if os.path.lexists(os.path.join(folder, ".git")):
            break
    kept = {k: v for k, v in os.environ.items() if k not in _OPTIONS["dropped"]}
    seconds, late = _SECONDS.get(arguments[0], _USUAL_SECONDS), threading.Event()
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as errors:
        given.write(stdin)
        given.seek(0)
        # In our own group: whoever ends that, as a terminal and agents do, ends git as well.
        with subprocess.Popen(
            [git, "--no-pager", *_SAFE, *arguments],
            cwd=cwd,
            env={**kept, **_ENVIRONMENT, **environment},
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=errors,
        ) as process:

            def end_late() -> None:
                late.set()
                end_tree(process.pid)

            timer = threading.Timer(seconds, end_late)
            timer.daemon = True
            timer.start()
            try:
                output = process.stdout.read(limit + 1) if process.stdout else b""
                if len(output) > limit:
                    end_tree(process.pid)
                code = process.wait()
            finally:
                timer.cancel()
                if process.poll() is None:
                    end_tree(process.pid)
        if late.is_set():
            raise GitError(
                f"git {arguments[0]} gave no answer in {seconds:.0f} seconds; "
                "run `git status` to see what it waits for"
            )
        errors.seek(0)
        error = errors.read(10_000).decode("utf-8", "replace")
    return Done(code=code, output=output[:limit], truncated=len(output) > limit, error=error)


def decode(data: bytes) -> str:
    """Return what git printed as text; bytes that are no UTF-8 are replaced."""
    return data.decode("utf-8", "replace")


def _upwards(cwd: str) -> list[str]:
    real = pathlib.Path(os.path.realpath(cwd))
    return [str(folder) for folder in (real, *real.parents)]


_UNBORN = "does not have any commits yet"
_EXPLAINED = read_mapping("git_errors.toml")["errors"]
_ADVISED = re.compile(r"^\tgit config .*safe\.directory .*$", re.MULTILINE)
"""How git says to trust a repository that belongs to another user."""


def explain(error: str, what: str) -> str:
    """Return what git complained about in one line, with what to do; ``what`` comes first."""
    for words, fix in _EXPLAINED.items():
        if words in error:
            return f"{what}: {fix}"
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    fatal = next((line for line in lines if line.startswith("fatal: ")), "")
    reason = fatal.removeprefix("fatal: ") or next(iter(lines), "git failed")
    fix = "try the same with git"
    if advice := _ADVISED.search(error):
        fix = f"if you trust it, run `{advice[0].strip()}`"
    elif "not a git repository" in error:
        marks = (os.path.join(folder, ".git") for folder in _upwards(what))
        mark = next(filter(os.path.lexists, marks), "")
        if not mark:
            return f"{what}: not in a git repository; run this inside one"
        fix = f"{mark} is damaged: restore its HEAD, refs and objects, or clone again"
    return f"{what}: {reason}; {fix}"


def ask_git(cwd: str, *arguments: str, **environment: Any) -> bytes:
    """Return what git prints; GitError when it fails."""
    done = run_git(cwd, *arguments, **environment)
    if done.truncated:
        raise GitError(f"{cwd}: git {arguments[0]} printed too much; name fewer files")
    if done.code:
        raise GitError(explain(done.error, cwd))
    return done.output


class Repository:
    """The repository around a folder, with all switched off that would run a program of its own."""

    def __init__(self, cwd: str) -> None:
        """Raises GitError where there is no git or no repository."""
        self.top = cwd
        top = self.ask("rev-parse", "--show-toplevel").decode("utf-8", "surrogateescape")
        self.top = os.path.realpath(top.removesuffix("\n"))
        """The folder in which git's paths begin."""
        marks = ((folder, os.path.join(folder, ".git")) for folder in _upwards(cwd))
        nearest = (
            folder
            for folder, mark in marks
            if os.path.isfile(mark) or os.path.isfile(os.path.join(mark, "HEAD"))
        )
        named = any(name in os.environ for name in ("GIT_DIR", "GIT_WORK_TREE"))
        if not named and next(nearest, None) != self.top:
            raise GitError(f"{cwd}: its core.worktree points elsewhere; unset it")

    def run(self, *arguments: str, **environment: Any) -> Done:
        """Run git in the work tree, for a bounded time, with bounded output."""
        return run_git(self.top, *arguments, **environment)

    def ask(self, *arguments: str, **environment: Any) -> bytes:
        """Return what git prints there; GitError when it fails."""
        return ask_git(self.top, *arguments, **environment)

    def find_head(self) -> str:
        """Return the hash of HEAD, "" before the first commit; GitError for a broken HEAD."""
        done = self.run("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
        if done.code and _UNBORN not in (error := self.run("log", "--max-count=1").error):
            raise GitError(explain(error, self.top))
        return "" if done.code else done.output.decode().strip()

    def head(self) -> str:
        """Return the hash of HEAD; GitError before the first commit."""
        if not (head := self.find_head()):
            raise GitError(f"{self.top} has no commit yet; commit something first")
        return head

    def leads(self, commit: str) -> bool:
        """Tell whether a commit, by its hash, leads to HEAD."""
        is_hash = _HASH.fullmatch(commit) is not None
        return is_hash and not self.run("merge-base", "--is-ancestor", commit, "HEAD").code

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


def list_files(cwd: str, paths: Sequence[str] = ()) -> list[str]:
    """Return the files of the work tree around ``cwd`` that git does not ignore, POSIX, sorted.

    They start from git's top folder, and so do ``paths``, files or folders to stay within.
    Raises GitError where there is no git or no repository.
    """
    find_git(", or name the files")
    inside = [f":(top,literal){path}" for path in paths]
    names = ("ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "-z", "--")
    found = Repository(cwd).ask(*names, *inside)
    return sorted(name for part in found.split(b"\0") if (name := decode(part)))


@frozen
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
    find_git(", or leave out --diff")
    if not os.path.isdir(cwd):
        raise GitError(f"{cwd!r} is not a folder; give a folder inside a git repository")
    if revision is not None and (not revision.strip() or revision.startswith("-")):
        raise GitError(f"{revision!r} is not a revision; give a commit, a..b or a...b")
    repository = Repository(cwd)
    paths = []
    for folder, glob in without:
        inside = os.path.relpath(os.path.realpath(folder), repository.top).replace(os.sep, "/")
        if inside == "." or set(inside.split("/")) == {".."}:
            paths.append(f":(top,exclude,glob){glob}")
        elif not inside.startswith("../"):
            paths.append(f":(top,exclude,glob){_GLOB_SIGN.sub(_ESCAPED, inside)}/{glob}")
    against = revision or repository.find_head()
    if not against:  # the empty tree
        against = repository.ask("hash-object", "-t", "tree", "--stdin").decode().strip()
    command = ("diff", "--patch-with-raw", "-z", *FORM, "--end-of-options", against, "--", *paths)
    if ".." in against:
        done = repository.run(*command)
    else:
        with tempfile.TemporaryDirectory() as place:
            index = _copy_index(repository, place)
            done = repository.run(*repository.filters_off(), *command, GIT_INDEX_FILE=index)
    if done.code and not done.truncated:
        raise GitError(explain(done.error, revision or "HEAD"))
    names, patch = _split_raw(done.output)
    parts = [patch[: patch.rfind(b"\n") + 1] if done.truncated else patch]
    if revision is None:
        found = repository.run("ls-files", "--others", "--exclude-standard", "-z", "--", *paths)
        if found.code and not found.truncated:
            raise GitError(explain(found.error, repository.top))
        new = [name for name in found.output.split(b"\0")[:-1] if not name.endswith(b"/")]
        names += new[:_MAX_UNTRACKED]
        for name in new[:_MAX_UNTRACKED]:
            part = _as_new_file(os.fsencode(repository.top), name)
            if sum(map(len, parts)) + len(part) <= MAX_BYTES:
                parts.append(part)
    text = decode(b"".join(parts))
    return Diff(
        files=tuple(dict.fromkeys(map(decode, names))),
        added=tuple(line.removesuffix("\r") for h in parse_hunks(text) for _, line in h.added()),
        text=text,
        truncated=done.truncated,
    )


def _copy_index(repository: Repository, folder: str) -> str:
    """Copy the index into ``folder`` and return its path.

    ``git diff`` locks and rewrites the index it is given, whatever GIT_OPTIONAL_LOCKS says;
    a commit made at that moment would fail.
    """
    path = repository.ask("rev-parse", "--git-path", "index").removesuffix(b"\n")
    copy = os.path.join(folder, "index")
    try:
        with contextlib.suppress(FileNotFoundError):  # nothing was ever added
            # With its times: git tells by them which entries it must not trust.
            shutil.copy2(os.path.join(os.fsencode(repository.top), path), os.fsencode(copy))
    except OSError as error:
        raise GitError(f"the index cannot be read: {error.strerror}; check the disk") from None
    return copy


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


_NEW_FILE = "100644"
"""Mode of a file that is added."""
_TRIES = 40
_PAUSE_SECONDS = 0.05
"""Between two tries, for a git that holds the branch's lock."""
_MESSAGE_CHARS = 8_000


@frozen
class Author:
    """Who answers for a commit."""

    name: str
    email: str


def check_name(name: str) -> None:
    """Raise InputError for what git would not take for a branch's name, GitError without git."""
    done = run_git(os.sep, "check-ref-format", f"refs/heads/{name}")
    if done.code or name.startswith("-"):
        raise InputError(f"{name!r} is no name of a branch; choose another")


class Branch(Repository):
    """One branch of the repository around a folder; paths are POSIX, from git's top folder."""

    def __init__(self, cwd: str, name: str) -> None:
        """Raises GitError without git or a repository, InputError for an impossible name."""
        check_name(name)
        super().__init__(cwd)
        self.name = name
        self._ref = f"refs/heads/{name}"

    def tip(self) -> str:
        """Return the hash of the branch's last commit, "" while there is no such branch."""
        done = self.run("rev-parse", "--quiet", "--verify", f"{self._ref}^{{commit}}")
        return "" if done.code else done.output.decode().strip()

    def start(self) -> str:
        """Return the commit on which the next one is made.

        It is the branch's last one, or HEAD where the branch is not there yet or all of it has
        been merged. Raises GitError in a repository without commits.
        """
        head, tip = self.head(), self.tip()
        return head if not tip or self.leads(tip) else tip

    def find_entry(self, commit: str, path: str) -> tuple[str, str] | None:
        """Return mode and blob's hash of a commit's file, None where the path is no file."""
        found = self.ask("ls-tree", "-z", "--full-tree", commit, "--", path)
        mode, kind, rest = (found.decode("utf-8", "surrogateescape").split(" ", 2) + [""] * 3)[:3]
        blob, _, name = rest.removesuffix("\0").partition("\t")
        return (mode, blob) if kind == "blob" and name == path else None

    def read(self, commit: str, path: str) -> bytes | None:
        """Return a file of a commit, None where it has none; GitError for one that is too long."""
        entry = self.find_entry(commit, path)
        if entry is None:
            return None
        done = self.run("cat-file", "blob", entry[1])
        if done.code or done.truncated:
            raise GitError(f"{path} cannot be read from the branch {self.name}; look at it there")
        return done.output

    def find_unmerged(self, folder: str) -> list[str]:
        """Return the files below a folder ("" = all) that the branch adds to HEAD or changes."""
        head, tip = self.head(), self.tip()
        if not tip:
            return []
        done = self.run("merge-base", head, tip)
        base = head if done.code else done.output.decode().strip()
        inside = ("--", f":(top,literal){folder}") if folder else ()
        form = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=AM")
        # What was merged by copying its content is on the branch still, and not new to HEAD.
        new, theirs = (self.ask(*form, one, tip, *inside).split(b"\0") for one in (base, head))
        both = sorted(set(new) & set(theirs) - {b""})
        return [name.decode("utf-8", "surrogateescape") for name in both]

    def is_checked_out(self) -> bool:
        """Tell whether this work tree shows the branch; InputError where another one does."""
        place = ""
        for line in self.ask("worktree", "list", "--porcelain").splitlines():
            key, _, value = line.decode("utf-8", "surrogateescape").partition(" ")
            if key == "worktree":
                place = os.path.realpath(value)
            elif (key, value) == ("branch", self._ref):
                if place == self.top:
                    return True
                raise InputError(f"another work tree shows the branch {self.name}; choose another")
        return False

    def check_writable(self) -> None:
        """Raise GitError or InputError if no commit can be made on the branch now."""
        self.is_checked_out()
        self.start()
        common = os.fsdecode(self.ask("rev-parse", "--git-common-dir").rstrip(b"\n"))
        for name in ("objects", "refs/heads"):
            folder = os.path.join(self.top, common, name)
            if not os.access(folder, os.W_OK):
                raise GitError(f"{folder} is read-only; grant the server write access to it")

    def is_clean(self, path: str) -> bool:
        """Tell whether a file is neither changed nor staged in the work tree."""
        form = ("status", "--porcelain", "-z", "--untracked-files=all", "--ignored=matching")
        return not self.ask(*self.filters_off(), *form, "--", f":(top,literal){path}")

    def commit(
        self, change: Callable[[str], Mapping[str, bytes]], *, message: str, author: Author
    ) -> str:
        """Commit what ``change`` returns for the commit it is made on: path → content.

        ``change`` may be called several times: a commit made meanwhile by another comes first.
        Returns the new commit's hash; raises GitError, and what ``change`` raises.
        """
        people = {
            f"GIT_{role}_{what}": value
            for role in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", author.name), ("EMAIL", author.email))
        }
        text = message.replace("\0", "")[:_MESSAGE_CHARS]
        for number in range(_TRIES):
            old, start = self.tip(), self.start()
            with tempfile.TemporaryDirectory() as folder:
                index = {"GIT_INDEX_FILE": os.path.join(folder, "index")}
                self.ask("read-tree", start, **index)
                for path, data in change(start).items():
                    blob = self.ask("hash-object", "-w", "--stdin", stdin=data).decode().strip()
                    mode, _ = self.find_entry(start, path) or (_NEW_FILE, "")
                    entry = f"{mode},{blob},{path}"
                    self.ask("update-index", "--add", "--cacheinfo", entry, **index)
                tree = self.ask("write-tree", **index).decode().strip()
            new = self.ask("commit-tree", tree, "-p", start, "-m", text, **people).decode().strip()
            done = self.run("update-ref", self._ref, new, old or "0" * len(new))
            if not done.code:
                return new
            if self.tip() == old and ".lock" not in done.error:
                raise GitError(explain(done.error, f"the branch {self.name}"))
            time.sleep(_PAUSE_SECONDS * min(number, 4))
        raise GitError(f"the branch {self.name} is locked or never rests; try again later")

    def stage(self, path: str) -> None:
        """Take a file over into the work tree's index as the branch's last commit has it."""
        if (entry := self.find_entry(self.tip(), path)) is not None:
            self.ask("update-index", "--add", "--cacheinfo", ",".join((*entry, path)))


_MAX_GAPS = 50
"""Commits in a row that cannot be read; a clone without any content has no others."""
_BATCH = 100
"""Commits that git is asked for at once."""
_MARK = b"\0lessons-commit "
_PATCHES = (
    *("log", "--stdin", "--no-walk=unsorted", "--no-show-signature", "--no-notes", "--patch"),
    "--format=tformat:%x00lessons-commit %H %ct %cs%n%B%x00",
    *FORM,
)


@frozen
class Commit:
    """One commit with what it changes."""

    id: str
    """Its hash."""
    at: float
    """Seconds since the epoch."""
    date: str
    """ISO date on which it was made."""
    message: str
    patch: bytes
    """git's; b"" of one longer than MAX_BYTES."""


def list_commits(
    cwd: str, *, since: str | None = None, after: str = "", most: int = 0
) -> list[str]:
    """Return the ids of the commits that lead to HEAD, newest first, merges left out.

    ``since`` is a date as git takes it; ``after`` and ``most`` are as in ``read_history``. Raises
    GitError where there is no git, no repository or no commit.
    """
    repository = Repository(cwd)
    start = repository.head()
    if after and repository.leads(after):
        start = f"{after}..HEAD"
    bounds = {"--since": since, "--max-count": most}
    options = [f"{name}={value}" for name, value in bounds.items() if value]
    command = ("rev-list", "--no-merges", *options, "--end-of-options", start)
    done = run_git(repository.top, *command, limit=_MAX_LIST_BYTES)
    if done.code:
        raise GitError(explain(done.error, repository.top))
    return done.output.decode().split()


def read_history(cwd: str, *, since: str = "", most: int = 0) -> Iterator[Commit]:
    """Yield the commits that lead to HEAD, oldest first, merges left out.

    Those that lead to the commit ``since`` are left out, too, if HEAD descends from it; of more
    than ``most``, unless it is 0, the newest are yielded. Nothing the repository configures is
    run. Raises GitError where there is no git, no repository or no commit.
    """
    commits = list_commits(cwd, after=since, most=most)
    return read_patches(cwd, commits[::-1], context=3)


def read_patches(cwd: str, commits: Sequence[str], *, context: int = 0) -> Iterator[Commit]:
    """Yield commits with their patches, in the order of their ids.

    git ends at the first file whose content a partial clone lacks: such a commit is left out,
    until 500 in a row cannot be read. Raises GitError where there is no content at all.
    """
    repository, gaps, is_read = Repository(cwd), 0, False
    form = (*_PATCHES, f"--unified={context}")
    for begin in range(0, len(commits), _BATCH):
        batch = commits[begin : begin + _BATCH]
        whole = run_git(
            repository.top, *form, stdin="\n".join(batch).encode(), limit=_MAX_BATCH_BYTES
        )
        if not (whole.code or whole.truncated):
            yield from map(_parse_commit, whole.output.split(_MARK)[1:])
            gaps, is_read = 0, True
            continue
        for name in batch:  # one of them cannot be read, or they are too long together
            done = run_git(repository.top, *form, stdin=name.encode(), limit=MAX_BYTES)
            if done.code and not done.truncated:
                gaps += 1
            else:
                gaps, is_read = 0, True
                yield _parse_commit(done.output.removeprefix(_MARK), cut=done.truncated)
            if gaps > _MAX_GAPS and not is_read:
                raise GitError(f"{explain(done.error, cwd)}, or fetch the whole history again")
            if gaps > 10 * _MAX_GAPS:
                return


def _parse_commit(part: bytes, *, cut: bool = False) -> Commit:
    head, _, rest = part.partition(b"\n")
    message, _, patch = rest.partition(b"\0")
    name, at, date = head.decode().split(" ")
    patch = b"" if cut or len(part) > MAX_BYTES else patch
    return Commit(id=name, at=float(at), date=date, message=decode(message), patch=patch)


def find_change(cwd: str, line: str, path: str, *, since: str) -> str:
    """Return the first commit after a time that put a line of a file away, "" where none did.

    Raises GitError where there is no git, no repository or no commit.
    """
    options = (f"--since={since}", "--reverse", f"-S{line}", "--format=%H", "--no-show-signature")
    found = Repository(cwd).ask("log", "--no-merges", *options, "--", f":(top,literal){path}")
    return decode(found).partition("\n")[0]


def read_commit(cwd: str, commit: str) -> str:
    """Return the patch of one commit as a unified diff. Raises GitError."""
    form = ("show", "--format=", "--no-show-signature", "--no-notes", "--patch", *FORM)
    return decode(Repository(cwd).ask(*form, "--end-of-options", commit))


SCOPES = {"user": "--global", "project": "--local"}
"""Where a driver is configured: for every repository of this user, or for one clone."""
_FAILED, _NOT_SET = 128, 5
"""Exit codes: from which git means an error and not a number of conflicts; nothing to unset."""


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
            path = pathlib.Path(folder, name)
            path.write_bytes(data)
            names.append(str(path))
        named = [option for label in labels for option in ("-L", label)]
        size = f"--marker-size={marker_size}"
        done = run_git(cwd, "merge-file", "-p", "-q", size, *named, "--", *names)
    if done.code >= _FAILED or done.code < 0 or done.truncated:
        no_text = "it is not text"  # of which git says nothing where it is to be quiet
        why = f"more than {MAX_BYTES:,} bytes" if done.truncated else _last_line(done, no_text)
        raise GitError(f"git merge-file: {why}; merge it by hand")
    return done.output, done.code > 0


def find_attributes_file(cwd: str) -> str:
    """Return the path of the clone's own attributes, which are not part of any commit."""
    path = ask_git(cwd, "rev-parse", "--git-path", "info/attributes")
    return os.path.join(cwd, os.fsdecode(path.rstrip(b"\n")))


def read_merge_attribute(cwd: str, path: str) -> str:
    """Return which driver git merges ``path`` (relative to ``cwd``) with; "" for its own."""
    value = decode(ask_git(cwd, "check-attr", "-z", "merge", "--", path)).split("\0")[2]
    return "" if value in ("unspecified", "set", "unset") else value


def read_driver(cwd: str, name: str, scope: str | None = None) -> tuple[str | None, str]:
    """Return the command of a merge driver, None without one, and the file that configures it.

    Looks into one scope, or into all.
    """
    where = [SCOPES[scope]] if scope else []
    key = f"merge.{name}.driver"
    done = run_git(cwd, "config", *where, "--show-origin", "-z", "--get", key)
    if done.code not in (0, 1):  # 1: not configured
        raise GitError(explain(done.error, cwd))
    if done.code:
        return None, ""
    origin, command = os.fsdecode(done.output).split("\0")[:2]
    return command, os.path.join(cwd, origin.removeprefix("file:"))


def set_driver(cwd: str, name: str, command: str | None, *, title: str, scope: str) -> None:
    """Configure a merge driver, or take it out with None; an empty section goes with it.

    Raises GitError when the configuration cannot be written.
    """
    for key, value in (("name", title), ("driver", command)):
        own = f"merge.{name}.{key}"
        change = ["--unset-all", own] if command is None else [own, str(value)]
        done = run_git(cwd, "config", SCOPES[scope], *change)
        if done.code not in (0, _NOT_SET):
            what = _last_line(done, "git config failed")
            raise GitError(f"{what}; grant yourself write access to git's configuration")


def _last_line(done: Done, usual: str) -> str:
    """Return what git said last, ``usual`` where it said nothing."""
    lines = done.error.strip().splitlines() or [usual]
    return lines[-1].removeprefix("fatal: ").removeprefix("error: ")
