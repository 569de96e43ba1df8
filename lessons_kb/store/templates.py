"""Find the files of ``templates/``, in a wheel as in a checkout."""

from __future__ import annotations

import os

from lessons_kb.errors import StorageError

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_PLACES = (
    os.path.join(_PACKAGE, "templates"),
    os.path.join(os.path.dirname(_PACKAGE), "templates"),
)


def read_template(name: str) -> str:
    """Return the text of the template ``name``; StorageError when the installation lacks it."""
    for place in _PLACES:
        path = os.path.join(place, name)
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                return file.read()
    raise StorageError(f"the template {name} is missing; reinstall lessons-kb")
