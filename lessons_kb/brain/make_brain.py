"""Make a folder a brain, trust it, and write the first lesson of a user."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.discovery import (
    NO_VARIABLES,
    count_cards_below,
    follow,
    look,
    tell_below,
    tell_state_moved,
    untrusted_hint,
)
from lessons_kb.brain.search_index import read_document
from lessons_kb.config import DEFAULTS
from lessons_kb.errors import BrainNotFound, LessonsError, StorageError, Untrusted
from lessons_kb.model import NOTE
from lessons_kb.store import trust
from lessons_kb.store.brain_settings import read_ignored, read_settings
from lessons_kb.store.card_files import read_template
from lessons_kb.store.foreign_settings import read_settings_file, replace_settings_file
from lessons_kb.store.locations import CACHE_NAME, CONFIG_NAME, user_brain
from lessons_kb.store.repositories import find_below, find_borders, find_brains
from lessons_kb.store.scan import scan_brain

_LESSONS = "lessons"


def make_brain(
    folder: str, *, confirm: Callable[[str, int], bool] = lambda _root, _count: False
) -> tuple[str, list[str]]:
    """Make what a brain lacks in ``folder`` and trust it; return its root and what was made.

    What lies there already and is neither made nor trusted by this user is trusted only if
    ``confirm`` agrees, which is given the root and the number of its cards: to make a brain is
    not to have read what another has written. Raises Untrusted where there is nothing to make.
    """
    root = follow(folder)
    made: list[str] = []
    new = not os.path.lexists(os.path.join(root, CONFIG_NAME))
    trusted = trust.is_trusted(root)
    count = 0 if trusted else count_cards(root)
    agreed = trusted or (new and not count) or confirm(root, count)
    if not new and not agreed:
        raise Untrusted(untrusted_hint((root,)))
    try:
        # Every other folder is made with the first card that needs it.
        if not count_cards_below(root) and not os.path.isdir(os.path.join(root, _LESSONS)):
            os.makedirs(os.path.join(root, _LESSONS))
            made.append(f"{_LESSONS}/")
        if not os.path.lexists(os.path.join(root, CONFIG_NAME)):
            with open(os.path.join(root, CONFIG_NAME), "x", encoding="utf-8") as file:
                file.write(read_template(CONFIG_NAME))
            made.append(CONFIG_NAME)
    except OSError as error:
        raise StorageError(
            f"cannot create a brain in {root}: {error.strerror}; choose a writable folder"
        ) from None
    inside = os.path.join(root, CACHE_NAME)
    fresh = not os.path.isdir(inside)
    if agreed:
        trust.trust(root, made=new)
        if trust.cache_dir(root).startswith(inside + os.sep) and fresh:
            made.append(f"{CACHE_NAME}/")
    return root, made


FIRST_LESSON = os.path.join("lessons", "first-lesson.md")


def write_first_lesson() -> str:
    """Make the user's own brain with a card to see arrive; return its path, "" if it has cards."""
    if count_cards(user_brain()):
        return ""
    path = os.path.join(make_brain(user_brain())[0], FIRST_LESSON)
    replace_settings_file(path, read_template("first-lesson.md").encode(), expected=None)
    return path


def take_first_lesson() -> str:
    """Remove that card, and the brain if it holds nothing else; return what is gone, "" if nothing.

    A card or settings that somebody has edited stay.
    """
    root = user_brain()
    card, settings = os.path.join(root, FIRST_LESSON), os.path.join(root, CONFIG_NAME)
    written = {card: "first-lesson.md", settings: CONFIG_NAME}
    if read_settings_file(card) != read_template(written[card]).encode():
        return ""
    alone = {os.path.join(at, name) for at, _, names in os.walk(root) for name in names}
    alone = {path for path in alone if not path.startswith(os.path.join(root, CACHE_NAME))}
    if alone != set(written) or read_settings_file(settings) != read_template(CONFIG_NAME).encode():
        replace_settings_file(card, None, expected=read_settings_file(card))
        return card
    shutil.rmtree(root)
    return root


def count_cards(root: str) -> int:
    """Return how many cards a scan of ``root`` would find, with its own settings if it has any."""
    if not os.path.isdir(root):
        return 0
    settings, count = read_settings(root)[0], 0
    limit = settings.index.max_file_bytes
    for path in scan_brain(root, settings, read_ignored(root)).files:
        try:
            card = read_document(root, path, settings.folders, limit)[1].card
        except StorageError:
            continue
        count += card is not None and card.kind != NOTE
    return count


def trust_brain(folder: str, *, revoke: bool = False) -> str:
    """Trust (or no longer trust) the brain that holds for ``folder``; return its root.

    A folder that is no brain itself means the nearest one above it, but for a repository inside
    that one: it is left out of the other's cards until it is trusted itself. Raises ConfigError
    for settings that cannot be used: trust ends with their next change; Untrusted where no agent
    would believe what this user's state says.
    """
    if not os.path.isdir(folder):
        raise BrainNotFound(f"{folder} is not a folder; give the folder of the brain")
    real = os.path.realpath(folder)
    roots = find_brains(real)
    if roots and (borders := find_borders(real, roots[0])):
        roots = borders
    if not roots and folder == os.curdir:
        found = look(real, NO_VARIABLES)
        holding = (*found.untrusted, *found.trusted)[:: -1 if revoke else 1]
        roots = [root for root in holding if root != os.path.realpath(user_brain())]
    elif not roots and not find_below(real) and scan_brain(real, DEFAULTS, ()).files:
        roots = [real]  # what LESSONS_BRAIN names, and so the hint on it, needs no lessons.toml
    if not roots:
        hint = tell_below(real) or "create one with `lessons init`"
        raise BrainNotFound(f"no brain in or above {folder}; {hint}")
    root = follow(roots[0])
    if not revoke:
        read_settings(root)  # what cannot be used would leave the brain silent, trusted or not
        read_ignored(root)
        if hint := tell_state_moved(root):
            raise Untrusted(hint)
    around = find_brains(os.path.dirname(roots[0]))
    # A brain above is asked whether it may enter the folder that names the other one.
    for one in dict.fromkeys((root, roots[0]) if around else (root,)):
        if revoke:
            trust.revoke(one)
        else:
            trust.trust(one)
    for outer in around:
        # What it holds of this one is another from now on, and no watcher can see that.
        if trust.is_trusted(outer):
            with contextlib.suppress(LessonsError), contextlib.closing(Brain(outer)) as brain:
                brain.refresh(leased=False)
    return root
