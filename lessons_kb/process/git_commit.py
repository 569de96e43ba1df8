"""Commit files onto a branch by git's own objects: no index and no working tree is looked at.

Whoever works in the clone, or commits to the branch at the same moment, loses nothing: a commit
counts only if the branch is still where it was read, else it is made again on what came before it.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lessons_kb.errors import GitError, InputError
from lessons_kb.process.git import Repository, explain, find_git, run_git

NEW_FILE = "100644"
"""Mode of a file that is added."""
_TRIES = 40
_PAUSE_SECONDS = 0.05
"""Between two tries, for a git that holds the branch's lock."""
_MESSAGE_CHARS = 8_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Author:
    """Who answers for a commit."""

    name: str
    email: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A file in a tree."""

    mode: str
    blob: str
    """The hash of its content."""


def check_name(name: str) -> None:
    """Raise InputError for what git would not take for a branch's name, GitError without git."""
    done = run_git(find_git(), os.sep, "check-ref-format", f"refs/heads/{name}")
    if done.code or name.startswith("-"):
        raise InputError(f"{name!r} is no name of a branch; choose another")


class Branch:
    """One branch of the repository around a folder; paths are POSIX, from git's top folder."""

    def __init__(self, cwd: str, name: str) -> None:
        """Raises GitError without git or a repository, InputError for an impossible name."""
        check_name(name)
        self._repository = Repository(find_git(), cwd)
        self.name = name
        self._ref = f"refs/heads/{name}"

    @property
    def top(self) -> str:
        """The folder in which git's paths begin."""
        return self._repository.cwd

    def tip(self) -> str:
        """Return the hash of the branch's last commit, "" while there is no such branch."""
        done = self._repository.run("rev-parse", "--quiet", "--verify", f"{self._ref}^{{commit}}")
        return "" if done.code else done.output.decode().strip()

    def start(self) -> str:
        """Return the commit on which the next one is made.

        It is the branch's last one, or HEAD where the branch is not there yet or all of it has
        been merged. Raises GitError in a repository without commits.
        """
        head, tip = self._repository.commit(), self.tip()
        merged = not tip or self._run_ok("merge-base", "--is-ancestor", tip, head)
        return head if merged else tip

    def find_entry(self, commit: str, path: str) -> Entry | None:
        """Return what a commit has at a path, None where that is no file."""
        found = self._repository.ask("ls-tree", "-z", "--full-tree", commit, "--", path)
        mode, kind, rest = (found.decode("utf-8", "surrogateescape").split(" ", 2) + [""] * 3)[:3]
        blob, _, name = rest.removesuffix("\0").partition("\t")
        return Entry(mode=mode, blob=blob) if kind == "blob" and name == path else None

    def read(self, commit: str, path: str) -> bytes | None:
        """Return a file of a commit, None where it has none; GitError for one that is too long."""
        entry = self.find_entry(commit, path)
        if entry is None:
            return None
        done = self._repository.run("cat-file", "blob", entry.blob)
        if done.code or done.truncated:
            raise GitError(f"{path} cannot be read from the branch {self.name}; look at it there")
        return done.output

    def find_unmerged(self, folder: str) -> list[str]:
        """Return the files below a folder ("" = all) that the branch adds to HEAD or changes."""
        head, tip = self._repository.commit(), self.tip()
        if not tip:
            return []
        done = self._repository.run("merge-base", head, tip)
        base = head if done.code else done.output.decode().strip()
        inside = ("--", f":(top,literal){folder}") if folder else ()
        form = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=AM")
        # What was merged by copying its content is on the branch still, and not new to HEAD.
        new, theirs = (
            self._repository.ask(*form, one, tip, *inside).split(b"\0") for one in (base, head)
        )
        both = sorted(set(new) & set(theirs) - {b""})
        return [name.decode("utf-8", "surrogateescape") for name in both]

    def is_checked_out(self) -> bool:
        """Tell whether this work tree shows the branch; InputError where another one does."""
        place = ""
        for line in self._repository.ask("worktree", "list", "--porcelain").splitlines():
            key, _, value = line.decode("utf-8", "surrogateescape").partition(" ")
            if key == "worktree":
                place = os.path.realpath(value)
            elif (key, value) == ("branch", self._ref) and place != self.top:
                raise InputError(f"another work tree shows the branch {self.name}; choose another")
            elif (key, value) == ("branch", self._ref):
                return True
        return False

    def is_clean(self, path: str) -> bool:
        """Tell whether a file is neither changed nor staged in the work tree."""
        form = ("status", "--porcelain", "-z", "--untracked-files=all", "--ignored=matching")
        filters = self._repository.filters_off()
        return not self._repository.ask(*filters, *form, "--", f":(top,literal){path}")

    def commit(
        self, change: Callable[[str], Mapping[str, bytes]], *, message: str, author: Author
    ) -> str:
        """Commit what ``change`` returns for the commit it is made on: path → content.

        ``change`` may be called several times: a commit made meanwhile by another comes first.
        Returns the new commit's hash; raises GitError, and what ``change`` raises.
        """
        for number in range(_TRIES):
            old, start = self.tip(), self.start()
            tree = self._write_tree(start, change(start))
            new = self._write_commit(tree, start, message, author)
            done = self._repository.run("update-ref", self._ref, new, old or "0" * len(new))
            if not done.code:
                return new
            if self.tip() == old and ".lock" not in done.error:
                raise GitError(explain(done.error, f"the branch {self.name}"))
            time.sleep(_PAUSE_SECONDS * min(number, 4))
        raise GitError(f"the branch {self.name} is locked or never rests; try again later")

    def stage(self, path: str) -> None:
        """Take a file over into the work tree's index as the branch's last commit has it."""
        if (entry := self.find_entry(self.tip(), path)) is not None:
            told = f"{entry.mode},{entry.blob},{path}"
            self._repository.ask("update-index", "--add", "--cacheinfo", told)

    def _run_ok(self, *arguments: str) -> bool:
        return self._repository.run(*arguments).code == 0

    def _write_tree(self, start: str, files: Mapping[str, bytes]) -> str:
        with tempfile.TemporaryDirectory() as folder:
            index = os.path.join(folder, "index")
            self._repository.ask("read-tree", start, GIT_INDEX_FILE=index)
            for path, data in files.items():
                content = os.path.join(folder, "content")
                with open(content, "wb") as file:
                    file.write(data)
                written = self._repository.ask("hash-object", "-w", "--no-filters", "--", content)
                known = self.find_entry(start, path)
                told = f"{known.mode if known else NEW_FILE},{written.decode().strip()},{path}"
                self._repository.ask(
                    "update-index", "--add", "--cacheinfo", told, GIT_INDEX_FILE=index
                )
            return self._repository.ask("write-tree", GIT_INDEX_FILE=index).decode().strip()

    def _write_commit(self, tree: str, parent: str, message: str, author: Author) -> str:
        people = {
            f"GIT_{role}_{what}": value
            for role in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", author.name), ("EMAIL", author.email))
        }
        text = message.replace("\0", "")[:_MESSAGE_CHARS]
        made = self._repository.ask("commit-tree", tree, "-p", parent, "-m", text, **people)
        return made.decode().strip()
