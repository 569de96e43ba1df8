"""Find cards by an id, an alias, a slug, a prefix or the path of a link."""

from __future__ import annotations

import difflib
import os
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.errors import AmbiguousCard, CardNotFound, InputError, StorageError
from lessons_kb.model import NOTE, SERVED, Card
from lessons_kb.on_demand import DRAFT_FILES, TRASH, load
from lessons_kb.store import files as disk
from lessons_kb.store.handles import find_handled
from lessons_kb.store.user_settings import ServerSettings, read_user_settings
from lessons_kb.text.sanitize import shell_word
from lessons_kb.values import replace

SHORTEST_PREFIX = 3
_SHORTEST = 12
"""The minimum number of characters of a shortened id, so that it stays readable."""
_HANDLE = re.compile(r"L[1-9][0-9]*")
_WORD = re.compile(r"[^\W_]{4,}")
_CLOSE = 0.8
"""The minimum similarity of a word or a title to a mistyped name."""
_NO_TITLES: Mapping[str, str] = MappingProxyType({})
MAX_SHOWN = 5
"""The maximum number of candidates that a message names."""


def names(
    card: Card, *, stage: str | None = None, topic: str | None = None, project: str | None = None
) -> bool:
    """Return whether a card has this stage, topic and project. None matches every card."""
    filters = ((stage, card.stages), (topic, card.topics), (project, (card.project or "",)))
    for wanted, values in filters:
        if wanted is not None and wanted.casefold() not in map(str.casefold, values):
            return False
    return True


