"""The history of a project's file names, and the words in one of its commits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import IO, NamedTuple

from lessons_kb.errors import GitError
from lessons_kb.process.git import Repository, decode, explain, run_git, start_git
from lessons_kb.text.name_changes import HEAD_MARK, NamedCommit, decode_names, parse_name_changes

_MAX_BYTES = 400_000_000
"""The size limit of a history of names: 100,000 commits of a large project."""
_FORM = (
    *("-z", "--no-show-signature", "--no-notes", "--no-ext-diff", "--no-textconv"),
    *("--ignore-submodules=all", f"--format=tformat:{HEAD_MARK}%H %cs %P"),
)
_NAMES = ("log", "--raw", "--no-abbrev", *_FORM)
_RENAMES = ("--find-renames", "-l1000", "--diff-merges=first-parent")
"""Options that decide which changes are renames, regardless of the user's configuration."""
_EXACT_RENAMES = ("--find-renames=100%", "--diff-merges=first-parent")
"""Options for renames of files with the same content, for which git does not read the content."""
_MOST_UNREADABLE = 200
"""The number of commits or objects that git may fail to read before the rest is not tried. git
starts once more after each of them.
"""
_IN_WORD = re.compile(rb"[\w$\x80-\xff]")
_ALL_BYTES = [bytes([number]) for number in range(256)]
_SPACED = b"".join(byte if _IN_WORD.match(byte) else b" " for byte in _ALL_BYTES)
"""A table for ``bytes.translate``, which replaces what is not in a word by spaces."""
_CHUNK = 1 << 20
"""The number of bytes in which words are searched at once."""
_FEW_WORDS = 60
"""The number of words up to which a search for each is faster than a list of all words."""
_MARKDOWN = (b".md", b".markdown", b".mdx")
_NO_MARKDOWN = [f":(exclude,top,icase)*{suffix.decode()}" for suffix in _MARKDOWN]
_BINARY_BYTES = 8000
"""The number of bytes in which git looks for a zero, which only a binary file has."""
_MOST_BYTES = 50_000_000
"""The size in bytes of the largest object that is read."""
_OBJECT_SECONDS = 600.0
_MAX_TEXT = 200_000
"""The size in bytes of the largest file that is compared. Larger ones are mostly generated."""
_MISSING = ("unable to read", "could not fetch")
"""Parts of git's messages about an object that is missing, and in a partial clone."""
_BATCH, _OBJECTS = 20, 1000
"""The numbers of commits and of objects that are requested from git at once."""


class Log(NamedTuple):
    """Commits that git read, and those that it could not read."""

    commits: list[NamedCommit]
    unreadable: dict[str, str]
    """Maps each commit that git could not read to the reason. Some of its objects are missing, as
    in a partial clone without network.
    """


class Renames(NamedTuple):
    """The files that commits renamed."""

    targets: dict[str, dict[str, str]]
    """Maps each commit to its renames, and the old path of a file to the new one."""
    unreadable: dict[str, str]
    """The commits of which only the renames without other changes are known, as in ``Log``."""


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


def stream_name_changes(
    top: str, *, after: str = "", meanwhile: Callable[[], None] | None = None
) -> Iterator[NamedCommit]:
    """Yield the commits of HEAD that ``after`` does not contain, oldest first, while git runs.

    git first sorts the commits. ``meanwhile`` is called then.

    A renamed file is listed as removed and added, because git compares contents to find renames,
    which takes longer than everything else. ``read_renames`` does this for single commits. Raises
    GitError at the end if git fails, for example because it cannot read a commit.
    """
    form = (*_NAMES, "--topo-order", "--reverse", "--no-renames", "--end-of-options")
    with start_git(top, *form, _name_span(after)) as running:
        if meanwhile is not None:
            meanwhile()
        yield from parse_name_changes(running.read_parts())
    if running.code:
        raise GitError(explain(running.error, top))


