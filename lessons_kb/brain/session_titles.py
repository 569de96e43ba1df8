"""The titles that a session gets when it starts: of the brains' cards, each with its file."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from lessons_kb.brain.injected import find_cards, is_withheld
from lessons_kb.brain.layer import Layer
from lessons_kb.brain.layers import Layers
from lessons_kb.brain.retrieve import find_harmful
from lessons_kb.guards.file_names import relative_path, show_path
from lessons_kb.preflight.block import SMALL_MODEL_PART
from lessons_kb.store.catalogue import Title
from lessons_kb.store.user_state import user_settings_path
from lessons_kb.text.sanitize import defang_line, shorten
from lessons_kb.text.token_estimate import TokenCounter, estimate_tokens

TITLES_OPEN = "[LESSON_TITLES]"
TITLES_CLOSE = "[/LESSON_TITLES]"
_HEAD = (
    "{} of earlier work here, by file. Before you change anything, ask of each title: does it"
    " concern the task, yes or no? Open the file of every yes and keep to it."
)
_ALL = "The lessons"
_SHORTEST = 12
"""Tokens that a line has at least, or nearly: no more titles are looked at than may fit."""
_MAX_TITLE = 160


def build_titles(
    brain: Layers,
    directory: str,
    *,
    outside: bool,
    most: int,
    session: str = "",
    counter: TokenCounter = estimate_tokens,
) -> str:
    """Return the titles of the cards that an agent in ``directory`` can read, "" without any.

    Those of a brain that lies elsewhere are among them if the agent reads ``outside`` as well.
    ``most`` tokens, as ``counter`` counts, are a ceiling beside that of the settings. Cards that
    are withheld from the ``session`` have none. The last commit is looked at as it is.
    """
    settings = brain.layers[0].settings
    budget = min(settings.hooks.catalogue_tokens, most)
    if window := settings.preflight.model_context:
        budget = min(budget, window // SMALL_MODEL_PART)
    titles: dict[str, tuple[Title, int]] = {}
    total = 0
    for layer in brain.layers if budget > 0 else ():
        folder = find_folder(layer.root, directory, outside=outside)
        if folder is None:
            continue
        injected = layer.hook_journal.injections.latest(most=budget // _SHORTEST)
        found, count = _read_titles(layer, brain.project, budget // _SHORTEST, injected, session)
        total += count
        for one in found:
            place = f"{folder}/{one.path}" if folder else one.path
            titles.setdefault(place, (one, injected.get(one.path, 0)))
    return format_titles(order_by_use(titles), total=total, budget=budget, counter=counter)


def find_folder(root: str, directory: str, *, outside: bool) -> str | None:
    """Return how an agent in ``directory`` names a brain's folder, "" for its own.

    None for a folder that lies ``outside`` and that it does not read without asking.
    """
    here = os.path.realpath(directory)
    if not outside and not f"{root}{os.sep}".startswith(here.rstrip(os.sep) + os.sep):
        return None
    return relative_path(root, here)


def _read_titles(
    layer: Layer, project: str | None, most: int, injected: Collection[str], session: str
) -> tuple[list[Title], int]:
    """Return the titles that may be given, the most used of many, and how many there are."""

    def search(one: Layer) -> tuple[list[Title], int]:
        titles = one.catalogue.titles(project, most=most, paths=injected)
        return titles, one.catalogue.count_titles(project)

    found, count = layer.read(search)
    if not (layer.settings.effect.withhold_harmful or os.path.exists(user_settings_path())):
        return found, count
    cards = find_cards(layer, {one.path for one in found})
    held = {*find_harmful(layer, cards)}
    held |= {card.id for card in cards if is_withheld(layer, card, session)}
    return [one for one in found if one.path not in held], count - len(held)


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
def _format_line(place: str, title: str) -> tuple[str, int]:
    """Return a card's line, made harmless, and about what it costs."""
    line = f"{show_path(place)}: {shorten(defang_line(title), _MAX_TITLE)}"
    return line, estimate_tokens(f"{line}\n")


def format_titles(
    titles: Sequence[tuple[str, str]], *, total: int, budget: int, counter: TokenCounter
) -> str:
    """Return the text of (file, title) in their order, as many as the budget holds.

    It says of how many they are, if not of all ``total``; "" where the budget holds none.
    """

    def text(lines: Sequence[str]) -> str:
        some = f"The {len(lines)} most used of {total} lessons"
        what = some if len(lines) < total else _ALL
        return "\n".join((TITLES_OPEN, _HEAD.format(what), *lines, TITLES_CLOSE))

    lines: list[str] = []
    spent = counter(text(())) if titles else 0
    for place, title in titles:
        line, tokens = _format_line(place, title)
        spent += tokens
        if spent > budget:
            break
        lines.append(line)
    while lines and counter(text(lines)) > budget:
        lines.pop()
    return text(lines) if lines else ""


def is_whole(text: str) -> bool:
    """Tell whether a text of titles names all cards."""
    return text.startswith(f"{TITLES_OPEN}\n{_ALL} ")
