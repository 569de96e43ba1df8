"""Read the rules files of a project and split them into rules."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence

from lessons_kb.collection.exchange import find_rules_files
from lessons_kb.errors import InputError, LessonsError, StorageError
from lessons_kb.importers.rules_file import RulesFile, read_rules
from lessons_kb.process.git import list_files
from lessons_kb.store.files import MAX_TEXT_BYTES, read_regular, shown, storage_errors
from lessons_kb.store.repositories import find_brains, git_top
from lessons_kb.values import field, mutable

_FOLDERS_OF_AGENTS = (
    *(".claude", ".github", ".cursor", ".gemini", ".qwen", ".factory", ".agents"),
    *(".clinerules", ".kilo", ".kilocode", ".codex"),
)
_MAX_DEPTH = 5
"""The maximum depth of nested imports, as in Claude Code."""


@mutable
class Diet:
    """The rules files of a project, split into rules."""

    root: str
    files: list[RulesFile] = field(default_factory=list)
    """The rules files. Their names are paths relative to the root."""
    notes: list[str] = field(default_factory=list)
    """One line for each file that was not read, with the reason."""
    tracked: Sequence[str] = ()
    """The project's files."""
    imported: set[str] = field(default_factory=set)
    """Files that are read only because another file imports them."""
    linked: set[str] = field(default_factory=set)
    """Files with a second hard link. If such a file were replaced, the two names would be
    separated.
    """


def find_project(directory: str) -> str:
    """Return the folder to which a diet applies: the work tree or else the brain around it."""
    brains = find_brains(directory)
    return git_top(directory) or next(iter(brains), os.path.realpath(directory))


def read_diet(directory: str, paths: Sequence[str] = ()) -> Diet:
    """Read rules files and the files that they import. By default, all rules files of the project
    are read.

    If a default file cannot be read, a note is added. Raises InputError if a path in ``paths`` is
    not a file or is outside the project. Raises StorageError.
    """
    root = find_project(directory)
    diet = Diet(root=root)
    with contextlib.suppress(LessonsError):  # no git
        diet.tracked = list_files(root)
    places = [*paths] or find_rules_files(root)
    if not places:
        raise InputError("no CLAUDE.md, AGENTS.md or other rules file here; name one")
    read: list[tuple[str, RulesFile]] = []
    for place in places:
        try:
            read += _read_file(diet, place)
        except (InputError, StorageError) as error:
            if paths:
                raise
            diet.notes.append(f"{error}; left alone")
    for full, file in read:
        _read_imports(diet, full, file, 1)
    return diet


def _read_imports(diet: Diet, full: str, file: RulesFile, depth: int) -> None:
    if depth > _MAX_DEPTH:
        return
    for name in file.imports:
        place = os.path.join(os.path.dirname(full), os.path.expanduser(name))
        if not os.path.isfile(place):
            continue
        try:
            found = _read_file(diet, place, imported=True)
        except (InputError, StorageError) as error:
            diet.notes.append(f"{error}; left alone")
            continue
        for inner_full, inner in found:
            _read_imports(diet, inner_full, inner, depth + 1)


def _read_file(diet: Diet, path: str, *, imported: bool = False) -> list[tuple[str, RulesFile]]:
    """Add a file to a diet unless it is there under another name. Return the file with its real
    path.
    """
    full = os.path.realpath(path)
    name = os.path.relpath(full, diet.root).replace(os.sep, "/")
    if name.startswith("../"):
        raise InputError(
            f"{shown(path)} lies outside {shown(diet.root)}; name a file of this project"
        )
    if any(file.name == name for file in diet.files):
        return []
    folder = name.rpartition("/")[0]
    if imported or folder.split("/")[0] in _FOLDERS_OF_AGENTS:
        folder = ""
    with storage_errors(full):
        data = read_regular(full, limit=MAX_TEXT_BYTES, name=full)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{shown(name)}: not UTF-8; save the file as UTF-8") from None
    file = read_rules(text, name=name, folder=folder)
    diet.files.append(file)
    if imported:
        diet.imported.add(name)
    if os.stat(full).st_nlink > 1:
        diet.linked.add(name)
    return [(full, file)]
