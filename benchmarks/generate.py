"""Make large brains that resemble real cards, the same for the same seed.

Word statistics are taken at run time from real cards (the brains of the evaluation data, else
``brain-example``): the words themselves and how often they occur, what stands together in one
card, headings, the lengths of sentences. New identifiers are made of two words, so that the
vocabulary grows with the brain as it does in real ones (Heaps' law).

Card number n is the same in a brain of every size: a small brain is the beginning of a large one.
"""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.brains import slug, write_settings
from benchmarks.data import cache_folder, find_real_cards

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

GENERATOR_VERSION = 1

_WORD = re.compile(r"[^\W\d_][\w'/.-]*\w|[^\W\d_]")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_HEADER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_TOPICS = 12
_PART_OF_TOPIC = 0.35
"""Share of the words of a card that come from its theme, the rest from the whole."""
_NEW_IDENTIFIERS = 3
"""Identifiers a card that hardly any other card has."""
_SECTIONS = ("Situation", "Mistake / Risk", "Root Cause", "Fix")
_SENTENCES = {False: 2, True: 5}
"""A section of a short card (about 180 words in all) and of a real-size one (about 4.5 KB)."""
_KINDS = ("lesson",) * 18 + ("playbook", "qa-finding")
_JOINS = ("{0}{1}", "{0}_{1}", "{0}-{1}", "{0}.{1}", "src/{0}/{1}.ts", "{0}/{1}.py")


@dataclass(frozen=True, kw_only=True, slots=True)
class Statistics:
    """What real cards are made of."""

    words: tuple[str, ...]
    weights: tuple[int, ...]
    """Cumulative counts of ``words``."""
    themes: tuple[tuple[str, ...], ...]
    """The words of each real card, with repetition."""
    fences: tuple[str, ...]
    """Code blocks, whole."""


def learn_statistics(files: Sequence[Path] | None = None) -> Statistics:
    """Count the words of real cards; deterministic for the same files."""
    counts: Counter[str] = Counter()
    themes: list[tuple[str, ...]] = []
    fences: list[str] = []
    for path in files or find_real_cards():
        text = _HEADER.sub("", path.read_text(encoding="utf-8", errors="replace"))
        fences += [block for block in _FENCE.findall(text) if len(block) < 1_200]
        words = _WORD.findall(_FENCE.sub("", text))
        if len(words) >= 30:
            themes.append(tuple(words))
            counts.update(words)
    common = counts.most_common()
    return Statistics(
        words=tuple(word for word, _ in common),
        weights=tuple(itertools.accumulate(count for _, count in common)),
        themes=tuple(themes),
        fences=tuple(fences),
    )


def make_card(
    statistics: Statistics, number: int, *, seed: int, real_size: bool
) -> tuple[str, str]:
    """Return (path in the brain, text) of one card."""
    rng = random.Random(f"{GENERATOR_VERSION}:{seed}:{number}")
    voice = _Voice(statistics, rng)
    kind = rng.choice(_KINDS)
    title = voice.title()
    body = _body(voice, rng, title, real_size=real_size)
    topic = f"area-{rng.randrange(_TOPICS):02}"
    path = f"{kind}s/{topic}/{slug(title)}-{number:06}.md"
    return path, "\n".join([*_header(voice, rng, kind, title), *body]) + "\n"


def make_prompt(statistics: Statistics, number: int, *, seed: int, words: int) -> str:
    """Return a prompt of so many words, told like the card of this number but not copied."""
    rng = random.Random(f"{GENERATOR_VERSION}:{seed}:{number}")
    voice = _Voice(statistics, rng)
    rng.seed(f"prompt:{seed}:{number}")
    return " ".join(voice.words(words))


def open_brain_folder(size: int, *, seed: int, real_size: bool = False) -> Path:
    """Return the folder of a generated brain, written at first and then kept in the cache."""
    statistics = learn_statistics()
    mark = sum(statistics.weights[-1:]) + len(statistics.words)
    variant = "real" if real_size else "short"
    name = f"{variant}-{size}-seed{seed}-v{GENERATOR_VERSION}-{mark}"
    folder = cache_folder("brains") / name
    done = folder / ".lessonsignore"
    if not done.exists():
        write_cards(folder, statistics, size, seed=seed, real_size=real_size)
        done.write_text("# written last: this brain is whole\n", encoding="utf-8")
    return folder


