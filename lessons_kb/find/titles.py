"""The titles that a session gets when it starts: of the brains' cards, each with its file."""

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
"""Tokens that a line has at least, or nearly: no more titles are looked at than may fit."""
_MAX_TITLE = 160
_COPIES, _NEW = "copies-", ".new"
_MOST_COPIES = 100
"""Cards of a brain that lies elsewhere: each takes a copy."""
_OLD = 86_400
"""Seconds after which no session is about to read a file of titles that has a successor."""


@frozen
class Access:
    """Which files an agent reads without asking the user."""

    directory: str
    """Where it works, a real path: all below it, and paths start from here."""
    outside: bool = False
    """Those elsewhere, too."""
    ignored: bool = True
    """Those that git ignores are not left out."""
    session: str = ""
    """The session whose withheld cards have no title; "" where nothing is withheld."""

    def find(self, folder: str) -> str | None:
        """Return how the agent names a folder, "" for its own; None where it cannot read it."""
        inside = f"{folder}{os.sep}".startswith(self.directory.rstrip(os.sep) + os.sep)
        return relative_path(folder, self.directory) if inside or self.outside else None


def build_titles(
    brains: Brains,
    access: Access,
    *,
    most: int,
    counter: TokenCounter = estimate_tokens,
) -> str:
    """Return the titles of the cards that an agent can open, "" without any.

    ``most`` tokens, as ``counter`` counts, are a ceiling beside that of the settings. Of a brain
    that does not fit, the text says to read a file with all titles. The last commit is looked at
    as it is.
    """
    settings = brains.members[0].settings
    budget = min(settings.hooks.catalogue_tokens, most)
    if window := settings.preflight.model_context:
        budget = min(budget, window // SMALL_MODEL_PART)
    titles, total = _find_titles(brains, access, budget)

    def tell_more() -> str:
        file, head = _write_file(brains, access)
        held = "all" if is_whole(head) else "many more"
        return _READ.format(show_path(file), held) if file else ""

    return format_titles(titles, total=total, budget=budget, counter=counter, tell_more=tell_more)


def _find_titles(brains: Brains, access: Access, budget: int) -> tuple[list[tuple[str, str]], int]:
    """Return (file, title) of as many cards as may fit, the most used first, and how many are.

    A mistake that came back and a card that was given of late count alike; of equals the latest is
    first.
    """
    titles: dict[str, tuple[int, str, str]] = {}
    total = 0
    for brain in brains.members if budget > 0 else ():
        most, folder = budget // _SHORTEST, access.find(brain.root)
        if folder is None:
            if not (cache := _find_cache(brains, access)):
                continue
            most = _MOST_COPIES
            _prune_copies(os.path.join(cache, _name_copies(brain)), brain.root)
        injected = brain.hook_journal.injections.latest(most=most)
        found, count = _read_titles(brain, brains.project, most, injected, access.session)
        total += count
        for one in found:
            if folder is None:
                place = find_place(brains, brain, one.path, access)
            else:
                place = f"{folder}/{one.path}" if folder else one.path
            if place:
                uses = one.occurrences + injected.get(one.path, 0)
                titles.setdefault(place, (uses, one.seen, one.title))
    ordered = sorted(titles, key=lambda place: titles[place][:2], reverse=True)
    return [(place, titles[place][2]) for place in ordered], total


def _write_file(brains: Brains, access: Access) -> tuple[str, str]:
    """Return the file of all titles as the agent opens it, and how it begins; "" for none.

    It is written anew, under another name, once the cards have changed.
    """
    settings, cache = brains.members[0].settings, _find_cache(brains, access)
    budget = settings.hooks.catalogue_file_tokens
    if not cache or not budget:
        return "", ""
    states = [(one.root, one.state) for one in brains.members]
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
    """Return the files of the cards that are listed at the start, or in the file to read then."""
    text = build_titles(brains, access, most=sys.maxsize)
    if text and not is_whole(text):
        text = _write_file(brains, access)[1] or text
    titles, _total = _find_titles(brains, access, sys.maxsize if text else 0)
    some = re.search(r"\nThe (\d+) most used", text)
    return [place for place, _title in titles[: int(some[1]) if some else None]]


def _find_cache(brains: Brains, access: Access) -> str:
    """Return the folder of ours that the agent reads, "" without any."""
    caches = (one.cache for one in brains.members if access.find(one.cache) is not None)
    return next(caches, "") if access.ignored else ""


def find_place(brains: Brains, brain: Brain, card: str, access: Access) -> str:
    """Return a card's file as an agent opens it, "" where it would have to ask.

    Of a brain elsewhere that is a copy in the ignored folder of a brain that lies here.
    """
    folder = access.find(brain.root)
    if folder is None and (cache := _find_cache(brains, access)):
        copies = os.path.join(cache, _name_copies(brain))
        copy = os.path.join(copies, card)
        try:
            seen = os.stat(os.path.join(brain.root, card)).st_mtime_ns
            if not os.path.exists(copy) or os.stat(copy).st_mtime_ns != seen:
                data = read_inside(brain.root, card, limit=brain.settings.index.max_file_bytes)
                os.makedirs(os.path.dirname(copy), exist_ok=True)
                write_unsynced(copy + _NEW, data)
                os.utime(copy + _NEW, ns=(seen, seen))
                os.replace(copy + _NEW, copy)
            folder = access.find(copies)
        except (OSError, StorageError, InputError):
            return ""
    return "" if folder is None else posixpath.join(folder, card)


def _prune_copies(copies: str, root: str) -> None:
    for name in glob.iglob("**/*.*", root_dir=copies, recursive=True):
        if not name.endswith(_NEW) and not os.path.exists(os.path.join(root, name)):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(copies, name))


