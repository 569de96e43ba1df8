"""The catalogue: the titles of the cards with their files, which a session gets when it starts."""

from __future__ import annotations

import contextlib
import glob
import os
import posixpath
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from zlib import crc32

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.errors import InputError, StorageError
from lessons_kb.ledger.effect import find_harmful
from lessons_kb.ledger.given import find_cards
from lessons_kb.ledger.withheld import find_withheld
from lessons_kb.preflight.block import SMALL_MODEL_PART
from lessons_kb.store.catalogue import Title
from lessons_kb.store.files import read_head, read_inside, write_export, write_unsynced
from lessons_kb.text.paths import relative_path, show_path
from lessons_kb.text.sanitize import defang_line, shorten
from lessons_kb.text.token_estimate import TokenCounter, estimate_tokens
from lessons_kb.values import frozen

TITLES_OPEN = "[LESSON_TITLES]"
TITLES_CLOSE = "[/LESSON_TITLES]"
_HEAD = (
    "{} of earlier work here, {}. Before you change anything, {}ask of each: does it concern the"
    " task, yes or no? Open the file of every yes, seldom more than one, and keep to it."
)
_FILES = "as files below their folder, with a title where the name does not say it"
_TITLES = "as titles below their folder; searching it for a title finds the file"
_READ = "read {} once, which lists {} of them, and "
_ALL = "The lessons"
_SHORTEST = 12
"""Tokens of a short line. No more titles are read than lines of this length fit."""
_MAX_TITLE = 160
_COPIES, _NEW = "copies-", ".new"
_MOST_COPIES = 100
"""The most cards of a brain outside of the directory; each is copied."""
_OLD = 86_400
"""Seconds after which a file of titles that was replaced is deleted."""


@frozen
class Access:
    """The files that an agent may read without asking the user."""

    directory: str
    """The real path of its working directory. It may read all files below; paths start here."""
    outside: bool = False
    """Whether it may read files elsewhere, too."""
    ignored: bool = True
    """Whether it may read files that git ignores."""
    session: str = ""
    """The session, whose withheld cards get no title; "" if no card is withheld."""

    def find(self, folder: str) -> str | None:
        """Return the path of a folder for the agent, "" for its own; None if it may not read it."""
        inside = f"{folder}{os.sep}".startswith(self.directory.rstrip(os.sep) + os.sep)
        return relative_path(folder, self.directory) if inside or self.outside else None


