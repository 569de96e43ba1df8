"""Set git up to merge the cards of a brain key by key, and take that out again.

Git is no agent: nothing of it watches a session, and what is written follows from where brains
lie and which folders they map. So this is a use case of a brain, beside making and trusting one.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Iterable, Sequence
from functools import partial

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
    """Return the patterns for the cards of a brain.

    ``brain`` is its POSIX path relative to the work tree, "" for the work tree itself; a folder
    counts wherever it lies inside, as for ``kind_of``.
    """
    names = [folder.strip("/") for folder in folders]
    # A folder inside another one is named with it: ``.ai/lessons`` with ``lessons``.
    names = [n for n in names if not any(f"/{m}/" in f"/{n}/" for m in names if m != n)]
    brain, *names = [_GLOB.sub(lambda found: "\\" + found[0], one) for one in (brain, *names)]
    start = f"/{brain}/" if brain else ""
    paths = [f"{start}**/{name}/**/*." for name in names]
    return tuple(_quoted(path + ending) for path in paths for ending in _ENDINGS)


def put_block(text: str, patterns: Sequence[str]) -> str:
    """Return the text of an attributes file with these patterns as our block.

    A block that stands there already is replaced where it stands.
    """
    end = "\r\n" if "\r" in text else "\n"
    lines = (_FIRST, *(pattern + _MERGE for pattern in patterns), _LAST)
    block = "".join(line + end for line in lines)
    if _BLOCK.search(text):
        return _BLOCK.sub(lambda _match: block, text, count=1)
    gap = end if text and not text.endswith("\n") else ""
    return f"{text}{gap}{block}"


def take_block(text: str) -> str:
    """Return the text of an attributes file without our block."""
    return _BLOCK.sub("", text)


def find_patterns(text: str) -> tuple[str, ...]:
    """Return the patterns of our block, () when there is none."""
    lines = "".join(_BLOCK.findall(text)).splitlines()
    return tuple(line.removesuffix(_MERGE) for line in lines if line.endswith(_MERGE))


def _quoted(pattern: str) -> str:
    """Return a pattern as the file takes it: in quotes where it holds blanks or the like."""
    if _PLAIN.fullmatch(pattern) and pattern[0] not in "#!":
        return pattern

    def escape(character: str) -> str:
        if character.isprintable() and character not in '"\\':
            return character
        return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape"))

    return f'"{"".join(map(escape, pattern))}"'


TITLE = "lessons_kb: cards are merged key by key"
PLACEHOLDERS = "%O %A %B %L %P %S %X %Y"
"""What git hands over: the three files, the size of its markers, the path, the three labels (of
which an older git knows nothing and leaves the letters)."""
COMMITTED = ".gitattributes"


def share(
    roots: Sequence[str],
    *,
    program: str,
    scope: str = "user",
    shared: bool = False,
    dry_run: bool = False,
) -> list[FileChange]:
    """Let git merge the cards of the brains at ``roots`` with our driver; twice is once.

    ``program`` is how ``lessons`` is called. The driver is written to git's configuration of this
    user or, by ``scope`` ``project``, of each clone; the attributes to the clone's own file or,
    with ``shared``, to ``.gitattributes``. Raises BrainNotFound, InputError, GitError,
    StorageError.
    """
    found = _by_work_tree(roots, scope, shared=shared)
    plans = []
    for top, brains in found.items():
        patterns: dict[str, None] = {}
        for brain in brains:
            inside = "" if brain == top else relative(top, brain)
            patterns |= dict.fromkeys(build_patterns(inside, [*read_settings(brain)[0].folders]))
        committed = b""  # nothing is named again that the repository names itself
        with contextlib.suppress(StorageError):
            committed = read_settings_file(os.path.join(top, COMMITTED)) or b""
        named = () if shared else find_patterns(committed.decode("utf-8", "replace"))
        if new := [pattern for pattern in patterns if pattern not in named]:
            plans.append(_plan(top, new, shared=shared))
    return _carry_out(plans, found, build_command(program), scope, dry_run=dry_run)


def unshare(
    roots: Sequence[str], *, scope: str = "user", shared: bool = False, dry_run: bool = False
) -> list[FileChange]:
    """Take out what ``share`` wrote; a file that holds nothing else is removed.

    The scope ``user`` includes the drivers of these clones: their cards have no attributes then.
    """
    found = _by_work_tree(roots, scope, shared=shared)
    plans = [_plan(top, None, shared=shared) for top in found]
    changes = _carry_out(plans, found, None, scope, dry_run=dry_run)
    if scope == "user":
        drivers = [_drive(top, None, "project", dry_run=dry_run) for top in found]
        changes += [driver for driver in drivers if driver.diff]
    return changes


def build_command(program: str) -> str:
    """Return the driver's command line: ours, and git's own merge where ``lessons`` is gone.

    Without the second a vanished program would leave our version alone in the file, as a conflict
    that shows no markers.
    """
    # Git runs drivers in a POSIX shell on Windows too, where / parts folders as well.
    quoted = shlex.quote(program.replace(os.sep, "/")).replace("%", "%%")
    plain = "git merge-file --marker-size=%L %A %O %B"
    return (
        f"if command -v {quoted} >/dev/null 2>&1;"
        f" then {quoted} merge-driver {PLACEHOLDERS}; else {plain}; fi"
    )


def find_sharing(root: str) -> tuple[bool, bool] | None:
    """Tell whether the brain's cards are named to git, and whether a driver is configured.

    None outside a git work tree. Raises GitError.
    """
    if git_top(root) is None:
        return None
    driver = git.read_driver(root, DRIVER)[0]
    return merges_cards(root, "lessons/a.md"), driver is not None


def _by_work_tree(roots: Sequence[str], scope: str, *, shared: bool) -> dict[str, list[str]]:
    if scope not in git.SCOPES:
        scopes = ", ".join(git.SCOPES)
        raise InputError(f"--scope must be one of {scopes}, not {scope!r}")
    if shared and scope != "project":
        raise InputError("--shared writes a project's committed file; add --scope project")
    found: dict[str, list[str]] = {}
    for root in roots:
        if (top := git_top(root)) is not None:
            found.setdefault(top, []).append(os.path.realpath(root))
    if not found and scope == "project":
        where = ", ".join(map(shown, roots)) or "here"
        raise BrainNotFound(
            f"no brain in a git repository ({where}); run this inside one, or use --brain"
        )
    return found


_Plan = tuple[str, bytes | None, bytes | None]
"""A file, what it holds, and what it is to hold; None for no file."""


def _plan(top: str, patterns: Sequence[str] | None, *, shared: bool) -> _Plan:
    """Plan the block with ``patterns``, those that stand there kept; None takes the block out."""
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
        return path, before, take_block(text).encode() or None
    kept = [pattern for pattern in find_patterns(text) if pattern not in patterns]
    return path, before, put_block(text, (*kept, *patterns)).encode()


def _carry_out(
    plans: Sequence[_Plan], tops: Iterable[str], command: str | None, scope: str, *, dry_run: bool
) -> list[FileChange]:
    """Write the driver first: attributes that name none would do no harm, but no good either."""
    places = tops if scope == "project" else [os.getcwd()]
    drivers = [_drive(place, command, scope, dry_run=dry_run) for place in places]
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


def _drive(cwd: str, command: str | None, scope: str, *, dry_run: bool) -> FileChange:
    """Configure the driver, or take it out with None."""
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
    """Merge three versions of a card into the file ``ours``; return whether it conflicts.

    ``labels`` name ours, base and theirs in conflict markers. What is no text in UTF-8 is merged
    by lines alone. Raises GitError or StorageError, and then ``ours`` is as it was.
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
        data, conflict = merged.text.encode(), merged.conflict
    overwrite(ours, data)
    return conflict