class CardLookup:
    """Lists the cards of the brains that apply, and finds them by their names."""

    def __init__(self, brains: Brains) -> None:
        self._brains = brains

    def all(self, *, notes: bool = False) -> list[Card]:
        """Return every card of any status, by brain and path.

        A file that belongs to two nested brains counts for the nearer brain.
        """
        return [card for _brain, card in self._list_files(notes=notes)]

    def list_aliased(self) -> list[tuple[str, Card]]:
        """Return every card, as `all` does, with the alias of its brain.

        An id that occurs in two brains begins with this alias. ``find`` accepts both forms.
        """
        files = self._list_files(notes=False)
        count = Counter(card.id for _brain, card in files)
        cards: list[tuple[str, Card]] = []
        for brain, card in files:
            is_unique = count[card.id] == 1
            shown = card if is_unique else replace(card, id=f"{brain.alias}:{card.id}")
            cards.append((brain.alias, shown))
        return cards

    def _list_files(self, *, notes: bool) -> list[tuple[Brain, Card]]:
        """Return every card with its brain. Notes count only with ``notes``."""
        self._brains.refresh()
        by_file: dict[str, tuple[Brain, Card]] = {}
        for brain in self._brains.members:
            for card in brain.read(lambda brain: brain.catalogue.all_cards()):
                if notes or card.kind != NOTE:
                    by_file.setdefault(f"{brain.root}/{card.id}", (brain, card))
        return list(by_file.values())

    def check_free(self, path: str) -> None:
        """Raise InputError if a path on disk is the path of a card, even of an unreadable card."""
        full = os.path.realpath(path)
        if not full.endswith((".md", ".markdown")) or not os.path.isfile(full):
            return
        notes = {card.id for card in self.all(notes=True) if card.kind == NOTE}
        for brain in self._brains.members:
            inside = os.path.relpath(full, brain.root).replace(os.sep, "/")
            if inside.partition("/")[0] != ".." and inside not in notes:
                raise InputError(f"{inside} is a card; choose another file")

    def find(self, name: str, *, notes: bool = True, fresh: bool = True) -> tuple[Brain, Card]:
        """Return the card that ``name`` means, and its brain. Notes count only with ``notes``.

        If ``fresh`` is true, the indexes are refreshed first. Otherwise the last commit is read.

        ``name`` is an id, an id with the alias of its brain (``alias:id``), a handle (``L12``), the
        path of a link to the card, its path from the working directory, a slug, an unambiguous
        prefix of an id or a slug, or words of a slug that no other card has. The nearest brain with
        such a card wins. Raises CardNotFound, which names the most similar card, and AmbiguousCard,
        which names the candidates.
        """
        if fresh:
            self._brains.refresh()
        return self._find(name, notes=notes)

    def find_to_edit(self, name: str) -> tuple[Brain, Card]:
        """Return the card that ``name`` means, and its brain, for a change of the card's file.

        Everything but the id of the card may be older than its file, because a change reads the
        file again. That saves an update of the index after each change of a card. Raises
        CardNotFound or AmbiguousCard as ``find`` does.
        """
        refreshed = self._brains.refresh(only_names=True)
        try:
            return self._find(name, notes=False)
        except (CardNotFound, AmbiguousCard):
            if not any(refresh.is_partial for refresh in refreshed):
                raise
        return self.find(name, notes=False)  # its message may name an edited card

    def _find(self, name: str, *, notes: bool) -> tuple[Brain, Card]:
        """Return the card that ``name`` means in the last commit, and its brain."""
        everything: list[str] = []
        note = ""
        if "\0" in name or name.encode("utf-8", "ignore").decode() != name:
            raise CardNotFound(_not_found(name, everything))
        handled = find_handled(name)
        for brain in self._brains.members:
            wanted = remove_alias(name, brain)
            if handled is not None and handled.brain == brain.state_name:
                wanted = handled.card
            # First the usual case, which does not require reading twelve thousand cards. Then the
            # target of a link, if that file was scanned.
            target = disk.relative(brain.root, os.path.realpath(os.path.join(brain.root, wanted)))
            from_here = disk.relative(brain.root, os.path.realpath(wanted))
            for path in (wanted, target, from_here):
                exact = brain.read(partial(_card_at, path=path))
                if exact is not None and (notes or exact.kind != NOTE):
                    return brain, exact
            # Only numbers and paths are read, because reading each card takes ten times as long.
            usable = brain.read(lambda brain: brain.catalogue.usable())
            numbers = {path: number for number, path, _digest in usable}
            every = brain.read(lambda brain: brain.catalogue.numbers())
            copies = brain.read(lambda brain: brain.catalogue.copies())
            files = [path for path in every if path not in copies]
            everything += sorted(numbers)
            wanted = wanted.replace("\\", "/").removeprefix("./")
            if wanted in copies:
                use = f"name that, or remove {disk.shown(wanted)}"
                raise CardNotFound(f"{wanted} is a copy of {copies[wanted]}; {use}")
            notes_here = {path for path, number in numbers.items() if number < 0}
            lessons = [path for path in files if path not in notes_here]
            fitting = find_fitting(wanted, files if notes else lessons)
            if len(fitting) == 1:
                card = brain.read(partial(_card_at, path=fitting[0]))
                if card is not None:
                    return brain, card
                where = f"{fitting[0]} is not a readable card"
                raise CardNotFound(f"{where}; run `lessons lint` for a fix")
            if fitting:
                shown = ", ".join(fitting[:MAX_SHOWN]) + (" …" if len(fitting) > MAX_SHOWN else "")
                kinds = {"cards" if one in lessons else "notes" for one in fitting}
                what = " or ".join(sorted(kinds))
                raise AmbiguousCard(
                    f"{name!r} matches {len(fitting)} {what}: {shown}; write more of the name"
                )
            note = note or next(iter(find_fitting(wanted, files)), "")
        if note:
            raise CardNotFound(f"{disk.shown(note)} is a note, not a card; edit the file itself")
        # An exact match, because a reader over a server must not find deleted cards by prefixes.
        if gone := self.find_in_trash(name, exact=True)[1]:
            back = f"`lessons restore {shell_word(gone[0])}` brings it back"
            raise CardNotFound(f"{disk.shown(gone[0])} is in the trash; {back}")
        for brain in self._brains.members:
            if brain.fault:
                raise StorageError(f"{name!r} is not in the previous index, and {brain.fault}")
        open_folder = load(DRAFT_FILES).DraftFolder
        if any(name in open_folder(brain.root).ids() for brain in self._brains.members):
            raise CardNotFound(
                f"{name} is a draft, not a card; `lessons review --show {shell_word(name)}` prints "
                "it, and `lessons review` edits it (key e) or accepts it (key a)"
            )
        raise CardNotFound(_not_found(name, everything, self._read_titles()))

    def _read_titles(self) -> dict[str, str]:
        """Return a mapping from ids to titles, for the suggestion in an error message."""
        titles: dict[str, str] = {}
        for brain in self._brains.members:
            cards = brain.read(lambda brain: brain.catalogue.all_cards())
            titles |= {card.id: card.title for card in cards}
        return titles

    def shorten_ids(self, cards: Sequence[Card]) -> dict[str, str]:
        """Return a mapping from the id of each card to a short name that ``find`` accepts.

        The short name is the shortest unambiguous beginning of the slug that ends with a whole
        word, or the id if every beginning is ambiguous.
        """
        ids = sorted(card.id for card in self.all(notes=True))
        slugs = sorted(map(_slug, ids))

        def shorten(card_id: str) -> str:
            own = _slug(card_id)
            ends = [place for place, letter in enumerate(own) if letter == "-"]
            for end in (*ends, len(own)):
                part = own[:end]
                is_whole = end == len(own)
                if end < _SHORTEST and not is_whole:
                    continue
                is_alone = count_beginning(slugs, part, most=2) == 1
                if is_whole and slugs.count(own) == 1:
                    is_alone = True
                if is_alone and not count_beginning(ids, part, most=1):
                    return part
            return card_id

        def count_beginning(names: list[str], part: str, *, most: int) -> int:
            first = bisect_left(names, part)
            return sum(name.startswith(part) for name in names[first : first + most])

        return {card.id: shorten(card.id) for card in cards}

    def get(self, name: str) -> Card:
        """Return the card that ``name`` means. See ``find``."""
        return self.find(name)[1]

    def find_in_trash(self, name: str, *, exact: bool) -> tuple[Brain, list[str]]:
        """Return the nearest brain with cards in the trash that ``name`` fits, and these cards."""
        handled = find_handled(name)
        for brain in self._brains.members:
            paths = {entry.path for entry in load(TRASH).entries(brain.root)}
            is_handle = handled is not None and handled.brain == brain.state_name
            wanted = handled.card if handled is not None and is_handle else name
            fitting = find_fitting(wanted, paths, exact=exact or is_handle)
            if fitting:
                break
        return brain, fitting


