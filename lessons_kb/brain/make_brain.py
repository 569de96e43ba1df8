"""Turn a folder into a brain, trust a brain, and write the user's first lesson."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Sequence

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.discovery import (
    NO_VARIABLES,
    advise_init,
    count_cards_below,
    describe_below,
    describe_moved_state,
    find_untrusted_below,
    follow_settings,
    look,
    untrusted_hint,
)
from lessons_kb.brain.write_index import read_document
from lessons_kb.config import DEFAULTS
from lessons_kb.errors import BrainNotFound, InputError, LessonsError, StorageError, Untrusted
from lessons_kb.model import NOTE
from lessons_kb.on_demand import GATE_FILE, load
from lessons_kb.store import trust
from lessons_kb.store.brain_settings import read_ignored, read_settings
from lessons_kb.store.card_files import read_template
from lessons_kb.store.foreign_settings import read_settings_file, replace_settings_file
from lessons_kb.store.locations import CACHE_NAME, CONFIG_NAME, FIRST_LESSON, upwards, user_brain
from lessons_kb.store.repositories import find_below, find_borders, find_brains
from lessons_kb.store.scan import scan_brain
from lessons_kb.text.sanitize import shell_word

_LESSONS = "lessons"
_PROPOSED = "lessons-brain"
"""The folder that the README proposes for the brain of a repository."""


def make_brain(
    folder: str, *, confirm: Callable[[str, int], bool] = lambda _root, _count: False
) -> tuple[str, list[str]]:
    """Create the missing parts of a brain in ``folder``, and trust the brain.

    Returns the root of the brain and the new paths. Cards of another person are trusted only if
    ``confirm(root, number of cards)`` returns True, because this user has not read them yet. Raises
    Untrusted if ``confirm`` returns False and there is nothing to create, and StorageError if the
    folder is not writable.
    """
    root = follow_settings(folder)
    _check_is_folder(root)
    is_empty = _is_empty(root)
    created: list[str] = []
    new = not os.path.lexists(os.path.join(root, CONFIG_NAME))
    trusted = trust.is_trusted(root)
    count = 0 if trusted else count_cards(root)
    agreed = trusted or (new and not count) or confirm(root, count)
    if not new and not agreed:
        raise Untrusted(untrusted_hint((root,)))
    try:
        # Every other folder is created with the first card that needs it.
        if not count_cards_below(root) and not os.path.isdir(os.path.join(root, _LESSONS)):
            os.makedirs(os.path.join(root, _LESSONS))
            created.append(f"{_LESSONS}/")
        if not os.path.lexists(os.path.join(root, CONFIG_NAME)):
            with open(os.path.join(root, CONFIG_NAME), "x", encoding="utf-8") as file:
                file.write(_write_settings(notes=is_empty))
            created.append(CONFIG_NAME)
    except OSError as error:
        raise StorageError(
            f"cannot create a brain in {root}: {error.strerror}; choose a writable folder"
        ) from None
    inside = os.path.join(root, CACHE_NAME)
    fresh = not os.path.isdir(inside)
    if agreed:
        trust.trust(root, made=new)
        if trust.cache_dir(root).startswith(inside + os.sep) and fresh:
            created.append(f"{CACHE_NAME}/")
    return root, created


def _check_is_folder(root: str) -> None:
    """Raise InputError if a path, or the part of it that exists, is a file."""
    for path in upwards(root):
        if os.path.isdir(path):
            return
        if os.path.lexists(path):
            folder = shell_word(os.path.join(os.path.dirname(path), _PROPOSED))
            raise InputError(f"{path} is not a folder; name one, as in `lessons init {folder}`")


def _is_empty(root: str) -> bool:
    """Return whether a folder has no visible entry, or does not exist."""
    try:
        return all(name.startswith(".") for name in os.listdir(root))
    except FileNotFoundError:
        return True
    except OSError as error:
        raise StorageError(
            f"cannot read {root}: {error.strerror}; choose a folder that you can read"
        ) from None


def _write_settings(*, notes: bool) -> str:
    """Return the text of a new ``lessons.toml``."""
    text = read_template(CONFIG_NAME)
    return text if notes else text.replace("notes = true", "notes = false")


def write_first_lesson() -> str:
    """Create the user's own brain with one card to try, and return its path.

    Returns "" and does nothing if that brain already has cards.
    """
    if count_cards(user_brain()):
        return ""
    path = os.path.join(make_brain(user_brain())[0], FIRST_LESSON)
    replace_settings_file(path, read_template("first-lesson.md").encode(), expected=None)
    return path


def list_first_files(root: str) -> list[str]:
    """Return the files that `write_first_lesson` creates in a brain without cards."""
    names = (CONFIG_NAME, FIRST_LESSON)
    return [name for name in names if not os.path.lexists(os.path.join(root, *name.split("/")))]


def remove_first_lesson(*, dry_run: bool = False) -> str:
    """Remove the first lesson, and the user's brain if it contains nothing else.

    The lesson may already have been retired. A card or settings that were edited stay. Returns the
    path that was removed, or "" if nothing was removed. With ``dry_run``, nothing is removed.
    """
    root = user_brain()
    card, settings = os.path.join(root, FIRST_LESSON), os.path.join(root, CONFIG_NAME)
    written = {card: "first-lesson.md", settings: CONFIG_NAME}
    text = read_settings_file(card)
    if text not in (None, read_template(written[card]).encode()) or not os.path.isdir(root):
        return ""
    files: set[str] = set()
    for folder, _folders, names in os.walk(root):
        if not folder.startswith(os.path.join(root, CACHE_NAME)):
            files.update(os.path.join(folder, name) for name in names)
    has_own_settings = read_settings_file(settings) != read_template(CONFIG_NAME).encode()
    if not files <= set(written) or settings not in files or has_own_settings:
        if text is None:
            return ""
        if not dry_run:
            replace_settings_file(card, None, expected=text)
        return card
    if not dry_run:
        shutil.rmtree(root)
    return root


def retire_first_lesson() -> None:
    """Remove the first lesson after its first injection. An edited card stays."""
    card = os.path.join(user_brain(), FIRST_LESSON)
    text = read_settings_file(card)
    if text == read_template("first-lesson.md").encode():
        replace_settings_file(card, None, expected=text)


def count_cards(root: str) -> int:
    """Return how many cards a scan of ``root`` finds with the settings of that folder."""
    return count_files(root)[0]


def count_files(root: str) -> tuple[int, int]:
    """Return how many cards, and how many other Markdown files, a scan of ``root`` finds."""
    if not os.path.isdir(root):
        return 0, 0
    settings = read_settings(root)[0]
    limit = settings.index.max_file_bytes
    cards = 0
    files = scan_brain(root, settings, read_ignored(root)).files
    for path in files:
        try:
            document = read_document(root, path, settings.folders, limit, skip_notes=True)[1]
        except StorageError:
            continue
        if document.card is not None and document.card.kind != NOTE:
            cards += 1
    return cards, len(files) - cards


def trust_brain(folder: str, *, revoke: bool = False) -> str:
    """Trust the brain that applies to ``folder``, or end the trust. Return the root of the brain.

    If the folder is not a brain, the nearest brain above it is meant. For the working directory, it
    may also be the only brain of the git work tree. A repository inside that brain is the
    exception, because its cards are not part of the brain until the repository itself is trusted.
    Raises InputError if the work tree has several brains and the folder is in none of them. Raises
    ConfigError if the settings cannot be used, because their next change would end the trust.
    Raises Untrusted if agents would ignore the place where trust is recorded.
    """
    if not os.path.isdir(folder):
        raise BrainNotFound(f"{folder} is not a folder; give the folder of the brain")
    real = os.path.realpath(folder)
    roots = find_brains(real)
    if roots and (borders := find_borders(upwards(real), roots[0])):
        roots = borders
    if not roots and folder == os.curdir:
        discovery = look(real, NO_VARIABLES)
        applying = dict.fromkeys((*discovery.trusted, *discovery.untrusted))
        applying.pop(os.path.realpath(user_brain()), None)
        below = [] if revoke else find_untrusted_below(real)
        roots = list(applying) or below[:1]
        if len({*applying, *below}) > 1:
            raise InputError(_ask_for_one([*applying, *below], revoke=revoke))
    elif not roots and not find_below(real) and scan_brain(real, DEFAULTS, ()).files:
        roots = [real]  # a folder that LESSONS_BRAIN names needs no lessons.toml
    if not roots:
        hint = describe_below(real) or f"create one with `{advise_init(real)}`"
        raise BrainNotFound(f"no brain in or above {folder}; {hint}")
    root = follow_settings(roots[0])
    if not revoke:
        # A brain whose settings cannot be used stays silent, trusted or not.
        read_settings(root)  # raises ConfigError
        read_ignored(root)  # raises ConfigError
        if hint := describe_moved_state(root):
            raise Untrusted(hint)
    around = find_brains(os.path.dirname(roots[0]))
    # To enter this brain, a brain above needs trust in the folder that names it.
    for trusted_root in dict.fromkeys((root, roots[0]) if around else (root,)):
        if revoke:
            trust.revoke(trusted_root)
        else:
            trust.trust(trusted_root)
    for outer in around:
        # The cards that it takes from this brain change now, and no watcher can see this.
        if trust.is_trusted(outer):
            with contextlib.suppress(LessonsError), contextlib.closing(Brain(outer)) as brain:
                brain.refresh(leased=False)
    if not revoke:
        _write_gates(root)
    return root


def _ask_for_one(roots: Sequence[str], *, revoke: bool) -> str:
    """Return an error that names several brains, one of which the user must choose."""
    names = sorted({shell_word(os.path.relpath(root)) for root in roots})
    command = f"lessons trust {'--revoke ' if revoke else ''}{names[0]}"
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    return f"this repository has {len(names)} brains, {listed}; name one, as in `{command}`"


def _write_gates(root: str) -> None:
    """Write the gate file of a brain that has an index. Revoking the trust removed the file."""
    with contextlib.suppress(LessonsError), contextlib.closing(Brain(root)) as brain:
        if brain.state is not None and brain.current:
            load(GATE_FILE).update_gate_file(brain.root, brain.catalogue, brain.state)
