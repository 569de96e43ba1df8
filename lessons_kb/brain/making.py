"""Make a brain, and say which one is trusted."""

from __future__ import annotations

import os

from lessons_kb.brain.discovery import untrusted_hint
from lessons_kb.errors import BrainNotFound, StorageError, Untrusted
from lessons_kb.model import KINDS
from lessons_kb.storage import trust as trusts
from lessons_kb.storage.locate import CACHE_NAME, CONFIG_NAME, find_brains
from lessons_kb.storage.templates import read_template


def make_brain(folder: str) -> tuple[str, list[str]]:
    """Make what a brain lacks in ``folder`` and trust it; return its root and what was made.

    Raises Untrusted for a brain that is there already and that this user has neither made nor
    trusted: to make one is not to have read what another has written.
    """
    root = os.path.realpath(folder)
    made: list[str] = []
    new = not os.path.lexists(os.path.join(root, CONFIG_NAME))
    if not new and not trusts.is_trusted(root):
        raise Untrusted(untrusted_hint((root,)))
    try:
        for kind in KINDS:
            if not os.path.isdir(os.path.join(root, f"{kind}s")):
                os.makedirs(os.path.join(root, f"{kind}s"))
                made.append(f"{kind}s/")
        if not os.path.lexists(os.path.join(root, CONFIG_NAME)):
            with open(os.path.join(root, CONFIG_NAME), "x", encoding="utf-8") as file:
                file.write(read_template(CONFIG_NAME))
            made.append(CONFIG_NAME)
    except OSError as error:
        raise StorageError(
            f"cannot make a brain in {root}: {error.strerror}; choose a folder you may write to"
        ) from None
    inside = os.path.join(root, CACHE_NAME)
    fresh = not os.path.isdir(inside)
    trusts.trust(root, made=new)
    if trusts.cache_dir(root).startswith(inside + os.sep) and fresh:
        made.append(f"{CACHE_NAME}/")
    return root, made


def trust_brain(folder: str, *, revoke: bool = False) -> str:
    """Trust (or no longer trust) the brain that holds for ``folder``; return its root.

    A folder that is no brain itself means the nearest one above it.
    """
    if not os.path.isdir(folder):
        raise BrainNotFound(f"no folder {folder}; name the folder that holds the brain")
    roots = find_brains(os.path.realpath(folder))
    if not roots:
        raise BrainNotFound(f"no brain in or above {folder}; `lessons init` makes one")
    if revoke:
        trusts.revoke(roots[0])
    else:
        trusts.trust(roots[0])
    return roots[0]
