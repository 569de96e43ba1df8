"""Run git without letting the repository execute anything.

A repository has its own configuration, and git runs programs that are named there: file system
monitors, hooks, diff drivers, text converters, clean filters, and transports for missing objects.
All of them are disabled here, because a repository is not trusted.
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
from typing import IO, Any, cast

from lessons_kb.data import read_mapping, read_words
from lessons_kb.errors import GitError, InputError
from lessons_kb.process.process_tree import end_tree
from lessons_kb.process.programs import find_program
from lessons_kb.text.diffs import parse_hunks
from lessons_kb.values import frozen

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

MAX_BYTES = 4_000_000
"""The size at which a diff is cut."""
_MAX_LIST_BYTES, _MAX_BATCH_BYTES = 200_000_000, 40_000_000
"""The size limits of the ids of a history, and of the patches of a batch."""
_PART = 1 << 16
"""The number of bytes of a part of the output."""
_PIPE_BYTES = 1 << 20
"""The largest pipe that Linux gives to a user by default."""
_MAX_UNTRACKED = 500
_MAX_UNTRACKED_BYTES = 200_000
"""The size limit of an untracked file. A larger one is listed without its text."""
_SECONDS = {
    "rev-parse": 10.0,
    "config": 10.0,
    "check-attr": 10.0,
    "log": 120.0,
    "rev-list": 120.0,
    "grep": 120.0,
}
_USUAL_SECONDS = 30.0
"""Time limits of git commands, in seconds. The limit is short for lookups and long for walks
through a history, which print nothing until the commits are sorted.
"""
_OPTIONS = read_words("git_options.txt")
_SETTINGS = [setting.replace("NULL", os.devnull) for setting in sorted(_OPTIONS["settings"])]
_SAFE = [word for setting in _SETTINGS for word in ("-c", setting)]
_ENVIRONMENT = dict(variable.split("=") for variable in _OPTIONS["environment"])
FORM = [option.replace("NULL", os.devnull) for option in sorted(_OPTIONS["diff"])]
"""Options that give every diff the same form, regardless of the user's configuration."""
_GLOB_SIGN, _ESCAPED = re.compile(r"[*?\[\]\\]"), r"\\\g<0>"
_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_FILTER_KEY = re.compile(r"filter\.(.+)\.(?:clean|smudge|process|required)", re.DOTALL)
"""The key of a setting of a filter; group 1 is the name of the filter."""


@frozen
class Done:
    """A finished run of git."""

    code: int
    output: bytes
    truncated: bool
    error: str


def find_git(otherwise: str = "") -> str:
    """Return the path of git. Raises GitError if it is not installed.

    The message ends with ``otherwise``, which describes a way without git.
    """
    git = find_program("git")
    if git is None:
        raise GitError(f"git is not installed; install it{otherwise}")
    return git


def run_git(
    cwd: str,
    *arguments: str,
    stdin: bytes = b"",
    limit: int = 0,
    seconds: float = 0.0,
    **environment: str,
) -> Done:
    """Run git in ``cwd`` so that the repository there cannot start a program.

    The output is cut at ``limit`` bytes, or at MAX_BYTES if it is 0. Raises GitError if a signal
    ends git, or if it takes longer than ``seconds``, or than is usual for the command if that is 0.
    """
    limit = limit or MAX_BYTES
    with start_git(cwd, *arguments, stdin=stdin, seconds=seconds, **environment) as running:
        output = running.stdout.read(limit + 1)
        if len(output) > limit:
            running.end()
    return Done(
        code=running.code,
        output=output[:limit],
        truncated=len(output) > limit,
        error=running.error,
    )


def _widen_pipe(pipe: int) -> None:
    set_size = getattr(fcntl, "F_SETPIPE_SZ", None)
    if set_size is not None:  # only Linux can
        fcntl.fcntl(pipe, set_size, _PIPE_BYTES)


class RunningGit:
    """A process of git. Its exit code and its error message are known after its end."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.is_ended = False
        """Whether ``end`` was called."""
        self.code = 0
        self.error = ""

    @property
    def stdout(self) -> IO[bytes]:
        """The pipe with git's output."""
        return cast("IO[bytes]", self._process.stdout)

    def read_parts(self) -> Iterator[bytes]:
        """Yield parts of the output while git runs."""
        while part := self.stdout.read(_PART):
            yield part

    def end(self) -> None:
        """End git and its children."""
        self.is_ended = True
        end_tree(self._process.pid)


