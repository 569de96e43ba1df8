"""Find a program as a shell would, but never in the folder one happens to stand in."""

from __future__ import annotations

import os
import shutil


def find_program(name: str, path: str | None = None) -> str | None:
    """Return the absolute path of a program on the PATH (or on ``path``), None without one.

    Folders of the PATH that are relative, or left empty, mean the working directory: a cloned
    repository may have put a program of that name there. They are passed over, and so is the
    working directory itself, which Windows would look into first.
    """
    if path is None:
        path = os.environ.get("PATH", os.defpath)
    folders = (folder.strip('"') for folder in path.split(os.pathsep))
    # shutil.which with a folder in the name looks nowhere else; the endings it leaves to us then.
    endings = ["", *os.environ.get("PATHEXT", "").split(os.pathsep)] if os.name == "nt" else [""]
    places = [folder for folder in folders if os.path.isabs(folder)]
    tried = (os.path.join(place, name + ending) for place in places for ending in endings)
    return next(filter(None, map(shutil.which, tried)), None)