def write_cards(
    folder: Path, statistics: Statistics, size: int, *, seed: int, real_size: bool = False
) -> None:
    """Write a brain of ``size`` cards and its settings."""
    write_settings(folder)
    made: set[Path] = set()
    for number in range(size):
        path, text = make_card(statistics, number, seed=seed, real_size=real_size)
        target = folder / path
        if target.parent not in made:
            target.parent.mkdir(parents=True, exist_ok=True)
            made.add(target.parent)
        target.write_text(text, encoding="utf-8", newline="")


class _Voice:
    """Words of one card: its theme and the common stock, mixed."""

    def __init__(self, statistics: Statistics, rng: random.Random) -> None:
        self._statistics, self._rng = statistics, rng
        self._theme = rng.choice(statistics.themes)
        self._identifiers = [self._identifier() for _ in range(_NEW_IDENTIFIERS)]

    def words(self, count: int) -> list[str]:
        """Return ``count`` words, one in forty an identifier of this card alone."""
        stock, rng = self._statistics, self._rng
        drawn = rng.choices(stock.words, cum_weights=stock.weights, k=count)
        own = int(count * _PART_OF_TOPIC)
        places = rng.sample(range(count), own) if own else []
        for place, word in zip(places, rng.choices(self._theme, k=own), strict=True):
            drawn[place] = word
        for place in places[: max(1, count // 40)]:
            drawn[place] = rng.choice(self._identifiers)
        return drawn

    def title(self) -> str:
        return " ".join(self.words(self._rng.randint(5, 11))).capitalize()

    def sentence(self) -> str:
        line = " ".join(self.words(self._rng.randint(7, 17)))
        return line[:1].upper() + line[1:] + "."

    def identifier(self) -> str:
        return self._rng.choice(self._identifiers)

    def fence(self) -> str:
        return self._rng.choice(self._statistics.fences) if self._statistics.fences else "```\n```"

    def _identifier(self) -> str:
        longer = [word for word in self._theme if len(word) > 4 and word.isalpha()] or self._theme
        one, other = (slug(word, 14) for word in self._rng.choices(longer, k=2))
        return self._rng.choice(_JOINS).format(one, other.capitalize())


def _header(voice: _Voice, rng: random.Random, kind: str, title: str) -> Iterator[str]:
    day = f"2026-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    yield from ("---", f"type: {kind}", f"title: '{title.replace(chr(39), '')}'")
    yield f"applies-to: [{', '.join(f'{slug(word, 20)!r}' for word in voice.words(3))}]"
    if rng.random() < 0.5:
        yield "symptoms:"
        yield from (f"  - '{voice.sentence().replace(chr(39), '')}'" for _ in range(2))
    if rng.random() < 0.2:
        yield f"paths: ['src/{slug(voice.identifier(), 20)}/**']"
    yield f"severity: {rng.choice(('low', 'medium', 'medium', 'high'))}"
    yield f"occurrences: {min(rng.choice((1, 1, 1, 2, 3, 5)), 5)}"
    yield from (f"created: {day}", f"last-seen: {day}", "---", "")


def _body(voice: _Voice, rng: random.Random, title: str, *, real_size: bool) -> Iterator[str]:
    yield from (f"# {title}", "")
    for section in _SECTIONS:
        yield from (f"## {section}", "")
        for _ in range(_SENTENCES[real_size]):
            yield voice.sentence()
        yield ""
        if real_size:
            if rng.random() < 0.6:
                yield from (voice.fence(), "")
            yield from (f"- `{voice.identifier()}` {voice.sentence()}" for _ in range(3))
            yield ""
    yield from ("## Prevention Checklist", "")
    yield from (f"- [ ] {voice.sentence()}" for _ in range(rng.randint(2, 3)))