@contextlib.contextmanager
def start_git(
    cwd: str, *arguments: str, stdin: bytes = b"", seconds: float = 0.0, **environment: str
) -> Iterator[RunningGit]:
    """Start git as ``run_git`` describes, and wait for its end after the block."""
    git = find_git()
    for folder in _upwards(cwd):
        for name in sorted(_OPTIONS["read"]):
            path = os.path.join(folder, name)
            with contextlib.suppress(OSError, ValueError):
                if stat.S_ISFIFO(os.stat(path).st_mode):
                    raise GitError(f"{path} is a FIFO, on which git would wait; remove it")
        if os.path.lexists(os.path.join(folder, ".git")):
            break
    inherited = {k: v for k, v in os.environ.items() if k not in _OPTIONS["dropped"]}
    seconds = seconds or _SECONDS.get(arguments[0], _USUAL_SECONDS)
    late = threading.Event()
    with tempfile.TemporaryFile() as input_file, tempfile.TemporaryFile() as errors:
        input_file.write(stdin)
        input_file.seek(0)
        # git stays in our process group, so a terminal or an agent that ends the group also ends
        # git.
        with subprocess.Popen(
            [git, "--no-pager", *_SAFE, *arguments],
            cwd=cwd,
            env={**inherited, **_ENVIRONMENT, **environment},
            stdin=input_file,
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
                running = RunningGit(process)
                with contextlib.suppress(OSError):  # git waits less often for a slow reader
                    _widen_pipe(running.stdout.fileno())
                yield running
                running.code = process.wait()
            finally:
                timer.cancel()
                if process.poll() is None:
                    end_tree(process.pid)
        if late.is_set():
            raise GitError(
                f"git {arguments[0]} gave no answer in {seconds:.3g} seconds; "
                "run `git status` to see what it waits for"
            )
        if running.code < 0 and not running.is_ended:  # its output is cut somewhere
            signal_number = -running.code
            raise GitError(f"git {arguments[0]} was ended by signal {signal_number}; try again")
        errors.seek(0)
        running.error = errors.read(10_000).decode("utf-8", "replace")


def decode(data: bytes) -> str:
    """Decode git's output. Bytes that are not UTF-8 are replaced."""
    return data.decode("utf-8", "replace")


def _upwards(cwd: str) -> list[str]:
    real = pathlib.Path(os.path.realpath(cwd))
    return [str(folder) for folder in (real, *real.parents)]


_UNBORN = "does not have any commits yet"
_EXPLAINED = read_mapping("git_errors.toml")["errors"]
_ADVISED = re.compile(r"^\tgit config .*safe\.directory .*$", re.MULTILINE)
"""Matches git's advice on trusting a repository of another user."""


TRY_GIT = "try the same with git"
"""The fix for an error of git that is not explained."""


def explain(error: str, subject: str) -> str:
    """Return git's error message as one line with a fix. It begins with ``subject``, a path."""
    for words, fix in _EXPLAINED.items():
        if words in error:
            return f"{subject}: {fix}"
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    fatal = next((line for line in lines if line.startswith("fatal: ")), "")
    reason = fatal.removeprefix("fatal: ") or next(iter(lines), "git failed")
    fix = TRY_GIT
    advice = _ADVISED.search(error)
    if advice:
        fix = f"if you trust it, run `{advice[0].strip()}`"
    elif "not a git repository" in error:
        paths = (os.path.join(folder, ".git") for folder in _upwards(subject))
        path = next(filter(os.path.lexists, paths), "")
        if not path:
            return f"{subject}: not in a git repository; run this inside one"
        fix = f"{path} is damaged: restore its HEAD, refs and objects, or clone again"
    return f"{subject}: {reason}; {fix}"


def ask_git(cwd: str, *arguments: str, **environment: Any) -> bytes:
    """Return git's output. Raises GitError if git fails."""
    done = run_git(cwd, *arguments, **environment)
    if done.truncated:
        raise GitError(f"{cwd}: git {arguments[0]} printed too much; name fewer files")
    if done.code:
        raise GitError(explain(done.error, cwd))
    return done.output


class Repository:
    """The repository around a folder. Its configuration cannot start a program."""

    def __init__(self, cwd: str) -> None:
        """Find the repository. Raises GitError without git or a repository."""
        self.top = cwd
        top = self.ask("rev-parse", "--show-toplevel").decode("utf-8", "surrogateescape")
        self.top = os.path.realpath(top.removesuffix("\n"))
        """The top folder of the work tree, to which git's paths are relative."""
        nearest = next(filter(_is_top, _upwards(cwd)), None)
        is_set = any(name in os.environ for name in ("GIT_DIR", "GIT_WORK_TREE"))
        if not is_set and nearest != self.top:
            raise GitError(f"{cwd}: its core.worktree points elsewhere; unset it")

    def run(self, *arguments: str, **options: Any) -> Done:
        """Run git in the work tree, with limits on time and output. See `run_git`."""
        return run_git(self.top, *arguments, **options)

    def ask(self, *arguments: str, **environment: Any) -> bytes:
        """Return git's output in the work tree. Raises GitError if git fails."""
        return ask_git(self.top, *arguments, **environment)

    def find_head(self) -> str:
        """Return the hash of HEAD, or "" before the first commit. Raises GitError if HEAD is
        broken.
        """
        done = self.run("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
        if not done.code:
            return done.output.decode().strip()
        error = self.run("log", "--max-count=1").error
        if _UNBORN not in error:
            raise GitError(explain(error, self.top))
        return ""

    def head(self) -> str:
        """Return the hash of HEAD. Raises GitError before the first commit."""
        head = self.find_head()
        if not head:
            raise GitError(f"{self.top} has no commit yet; commit something first")
        return head

    def leads(self, commit: str) -> bool:
        """Return whether a commit, given by its full hash, is an ancestor of HEAD."""
        is_hash = _HASH.fullmatch(commit) is not None
        return is_hash and not self.run("merge-base", "--is-ancestor", commit, "HEAD").code

    def filters_off(self) -> list[str]:
        """Return options of git that disable the filters in the repository's own configuration.

        git would run their programs to compare files with the working tree. Filters in the
        configuration of the system, of the user and of the command line are not disabled. Raises
        GitError if git fails, or if a filter has ``=`` in its name: git would split the option
        there.
        """
        done = self.run("config", "--show-scope", "--name-only", "-z", "--get-regexp", r"^filter\.")
        if done.code not in (0, 1):  # 1: none
            raise GitError(explain(done.error, "config"))
        # The output is: scope NUL key NUL, for each setting.
        fields = done.output.decode("utf-8", "surrogateescape").split("\0")
        drivers: set[str] = set()
        for scope, key in zip(fields[::2], fields[1::2], strict=False):
            match = _FILTER_KEY.match(key)
            if match and scope not in ("system", "global", "command"):
                drivers.add(match[1])
        if any("=" in driver for driver in drivers):
            raise GitError("the repository defines a filter with = in its name; remove it")
        options = []
        for driver in sorted(drivers):
            for setting in ("clean=", "smudge=", "process=", "required=false"):
                options += ["-c", f"filter.{driver}.{setting}"]
        return options


def _is_top(folder: str) -> bool:
    """Return whether a folder is the top of a work tree, or of a linked one."""
    path = os.path.join(folder, ".git")
    return os.path.isfile(path) or os.path.isfile(os.path.join(path, "HEAD"))


def list_files(cwd: str, paths: Sequence[str] = ()) -> list[str]:
    """Return the files of the work tree around ``cwd`` that git does not ignore, sorted.

    Paths are POSIX and relative to git's top folder. With ``paths``, only these files and files in
    these folders are listed. Raises GitError without git or a repository.
    """
    find_git(", or name the files")  # raises GitError
    inside = [f":(top,literal){path}" for path in paths]
    names = ("ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "-z", "--")
    output = Repository(cwd).ask(*names, *inside)
    return sorted(filter(None, map(decode, output.split(b"\0"))))


def find_ignored(top: str, paths: Sequence[str]) -> frozenset[str]:
    """Return the paths, relative to the top of a work tree, that git ignores if they exist.

    Raises GitError.
    """
    inside = [path for path in paths if path and ".." not in path.split("/")]
    stdin = "\0".join(inside).encode("utf-8", "surrogateescape")
    done = run_git(top, "check-ignore", "-z", "--stdin", "--no-index", stdin=stdin)
    if done.code not in (0, 1):  # 1: none is ignored
        raise GitError(explain(done.error, top))
    return frozenset(done.output.decode("utf-8", "surrogateescape").split("\0")) - {""}


@frozen
class Diff:
    """A change as git reports it."""

    files: tuple[str, ...]
    """The changed, added, removed and renamed files. Renamed files are listed by both names. Paths
    are POSIX and relative to git's top folder.
    """
    added: tuple[str, ...]
    """The added lines without ``+`` and line ends, in order."""
    text: str
    """The unified diff."""
    truncated: bool = False
    """Whether ``text``, and therefore ``added``, was cut."""


def read_diff(
    cwd: str, revision: str | None = None, *, without: Iterable[tuple[str, str]] = ()
) -> Diff:
    """Return the changes in the git work tree around ``cwd``.

    Without a revision, the working tree and the index are compared with HEAD, or with nothing
    before the first commit. Untracked text files are included. A revision has the form that ``git
    diff`` accepts: a commit to compare with the working tree, or ``a..b`` or ``a...b``. ``without``
    excludes files by pairs of a folder and a glob below the folder. No program of the repository's
    configuration runs, and no network is used. Raises GitError without git, a repository or such a
    revision.
    """
    find_git(", or leave out --diff")  # raises GitError
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

    ``git diff`` locks and rewrites its index in spite of GIT_OPTIONAL_LOCKS. A commit at that
    moment would fail.
    """
    path = repository.ask("rev-parse", "--git-path", "index").removesuffix(b"\n")
    copy = os.path.join(folder, "index")
    try:
        with contextlib.suppress(FileNotFoundError):  # nothing was ever added
            # The copy needs the same times, because git uses them to find entries that it must not
            # trust.
            shutil.copy2(os.path.join(os.fsencode(repository.top), path), os.fsencode(copy))
    except OSError as error:
        raise GitError(f"the index cannot be read: {error.strerror}; check the disk") from None
    return copy


def _split_raw(output: bytes) -> tuple[list[bytes], bytes]:
    """Split the output of ``--patch-with-raw -z`` into the file names and the patch.

    It consists of records (``:… status`` and one or two names), followed by the patch.
    """
    names: list[bytes] = []
    at = 0
    while output[at : at + 1] == b":":
        end = output.find(b"\0", at)
        status = output[at:end].rpartition(b" ")[2]
        for _ in range(2 if status[:1] in b"RC" else 1):
            at = end + 1
            end = output.find(b"\0", end + 1)
            if end < 0:
                return names, b""
            names.append(output[at:end])
        at = end + 1
    return names, output[at:].removeprefix(b"\0")


def _as_new_file(top: bytes, name: bytes) -> bytes:
    """Return the patch that adds an untracked text file, or b"" for any other kind of file."""
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
"""The mode of an added file."""
_TRIES = 40
_PAUSE_SECONDS = 0.05
"""The pause between two tries while another git process has locked the branch."""
_MESSAGE_CHARS = 8_000


@frozen
class Author:
    """The author and committer of a commit."""

    name: str
    email: str


def check_name(name: str) -> None:
    """Raise InputError if git does not accept a branch name. Raises GitError without git."""
    done = run_git(os.sep, "check-ref-format", f"refs/heads/{name}")
    if done.code or name.startswith("-"):
        raise InputError(f"{name!r} is not a valid branch name; choose another")


class Branch(Repository):
    """A branch of the repository around a folder.

    Paths are POSIX and relative to git's top folder.
    """

    def __init__(self, cwd: str, name: str) -> None:
        """Raises GitError without git or a repository, and InputError for an invalid name."""
        check_name(name)
        super().__init__(cwd)
        self.name = name
        self._ref = f"refs/heads/{name}"

    def tip(self) -> str:
        """Return the hash of the branch's last commit, or "" if the branch does not exist."""
        done = self.run("rev-parse", "--quiet", "--verify", f"{self._ref}^{{commit}}")
        return "" if done.code else done.output.decode().strip()

    def start(self) -> str:
        """Return the parent of the branch's next commit.

        It is the branch's last commit, or HEAD if the branch does not exist or was completely
        merged. Raises GitError in a repository without commits.
        """
        head = self.head()
        tip = self.tip()
        return head if not tip or self.leads(tip) else tip

    def find_entry(self, commit: str, path: str) -> tuple[str, str] | None:
        """Return the mode and the blob's hash of a file in a commit, or None if it is not a
        file.
        """
        entry = self.ask("ls-tree", "-z", "--full-tree", commit, "--", path)
        mode, kind, rest = (entry.decode("utf-8", "surrogateescape").split(" ", 2) + [""] * 3)[:3]
        blob, _, name = rest.removesuffix("\0").partition("\t")
        return (mode, blob) if kind == "blob" and name == path else None

    def read(self, commit: str, path: str) -> bytes | None:
        """Return the content of a file in a commit, or None if there is no such file.

        Raises GitError if the file is too large.
        """
        entry = self.find_entry(commit, path)
        if entry is None:
            return None
        done = self.run("cat-file", "blob", entry[1])
        if done.code or done.truncated:
            raise GitError(f"{path} cannot be read from the branch {self.name}; look at it there")
        return done.output

    def find_unmerged(self, folder: str) -> list[str]:
        """Return the files that the branch adds or changes relative to HEAD, sorted.

        Only files below ``folder`` are listed. If it is "", all files are listed.
        """
        head = self.head()
        tip = self.tip()
        if not tip:
            return []
        done = self.run("merge-base", head, tip)
        base = head if done.code else done.output.decode().strip()
        inside = ("--", f":(top,literal){folder}") if folder else ()
        form = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=AM")
        # A change that reached HEAD as a copy, for example by a squash, differs only from the base.
        from_base = self.ask(*form, base, tip, *inside).split(b"\0")
        from_head = self.ask(*form, head, tip, *inside).split(b"\0")
        names = sorted({*from_base}.intersection(from_head) - {b""})
        return [name.decode("utf-8", "surrogateescape") for name in names]

    def is_checked_out(self) -> bool:
        """Return whether this work tree has the branch checked out.

        Raises InputError if another work tree has it checked out.
        """
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
        self.is_checked_out()  # raises InputError if another work tree has the branch
        self.start()
        common = os.fsdecode(self.ask("rev-parse", "--git-common-dir").rstrip(b"\n"))
        for name in ("objects", "refs/heads"):
            folder = os.path.join(self.top, common, name)
            if not os.access(folder, os.W_OK):
                raise GitError(f"{folder} is read-only; grant the server write access to it")

    def is_clean(self, path: str) -> bool:
        """Return whether a file is neither changed nor staged in the work tree."""
        form = ("status", "--porcelain", "-z", "--untracked-files=all", "--ignored=matching")
        return not self.ask(*self.filters_off(), *form, "--", f":(top,literal){path}")

    def commit(
        self, change: Callable[[str], Mapping[str, bytes]], *, message: str, author: Author
    ) -> str:
        """Add a commit to the branch and return its hash.

        ``change`` gets the parent commit and returns a mapping from the path of each changed file
        to its content. It is called again if another process commits at the same time. Raises
        GitError, and any error that ``change`` raises.
        """
        people = {}
        for role in ("AUTHOR", "COMMITTER"):
            people[f"GIT_{role}_NAME"] = author.name
            people[f"GIT_{role}_EMAIL"] = author.email
        text = message.replace("\0", "")[:_MESSAGE_CHARS]
        for number in range(_TRIES):
            old = self.tip()
            start = self.start()
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
        raise GitError(f"the branch {self.name} is locked or changes too often; try again later")

    def stage(self, path: str) -> None:
        """Copy a file from the branch's last commit into the index of the work tree."""
        entry = self.find_entry(self.tip(), path)
        if entry is not None:
            self.ask("update-index", "--add", "--cacheinfo", ",".join((*entry, path)))


_MAX_GAPS = 50
"""The number of consecutive unreadable commits, without a readable commit before, after which a
clone counts as one without content.
"""
_BATCH = 100
"""The number of commits that are requested from git at once."""
_MARK = b"\0lessons-commit "
_PATCHES = (
    *("log", "--stdin", "--no-walk=unsorted", "--no-show-signature", "--no-notes", "--patch"),
    "--format=tformat:%x00lessons-commit %H %ct %cs%n%B%x00",
    *FORM,
)


_NAMES = (
    *("log", "--stdin", "--no-walk=unsorted", "--no-show-signature", "--no-notes", "--name-status"),
    *("--no-renames", "--ignore-submodules=all"),
    "--format=tformat:%x00lessons-commit %H %ct %cs%n%B%x00",
)
_NAMES_BATCH = 1_000
"""The number of commits whose file names are requested from git at once."""
_QUOTED = re.compile(r'"(.*)"')
"""A file name with a control character, a quote or a backslash, as git prints it."""


@frozen
class CommitNames:
    """A commit with the names of the files that it changes, but without their contents."""

    id: str
    """The hash of the commit."""
    at: float
    """The time of the commit, in seconds since the epoch."""
    message: str
    paths: tuple[str, ...]
    """The files that it adds or changes. A renamed file is listed with its new name."""


@frozen
class Commit:
    """A commit with its patch."""

    id: str
    """The hash of the commit."""
    at: float
    """The time of the commit, in seconds since the epoch."""
    date: str
    """The ISO date of the commit."""
    message: str
    patch: bytes
    """git's patch, or b"" if the patch is longer than MAX_BYTES."""


def list_commits(
    cwd: str, *, since: str | None = None, after: str = "", most: int = 0
) -> list[str]:
    """Return the ids of HEAD and its ancestors without merges, newest first.

    ``since`` is a date in one of git's formats. ``after`` is a commit that is left out together
    with its ancestors, and ``most`` is the largest number of commits (0 means all). Raises GitError
    without git, a repository or a commit.
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


def list_subjects(cwd: str, *, most: int, without: Sequence[str] = ()) -> list[str]:
    """Return the subjects of HEAD and its ancestors without merges, newest first.

    At most the ``most`` newest commits are read. A commit that changes only files below the folders
    ``without``, which are relative to the top of the repository, is left out. Raises GitError
    without git, a repository or a commit.
    """
    repository = Repository(cwd)
    form = ("log", "--no-merges", "--no-show-signature", f"--max-count={most}", "--format=%s")
    excluded = [f":(top,exclude,literal){folder}" for folder in without]
    paths = ("--", ":(top)", *excluded) if excluded else ()
    command = (*form, "--end-of-options", repository.head(), *paths)
    done = run_git(repository.top, *command, limit=_MAX_LIST_BYTES)
    if done.code:
        raise GitError(explain(done.error, repository.top))
    return done.output.decode("utf-8", "replace").splitlines()


def read_history(cwd: str, *, since: str = "", most: int = 0) -> Iterator[Commit]:
    """Yield HEAD and its ancestors without merges, oldest first.

    The commit ``since`` and its ancestors are left out, too, if HEAD descends from it. At most the
    ``most`` newest commits are yielded, or all for 0. No program of the repository's configuration
    runs. Raises GitError without git, a repository or a commit.
    """
    commits = list_commits(cwd, after=since, most=most)
    return read_patches(cwd, commits[::-1], context=3)


def _read_ahead(
    read: Callable[[Sequence[str]], Done], batches: Sequence[Sequence[str]]
) -> Iterator[tuple[Sequence[str], Done]]:
    """Yield each batch with its answer. git answers the next batch while the caller works."""
    if len(batches) <= 1:
        for batch in batches:
            yield batch, read(batch)
        return

    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1, thread_name_prefix="git") as pool:
        following = [pool.submit(read, batch) for batch in batches[:1]]
        for number, batch in enumerate(batches):
            answer = following.pop().result()
            following = [pool.submit(read, later) for later in batches[number + 1 : number + 2]]
            yield batch, answer


def read_names(cwd: str, commits: Sequence[str]) -> Iterator[CommitNames]:
    """Yield commits with the names of their files, in the order of ``commits``.

    git compares only folders for this, so that it takes a fraction of the time of `read_patches`
    and needs no contents of files. Raises GitError.
    """
    repository = Repository(cwd)

    def read_batch(batch: Sequence[str]) -> Done:
        stdin = "\n".join(batch).encode()
        return run_git(repository.top, *_NAMES, stdin=stdin, limit=_MAX_LIST_BYTES)

    batches = [
        commits[begin : begin + _NAMES_BATCH] for begin in range(0, len(commits), _NAMES_BATCH)
    ]
    for _batch, done in _read_ahead(read_batch, batches):
        if done.code or done.truncated:
            raise GitError(explain(done.error, cwd))
        yield from map(_parse_names, done.output.split(_MARK)[1:])


def _parse_names(part: bytes) -> CommitNames:
    head, _, rest = part.partition(b"\n")
    message, _, names = rest.partition(b"\0")
    name, at, _date = head.decode().split(" ")
    changes = (line.partition("\t") for line in decode(names).split("\n"))
    paths = [path for status, _tab, path in changes if path and status != "D"]
    if b'"' in names:
        paths = [_QUOTED.sub(r"\1", path) for path in paths]
    return CommitNames(id=name, at=float(at), message=decode(message), paths=tuple(paths))


def read_patches(cwd: str, commits: Sequence[str], *, context: int = 0) -> Iterator[Commit]:
    """Yield commits with their patches, in the order of ``commits``.

    git fails at the first file whose content is missing in a partial clone. Such a commit is left
    out. After 500 such commits in a row, nothing more is yielded. Raises GitError if no content is
    available.
    """
    repository = Repository(cwd)
    gaps = 0
    is_read = False
    form = (*_PATCHES, f"--unified={context}")

    def read_batch(batch: Sequence[str]) -> Done:
        stdin = "\n".join(batch).encode()
        return run_git(repository.top, *form, stdin=stdin, limit=_MAX_BATCH_BYTES)

    batches = [commits[begin : begin + _BATCH] for begin in range(0, len(commits), _BATCH)]
    for batch, whole in _read_ahead(read_batch, batches):
        if not (whole.code or whole.truncated):
            yield from map(_parse_commit, whole.output.split(_MARK)[1:])
            gaps, is_read = 0, True
            continue
        for name in batch:  # a commit cannot be read or the batch is too large
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
    """Return the first commit after a time that changed the number of occurrences of a line in a
    file, or "" if there is none.

    Raises GitError without git, a repository or a commit.
    """
    options = (f"--since={since}", "--reverse", f"-S{line}", "--format=%H", "--no-show-signature")
    hashes = Repository(cwd).ask("log", "--no-merges", *options, "--", f":(top,literal){path}")
    return decode(hashes).partition("\n")[0]


def read_commit(cwd: str, commit: str) -> str:
    """Return the patch of one commit as a unified diff. Raises GitError."""
    form = ("show", "--format=", "--no-show-signature", "--no-notes", "--patch", *FORM)
    return decode(Repository(cwd).ask(*form, "--end-of-options", commit))


SCOPES = {"user": "--global", "project": "--local"}
"""Mapping from the scope of a merge driver to git's option. The scope is all repositories of the
user, or one clone.
"""
_FAILED, _NOT_SET = 128, 5
"""Exit codes. ``git merge-file`` reports an error from 128 on, and a number of conflicts below 128.
``git config --unset`` reports 5 if there is nothing to unset.
"""


def merge_lines(
    base: bytes, ours: bytes, theirs: bytes, *, labels: Sequence[str], marker_size: int, cwd: str
) -> tuple[bytes, bool]:
    """Merge three texts with ``git merge-file``. Return the result and whether it has conflicts.

    ``labels`` name ours, the base and theirs in the conflict markers. The style of conflicts is the
    one configured for ``cwd``. Raises GitError for binary content.
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
        no_text = "it is not text"  # git does not report this with -q
        why = f"more than {MAX_BYTES:,} bytes" if done.truncated else _last_line(done, no_text)
        raise GitError(f"git merge-file: {why}; merge it by hand")
    return done.output, done.code > 0


def find_attributes_file(cwd: str) -> str:
    """Return the path of the clone's own attributes file, which is not part of any commit."""
    path = ask_git(cwd, "rev-parse", "--git-path", "info/attributes")
    return os.path.join(cwd, os.fsdecode(path.rstrip(b"\n")))


def read_merge_attribute(cwd: str, path: str) -> str:
    """Return the merge driver that git uses for ``path``, relative to ``cwd``, or "" for git's own
    driver.
    """
    value = decode(ask_git(cwd, "check-attr", "-z", "merge", "--", path)).split("\0")[2]
    return "" if value in ("unspecified", "set", "unset") else value


def read_driver(cwd: str, name: str, scope: str | None = None) -> tuple[str | None, str]:
    """Return the command of a merge driver (None if not configured), and its configuration file.

    One scope is searched, or all scopes if ``scope`` is None.
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
    """Configure a merge driver, or remove it if ``command`` is None.

    Raises GitError if the configuration cannot be written.
    """
    for key, value in (("name", title), ("driver", command)):
        own = f"merge.{name}.{key}"
        change = ["--unset-all", own] if command is None else [own, str(value)]
        done = run_git(cwd, "config", SCOPES[scope], *change)
        if done.code not in (0, _NOT_SET):
            what = _last_line(done, "git config failed")
            raise GitError(f"{what}; grant yourself write access to git's configuration")


def _last_line(done: Done, usual: str) -> str:
    """Return the last line of git's errors, without its prefix, or ``usual`` if there is none."""
    lines = done.error.strip().splitlines() or [usual]
    return lines[-1].removeprefix("fatal: ").removeprefix("error: ")