def build_titles(
    brains: Brains,
    access: Access,
    *,
    most: int,
    counter: TokenCounter = estimate_tokens,
) -> str:
    """Return the titles of the cards that an agent can open, as of the last commit; "" if none.

    The text has at most ``most`` tokens, in units of ``counter``, and at most those of the
    settings. If not all titles fit, it names a file with all of them.
    """
    settings = brains.members[0].settings
    budget = min(settings.hooks.catalogue_tokens, most)
    if window := settings.preflight.model_context:
        budget = min(budget, window // SMALL_MODEL_PART)
    titles, total = _find_titles(brains, access, budget)

    def write_rest() -> str:
        file, head = _write_file(brains, access)
        count = "all" if is_whole(head) else "many more"
        return _READ.format(show_path(file), count) if file else ""

    return format_titles(titles, total=total, budget=budget, counter=counter, write_rest=write_rest)


def _find_titles(brains: Brains, access: Access, budget: int) -> tuple[list[tuple[str, str]], int]:
    """Return (file, title) of as many cards as may fit, the most used first, and the total number.

    An occurrence of a mistake counts as one use, and so does a recent injection of its card. Of
    cards with equal use, the one seen last comes first.
    """
    titles: dict[str, tuple[int, str, str]] = {}
    total = 0
    for brain in brains.members if budget > 0 else ():
        most, folder = budget // _SHORTEST, access.find(brain.root)
        if folder is None:
            cache = _find_cache(brains, access)
            if not cache:
                continue
            most = _MOST_COPIES
            _prune_copies(os.path.join(cache, _name_copies(brain)), brain.root)
        injected = brain.hook_journal.injections.latest(most=most)
        brain_titles, count = _read_titles(brain, brains.project, most, injected, access.session)
        total += count
        for title in brain_titles:
            if folder is None:
                place = find_place(brains, brain, title.path, access)
            else:
                place = posixpath.join(folder, title.path)
            if place:
                uses = title.occurrences + injected.get(title.path, 0)
                titles.setdefault(place, (uses, title.seen, title.title))
    ordered = sorted(titles, key=lambda place: titles[place][:2], reverse=True)
    return [(place, titles[place][2]) for place in ordered], total


def _write_file(brains: Brains, access: Access) -> tuple[str, str]:
    """Write the file with all titles; return its path for the agent and its first bytes.

    After a change of the cards, the file gets another name. Returns ("", "") if it cannot be
    written or the agent may not read it.
    """
    settings, cache = brains.members[0].settings, _find_cache(brains, access)
    budget = settings.hooks.catalogue_file_tokens
    if not cache or not budget:
        return "", ""
    states = [(brain.root, brain.state) for brain in brains.members]
    commits = [(root, state.generation, state.engine) for root, state in states if state]
    key = crc32(repr((access, budget, brains.project, commits)).encode(errors="replace"))
    path = os.path.join(cache, f"titles-{key:08x}.md")
    try:
        if os.path.exists(path) and not settings.effect.withhold_harmful:
            text = read_head(path, 80).decode(errors="ignore")
        else:
            titles, total = _find_titles(brains, access, budget)
            text = format_titles(titles, total=total, budget=budget)
            if not is_whole(text):
                text = format_titles(titles, total=total, budget=budget, named=False)
            write_export(path, text.splitlines())
            for old in glob.glob(os.path.join(glob.escape(cache), "titles-*.md")):
                if time.time() - os.path.getmtime(old) > _OLD:
                    os.unlink(old)
    except (OSError, StorageError, InputError):
        return "", ""
    return f"{access.find(cache)}/{os.path.basename(path)}", text


def find_listed(brains: Brains, access: Access) -> list[str]:
    """Return the files of the cards listed in the catalogue, or in the file that it names."""
    text = build_titles(brains, access, most=sys.maxsize)
    if text and not is_whole(text):
        text = _write_file(brains, access)[1] or text
    titles, _total = _find_titles(brains, access, sys.maxsize if text else 0)
    match = re.search(r"\nThe (\d+) most used", text)
    if match:
        titles = titles[: int(match[1])]
    return [place for place, _title in titles]


def _find_cache(brains: Brains, access: Access) -> str:
    """Return a cache folder that the agent may read; "" if there is none."""
    if not access.ignored:
        return ""
    caches = (brain.cache for brain in brains.members if access.find(brain.cache) is not None)
    return next(caches, "")


def find_place(brains: Brains, brain: Brain, card: str, access: Access) -> str:
    """Return the file of a card that the agent can open; "" if it would have to ask the user.

    If the brain is outside of the directory, that is a copy in the cache of a brain inside.
    """
    folder = access.find(brain.root)
    if folder is None:
        cache = _find_cache(brains, access)
        if not cache:
            return ""
        copies = os.path.join(cache, _name_copies(brain))
        try:
            _update_copy(brain, card, os.path.join(copies, card))
        except (OSError, StorageError, InputError):
            return ""
        folder = access.find(copies)
    return "" if folder is None else posixpath.join(folder, card)


def _update_copy(brain: Brain, card: str, copy: str) -> None:
    """Copy a card unless the copy has the modification time of the card."""
    modified = os.stat(os.path.join(brain.root, card)).st_mtime_ns
    if os.path.exists(copy) and os.stat(copy).st_mtime_ns == modified:
        return
    data = read_inside(brain.root, card, limit=brain.settings.index.max_file_bytes)
    os.makedirs(os.path.dirname(copy), exist_ok=True)
    write_unsynced(copy + _NEW, data)
    os.utime(copy + _NEW, ns=(modified, modified))
    os.replace(copy + _NEW, copy)


def _prune_copies(copies: str, root: str) -> None:
    """Remove the copies of cards that no longer exist."""
    for name in glob.iglob("**/*.*", root_dir=copies, recursive=True):
        if not name.endswith(_NEW) and not os.path.exists(os.path.join(root, name)):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(copies, name))


