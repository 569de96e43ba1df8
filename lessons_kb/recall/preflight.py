"""Judged hits → the block that is put in front of an agent, within its budget.

A text is only ever exchanged for a longer one that was counted as a whole: the ceiling holds for
any counter, however odd.
"""

from __future__ import annotations

from functools import cache

from lessons_kb.model import Preflight
from lessons_kb.recall.excerpts import build_excerpt, overlap, weigh_paragraphs, weigh_terms
from lessons_kb.text.sanitize import clean_line, defang

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from lessons_kb.config import PreflightSettings
    from lessons_kb.model import Hit
    from lessons_kb.text.tokens import TokenCounter

LESSONS_OPEN = "[ACTIVE LESSONS — verify before finalizing]"
LESSONS_CLOSE = "[/ACTIVE LESSONS]"
CONTEXT_OPEN = "[CONTEXT]"
CONTEXT_CLOSE = "[/CONTEXT]"

MAX_WHY = 160
"""Characters of a ``Why:`` line's text, the ellipsis included."""
SMALL_MODEL_PART = 20
"""A budget is at most one twentieth of ``model_context``."""
IN_CONTEXT = "already in this session"

_MAX_ITEMS = 100
"""Items of one card that may be shown; further ones are only counted."""
_MAX_EXCERPT = 6_000
"""Characters of one excerpt."""
_MIN_EXCERPT = 40
"""Characters below which an excerpt is not worth its path."""


def pack(
    hits: Sequence[Hit],
    notes: Sequence[tuple[Hit, str]],
    *,
    query: str,
    frequencies: Mapping[str, int],
    size: int,
    settings: PreflightSettings,
    counter: TokenCounter,
    max_chars: int | None = None,
    in_context: Collection[str] = (),
) -> Preflight:
    """Write the lessons and notes that passed the gate into one block within the budget.

    ``hits`` and ``notes`` (hit, text of its file) come ranked and judged, best first.
    ``frequencies`` (document frequency of the query's terms) and ``size`` (documents in the brain)
    weigh what a shortened card or an excerpt keeps. ``max_chars`` is a second ceiling, in
    characters. ``in_context`` names what the session has been given, as `shown_name` does; it
    still takes its place among the ``max_lessons``, or a repeated prompt would bring up ever
    weaker ones.
    """
    weigh = cache(lambda: weigh_terms(query, frequencies, size))
    block = _Block(settings, counter, max_chars, weigh)
    block.add_lessons(hits, in_context)
    block.add_notes(notes, in_context)
    text = "\n".join(block.lines)
    return Preflight(
        text=text,
        lessons=tuple(block.lessons),
        notes=tuple(block.notes),
        withheld=tuple(block.withheld),
        tokens=counter(text) if text else 0,
    )


def shown_name(hit: Hit) -> str:
    """Return the name a block gives a card: its id, the brain's alias in front where it has one."""
    return f"{hit.brain}:{hit.card.id}" if hit.brain else hit.card.id