def read_name_changes(top: str, *, after: str = "") -> Log:
    """Return what ``stream_name_changes`` yields, without the commits that git cannot read.

    Raises GitError if git fails otherwise.
    """
    form = ("rev-list", "--topo-order", "--reverse", "--end-of-options", _name_span(after))
    listed = run_git(top, *form, limit=_MAX_BYTES)
    if listed.code or listed.truncated:
        raise GitError(explain(listed.error, top))
    return _read_each(top, decode(listed.output).split(), "--no-renames")


def _name_span(after: str) -> str:
    return f"{after}..HEAD" if after else "HEAD"


def _read_each(top: str, commits: Sequence[str], *options: str) -> Log:
    """Return commits in the given order, except those that git cannot read.

    git stops at such a commit, so it starts once more with the next commit. Raises GitError if it
    prints too much.
    """
    form = (*_NAMES, *options, "--no-walk=unsorted", "--stdin")
    readable: list[NamedCommit] = []
    unreadable: dict[str, str] = {}
    rest = list(commits)
    while rest:
        done = run_git(top, *form, stdin="\n".join(rest).encode(), limit=_MAX_BYTES)
        if done.truncated:
            raise GitError(explain(done.error, top))
        part = list(parse_name_changes([done.output]))
        readable += part
        rest = rest[len(part) :]
        if not done.code or not rest:
            break
        count = 1 if len(unreadable) < _MOST_UNREADABLE else len(rest)
        unreadable |= dict.fromkeys(rest[:count], explain(done.error, top))
        rest = rest[count:]
    return Log(commits=readable, unreadable=unreadable)


def read_renames(top: str, commits: Iterable[str]) -> Renames:
    """Return the files that each commit renamed.

    Raises GitError if git prints too much.
    """
    targets: dict[str, dict[str, str]] = {commit: {} for commit in commits}
    log = _read_each(top, list(targets), *_RENAMES)
    exact = _read_each(top, list(log.unreadable), *_EXACT_RENAMES)
    for commit in (*log.commits, *exact.commits):
        renamed = (change for change in commit.changes if change.status == "R")
        targets[commit.id] = {change.path: change.target for change in renamed}
    return Renames(targets=targets, unreadable=log.unreadable)


def read_merge_removals(top: str, merges: Iterable[str]) -> list[NamedCommit]:
    """Return merges with the files that their first parents have and they lack.

    If git cannot read a merge, it and those after it are left out. Raises GitError if git prints
    too much.
    """
    form = (*_NAMES, "--diff-merges=first-parent", "--no-renames", "--diff-filter=D")
    stdin = "\n".join(merges).encode()
    done = run_git(top, *form, "--no-walk=unsorted", "--stdin", stdin=stdin, limit=_MAX_BYTES)
    if done.truncated:
        raise GitError(explain(done.error, top))
    return list(parse_name_changes([done.output]))


def list_head(top: str) -> frozenset[str]:
    """Return the paths of HEAD: files, links and submodules. Raises GitError."""
    done = run_git(top, "ls-tree", "-r", "-z", "--name-only", "HEAD", limit=_MAX_BYTES)
    if done.code or done.truncated:
        raise GitError(explain(done.error, top))
    return frozenset(decode_names(done.output)) - {""}


def find_words(
    top: str, commit: str, words: Sequence[str], excluded: Iterable[str]
) -> dict[str, bool]:
    """Return for each word whether it occurs in a text file of a commit. Markdown files are left
    out.

    ``excluded`` are folders, relative to the top, that are left out as well. If git cannot read a
    file, the words that no other file has are left out of the result. Raises GitError.
    """
    places = [".", *_NO_MARKDOWN]
    places += [f":(exclude,top,glob){folder}/**" for folder in excluded]
    # git searches for one word after the other, which takes minutes for a thousand words. Therefore
    # it prints all lines here, and one pass collects their words.
    form = ("grep", "-h", "-I", "--no-color", "-e", "", commit, "--", *places)
    wanted = {word.encode("utf-8", "surrogateescape"): word for word in words}
    absent = set(wanted)
    with start_git(top, *form) as running:
        for lines in _join_lines(running.read_parts()):
            absent -= pick_words(lines, absent)
    is_missing_file = any(message in running.error for message in _MISSING)
    if running.code not in (0, 1) and not is_missing_file:  # 1: there is no line
        raise GitError(explain(running.error, top))
    answers = {word: encoded not in absent for encoded, word in wanted.items()}
    if is_missing_file:
        return {word: True for word, is_present in answers.items() if is_present}
    return answers