def _name_copies(brain: Brain) -> str:
    return f"{_COPIES}{crc32(os.fsencode(brain.root)):08x}"


def find_card(brain: Brain, path: str) -> str:
    """Return the id of the card that a file, or the copy of one, holds; "" for another file."""
    below = path.removeprefix(brain.root + os.sep) if path.startswith(brain.root + os.sep) else ""
    copied = path.partition(f"{os.sep}{_name_copies(brain)}{os.sep}")[2]
    return (copied or below).replace(os.sep, "/")


def _read_titles(
    brain: Brain, project: str | None, most: int, injected: Collection[str], session: str
) -> tuple[list[Title], int]:
    """Return the titles that may be given, the most used of many, and how many there are."""
    today = time.strftime("%Y-%m-%d")

    def search(one: Brain) -> tuple[list[Title], int]:
        titles = one.catalogue.titles(project, most=most, today=today, paths=injected)
        count = one.catalogue.count_titles(project, today=today)
        superseded = one.cards(n for n in one.successors() if one.find_successor(n))
        hidden = {card.id for card in superseded.values() if card.is_injectable}
        return [title for title in titles if title.path not in hidden], count - len(hidden)

    found, count = brain.read(search)
    if not (brain.settings.effect.withhold_harmful or session):
        return found, count
    cards = find_cards(brain, {one.path for one in found})
    held = {*find_harmful(brain, cards), *find_withheld(brain, cards, session)}
    return [one for one in found if one.path not in held], count - len(held)


@lru_cache(maxsize=2048)
def _format_line(place: str, title: str, named: bool) -> tuple[str, str, int]:
    """Return a card's folder and its line below it, made harmless, and about what that costs."""
    folder, _, name = place.rpartition("/")
    words = shorten(defang_line(title), _MAX_TITLE)
    named = named or _COPIES in place  # no search looks at files that git ignores
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
    tell_more: Callable[[], str] = str,
    named: bool = True,
) -> str:
    """Return the text of (file, title) in their order, as many as the budget holds.

    If they are not ``total``, it says of how many they are and what ``tell_more`` returns; "" where
    the budget holds none. Unless files are ``named``, the agent has to search for those it wants.
    """

    def text(cards: Sequence[tuple[str, str]], read: str = "") -> str:
        folders: dict[str, list[str]] = defaultdict(list)
        for folder, line in cards:
            folders[folder].append(line)
        some = f"The {len(cards)} most used of {total} lessons"
        what, form = some if len(cards) < total else _ALL, _FILES if named else _TITLES
        lines = [line for folder, below in folders.items() for line in (folder, *below)]
        return "\n".join((TITLES_OPEN, _HEAD.format(what, form, read), *lines, TITLES_CLOSE))

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
    read = tell_more() if 0 < len(cards) < total else ""
    while cards and spent[len(cards)] + estimate_tokens(read) > budget:
        cards.pop()
    while cards and counter(text(cards, read)) > budget:
        cards.pop()
    return text(cards, read) if cards else ""


def is_whole(text: str) -> bool:
    """Tell whether a text of titles names all cards."""
    return text.startswith(f"{TITLES_OPEN}\n{_ALL} ")
