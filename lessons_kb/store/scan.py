"""List a brain's Markdown files, each with a signature that shows whether it changed."""

from __future__ import annotations

import os
import re
import stat
import time
import zlib
from collections.abc import Collection
from functools import lru_cache

from lessons_kb.config import KNOWN_FOLDERS, Settings
from lessons_kb.errors import StorageError
from lessons_kb.model import Finding
from lessons_kb.store.catalogue import State
from lessons_kb.store.files import read_regular
from lessons_kb.store.locations import CONFIG_NAME
from lessons_kb.store.repositories import BORDERS, is_border
from lessons_kb.store.trust import is_same, is_trusted
from lessons_kb.text.patterns import Globs, match_globs
from lessons_kb.text.sanitize import counted
from lessons_kb.values import frozen

SUFFIXES = (".md", ".markdown")
RESCAN = "."
"""A changed path which means that any file may have changed, so that a scan is needed."""
IGNORE_NAME = ".lessonsignore"
_SETTINGS_FILES = (CONFIG_NAME, IGNORE_NAME)
_BY_DESCRIPTOR = os.scandir in os.supports_fd and hasattr(os, "O_DIRECTORY")
_WRITTEN_NS = r"[0-9]{1,20}"
"""The pattern of the start of a signature: the time of the last change in nanoseconds."""
_HEADER_BYTES = 4_096
_OCCURRENCES = rb"^occurrences:[ \t]*[\"']?([0-9]{1,6})"
_DATES = rb"^(?:created|last-seen|date):[ \t]*[\"']?([0-9-]{10})"


@frozen
class Scan:
    """The files of a brain at one moment."""

    files: dict[str, str]
    """A mapping from POSIX path to signature, an opaque text that differs if the file may have
    changed."""
    manifest: str
    """A text with ``files`` and the settings files. If two texts are equal, nothing changed."""
    findings: tuple[Finding, ...]
    silent: tuple[str, ...]
    """The folders that are left out because they are brains or repositories without the user's
    trust."""
    beyond: tuple[int, int] = (0, 0)
    """The number of files that are left out because of ``max_files``, and a checksum of their names
    and signatures."""


def scan_brain(
    root: str, settings: Settings, ignored: Globs, *, last: State | Scan | None = None
) -> Scan:
    """List the ``*.md`` and ``*.markdown`` files below ``root``, according to its settings.

    Hidden folders are skipped, unless they are card folders. If there are more than ``max_files``,
    the files of card folders have priority. Half of ``max_files`` are the newest cards, and the
    rest are the cards that were seen most often. ``ignored`` are compiled globs. No link is
    followed, because the scan lists the target itself if it may be read. ``Cards.find`` resolves
    the name of a link. No file is opened, unless the files that are left out differ from those of
    the ``last`` scan. The scan does not enter untrusted brains and git work trees inside this
    brain, or further work trees of this brain.
    """
    walk = _Walk(root, settings, ignored)
    walk.run()
    walk.find_links()
    lines, findings, max_files = walk.lines, walk.findings, settings.index.max_files
    beyond = 0, 0
    if len(lines) > max_files:
        chosen = [*parse_manifest(last.manifest)] if last is not None and last.manifest else []
        beyond = _count_left_out(lines, chosen)
        if last is None or beyond != last.beyond or len(chosen) != max_files:
            chosen = _choose(root, lines, settings)
            beyond = _count_left_out(lines, chosen)
        lines = {path: lines[path] for path in chosen}
        findings.append(report_beyond(beyond[0], max_files))
    return Scan(
        files=lines,
        manifest=format_manifest(lines, like=settings_signature(root)),
        findings=tuple(findings),
        silent=tuple(sorted(walk.silent)),
        beyond=beyond,
    )


def parse_manifest(manifest: str) -> dict[str, str]:
    """Return a mapping from path to signature for a manifest, without the settings files."""
    lines = manifest.split("\n")[len(_SETTINGS_FILES) :]
    half = len(lines) // 2
    return dict(zip(lines[:half], lines[half:], strict=True))


