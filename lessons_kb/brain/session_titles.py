"""The titles that a session gets when it starts: of the brains' cards, each with its file."""

from __future__ import annotations

import glob
import os
import posixpath
import re
import time
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from zlib import crc32

from lessons_kb.brain.injected import find_cards
from lessons_kb.brain.layer import Layer
from lessons_kb.brain.layers import Layers
from lessons_kb.brain.retrieve import find_harmful
from lessons_kb.errors import InputError, StorageError
from lessons_kb.guards.file_names import relative_path, show_path
from lessons_kb.preflight.block import SMALL_MODEL_PART
from lessons_kb.store.catalogue import Title
from lessons_kb.store.files import read_source, write_export
from lessons_kb.text.sanitize import defang_line, shorten
from lessons_kb.text.token_estimate import TokenCounter, estimate_tokens

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
_SHORTEST = 8
"""Tokens that a line has at least, or nearly: no more titles are looked at than may fit."""
_MAX_TITLE = 160
_OLD = 86_400
"""Seconds after which no session is about to read a file of titles that has a successor."""


def build_titles(
    brain: Layers,
    directory: str,
    *,
    outside: bool,
    most: int,
    counter: TokenCounter = estimate_tokens,
    in_file: bool = True,
) -> str:
    """Return the titles of the cards that an agent in ``directory`` can read, "" without any.

    Those of a brain that lies elsewhere are among them if the agent reads ``outside`` as well.
    ``most`` tokens, as ``counter`` counts, are a ceiling beside that of the settings. Of a brain
    that does not fit, the text says to read all titles ``in_file``. The last commit is looked at
    as it is.
    """
    settings = brain.layers[0].settings
    budget = min(settings.hooks.catalogue_tokens, most)
    if window := settings.preflight.model_context:
        budget = min(budget, window // SMALL_MODEL_PART)
    text = _list_titles(brain, directory, outside, budget, counter)
    if in_file and text and not is_whole(text):
        read = _tell_file(brain, directory, outside)
        text = _list_titles(brain, directory, outside, budget, counter, read) if read else text
    return text


def _list_titles(
    brain: Layers,
    directory: str,
    outside: bool,
    budget: int,
    counter: TokenCounter,
    read: str = "",
    *,
    named: bool = True,
) -> str:
    titles: dict[str, tuple[Title, int]] = {}
    total = 0
    for layer in brain.layers if budget > 0 else ():
        folder = find_folder(layer.root, directory, outside=outside)
        if folder is None:
            continue
        injected = layer.hook_journal.injections.latest(most=budget // _SHORTEST)
        found, count = _read_titles(layer, brain.project, budget // _SHORTEST, injected)
        total += count
        for one in found:
            place = posixpath.join(folder, one.path)
            titles.setdefault(place, (one, injected.get(one.path, 0)))
    return format_titles(
        order_by_use(titles), total=total, budget=budget, counter=counter, read=read, named=named
    )


def _tell_file(brain: Layers, directory: str, outside: bool) -> str:
    """Return the request to read the file of all titles, "" where there can be none.

    It is written anew, under another name, once the cards have changed.
    """
    nearest = brain.layers[0]
    settings, budget = nearest.settings, nearest.settings.hooks.catalogue_file_tokens
    folder = find_folder(nearest.cache, directory, outside=outside)
    if folder is None or not budget:
        return ""
    sums = [(one.root, one.read(lambda own: own.catalogue.sum_titles())) for one in brain.layers]
    key = crc32(repr((directory, outside, budget, brain.project, sums)).encode(errors="replace"))
    path = os.path.join(nearest.cache, f"titles-{key:08x}.md")
    try:
        if os.path.exists(path) and not settings.effect.withhold_harmful:
            text = read_source(path)
        else:
            text = _list_titles(brain, directory, outside, budget, estimate_tokens)
            if not is_whole(text):
                text = _list_titles(brain, directory, outside, budget, estimate_tokens, named=False)
            write_export(path, text.splitlines())
            for old in glob.glob(os.path.join(glob.escape(nearest.cache), "titles-*.md")):
                if time.time() - os.path.getmtime(old) > _OLD:
                    os.unlink(old)
    except (OSError, StorageError, InputError):
        return ""
    place = posixpath.join(folder, os.path.basename(path))
    return _READ.format(show_path(place), "all" if is_whole(text) else "many more")


def find_folder(root: str, directory: str, *, outside: bool) -> str | None:
    """Return how an agent in ``directory`` names a brain's folder, "" for its own.

    None for a folder that lies ``outside`` and that it does not read without asking.
    """
    here = os.path.realpath(directory)
    if not outside and not f"{root}{os.sep}".startswith(here.rstrip(os.sep) + os.sep):
        return None
    return relative_path(root, here)


def _read_titles(
    layer: Layer, project: str | None, most: int, injected: Collection[str]
) -> tuple[list[Title], int]:
    """Return the titles that may be given, the most used of many, and how many there are."""

    def search(one: Layer) -> tuple[list[Title], int]:
        titles = one.catalogue.titles(project, most=most, paths=injected)
        return titles, one.catalogue.count_titles(project)

    found, count = layer.read(search)
    if not layer.settings.effect.withhold_harmful:
        return found, count
    harmful = find_harmful(layer, find_cards(layer, {one.path for one in found}))
    return [one for one in found if one.path not in harmful], count - len(harmful)


def order_by_use(titles: Mapping[str, tuple[Title, int]]) -> list[tuple[str, str]]:
    """Return (file, title) of cards, the most used first; ``titles``: file → it, and injections.

    A mistake that came back and a card that was given of late count alike; of equals the latest is
    first.
    """

    def use(place: str) -> tuple[int, str]:
        title, injections = titles[place]
        return title.occurrences + injections, title.seen

    return [(place, titles[place][0].title) for place in sorted(titles, key=use, reverse=True)]


@lru_cache(maxsize=2048)
def _format_line(place: str, title: str, named: bool) -> tuple[str, str, int]:
    """Return a card's folder and its line below it, made harmless, and about what that costs."""
    folder, _, name = place.rpartition("/")
    words = shorten(defang_line(title), _MAX_TITLE)
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
    counter: TokenCounter,
    read: str = "",
    named: bool = True,
) -> str:
    """Return the text of (file, title) in their order, as many as the budget holds.

    It says of how many they are, if not of all ``total``, and where to ``read`` of them; "" where
    the budget holds none. Unless files are ``named``, the agent has to search for those it wants.
    """

    def text(cards: Sequence[tuple[str, str]]) -> str:
        folders: dict[str, list[str]] = defaultdict(list)
        for folder, line in cards:
            folders[folder].append(line)
        some = f"The {len(cards)} most used of {total} lessons"
        what, form = some if len(cards) < total else _ALL, _FILES if named else _TITLES
        lines = [line for folder, below in folders.items() for line in (folder, *below)]
        return "\n".join((TITLES_OPEN, _HEAD.format(what, form, read), *lines, TITLES_CLOSE))

    cards: list[tuple[str, str]] = []
    spent = counter(text(())) if titles else 0
    for place, title in titles:
        folder, line, tokens = _format_line(place, title, named)
        spent += tokens
        if spent > budget:
            break
        cards.append((folder, line))
    while cards and counter(text(cards)) > budget:
        cards.pop()
    return text(cards) if cards else ""


def is_whole(text: str) -> bool:
    """Tell whether a text of titles names all cards."""
    return text.startswith(f"{TITLES_OPEN}\n{_ALL} ")
