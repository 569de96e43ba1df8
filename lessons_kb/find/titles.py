"""List the titles that a session gets when it starts, each with the handle of its card."""

from __future__ import annotations

import contextlib
import os
import posixpath
import re
import sys
import time
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache, partial
from zlib import crc32

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.errors import InputError, StorageError
from lessons_kb.ledger.effect import find_harmful
from lessons_kb.ledger.given import find_cards
from lessons_kb.ledger.session_memory import TITLES_CLOSE, TITLES_OPEN
from lessons_kb.ledger.withheld import find_withheld
from lessons_kb.on_demand import FIND_AT_HAND, FIND_FILES, load
from lessons_kb.preflight.block import SMALL_MODEL_PART
from lessons_kb.store.catalogue import Title
from lessons_kb.store.files import read_head, read_inside, write_export, write_unsynced
from lessons_kb.store.handles import HandledCard, give_handles
from lessons_kb.store.locations import FIRST_LESSON, FIRST_LESSON_TITLE, user_brain
from lessons_kb.text.paths import relative_path, show_path
from lessons_kb.text.sanitize import defang_line, shorten
from lessons_kb.text.token_estimate import count_bytes, estimate_tokens
from lessons_kb.values import NamedTuple, frozen

SMALL_BRAIN = 100
"""The maximum number of cards of a brain whose titles are all listed."""
_ALL = "The lessons"
_HEAD = (
    "{what} of earlier work here{chosen}. Before you change anything, {read}ask of each: does it"
    " concern the task, yes or no? Open every yes, seldom more than one, {how}, and keep to it."
)
_SOME = "{shown:,} of {total:,} lessons"
_CHOSEN = ", chosen by use and by the files at hand"
_READ = "read {file} once, which lists {count} of them, and "
_SHOW = "with `lessons show {handle}`"
_BY_FILE = "by its file"
_OR_FILE = " or as the file that {file} names for it"
_FILE_HEAD = "{what} of earlier work here, {form}."
_FILE_OF_ALL = _FILE_HEAD.partition(",")[0].format(what=_ALL)
_NAMED = "as files below their folder, with a title where the name does not say it"
_UNNAMED = "as titles below their folder; searching it for a title finds the file"
_FILE_OF_HANDLES = "Each handle, and the file of its lesson:"
_MAX_BYTES = 10_000_000
"""The part of a file of titles that is read again."""
_FILE_LINE = 12
"""The approximate minimum number of tokens of a line in the file of all titles."""

_FEW, _FEW_TOKENS = 60, 950
_TOKENS_EACH = 15
"""Up to 60 titles may take 950 tokens. A longer list of a small brain takes 15 tokens for each
title.
"""
_LONGEST_LINE, _SHORTEST_LINE = 20, 14
"""The range of the length, in tokens, at which lines are cut. The largest length that fits is
used.
"""
_USUAL_LINE = 10
"""The number of tokens of a short line. For a large brain, only as many titles are read as may
fit.
"""
_MAX_TITLE = 160
_PART_AT_HAND = 3
"""One in this many titles of a large brain is about the files at hand."""
_COPIES, _NEW = "copies-", ".new"
_MOST_COPIES = 100
"""The maximum number of cards of a brain elsewhere, because each card has to be copied."""
_OLD = 86_400
"""Seconds after which no session needs a replaced file of titles any longer."""


@frozen
class Access:
    """The files that an agent can read without asking the user."""

    directory: str
    """The real path of its working directory, which it can read. Paths are relative to it."""
    outside: bool = False
    """Whether it also reads files elsewhere."""
    ignored: bool = True
    """Whether it also reads files that git ignores."""
    session: str = ""
    """The session whose withheld cards are not listed, or "" if no cards are withheld."""

    def find(self, folder: str) -> str | None:
        """Return the path of a folder for the agent, which is "" for the agent's own folder. Return
        None if the agent cannot read the folder.
        """
        inside = f"{folder}{os.sep}".startswith(self.directory.rstrip(os.sep) + os.sep)
        return relative_path(folder, self.directory) if inside or self.outside else None


class ListedCard(NamedTuple):
    """A card whose title can be listed."""

    brain: Brain
    card: str
    """The card's id."""
    place: str
    """The path by which the agent opens its file."""
    title: str
    rank: tuple[int, str]
    """The number of times that its mistake was seen or that it was given, and the last time. The
    highest rank comes first.
    """


class _Listed(NamedTuple):
    """The cards whose titles can be listed, in order, and the total number of cards."""

    cards: list[ListedCard]
    total: int
    is_large: bool
    """Whether a brain has more than SMALL_BRAIN cards. Then not all titles are listed."""


