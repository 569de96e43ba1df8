"""Look up the files of a project by folder, by glob, and by the name of a folder."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cached_property

from lessons_kb.errors import InputError
from lessons_kb.text.patterns import compile_globs, match_globs

_PLACEHOLDER = re.compile(r"<[^<>/]*>|\{[^{},/]*\}|\[[^\[\]/]*\]")
_COMMON_WORDS = frozenset(
    (
        *("api", "apis", "behavior", "behaviour", "code", "common", "config", "data", "default"),
        *("general", "local", "main", "new", "other", "public", "schema", "shared", "style"),
        *("test", "tests", "types", "user"),
    )
)
"""Folder names that are common words with another meaning in a sentence."""
_DEEPEST_NAMED = 2
"""The deepest level at which a folder may be named without its path ("the wrangler package")."""


class Project:
    """The files of a project."""

    def __init__(self, *, files: Sequence[str]) -> None:
        self.files = files
        self._matches: dict[str, list[str]] = {}

    @cached_property
    def folders(self) -> Counter[str]:
        """Mapping from each folder to the number of files in it."""
        counts = Counter[str]()
        for path in self.files:
            for place, character in enumerate(path):
                if character == "/":
                    counts[path[:place]] += 1
        return counts

    @cached_property
    def names(self) -> frozenset[str]:
        """The paths of all files."""
        return frozenset(self.files)

    @cached_property
    def _folders_by_name(self) -> dict[str, list[str]]:
        by_name: dict[str, list[str]] = defaultdict(list)
        for folder in sorted(self.folders, key=lambda path: (path.count("/"), path)):
            if folder.count("/") < _DEEPEST_NAMED and not folder.startswith("."):
                by_name[folder.rpartition("/")[2].casefold()].append(folder)
        return by_name

    def holds(self, name: str) -> bool:
        """Return whether a file or folder of the project has this name."""
        path = name.strip("/").removeprefix("./")
        return path in self.names or path in self.folders

    def match(self, glob: str) -> list[str]:
        """Return the files that match a glob. The result is empty if the glob is invalid."""
        if glob not in self._matches:
            matches: list[str] = []
            try:
                compiled = compile_globs([glob])
            except InputError:
                self._matches[glob] = matches
                return matches
            head = glob.split("*", maxsplit=1)[0].rpartition("/")[0]
            below = (path for path in self.files if path.startswith(head))
            self._matches[glob] = [path for path in below if match_globs(compiled, path)]
        return self._matches[glob]

    def find_folder(self, word: str) -> str:
        """Return the folder that a word names, or "" if no folder, or more than one, has this
        name.
        """
        if word.casefold() in _COMMON_WORDS:
            return ""
        for name in (word.casefold(), f"{word.casefold()}s"):
            folders = self._folders_by_name.get(name, [])
            depth = folders[0].count("/") if folders else 0
            nearest = [folder for folder in folders if folder.count("/") == depth]
            if len(nearest) == 1:
                return nearest[0]
        return ""

    def find_glob(self, name: str) -> str:
        """Return the glob for a file, folder or glob that a rule names, or "" if nothing
        matches.
        """
        path = _PLACEHOLDER.sub("*", name.strip().strip("@").removeprefix("./")).strip("/")
        if not path.strip("*/.") or " " in path or path.startswith(("~", "..", "http:", "https:")):
            return ""
        if path in self.names:
            return path
        if path in self.folders:
            return f"{path}/**"
        if "/" not in path and "*" not in path:
            return self._find_by_name(path)
        if "*" not in path:
            return ""
        is_folder = name.rstrip("@ ").endswith("/")
        if self.match(path) and not is_folder:
            return path
        anywhere = f"**/{path.removeprefix('*/')}"
        below = f"{path}/**"
        if path.startswith("*/") and self.match(anywhere) and not is_folder:
            return anywhere  # authors write */ for any folder above
        return below if self.match(below) else ""

    def _find_by_name(self, name: str) -> str:
        """Return the glob for a file that is named without its folder, or "" if no file has this
        name.
        """
        if re.fullmatch(r"\.\w+", name):  # a file extension
            return f"**/*{name}" if self.match(f"**/*{name}") else ""
        if "." not in name.strip("."):
            return ""
        glob = f"**/{name}"
        matches = self.match(glob)
        if len(matches) == 1:
            return matches[0]
        return glob if matches else ""