def _name_copies(brain: Brain) -> str:
    return f"{_COPIES}{crc32(os.fsencode(brain.root)):08x}"


def find_card(brain: Brain, path: str) -> str:
    """Return the id of the card in a file or in a copy; "" if the file is not in this brain."""
    inside = ""
    if path.startswith(brain.root + os.sep):
        inside = path.removeprefix(brain.root + os.sep)
    copied = path.partition(f"{os.sep}{_name_copies(brain)}{os.sep}")[2]
    return (copied or inside).replace(os.sep, "/")


def _read_titles(
    brain: Brain, project: str | None, most: int, injected: Collection[str], session: str
) -> tuple[list[Title], int]:
    """Return the most used titles that the session may get, and the number of all titles."""

    def search(brain: Brain) -> tuple[list[Title], int]:
        titles = brain.catalogue.titles(project, most=most, paths=injected)
        return titles, brain.catalogue.count_titles(project)

    titles, count = brain.read(search)
    if not (brain.settings.effect.withhold_harmful or session):
        return titles, count
    cards = find_cards(brain, {title.path for title in titles})
    excluded = {*find_harmful(brain, cards), *find_withheld(brain, cards, session)}
    return [title for title in titles if title.path not in excluded], count - len(excluded)


@lru_cache(maxsize=2048)
def _format_line(place: str, title: str, named: bool) -> tuple[str, str, int]:
    """Return the folder of a card, its sanitized line, and the estimated tokens of the line."""
    folder, _, name = place.rpartition("/")
    words = shorten(defang_line(title), _MAX_TITLE)
    named = named or _COPIES in place  # a search does not find files that git ignores
    line = words if words and not named else show_path(name)
    if named and _squeeze(title) not in _squeeze(name):
        line = f"{line}: {words}"
    return f"{show_path(folder) or '.'}/", line, estimate_tokens(f"{line}\n")


def _squeeze(text: str) -> str:
    words = re.findall(r"[^\W_]+", text.casefold())
    return "".join(word for word in words if word not in ("a", "an", "the"))


def format_titles(
    titles: Sequence[tuple[str, str]],
    *,
    total: int,
    budget: int,
    counter: TokenCounter = estimate_tokens,
    write_rest: Callable[[], str] = str,
    named: bool = True,
) -> str:
    """Return the catalogue of (file, title) pairs, as many as the budget allows; "" for none.

    If they are fewer than ``total``, the text has both numbers and the result of ``write_rest``,
    an instruction to read the rest. Without ``named``, lines have titles instead of files, and the
    agent has to search for the file.
    """

    def text(cards: Sequence[tuple[str, str]], read: str = "") -> str:
        folders: dict[str, list[str]] = defaultdict(list)
        for folder, line in cards:
            folders[folder].append(line)
        lines: list[str] = []
        for folder, folder_lines in folders.items():
            lines += [folder, *folder_lines]
        is_part = len(cards) < total
        which = f"The {len(cards)} most used of {total} lessons" if is_part else _ALL
        head = _HEAD.format(which, _FILES if named else _TITLES, read)
        return "\n".join((TITLES_OPEN, head, *lines, TITLES_CLOSE))

    cards: list[tuple[str, str]] = []
    folders: set[str] = set()
    spent = [counter(text(())) if titles else 0]
    for place, title in titles:
        folder, line, tokens = _format_line(place, title, named)
        if folder not in folders:
            tokens += estimate_tokens(f"{folder}\n")
            folders.add(folder)
        if spent[-1] + tokens > budget:
            break
        spent.append(spent[-1] + tokens)
        cards.append((folder, line))
    read = write_rest() if 0 < len(cards) < total else ""
    while cards and spent[len(cards)] + estimate_tokens(read) > budget:
        cards.pop()
    while cards and counter(text(cards, read)) > budget:
        cards.pop()
    return text(cards, read) if cards else ""


def is_whole(text: str) -> bool:
    """Return whether a catalogue lists all cards."""
    return text.startswith(f"{TITLES_OPEN}\n{_ALL} ")