class _Line(NamedTuple):
    """A line of the list."""

    handle: str
    """The handle of the card, or "" if there is none."""
    place: str
    title: str


class _TitleFile(NamedTuple):
    """The file that maps handles to cards, and lists the titles of a large brain."""

    path: str = ""
    """The path by which the agent opens it, or "" if there is no file."""
    has_titles: bool = False
    has_all: bool = False
    """Whether it lists the titles of all cards."""


_NO_FILE = _TitleFile()


def build_titles(
    brains: Brains,
    access: Access,
    *,
    most: int,
    max_bytes: int = sys.maxsize,
) -> str:
    """Return the titles of the cards that an agent can open, or "" if there are none.

    The text has at most ``most`` tokens and ``max_bytes`` bytes, and at most as many tokens as the
    settings allow. A brain of up to SMALL_BRAIN cards is listed completely. For a larger brain, the
    text points to a file with all titles. The last commit is read, without a refresh.

    Unless there is nothing to list, files are written: the state folder records a handle for each
    listed card, and the first cache folder that the agent can read gets a file ``titles-*.md`` with
    the handles and, if needed, all titles. Cards of a brain that the agent cannot read are copied
    to that folder. A handle or file that cannot be written is left out.
    """
    return _build(brains, access, most=most, max_bytes=max_bytes)[0]


