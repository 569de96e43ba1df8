"""Read the effects that a call is about to have, from its arguments and from the project."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from lessons_kb.calls.command_lines import find_changed, find_run, is_known, is_patch_command
from lessons_kb.calls.parse_call import find_changes, find_documents, find_folder, parse_call
from lessons_kb.detect.change import Change
from lessons_kb.find.broad_paths import walk_files
from lessons_kb.find.detection import place_change, place_creation
from lessons_kb.on_demand import FIND_FILES, load
from lessons_kb.session.state import Hook
from lessons_kb.text.paths import relative_path
from lessons_kb.values import field, frozen, replace

_CHANGES = ("edit", "create", "remove")
_MAX_FILES = 50
_MAX_CHANGED = 1_000
"""Maximum files that one command may change, including files below a folder that it removes."""
_WILDCARDS = frozenset("*?[")
_DEEP = 3
"""A pattern with wildcards in this number of folders is not expanded, because it may match the
whole disk.
"""


@frozen
class CallEffects:
    """The effects that a call is about to have."""

    changed: tuple[str, ...] = ()
    """Files that it changes or runs, relative to the project root; for an edit, its one file. A
    file that is reached through a link is named by its real path."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Mapping from a path as the call spells it to the real path, if the two differ."""
    changes: tuple[Change, ...] = ()
    """The changes in its arguments. No file was read to find them."""
    commands: tuple[str, ...] = ()
    """The commands of a command line, one per program, without wrappers such as ``sudo``."""
    written: tuple[str, ...] = ()
    """Files to which a command writes. Their new content can be read only after the command has
    ended.
    """
    place: Callable[[Change], Change] | None = None
    """Reads the file of a change and adds the line numbers to the change. It is None if files must
    not be read.
    """

    def placed(self) -> Iterable[Change]:
        """Return the changes, with their line numbers if their files may be read."""
        return map(self.place, self.changes) if self.place else self.changes


def read_effects(hook: Hook) -> CallEffects:
    """Return the effects of a call. Nothing is recorded.

    Unless another machine sent the event, folders and links of the project are read.
    """
    event, scope = hook.event, hook.scope
    # The call is parsed without a session and with an unknown outcome, because it is not recorded.
    call = replace(hook.as_event("tool", tool=event.tool, outcome="unknown"), session="", id="")
    arguments = event.arguments if isinstance(event.arguments, (dict, str)) else {}
    events = parse_call(call, arguments, cwd=event.cwd, secrets=True)
    kind, command = events[0].kind, events[0].text
    changing = [parsed for parsed in events if parsed.kind in _CHANGES]
    targets = [path for parsed in changing for path in parsed.targets]
    place = place_creation
    commands: list[str] = []
    written: list[str] = []
    if kind in _CHANGES:
        patch = command if is_patch_command(command) else arguments
        changes = find_changes(patch, scope=scope, cwd=event.cwd) if kind != "remove" else []
        place = place_creation if kind == "create" else place_change
    elif kind in ("command", "test"):
        folder = (isinstance(arguments, dict) and find_folder(arguments, event.cwd)) or event.cwd
        changes = find_documents(command, scope=scope, cwd=folder)
        commands = find_run(command)
        written = [] if event.posted else list(dict.fromkeys(targets))[:_MAX_FILES]
        targets += _find_named_files(command, scope, folder, look=not event.posted)
    else:
        return CallEffects()
    links = {} if event.posted else _follow_links(targets[:_MAX_CHANGED], scope)
    changes = [replace(change, path=links.get(change.path, change.path)) for change in changes]
    return CallEffects(
        changed=tuple(dict.fromkeys(links.get(path, path) for path in targets)),
        links=links,
        changes=tuple(changes[:_MAX_FILES]),
        commands=tuple(commands),
        written=tuple(written),
        place=None if event.posted else partial(place, root=scope),
    )


def _follow_links(paths: Iterable[str], scope: str) -> dict[str, str]:
    """Return a mapping to the real path from each path that reaches a file of the project through a
    link.

    Both are relative to ``scope``. The link may be a file, a folder, or above the project.
    """
    root = os.path.realpath(scope)
    links = {}
    for path in dict.fromkeys(paths):
        real = relative_path(os.path.realpath(os.path.join(scope, path)), root)
        if real != path and real and not os.path.isabs(real):
            links[path] = real
    return links


def _find_named_files(command: str, scope: str, cwd: str, *, look: bool) -> list[str]:
    """Return the files that a command may change or run, relative to ``scope``.

    Without ``look``, no file is read, and the result contains the paths that the command names.
    """
    paths = itertools.islice(_expand_named(command, cwd or scope, look=look), _MAX_CHANGED)
    relative = [relative_path(path, scope, cwd="" if look else cwd) for path in paths]
    return [path for path in relative if path]


def _expand_named(command: str, folder: str, *, look: bool) -> Iterator[str]:
    """Yield the files that a command names, with wildcards and changed folders expanded."""
    for kind, paths in find_changed(command):
        for path in filter(is_known, paths):
            if not look:
                yield path
                continue
            full_pattern = os.path.join(folder, os.path.expanduser(path))
            for full in _expand_wildcards(full_pattern, path):
                if kind == "change" and os.path.isdir(full):
                    yield from walk_files(full)
                elif os.path.isfile(full) or _is_absent_file(full):
                    yield full


def _expand_wildcards(full_pattern: str, written: str) -> Iterable[str]:
    """Return the files that match ``full_pattern``, which the command spells ``written``."""
    wildcards = sum(not _WILDCARDS.isdisjoint(part) for part in written.split("/"))
    if wildcards >= _DEEP:
        return ()
    if not wildcards:
        return (full_pattern,)
    files: Iterable[str] = load(FIND_FILES).iglob(full_pattern)
    return files


def _is_absent_file(path: str) -> bool:
    """Return whether a path may be a file to create, because it has an extension and its folder
    exists.
    """
    folder, name = os.path.split(path)
    ending = os.path.splitext(name)[1][1:]
    return ending.isalnum() and not os.path.lexists(path) and os.path.isdir(folder)