class _Block:
    """A block in the making: the lines so far, and what was given and withheld."""

    def __init__(
        self,
        settings: PreflightSettings,
        counter: TokenCounter,
        max_chars: int | None,
        weigh: Callable[[], Mapping[str, float]],
    ) -> None:
        self.settings = settings
        self.counter = counter
        self.max_chars = max_chars
        self.weigh = weigh
        self.budget = settings.budget
        if settings.model_context > 0:
            self.budget = min(self.budget, settings.model_context // SMALL_MODEL_PART)
        self.share = min(self.budget, int(self.budget * settings.lesson_share))
        self.lines: list[str] = []
        self.lessons: list[Hit] = []
        self.notes: list[Hit] = []
        self.withheld: list[Hit] = []

    def withhold(self, hit: Hit, reason: str) -> None:
        self.withheld.append(hit.replace(reason=reason))

    def add_lessons(self, hits: Sequence[Hit], in_context: Collection[str]) -> None:
        """Give the hits their places in order; a smaller one may fit where a larger did not."""
        places = self.settings.max_lessons
        first: dict[str, float] = {}
        for hit in hits:
            if not hit.passed:
                self.withheld.append(hit)
                continue
            # Raw scores of two brains cannot be compared: each brain has its own first.
            best = first.setdefault(hit.brain, hit.score)
            if hit.score < self.settings.weakest * best:
                self.withhold(hit, f"far weaker than the first: {hit.score:.2f} to {best:.2f}")
            elif places <= 0:
                self.withhold(hit, f"beyond max_lessons = {self.settings.max_lessons}")
            elif shown_name(hit) in in_context:
                self.withhold(hit, IN_CONTEXT)
                places -= 1
            elif self._add_lesson(hit):
                places -= 1
            else:
                self.withhold(hit, self._too_large(f"{self.share} tokens for lessons"))

    def add_notes(self, notes: Sequence[tuple[Hit, str]], in_context: Collection[str]) -> None:
        """Give each note an even part of what is left; what one leaves goes to the next."""
        chosen: list[tuple[Hit, str]] = []
        for hit, source in notes:
            if not hit.passed:
                self.withheld.append(hit)
            elif not self.settings.context:
                self.withhold(hit, "context is off")
            elif shown_name(hit) in in_context:
                self.withhold(hit, IN_CONTEXT)
            elif len(chosen) >= self.settings.max_notes:
                self.withhold(hit, f"beyond max_notes = {self.settings.max_notes}")
            else:
                chosen.append((hit, source))
        head = [*self.lines, ""] if self.lines else []
        head.append(CONTEXT_OPEN)
        used = self.counter("\n".join(self.lines)) if self.lines else 0
        for number, (hit, source) in enumerate(chosen):
            limit = used + (self.budget - used) // (len(chosen) - number)
            body = [*head, ""] if self.notes else head
            lines = self._fit_note(body, hit, source, limit)
            if lines is None:
                self.withhold(hit, self._too_large(f"{self.budget} tokens in all"))
                continue
            head = lines
            self.lines = [*lines, CONTEXT_CLOSE]
            self.notes.append(hit)
            used = self.counter("\n".join(self.lines))

    def _fits(self, lines: list[str], limit: int) -> bool:
        text = "\n".join(lines)
        if self.max_chars is not None and len(text) > self.max_chars:
            return False
        return self.counter(text) <= limit

    def _too_large(self, tokens: str) -> str:
        characters = "" if self.max_chars is None else f" and {self.max_chars} characters"
        return f"does not fit into {tokens}{characters}"

    def _add_lesson(self, hit: Hit) -> bool:
        before = self.lines[:-1] or [LESSONS_OPEN]
        form = _Form(hit, len(self.lessons) + 1)

        def attempt(shown: Sequence[int], *, why: bool = True) -> bool:
            lines = [*before, *form.lines(shown, why=why), LESSONS_CLOSE]
            if fitting := self._fits(lines, self.share):
                self.lines = lines
            return fitting

        count = len(form.items)
        fitted = count == form.total and attempt(range(count))
        if not fitted:
            order = form.by_relevance(self.weigh())
            fitted = _widest(count, lambda size: attempt(sorted(order[:size])))
            fitted = fitted or _widest(count, lambda size: attempt(sorted(order[:size]), why=False))
        if fitted:
            self.lessons.append(hit)
        return fitted

    def _fit_note(self, head: list[str], hit: Hit, source: str, limit: int) -> list[str] | None:
        """Return the lines up to and with this note's excerpt, or None if none is small enough."""
        name = _safe(shown_name(hit)) or "unnamed"
        paragraphs = weigh_paragraphs(source, self.weigh())
        size = _MAX_EXCERPT
        while size >= _MIN_EXCERPT:
            excerpt = build_excerpt(paragraphs, size)
            if not excerpt:
                return None
            quoted = [f"  {line}".rstrip() for line in excerpt.split("\n")]
            lines = [*head, f"From {name}:", *quoted]
            if self._fits([*lines, CONTEXT_CLOSE], limit):
                return lines
            size = min(size, len(excerpt)) * 2 // 3
        return None


class _Form:
    """The lines a lesson may take, every piece of the card made harmless."""

    def __init__(self, hit: Hit, number: int) -> None:
        card = hit.card
        self.name = _safe(shown_name(hit)) or "unnamed"
        facts = [_safe(card.severity), self.name]
        if card.occurrences > 1:
            facts.insert(1, f"seen {card.occurrences}×")  # noqa: RUF001 - the fixed wording
        self.title = f"{number}. {_safe(card.title) or self.name} ({' · '.join(facts)})"
        self.why = _shortened(_safe(card.why))
        cleaned = [_safe(item) for item in card.checklist[:_MAX_ITEMS]]
        self.items = [item for item in cleaned if item]
        self.total = len(self.items) + max(0, len(card.checklist) - _MAX_ITEMS)

    def lines(self, shown: Sequence[int], *, why: bool) -> list[str]:
        lines = [self.title]
        if why and self.why:
            lines.append(f"   Why: {self.why}")
        lines += [f"   - [ ] {self.items[number]}" for number in shown]
        if more := self.total - len(shown):
            lines.append(f"   … {more} more in {self.name}")
        return lines

    def by_relevance(self, weights: Mapping[str, float]) -> list[int]:
        scores = [overlap(item, weights) for item in self.items]
        return sorted(range(len(scores)), key=lambda number: (-scores[number], number))


def _widest(most: int, attempt: Callable[[int], bool]) -> bool:
    """Attempt sizes up to ``most`` by bisection; the last success is the widest that fits."""
    low, high, found = min(1, most), most, False
    while low <= high:
        middle = (low + high) // 2
        if attempt(middle):
            found = True
            low = middle + 1
        else:
            high = middle - 1
    return found


def _safe(text: str) -> str:
    return defang(clean_line(text))


def _shortened(text: str) -> str:
    if len(text) <= MAX_WHY:
        return text
    kept = text[: MAX_WHY - 1]
    words = kept.rsplit(" ", 1)[0] if not text[MAX_WHY - 1].isspace() else kept
    return (words if len(words) > MAX_WHY // 2 else kept).rstrip(" ,;:—-") + "…"
