"""Look up the files of a project by folder, by glob and by name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from lessons_kb.errors import InputError
from lessons_kb.text.patterns import compile_globs, match_globs

_PLACEHOLDER = re.compile(r"<[^<>/]*>|\{[^{},/]*\}|\[[^\[\]/]*\]")


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
