"""Find out since when a card names a file or a symbol.

A name that an edit added to a card was not claimed before. If the code had already been removed
then, the card reports the removal, so that it is still true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from lessons_kb.store.file_history import FileHistory, FileVersion

ReadFiles = Callable[[Sequence[tuple[str, str]]], Iterable[bytes]]
"""Returns the contents of files, given the commit and the path of each."""


def find_edits_with(
    names: Mapping[str, Iterable[str]], history: FileHistory, read_files: ReadFiles
) -> dict[tuple[str, str], FileVersion]:
    """Return the versions of cards that edits made, and since which the cards have named something.

    ``names`` maps the paths of cards to names. The keys of the result are a path and a name. A name
    that the first version of a card has, or no version in the history, is left out.
    """
    versions = {path: history.list_versions(path) for path in names}
    requests = [(version.commit, path) for path, files in versions.items() for version in files]
    texts = dict(zip(requests, read_files(requests), strict=True))
    edits = {}
    for path, own_names in names.items():
        for name in own_names:
            word = name.encode("utf-8", "surrogateescape")
            first = _find_first(
                versions[path], [word in texts[v.commit, path] for v in versions[path]]
            )
            if first is not None:
                edits[path, name] = first
    return edits


def _find_first(versions: Sequence[FileVersion], has_name: Sequence[bool]) -> FileVersion | None:
    """Return the first of the versions that have a name up to the last one.

    The result is None if that is the first version of all, or if the last version lacks the name.
    """
    if not has_name or not has_name[-1]:
        return None
    start = len(versions) - 1
    while start and has_name[start - 1]:
        start -= 1
    return versions[start] if start else None
