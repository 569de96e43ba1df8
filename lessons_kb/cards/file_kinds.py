"""Determine the kind of a file of a brain from its folder and its name."""

from __future__ import annotations

from collections.abc import Mapping

from lessons_kb.model import KINDS, NOTE


def kind_of(path: str, folders: Mapping[str, str]) -> str:
    """Return the kind of a file: lesson, playbook, qa-finding or note.

    ``path`` is a POSIX path relative to the brain. ``folders`` maps folders to kinds. A folder is
    one name or several, such as ``docs/solutions``, and may be anywhere in the path, in upper or
    lower case. The deepest folder wins. If two end at the same folder, the longer name wins.
    ``README``, ``index`` and ``_*`` files are always notes.
    """
    *parts, name = path.casefold().split("/")
    if is_note_name(name):
        return NOTE
    best, kind = (0, 0), NOTE
    for folder, folder_kind in (*zip(KINDS, KINDS, strict=True), *folders.items()):
        mapped = folder.casefold().strip("/").split("/")
        size = len(mapped)
        for end in range(len(parts), size - 1, -1):
            if parts[end - size : end] == mapped:
                if (end, size) > best:
                    best, kind = (end, size), folder_kind
                break
    return kind


def in_mapped_folder(path: str, folders: Mapping[str, str]) -> bool:
    """Return whether a file is in a folder of cards, regardless of its own name."""
    folder = path.rpartition("/")[0]
    return kind_of(f"{folder}/card.md", folders) != NOTE


def is_note_name(name: str) -> bool:
    """Return whether a file with this name describes its folder and is therefore never a card."""
    return name.startswith("_") or name.casefold().partition(".")[0] in ("readme", "index")
