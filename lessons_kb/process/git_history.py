"""The history of a project's file names, and the words in one of its commits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from lessons_kb.errors import GitError
from lessons_kb.process.git import Repository, decode, explain, run_git
from lessons_kb.text.name_changes import HEAD_MARK, NamedCommit, parse_name_changes

_MAX_BYTES = 400_000_000
"""The size limit of a history of names: 100,000 commits of a large project."""
_NAMES = (
    *("log", "--name-status", "-z", "--no-show-signature", "--no-notes", "--no-ext-diff"),
    *("--no-textconv", "--ignore-submodules=all", f"--format=tformat:{HEAD_MARK}%H %cs"),
)
_RENAMES = ("--find-renames", "-l1000", "--diff-filter=R")
"""Options that decide which changes are renames, regardless of the user's configuration."""
_WORD = re.compile(rb"[\w$\x80-\xff]+")
_NO_MARKDOWN = [f":(exclude,top,icase)*{suffix}" for suffix in (".md", ".markdown", ".mdx")]


class CommitLine(NamedTuple):
    """One commit in the form in which people name it."""

    id: str
    day: str
    """The ISO date on which it was committed."""
    subject: str


def read_commit_line(directory: str, commit: str) -> CommitLine:
    """Return the id, day and subject of a commit. Raises GitError if the repository does not have
    it.
    """
    form = ("log", "--max-count=1", "--no-show-signature", "--format=%H%x00%cs%x00%s")
    done = run_git(directory, *form, "--end-of-options", commit, "--")
    parts = decode(done.output).rstrip("\n").split("\0")
    if done.code or len(parts) != len(CommitLine._fields):
        raise GitError(explain(done.error, directory))
    return CommitLine(*parts)


def has_whole_history(top: str) -> bool:
    """Return whether a repository has every commit, and is neither a shallow clone nor empty."""
    repository = Repository(top)
    shallow = repository.ask("rev-parse", "--is-shallow-repository").strip()
    return shallow == b"false" and bool(repository.find_head())


def is_ancestor(top: str, commit: str) -> bool:
    """Return whether a commit is HEAD or one of its ancestors."""
    return bool(commit) and Repository(top).leads(commit)


def read_name_changes(top: str, *, after: str = "") -> list[NamedCommit]:
    """Return the commits of HEAD, without merges, that ``after`` does not contain, oldest first.

    A renamed file is listed as removed and added, because git compares contents to find renames,
    which takes longer than everything else. ``read_renames`` does this for single commits. Raises
    GitError if git fails.
    """
    span = f"{after}..HEAD" if after else "HEAD"
    form = (*_NAMES, "--topo-order", "--no-renames")
    done = run_git(top, *form, "--end-of-options", span, limit=_MAX_BYTES)
    if done.code or done.truncated:
        raise GitError(explain(done.error, top))
    return list(parse_name_changes(done.output))[::-1]


def read_renames(top: str, commits: Iterable[str]) -> dict[str, Mapping[str, str]]:
    """Return the files that each commit renamed, as a mapping from the old to the new path.

    Raises GitError if git fails, as in a clone whose contents of files were left out.
    """
    form = (*_NAMES, *_RENAMES, "--no-walk=unsorted", "--stdin")
    renames: dict[str, Mapping[str, str]] = {commit: {} for commit in commits}
    stdin = "\n".join(renames).encode()
    done = run_git(top, *form, stdin=stdin, limit=_MAX_BYTES)
    if done.code or done.truncated:
        raise GitError(explain(done.error, top))
    for commit in parse_name_changes(done.output):
        renames[commit.id] = {change.path: change.target for change in commit.changes}
    return renames


def list_head(top: str) -> frozenset[str]:
    """Return the paths of HEAD: files, links and submodules. Raises GitError."""
    done = run_git(top, "ls-tree", "-r", "-z", "--name-only", "HEAD", limit=_MAX_BYTES)
    if done.code or done.truncated:
        raise GitError(explain(done.error, top))
    return frozenset(done.output.decode("utf-8", "surrogateescape").split("\0")) - {""}


def find_copies(top: str, commit: str, path: str) -> list[str]:
    """Return the files of a commit with the content of a file that the commit removed.

    git reports a rename for only one of several equal files. An empty file has no copies.
    """
    blob = run_git(top, "rev-parse", "--quiet", "--verify", "--end-of-options", f"{commit}^:{path}")
    name = decode(blob.output).strip()
    if blob.code or not name or not int(run_git(top, "cat-file", "-s", name).output or b"0"):
        return []
    done = run_git(top, "ls-tree", "-r", "-z", "--full-tree", commit, limit=_MAX_BYTES)
    entries = done.output.decode("utf-8", "surrogateescape").split("\0")
    pairs = (entry.partition("\t") for entry in entries)
    return [copied for facts, _, copied in pairs if facts.endswith(name)]


def find_words(
    top: str, commit: str, words: Sequence[str], excluded: Iterable[str]
) -> frozenset[str]:
    """Return the words, among ``words``, that occur in a text file of a commit. Markdown files are
    left out.

    ``excluded`` are folders, relative to the top, that are left out as well. Raises GitError.
    """
    places = [".", *_NO_MARKDOWN]
    places += [f":(exclude,top,glob){folder}/**" for folder in excluded]
    # git searches for one word after the other, which takes minutes for a thousand words. Therefore
    # it prints all lines here, and one pass collects their words.
    form = ("grep", "-h", "-I", "--no-color", "-e", "", commit, "--", *places)
    done = run_git(top, *form, limit=_MAX_BYTES)
    if done.code not in (0, 1) or done.truncated:  # 1: there is no line
        raise GitError(explain(done.error, top))
    wanted = {word.encode("utf-8", "surrogateescape"): word for word in words}
    present = wanted.keys() & set(_WORD.findall(done.output))
    return frozenset(wanted[word] for word in present)


def find_last_removal(top: str, word: str, *, after: str) -> str:
    """Return the last commit since ``after`` that changed the number of occurrences of a word, or
    "" if there is none.

    The word is in ``after`` but not in HEAD, so this commit removed it.
    """
    form = ("log", "--max-count=1", "--format=%H", "--no-show-signature", f"-S{word}")
    done = run_git(top, *form, "--end-of-options", f"{after}..HEAD", "--", ".", *_NO_MARKDOWN)
    return "" if done.code else decode(done.output).strip()
