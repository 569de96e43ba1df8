"""The address of a card's file, as a page in a given folder names it."""

from __future__ import annotations

import os
import pathlib
from urllib.parse import quote


def file_link(path: str, *, page_folder: str | None = None) -> str:
    """Return a URL for an absolute path, with everything quoted that is not plain.

    It is relative where the file lies in or below ``page_folder``, so that both may move together,
    else a ``file://`` URL.
    """
    if page_folder is not None:
        folder = page_folder.rstrip(os.sep) + os.sep
        if path.startswith(folder):
            inside = path[len(folder) :].replace(os.sep, "/")
            return quote(os.fsencode(inside), safe="/")
    return pathlib.Path(path).as_uri()