@lru_cache(maxsize=8)  # a manifest may have a megabyte, and every prompt needs it
def count_files(manifest: str) -> int:
    """Return the number of files in a manifest."""
    return (manifest.count("\n") + 1 - len(_SETTINGS_FILES)) // 2


def find_card_folders(state: State) -> tuple[str, ...]:
    """Return the folders that contain cards at a commit of the index, or may contain them later."""
    folders = {*KNOWN_FOLDERS, *state.settings.get("folders", {})}
    return _find_folders_below(state.manifest, tuple(sorted(folders)))


@lru_cache(maxsize=8)
def _find_folders_below(manifest: str, folders: tuple[str, ...]) -> tuple[str, ...]:
    """Return ``folders``, and the folders below them that contain files of a manifest."""
    prefixes = tuple(f"{folder}/" for folder in folders)
    with_files = {path.rpartition("/")[0] for path in parse_manifest(manifest)}
    below = {folder for folder in with_files if f"{folder}/".startswith(prefixes)}
    return tuple(sorted({*folders, *below}))


@lru_cache(maxsize=8)
def find_newest(manifest: str) -> tuple[str, float]:
    """Return the file of a manifest that changed last, and the time of the change.

    The time is in seconds since the epoch. Return ("", 0.0) for a manifest without files.
    """
    newest, changed_ns = "", 0
    for path, file_signature in parse_manifest(manifest).items():
        written = re.match(_WRITTEN_NS, file_signature)
        if written and int(written[0]) > changed_ns:
            newest = path
            changed_ns = int(written[0])
    return newest, changed_ns / 1e9


def format_manifest(files: dict[str, str], *, like: str) -> str:
    """Return ``files`` as a manifest with the settings lines of the manifest ``like``."""
    # All paths come first, then all signatures. Pairs would take four times as long.
    settings = like.split("\n")[: len(_SETTINGS_FILES)]
    paths = sorted(files)
    return "\n".join([*settings, *paths, *map(files.__getitem__, paths)])


def settings_signature(root: str) -> str:
    """Return the signatures of ``lessons.toml`` and ``.lessonsignore``, the head of a manifest."""
    lines = []
    for name in _SETTINGS_FILES:
        try:
            lines.append(f"{name}\t{signature(os.stat(os.path.join(root, name)))}")
        except OSError:
            lines.append(f"{name}\t-")
    return "\n".join(lines)


def mark_racy(signature: str, *, started_ns: int) -> str:
    """Mark the signature of a file that changed just before it was read.

    A marked signature differs from every signature of a scan. A file that is written after it was
    read, but within one time step of the file system, does not change its signature. So a file
    whose times are not older than the read is read again by the next scan (git's "racily clean"
    rule). The step is 20 ms, which covers a kernel tick. It is 2 s if the time is in whole seconds,
    because the file system then rounds to one or two seconds.
    """
    modified, changed = (int(part) for part in signature.split(".", 2)[:2])
    youngest = max(modified, changed)
    step = 2_000_000_000 if modified % 1_000_000_000 == 0 else 20_000_000
    return signature + "!" if youngest >= started_ns - step else signature


def signature(info: os.stat_result) -> str:
    """Return the signature of a file: its times, inode and size."""
    return f"{info.st_mtime_ns}.{info.st_ctime_ns}.{info.st_ino}.{info.st_size}"


def find_signature(root: str, path: str) -> str | None:
    """Return the signature of a file in a brain, or None if it is not a regular file."""
    try:
        info = os.lstat(os.path.join(root, path))
    except OSError:
        return None
    return signature(info) if stat.S_ISREG(info.st_mode) else None


