"""The files of a project, and the names in a text that refer to them."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable
from functools import cached_property

from lessons_kb.errors import InputError
from lessons_kb.find.project_detection import list_tree
from lessons_kb.store.repositories import git_top
from lessons_kb.text.patterns import compile_globs, match_globs

_IS_GLOB = re.compile(r"[*?\[{]")
_PLACE_IN_FILE = re.compile(r"(?::\d+)+\Z|#L\d+.*\Z")


class ProjectFiles:
    """The files of the project around a folder, which are listed on first use.

    Without git, names are looked up on disk.
    """

    def __init__(self, directory: str) -> None:
        self._root = git_top(directory)
        self._directory = directory

    @cached_property
    def _files(self) -> frozenset[str]:
        return frozenset(list_tree(self._root)) if self._root else frozenset()

    @cached_property
    def _folders(self) -> frozenset[str]:
        folders = set()
        for path in self._files:
            folder = os.path.dirname(path)
            while folder and folder not in folders:
                folders.add(folder)
                folder = os.path.dirname(folder)
        return frozenset(folders)

    @cached_property
    def _base_names(self) -> frozenset[str]:
        return frozenset(path.rpartition("/")[2] for path in self._files)

    def choose_paths(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the names that denote files, folders or globs of the project, each once.

        A leading ``./`` and a line number are removed.
        """
        paths: dict[str, None] = {}
        for name in names:
            path = _PLACE_IN_FILE.sub("", name.removeprefix("./"))
            if path.strip("/") and self._has(path):
                paths[path] = None
        return tuple(paths)

    def _has(self, path: str) -> bool:
        if _IS_GLOB.search(path):
            return self._has_match(path)
        plain = path.strip("/")
        if not self._root:
            return os.path.exists(os.path.join(self._directory, plain))
        if plain in self._files or plain in self._folders:
            return True
        return path == plain and plain in self._base_names

    def _has_match(self, pattern: str) -> bool:
        if not self._root:
            found = glob.iglob(pattern.strip("/"), root_dir=self._directory, recursive=True)
            return next(found, None) is not None
        try:
            globs = compile_globs([pattern])
        except InputError:
            return False
        return any(match_globs(globs, path) for path in self._files)