def _join_lines(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a text that comes in parts as whole lines, about ``_CHUNK`` bytes at once."""
    waiting: list[bytes] = []
    size = 0
    for part in parts:
        size += len(part)
        if size < _CHUNK or b"\n" not in part:
            waiting.append(part)
            continue
        lines, _, rest = part.rpartition(b"\n")
        yield b"".join([*waiting, lines])
        waiting, size = [rest], len(rest)
    yield b"".join(waiting)


def pick_words(content: bytes, wanted: AbstractSet[bytes]) -> set[bytes]:
    """Return the wanted words that occur in a text. A word also has digits, ``_`` and ``$``."""
    plain = b" %b " % content.translate(_SPACED)
    if len(wanted) <= _FEW_WORDS:
        return {word for word in wanted if b" %b " % word in plain}
    return set(wanted).intersection(plain.split())


def find_differing_words(
    top: str, words: Mapping[str, Iterable[str]], excluded: Iterable[str], *, base: str
) -> dict[str, frozenset[str]]:
    """Return the words of each commit that occur in files which ``base`` lacks or has in another
    version. Otherwise, this is like ``find_words``.

    ``words`` is grouped by commit. Each version of a file is read once. Raises GitError.
    """
    wanted = {
        commit: {word.encode("utf-8", "surrogateescape"): word for word in own}
        for commit, own in words.items()
    }
    places: dict[bytes, set[str]] = {}
    for commit, blob in _list_other_blobs(top, base, list(words), tuple(excluded)):
        places.setdefault(blob, set()).add(commit)
    present: dict[str, set[str]] = {commit: set() for commit in words}
    all_wanted = {word for own in wanted.values() for word in own}
    for blob, content in zip(places, read_objects(top, list(places)), strict=True):
        if b"\0" in content[:_BINARY_BYTES]:
            continue
        occurring = pick_words(content, all_wanted)
        for commit in places[blob] if occurring else ():
            present[commit].update(
                wanted[commit][word] for word in occurring & wanted[commit].keys()
            )
    return {commit: frozenset(own) for commit, own in present.items()}


def _list_other_blobs(
    top: str, base: str, commits: Sequence[str], excluded: Sequence[str]
) -> Iterator[tuple[str, bytes]]:
    """Yield the files of commits that ``base`` lacks or has in another version: commit and blob.

    Markdown files, and files in the folders ``excluded``, are left out.
    """
    form = ("diff-tree", "--stdin", "-r", "-z", "--raw", "--no-renames", "--no-abbrev")
    folders = tuple(f"{folder}/".encode("utf-8", "surrogateescape") for folder in excluded)
    for begin in range(0, len(commits), _BATCH):
        batch = commits[begin : begin + _BATCH]
        # In this form, git compares a commit with ``base`` in place of its parent.
        stdin = "".join(f"{commit} {base}\n" for commit in batch).encode()
        done = run_git(top, *form, stdin=stdin, limit=_MAX_BYTES)
        if done.code or done.truncated:
            raise GitError(explain(done.error, top))
        commit = ""
        tokens = iter(done.output.split(b"\0"))
        for token in tokens:
            if not token.startswith(b":"):
                commit = token.decode().strip()
                continue
            path = next(tokens)
            _old_mode, mode, _old_blob, blob, status = token.split(b" ")
            is_markdown = path.lower().endswith(_MARKDOWN)
            is_file = mode.startswith(b"100") and status != b"D"
            if is_file and not is_markdown and not path.startswith(folders):
                yield commit, blob


def list_blobs(top: str, excluded: Iterable[str]) -> list[str] | None:
    """Return the blobs of the files in HEAD, without Markdown files, large files and those in the
    folders ``excluded``; None if the repository lacks some. Raises GitError.
    """
    done = run_git(top, "ls-tree", "-r", "-z", "-l", "HEAD", limit=_MAX_BYTES)
    if done.code or done.truncated:
        raise GitError(explain(done.error, top))
    folders = tuple(f"{folder}/".encode("utf-8", "surrogateescape") for folder in excluded)
    blobs = []
    for entry in done.output.split(b"\0")[:-1]:
        facts, _, path = entry.partition(b"\t")
        mode, _kind, blob, size = facts.split()
        if not mode.startswith(b"100") or path.lower().endswith(_MARKDOWN):
            continue
        if not size.isdigit():
            return None
        if int(size) <= _MAX_TEXT and not path.startswith(folders):
            blobs.append(blob.decode())
    return blobs


def list_added_blobs(top: str, commit: str, *, base: str, excluded: Iterable[str]) -> list[str]:
    """Return the blobs of a commit's files that another commit, ``base``, lacks or has in another
    version, without Markdown files and those in the folders ``excluded``. Raises GitError.
    """
    others = _list_other_blobs(top, base, [commit], tuple(excluded))
    return [blob.decode() for _commit, blob in others]


def read_text_objects(top: str, blobs: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield each blob with its content, without binary and large files. Raises GitError."""
    contents = read_objects(top, [blob.encode() for blob in blobs])
    for blob, content in zip(blobs, contents, strict=True):
        if len(content) <= _MAX_TEXT and b"\0" not in content[:_BINARY_BYTES]:
            yield blob, content


def read_objects(top: str, names: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the content of each object, given by its hash or as COMMIT:PATH, while git runs.

    A missing or very large object is b"". Raises GitError if git cannot start, or a batch takes
    longer than ``_OBJECT_SECONDS``, including the work of the caller.
    """
    failures = 0
    begin = 0
    while begin < len(names):
        batch = names[begin : begin + _OBJECTS]
        end = begin + len(batch)
        stdin = b"".join(name.replace(b"\n", b"?") + b"\n" for name in batch)
        form = ("cat-file", "--batch", "--buffer")
        with start_git(top, *form, stdin=stdin, seconds=_OBJECT_SECONDS) as running:
            for content in _read_contents(running.stdout):
                yield content
                begin += 1
        if begin == end:
            continue
        # In a partial clone, older versions of git stop at a missing object.
        failures += 1
        count = 1 if failures < _MOST_UNREADABLE else len(names) - begin
        yield from [b""] * count
        begin += count


def _read_contents(output: IO[bytes]) -> Iterator[bytes]:
    """Yield the contents that ``git cat-file --batch`` prints, b"" for a missing object."""
    for head in output:
        size = head.rpartition(b" ")[2].strip()
        if size.isdigit():  # a missing object has the word "missing" in place of its size
            left = int(size)
            if left > _MOST_BYTES:
                while left > 0:
                    left -= len(output.read(min(left, _CHUNK))) or left
                content = b""
            else:
                content = output.read(left)
                if len(content) < left:  # git failed
                    return
            output.read(1)  # the end of the line
            yield content
        else:
            yield b""


def find_last_removal(top: str, word: str, *, after: str) -> str:
    """Return the last commit since ``after`` that changed the number of occurrences of a word, or
    "" if there is none.

    The word is in ``after`` but not in HEAD, so this commit removed it.
    """
    form = ("log", "--max-count=1", "--format=%H", "--no-show-signature", f"-S{word}")
    done = run_git(top, *form, "--end-of-options", f"{after}..HEAD", "--", ".", *_NO_MARKDOWN)
    return "" if done.code else decode(done.output).strip()