class _Walk:
    """One walk over a tree."""

    def __init__(self, root: str, settings: Settings, ignored: Globs) -> None:
        self.root = root
        self.ignored = ignored
        self.max_file_bytes = settings.index.max_file_bytes
        self.lines: dict[str, str] = {}
        self.links: list[str] = []
        self.findings: list[Finding] = []
        self.silent: list[str] = []
        self.folders = frozenset(settings.folders)
        self.hidden = {
            folder for folder in self.folders if folder.startswith(".") or "/." in folder
        }
        """Card folders that are hidden, or inside a hidden folder."""
        self.transit: set[str] = set()
        """The folders that are entered only because a hidden card folder is below them."""
        for folder in self.hidden:
            parts = folder.split("/")
            self.transit |= {"/".join(parts[:end]) for end in range(1, len(parts))}

    def run(self) -> None:
        pending = [""]
        while pending:
            path = pending.pop()
            full = os.path.join(self.root, path) if path else self.root
            folder: int | str = full
            try:
                if _BY_DESCRIPTOR:  # the system then need not resolve the path for each file
                    folder = os.open(full, os.O_RDONLY | os.O_DIRECTORY)
                with os.scandir(folder) as listing:
                    entries: list[os.DirEntry[str]] = list(listing)
            except OSError as error:
                self._report(path or ".", "unreadable-folder", error.strerror or str(error))
            else:
                if not path or self._may_enter(path, entries):
                    pending += self._list_files(entries, path)
            finally:
                if isinstance(folder, int):
                    os.close(folder)

    def _may_enter(self, path: str, entries: list[os.DirEntry[str]]) -> bool:
        inner = os.path.join(self.root, path)
        if BORDERS.isdisjoint([entry.name for entry in entries]) or not is_border(inner):
            return True
        if is_same(inner, self.root):  # another work tree of the same brain
            return False
        if is_trusted(inner):
            return True
        self.silent.append(path)
        return False

    def _list_files(self, entries: list[os.DirEntry[str]], prefix: str) -> list[str]:
        """Add the files of one folder to the result, and return the folders to enter."""
        lines, limit, inner = self.lines, self.max_file_bytes, []
        start = prefix + "/" if prefix else ""
        transit = bool(prefix) and prefix in self.transit
        for entry in entries:
            name = entry.name
            path = start + name
            is_markdown = name.endswith(SUFFIXES)
            if is_markdown and entry.is_file(follow_symlinks=False):
                if transit or name[0] == ".":
                    continue
                if self.ignored and match_globs(self.ignored, path):
                    continue
                if not path.isprintable():
                    message = "the name contains control or undecodable characters"
                    self._report(path, "bad-file-name", message)
                    continue
                try:
                    info = entry.stat(follow_symlinks=False)
                except OSError as error:
                    self._report(path, "unreadable", error.strerror or str(error))
                    continue
                if info.st_size > limit:
                    self.findings.append(tell_too_large(path, info.st_size, limit))
                else:
                    lines[path] = signature(info)
            elif entry.is_symlink():
                self.links.append(path)
            elif entry.is_dir(follow_symlinks=False):
                if is_markdown:
                    self._report(path, "folder-named-like-a-card", "a folder, not a file")
                if not self._skips(name, path, prefix):
                    inner.append(path)
            elif is_markdown:
                self._report(path, "not-a-file", "neither a regular file nor a folder")
        return inner

    def _skips(self, name: str, path: str, prefix: str) -> bool:
        if name == "node_modules":
            return True
        if name[0] == "." or (prefix and prefix in self.transit):
            is_visible = name[0] != "."
            is_in_card_folder = any(path.startswith(f"{folder}/") for folder in self.hidden)
            leads_to_card_folder = path in self.transit or path in self.hidden
            if not leads_to_card_folder and not (is_in_card_folder and is_visible):
                return True
        return bool(self.ignored) and match_globs(self.ignored, path + "/")

    def find_links(self) -> None:
        """Report the links that look like cards, unless the scan has listed their targets."""
        root = os.path.realpath(self.root)
        for path in self.links:
            name = path.rpartition("/")[2]
            full = os.path.join(root, path)
            folder = os.path.isdir(full)
            if name[0] == "." and path not in self.folders:
                continue
            if not (folder or name.endswith(SUFFIXES)) or self._skips(name, path, ""):
                continue
            inside = os.path.relpath(os.path.realpath(full), root).replace(os.sep, "/")
            listed = inside in self.lines
            if folder:
                listed = path not in self.folders or any(
                    line.startswith(f"{inside}/") for line in self.lines
                )
            if not os.path.exists(full):
                self._report(path, "broken-link", "a link that cannot be followed")
            elif inside.split("/")[0] == "..":
                self._report(path, "link-leads-outside", "a link to a target outside the brain")
            elif not listed:
                noun = "folder" if folder else "file"
                self._report(path, "link-not-followed", f"a link to a hidden or ignored {noun}")

    def _report(self, path: str, rule: str, message: str) -> None:
        self.findings.append(_finding(path, rule, message))