def _card_at(brain: Brain, *, path: str) -> Card | None:
    numbers = [number for number, _digest in brain.catalogue.numbers(path).values()]
    return next(iter(brain.catalogue.cards(numbers).values()), None)


def remove_alias(name: str, brain: Brain) -> str:
    """Return a name without the alias of this brain."""
    alias, _, rest = name.partition(":")
    return rest if alias == brain.alias and rest else name


def find_fitting(name: str, ids: Iterable[str], *, exact: bool = False) -> list[str]:
    """Return the ids that ``name`` fits best: as an id or as a slug.

    Unless the fit has to be ``exact``, a prefix of an id or of a slug fits as well, and after these
    whole words of a slug. They have at least SHORTEST_PREFIX characters, since a slip of the finger
    must not name a card.
    """
    if not name:
        return []
    tests: list[Callable[[str], bool]] = [
        lambda card_id: name in (card_id, os.path.splitext(card_id)[0]),
        lambda card_id: name in (_slug(card_id), card_id.rpartition("/")[2]),
    ]
    if not exact and len(name) >= SHORTEST_PREFIX:
        tests += [
            lambda card_id: card_id.startswith(name),
            lambda card_id: _slug(card_id).startswith(name),
            lambda card_id: f"-{name}-" in f"-{_slug(card_id)}-",
        ]
    containing = [card_id for card_id in ids if name in card_id]  # only these can pass a test
    for test in tests:
        fitting = sorted(filter(test, containing))
        if fitting:
            return fitting
    return []


def _slug(card_id: str) -> str:
    return os.path.splitext(card_id.rpartition("/")[2])[0]


def _not_found(name: str, ids: Sequence[str], titles: Mapping[str, str] = _NO_TITLES) -> str:
    if SERVED in name:
        url = read_user_settings(ServerSettings).url.replace("/v1/brains/", "/brains/")
        page = f"read it at {url}/cards/{name.partition(SERVED)[2]}"
        unset = "none is set; `lessons install --server URL` sets one"
        return f"{name} is a card of a server; {page if url else unset}"
    if _HANDLE.fullmatch(name):
        return (
            f"no card has the handle {name}; a card gets one when a session of an agent lists it, "
            "and `lessons list` shows the ids"
        )
    names = {card_id.casefold(): card_id for card_id in reversed(ids)}
    names |= {_slug(card_id).casefold(): card_id for card_id in reversed(ids)}
    with_name = [card_id for slug, card_id in names.items() if name.casefold() in slug]
    if with_name:
        return f"no card named {name!r}; did you mean {with_name[0]}?"
    similar = difflib.get_close_matches(name.casefold(), names, n=1, cutoff=0.5)
    likely = names[similar[0]] if similar else _find_similar(name, ids, titles)
    if likely:
        return f"no card named {name!r}; did you mean {likely}?"
    return f"no card named {name!r}; see `lessons list`"


def _find_similar(name: str, ids: Sequence[str], titles: Mapping[str, str]) -> str:
    """Return the card whose title, or one word of whose name or title, is close to ``name``."""
    texts: dict[str, str] = {}
    for card_id in ids:
        title = titles.get(card_id, "").casefold()
        texts.setdefault(title, card_id)
        for word in _WORD.findall(f"{_slug(card_id).casefold()} {title}"):
            texts.setdefault(word, card_id)
    close = difflib.get_close_matches(name.casefold(), texts, n=1, cutoff=_CLOSE)
    return texts[close[0]] if close else ""