def find_listed(brains: Brains, access: Access) -> list[str]:
    """Return the files of the cards that are listed at the start, or in the file of titles."""
    text, listed = _build(brains, access, most=sys.maxsize)
    places = [card.place for card in listed.cards]
    if text and len(places) < listed.total:
        budget = brains.members[0].settings.hooks.catalogue_file_tokens
        counts = _count_titles(brains)
        cards, total = _find_titles(brains, access, budget // _FILE_LINE, counts=counts)
        places += _list_all(cards, total, budget)[1]
    return list(dict.fromkeys(places))


def _build(
    brains: Brains, access: Access, *, most: int, max_bytes: int = sys.maxsize
) -> tuple[str, _Listed]:
    """Return the text of the titles, and the cards that it lists."""
    settings = brains.members[0].settings
    budget = min(settings.hooks.catalogue_tokens, most)
    if window := settings.preflight.model_context:
        budget = min(budget, window // SMALL_MODEL_PART)
    if budget <= 0:
        return "", _Listed([], 0, is_large=False)
    if not _can_open_cards(brains, access):
        return "", _Listed([], 0, is_large=False)
    counts = _count_titles(brains)
    listed = _choose(brains, access, most=budget // _USUAL_LINE, counts=counts)
    if not listed.cards:
        return "", listed
    if not listed.is_large:
        budget = min(budget, max(_FEW_TOKENS, _TOKENS_EACH * len(listed.cards)))
    handles = _find_handles(listed.cards)
    lines = tuple(
        [_Line(handles.get(card.place, ""), card.place, card.title) for card in listed.cards]
    )
    file = _write_file(brains, access, handles, counts=counts, with_titles=listed.is_large)
    text, count = _fit(lines, listed.total, file, budget, max_bytes)
    if count < listed.total and not listed.is_large:  # the settings allow too few tokens
        file = _write_file(brains, access, handles, counts=counts, with_titles=True)
        text, count = _fit(lines, listed.total, file, budget, max_bytes)
    return text, listed._replace(cards=listed.cards[:count])


def _find_handles(cards: Sequence[ListedCard]) -> dict[str, str]:
    """Return a mapping from the places of cards to their handles, without cards that have none."""
    handled = {card.place: HandledCard(card.brain.state_name, card.card) for card in cards}
    handles = give_handles(handled.values())
    return {place: handles[card] for place, card in handled.items() if card in handles}


def find_handle(brain: Brain, card: str) -> str:
    """Return the handle of a card, or "" if no handle can be recorded."""
    handled = HandledCard(brain.state_name, card)
    return give_handles([handled]).get(handled, "")


def _count_titles(brains: Brains) -> dict[Brain, int]:
    """Return the number of cards of each brain that may be given in this project today."""
    today = time.strftime("%Y-%m-%d")

    def count(brain: Brain) -> int:
        return brain.count_titles(brains.project, today=today)

    return {brain: brain.read(count) for brain in brains.members}


def _choose(brains: Brains, access: Access, *, most: int, counts: Mapping[Brain, int]) -> _Listed:
    """Return the titles to list, with the best first. These are all titles of small brains and
    ``most`` titles of large brains.

    Titles of a large brain that concern the files at hand come before the most used titles.
    """
    is_large = any(count > SMALL_BRAIN for count in counts.values())
    if not is_large:
        cards, total = _find_titles(brains, access, SMALL_BRAIN, counts=counts)
        return _Listed(cards, total, is_large)
    find_cards_at_hand = load(FIND_AT_HAND).find_cards_at_hand
    at_hand = find_cards_at_hand(brains, access.directory, most=most // _PART_AT_HAND)
    cards, total = _find_titles(
        brains, access, max(most, SMALL_BRAIN), counts=counts, at_hand=at_hand
    )
    nearness = {card: place for place, card in enumerate(at_hand)}

    def get_place(card: ListedCard) -> tuple[bool, int]:
        """Return the sort key of a card. Cards of small brains come first, then cards at hand."""
        is_of_large = counts[card.brain] > SMALL_BRAIN
        return is_of_large, nearness.get((card.brain, card.card), len(nearness))

    if at_hand or len(counts) > 1:
        cards.sort(key=get_place)  # a stable sort: equal cards stay in the order of use
    small = sum(counts[card.brain] <= SMALL_BRAIN for card in cards)
    return _Listed(cards[: max(most, small)], total, is_large)


def _find_titles(
    brains: Brains,
    access: Access,
    most: int,
    *,
    counts: Mapping[Brain, int],
    at_hand: Collection[tuple[Brain, str]] = (),
) -> tuple[list[ListedCard], int]:
    """Return ``most`` cards of each brain and those ``at_hand``, and the total number of cards.

    The most used cards come first. A repeated mistake and a recent injection count the same. Among
    equal cards, the latest comes first.
    """
    cards: dict[str, ListedCard] = {}
    total = 0
    for brain in brains.members:
        limit = most
        folder = access.find(brain.root)
        if folder is None:
            cache = _find_cache(brains, access)
            if not cache:
                continue
            limit = _MOST_COPIES
            _prune_copies(os.path.join(cache, _name_copies(brain)), brain.root)
        injected = brain.hook_journal.injections.latest(most=limit)
        wanted = {*injected, *(card for owner, card in at_hand if owner is brain)}
        titles, left_out = _read_titles(brain, brains.project, limit, wanted, access.session)
        total += counts[brain] - left_out
        for title in titles:
            place = _name_place(brains, brain, title.path, folder, access)
            if place and place not in cards:
                uses = title.occurrences + injected.get(title.path, 0)
                rank = uses, title.seen
                cards[place] = ListedCard(brain, title.path, place, title.title, rank)
    return sorted(cards.values(), key=lambda card: card.rank, reverse=True), total


def _name_place(brains: Brains, brain: Brain, card: str, folder: str | None, access: Access) -> str:
    """Return the path of a card for the agent. It is in the brain's ``folder`` if the agent can
    read that.
    """
    if folder is None:
        return find_place(brains, brain, card, access)
    return f"{folder}/{card}" if folder else card


@lru_cache(maxsize=8)
def _fit(
    lines: tuple[_Line, ...], total: int, file: _TitleFile, budget: int, max_bytes: int
) -> tuple[str, int]:
    """Return the text of as many titles as fit, each as long as possible, and the number of
    titles.

    The daemon keeps the result, because most sessions of a project start with the same titles.
    """

    def write(count: int, longest: int) -> str:
        return _write_text(lines[:count], total, file, longest)

    def is_too_long(count: int, longest: int) -> bool:
        text = write(count, longest)
        return estimate_tokens(text) > budget or count_bytes(text) > max_bytes

    if is_too_long(len(lines), _SHORTEST_LINE):
        has_too_many = partial(is_too_long, longest=_SHORTEST_LINE)
        count = bisect_left(range(1, len(lines) + 1), True, key=has_too_many)
        return (write(count, _SHORTEST_LINE), count) if count else ("", 0)
    lengths = range(_SHORTEST_LINE + 1, _LONGEST_LINE + 1)
    longer = bisect_left(lengths, True, key=partial(is_too_long, len(lines)))
    return write(len(lines), _SHORTEST_LINE + longer), len(lines)


def _write_text(lines: Sequence[_Line], total: int, file: _TitleFile, longest: int) -> str:
    """Return the text of some titles. Each line is cut at ``longest`` tokens."""
    what, chosen, read = _ALL, "", ""
    if len(lines) < total:
        what = _SOME.format(shown=len(lines), total=total)
        chosen = _CHOSEN
        if file.has_titles:
            count = "all" if file.has_all else "many more"
            read = _READ.format(file=show_path(file.path), count=count)
    first = next((line.handle for line in lines if line.handle), "")
    how = _SHOW.format(handle=first) if first else _BY_FILE
    if first and file.path:
        how += _OR_FILE.format(file="it" if read else show_path(file.path))
    head = _HEAD.format(what=what, chosen=chosen, read=read, how=how)
    titles = [_format_line(line.handle or line.place, line.title, longest) for line in lines]
    return "\n".join((TITLES_OPEN, head, *titles, TITLES_CLOSE))


@lru_cache(maxsize=4096)
def _format_line(name: str, title: str, longest: int) -> str:
    """Return a line with the handle (or the file if there is no handle) and the title, cut at a
    word.
    """
    start = show_path(name)
    words = shorten(defang_line(title), _MAX_TITLE)
    line = f"{start} {words}".rstrip()
    if estimate_tokens(f"{line}\n") <= longest:
        return line

    def is_too_long(size: int) -> bool:
        return estimate_tokens(f"{start} {words[:size]}…\n") > longest

    size = bisect_left(range(1, len(words) + 1), True, key=is_too_long)
    begun = words[:size]
    if not words[size : size + 1].isspace():
        at_word = begun.rpartition(" ")[0]
        begun = at_word if len(at_word) > size // 2 else begun  # a script without spaces, or a path
    return f"{start} {begun.rstrip(_BEFORE_A_CUT)}…" if begun else start


_BEFORE_A_CUT = " ,;:—-"


def _write_file(
    brains: Brains,
    access: Access,
    handles: Mapping[str, str],
    *,
    counts: Mapping[Brain, int],
    with_titles: bool,
) -> _TitleFile:
    """Write the file of handles, with all titles if ``with_titles``. Return a description of the
    file.

    If the cards, the handles or the settings changed, the file gets a new name, because a session
    may still need the previous file.
    """
    settings = brains.members[0].settings
    budget = settings.hooks.catalogue_file_tokens if with_titles else 0
    cache = _find_cache(brains, access)
    if not cache:
        return _NO_FILE
    files = {handle: place for place, handle in handles.items()}
    if not (files or budget):
        return _NO_FILE
    key: list[object] = [files, budget]
    if budget:
        commits = [
            (brain.root, brain.state.generation, brain.state.engine)
            for brain in brains.members
            if brain.state
        ]
        key += [access, brains.project, commits, time.strftime("%Y-%m-%d")]
    name = f"titles-{crc32(repr(key).encode(errors='replace')):08x}.md"
    path = os.path.join(cache, name)
    try:
        # Experience may withhold a card at any time, without a change of its file.
        if not os.path.exists(path) or (budget and settings.effect.withhold_harmful):
            lines = [_FILE_OF_HANDLES] if files else []
            lines += [f"{handle} {_show_place(place)}" for handle, place in files.items()]
            if budget:
                most = budget // _FILE_LINE
                cards, total = _find_titles(brains, access, most, counts=counts)
                lines += _list_all(cards, total, budget)[0].split("\n")
            write_export(path, lines)
            _remove_old_files(cache)
        has_all = bool(budget) and _lists_all(path, os.stat(path).st_mtime_ns)
    except (OSError, StorageError, InputError):
        return _NO_FILE
    return _TitleFile(f"{access.find(cache)}/{name}", has_titles=bool(budget), has_all=has_all)


@lru_cache(maxsize=8)
def _lists_all(path: str, _modified: int) -> bool:
    """Return whether a file lists the titles of all cards. Raises StorageError."""
    text = read_head(path, _MAX_BYTES).decode(errors="replace")
    return any(line.startswith(_FILE_OF_ALL) for line in text.split("\n"))


_show_place = lru_cache(maxsize=2048)(show_path)


def _remove_old_files(cache: str) -> None:
    glob = load(FIND_FILES)
    for old in glob.glob(os.path.join(glob.escape(cache), "titles-*.md")):
        if time.time() - os.path.getmtime(old) > _OLD:
            os.unlink(old)


def _list_all(cards: Sequence[ListedCard], total: int, budget: int) -> tuple[str, tuple[str, ...]]:
    """Return as many titles as the budget allows, grouped by folder, and the files of their cards.

    If the file names do not fit in addition, they are left out. The agent then searches for a
    title.
    """
    text, count = _list_in_folders(cards, total, budget, named=True)
    if count < total:
        text, count = _list_in_folders(cards, total, budget, named=False)
    return text, tuple(card.place for card in cards[:count])


def _list_in_folders(
    cards: Sequence[ListedCard], total: int, budget: int, *, named: bool
) -> tuple[str, int]:
    form = _NAMED if named else _UNNAMED
    what = _SOME.format(shown=len(cards), total=total)
    spent = estimate_tokens(_FILE_HEAD.format(what=what, form=form))
    folders: dict[str, list[str]] = {}
    count = 0
    for card in cards:
        folder, line, tokens = _format_file_line(card.place, card.title, named)
        spent += tokens
        if folder not in folders:
            spent += estimate_tokens(f"{folder}\n")
        if spent > budget:
            break
        folders.setdefault(folder, []).append(line)
        count += 1
    what = _ALL if count == total else _SOME.format(shown=count, total=total)
    lines = [_FILE_HEAD.format(what=what, form=form)]
    for folder, below in folders.items():
        lines += [folder, *below]
    return "\n".join(lines), count


@lru_cache(maxsize=2048)
def _format_file_line(path: str, title: str, named: bool) -> tuple[str, str, int]:
    """Return a card's folder, its defanged line below the folder, and the tokens of the line."""
    folder, _, name = path.rpartition("/")
    words = shorten(defang_line(title), _MAX_TITLE)
    is_named = named or _COPIES in path  # a search skips files that git ignores
    line = words if words and not is_named else show_path(name)
    if is_named and _squeeze(title) not in _squeeze(name):
        line = f"{line}: {words}"
    return f"{show_path(folder) or '.'}/", line, estimate_tokens(f"{line}\n")


def _squeeze(text: str) -> str:
    words = re.findall(r"[^\W_]+", text.casefold())
    return "".join(word for word in words if word not in ("a", "an", "the"))


def is_whole(text: str) -> bool:
    """Return whether a text of titles names all cards."""
    return text.startswith(f"{TITLES_OPEN}\n{_ALL} ")


def _find_cache(brains: Brains, access: Access) -> str:
    """Return the first cache folder that the agent can read, or "" if there is none."""
    caches = (brain.cache for brain in brains.members if access.find(brain.cache) is not None)
    return next(caches, "") if access.ignored else ""


def _can_open_cards(brains: Brains, access: Access) -> bool:
    """Return whether the agent can read a card of any brain, in its folder or as a copy."""
    can_read_brain = any(access.find(brain.root) is not None for brain in brains.members)
    return can_read_brain or bool(_find_cache(brains, access))


def find_place(brains: Brains, brain: Brain, card: str, access: Access) -> str:
    """Return the path by which an agent opens a card, or "" if the agent would have to ask the
    user.

    If the brain is elsewhere, this is a copy in the git-ignored folder of a brain that the agent
    can read.
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
    for name in load(FIND_FILES).iglob("**/*.*", root_dir=copies, recursive=True):
        if not name.endswith(_NEW) and not os.path.exists(os.path.join(root, name)):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(copies, name))


def _name_copies(brain: Brain) -> str:
    return f"{_COPIES}{crc32(os.fsencode(brain.root)):08x}"


def find_card(brain: Brain, path: str) -> str:
    """Return the id of the card in a file or in a copy of the file, or "" for another file."""
    below = path.removeprefix(brain.root + os.sep) if path.startswith(brain.root + os.sep) else ""
    copied = path.partition(f"{os.sep}{_name_copies(brain)}{os.sep}")[2]
    return (copied or below).replace(os.sep, "/")


def _is_setup_card(root: str, title: Title) -> bool:
    """Return whether `lessons setup` wrote the card, and its title is unchanged."""
    is_first = title.path == FIRST_LESSON and title.title == FIRST_LESSON_TITLE
    return is_first and os.path.realpath(root) == os.path.realpath(user_brain())


def _read_titles(
    brain: Brain, project: str | None, most: int, injected: Collection[str], session: str
) -> tuple[list[Title], int]:
    """Return the most used titles that may be given, and the number of cards that may not."""
    today = time.strftime("%Y-%m-%d")

    def search(opened: Brain) -> tuple[list[Title], int]:
        titles = opened.titles(project, limit=most, today=today, paths=injected)
        numbers = [number for number in opened.successors() if opened.find_successor(number)]
        superseded = opened.cards(numbers)
        hidden = {card.id for card in superseded.values() if card.is_injectable}
        # The card of `lessons setup` is not about any earlier work.
        hidden.update(title.path for title in titles if _is_setup_card(brain.root, title))
        return [title for title in titles if title.path not in hidden], len(hidden)

    titles, hidden_cards = brain.read(search)
    if not (brain.settings.effect.withhold_harmful or session):
        return titles, hidden_cards
    cards = find_cards(brain, {title.path for title in titles})
    withheld = {*find_harmful(brain, cards), *find_withheld(brain, cards, session)}
    return [title for title in titles if title.path not in withheld], hidden_cards + len(withheld)