def tell_too_large(path: str, size: int, limit: int) -> Finding:
    """Return the finding about a file with more than ``limit`` bytes."""
    message = f"{size:,} bytes, more than max_file_bytes = {limit:,}"
    return _finding(path, "too-large", message)


def _finding(path: str, rule: str, message: str) -> Finding:
    shown = path.encode("utf-8", "backslashreplace").decode("utf-8")
    fix = _FIXES[rule]
    return Finding(path=shown, line=0, rule=rule, message=message, fix=fix, level="error")


_FIXES = {
    "unreadable-folder": "grant yourself read access, or list the folder in .lessonsignore",
    "unreadable": "grant yourself read access to the file",
    "folder-named-like-a-card": "rename the folder without its .md ending",
    "not-a-file": "replace it with a regular file, or list it in .lessonsignore",
    "bad-file-name": "rename the file",
    "broken-link": "link to a file of the brain, or remove the link",
    "link-leads-outside": "copy the file into the brain, or pass its folder with --brain",
    "link-not-followed": "replace the link with the file",
    "too-large": "split the file, or raise index.max_file_bytes in lessons.toml",
    "too-many-files": "raise index.max_files in lessons.toml, or exclude folders in .lessonsignore",
}


def report_beyond(count: int, max_files: int) -> Finding:
    """Return the finding about a brain in which ``count`` files exceed ``max_files``."""
    message = f"{counted(count, 'file')} skipped: more than max_files = {max_files}"
    return _finding(".", "too-many-files", message)


def _count_left_out(lines: dict[str, str], chosen: Collection[str]) -> tuple[int, int]:
    """Return ``Scan.beyond``: the number of files that are not chosen, and a checksum."""
    left_out = sorted(lines.keys() - set(chosen))
    text = "\n".join(f"{path}\t{lines[path]}" for path in left_out)
    return len(left_out), zlib.crc32(text.encode())


def _choose(root: str, lines: dict[str, str], settings: Settings) -> list[str]:
    """Choose the ``max_files`` files to index: cards before notes, and the newest of each kind.

    If there are more than ``max_files`` cards, half of the chosen cards are the newest, and the
    others are the most frequent.
    """
    max_files = settings.index.max_files
    folders = {*settings.folders, "lessons", "playbooks", "qa-findings"}
    cards = {path for path in lines if _is_in_any(path, folders)}
    counts: dict[str, int] = {}
    days: dict[str, str] = {}
    if len(cards) > max_files:  # all files of a clone are new, so the dates in headers decide
        for path in cards:
            try:
                full = os.path.join(root, path)
                limit = settings.index.max_file_bytes
                head = read_regular(full, limit=limit, name=path)[:_HEADER_BYTES]
            except (OSError, StorageError):
                head = b""
            count = re.search(_OCCURRENCES, head, re.MULTILINE)
            counts[path] = int(count[1]) if count else 0
            days[path] = max(map(bytes.decode, re.findall(_DATES, head, re.MULTILINE)), default="")

    def rank(path: str) -> tuple[bool, str, int, str]:
        changed = int(lines[path].partition(".")[0])
        day = days.get(path) or time.strftime("%Y-%m-%d", time.gmtime(changed // 10**9))
        return path in cards, day, changed, path

    by_age = sorted(lines, key=rank, reverse=True)
    if not counts:
        return by_age[:max_files]
    newest = by_age[: max_files // 2]
    rest = by_age[max_files // 2 : len(cards)]
    rest.sort(key=lambda path: -counts[path])  # stable, so the newest of equal counts is first
    return [*newest, *rest[: max_files - len(newest)]]


def _is_in_any(path: str, folders: Collection[str]) -> bool:
    return any(path.startswith(f"{folder}/") or f"/{folder}/" in path for folder in folders)
