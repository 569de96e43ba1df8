"""Build the block for an agent from judged hits within a budget.

A text is replaced only by a longer text that was counted as a whole, so the block stays within the
budget with any token counter.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, lru_cache
from itertools import combinations

from lessons_kb.config import PreflightSettings
from lessons_kb.data import read_mapping
from lessons_kb.model import MAX_WHY, Hit, Preflight
from lessons_kb.preflight.note_excerpts import build_excerpt, overlap, weigh_paragraphs, weigh_terms
from lessons_kb.preflight.offers import (
    IN_CONTEXT,
    MAX_OFFERS,
    NO_OFFERS,
    OFFERED,
    Offers,
    format_offer,
    format_offers,
    is_possible,
    safe_line,
    shown_name,
)
from lessons_kb.search.ranking import protects_file
from lessons_kb.text.analyzer import analyze
from lessons_kb.text.sanitize import clean_line, shorten_at_word
from lessons_kb.text.token_estimate import TokenCounter
from lessons_kb.values import replace

CLOSING_REQUEST = (
    "End your last message with one line such as "
    "Lessons: L1.1 done src/bot.py:41; L1.2 n/a; L1.3 left"
)
"""The request at the end of a block; `postcheck.closing_line` reads the answer."""
LESSONS_OPEN = "[ACTIVE LESSONS — verify before finalizing]"
LESSONS_CLOSE = "[/ACTIVE LESSONS]"
CONTEXT_OPEN = "[CONTEXT]"
CONTEXT_CLOSE = "[/CONTEXT]"

SMALL_MODEL_PART = 20
"""The divisor of ``model_context`` that gives the maximum budget, one twentieth."""
AGENT_FILES = frozenset(
    ("AGENTS.md", "AGENTS.override.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md")
) | {"copilot-instructions.md"}
"""Names of files that agents read without our help."""
READ_BY_AGENT = "agents read it by themselves"
NEVER_ALONE = "no lesson is given; --context asks for notes alone"
SAME_PART = "a lesson before it answers the same part of the prompt"
CONTRADICTS = "contradicts a lesson that is given: "
_MOST_COMPARED = 6
"""The maximum number of hits that are compared with each other. A block has room for two hits."""
TITLE_ONLY = "the card has no cause and no checklist, so only its title can be offered"
ENOUGH_OFFERS = f"{MAX_OFFERS} better titles are offered"
OTHER_SUBJECT = "its title, tags and symptoms do not name the subject of the prompt"
NOT_OPENABLE = "the agent cannot open its file"
NO_ROOM = "the budget has no room for its title"
_MAX_ITEMS = 100
"""The maximum number of items of a card that are shown. Further items are only counted."""
_SHORT_CHECKLIST = 7
"""A card with at most this number of items is given whole. Of 483 cards of other projects, 93 % are
as short."""
_MOST_OF_A_LONG_ONE = 5
"""The maximum number of items that are given of a longer card, such as an imported document. The
items that share the most with the prompt are chosen, and the others are counted."""
_RAREST = 3
"""The number of the rarest shared terms. The title of a card without advice must have one."""
_EXCERPT_STEP = 50
_EXCERPT_STEPS = 128
"""The number of sizes that are tried for an excerpt. Each size adds one step of characters."""

WORDS = read_mapping("user_phrases.toml")
"""Mapping from each language to its phrases for the user, by name."""


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
    closings: str = "",
    alone: bool = True,
    sources: Callable[[Hit], Collection[str]] = lambda _hit: (),
    offers: Offers = NO_OFFERS,
    name: Callable[[Hit], str] | None = None,
) -> Preflight:
    """Write the lessons and notes that passed the gate into one block within the budget.

    ``hits`` and ``notes`` (hit, text of its file) are ranked and judged, best first.
    ``frequencies`` (document frequency of the query's terms) and ``size`` (documents in the brain)
    decide which parts of a shortened card or a note are included. ``max_chars`` is a second limit,
    in characters. ``in_context`` has the `shown_name` of each lesson that the session already has.
    Such a lesson still counts towards ``max_lessons``; otherwise each repetition of a prompt brings
    weaker lessons. ``closings`` is the request that the agent close each item. With it,
    items have numbers: ``L1.2`` is the second item of the first lesson's checklist. A note can be
    given again, because each prompt gets its own excerpt. Unless ``alone`` is true, a note is given
    only beside a lesson. ``sources`` returns the names of the files from which a lesson was
    imported; such a file is not given as a note, because it repeats the lesson. ``name`` returns
    the name of a card in the text, by default its `shown_name`.
    """
    weigh = cache(lambda: weigh_terms(query, frequencies, size))  # most blocks shorten no text
    block = _Block(
        settings, lru_cache(maxsize=2)(counter), max_chars, weigh, closings, name or shown_name
    )
    if not (
        settings.context and settings.max_notes > 0 and any(hit.passed for hit, _ in notes)
    ):  # without a note, the lessons can use the whole budget
        block.share = block.budget
    block.add_lessons(hits, in_context)
    block.add_offers(offers)
    block.add_notes(notes, alone=alone, sources=sources)
    return Preflight(
        text="\n".join(block.lines),
        lessons=tuple(block.lessons),
        notes=tuple(block.notes),
        offered=tuple(block.offered),
        withheld=tuple(block.withheld),
        tokens=block.tokens(),
    )


def footer(names: Sequence[str], language: str = "en") -> str:
    """Return one line with the number and the names of the given lessons, or "" if there are
    none.
    """
    ids = ", ".join(map(clean_line, names))
    return WORDS[language]["footer"].format(count=len(names), ids=ids) if names else ""


def _explain_no_offer(hit: Hit, reason: str) -> Hit:
    """Return a hit whose reason also says why its title is not offered."""
    return replace(hit, reason=f"{hit.reason}; {reason}" if hit.reason else reason)


class _Block:
    """A block under construction: its lines, and the hits that were given and withheld."""

    def __init__(
        self,
        settings: PreflightSettings,
        count: TokenCounter,
        max_chars: int | None,
        weigh: Callable[[], Mapping[str, float]],
        closings: str,
        name: Callable[[Hit], str],
    ) -> None:
        self.settings, self.count, self.max_chars = settings, count, max_chars
        self.weigh, self.closings, self.name = weigh, closings, name
        self.lines: list[str] = []
        self.lessons: list[Hit] = []
        self.notes: list[Hit] = []
        self.offered: list[Hit] = []
        self.withheld: list[Hit] = []
        self.rivals: Mapping[str, Hit] = {}
        """Mapping from the name of a hit to the hit that is given instead, because the two
        contradict each other.
        """
        self.weaker: Mapping[str, Sequence[Hit]] = {}
        """Mapping from the name of a hit to the hits that it replaces."""
        self.budget = settings.budget
        if settings.model_context > 0:
            self.budget = min(self.budget, settings.model_context // SMALL_MODEL_PART)
        self.share = min(self.budget, int(self.budget * settings.lesson_share))

    def withhold(self, hit: Hit, reason: str) -> None:
        self.withheld.append(replace(hit, reason=reason))

    def add_lessons(self, hits: Sequence[Hit], in_context: Collection[str]) -> None:
        """Add the hits in order. A small lesson may fit after a larger lesson did not."""
        places = self.settings.max_lessons
        best = 0.0
        ordered, self.rivals, self.weaker = _settle_conflicts(hits)
        for hit in ordered:
            if not hit.passed:
                self.withheld.append(hit)
                continue
            if hit.card.is_title_only:
                self.withhold(hit, TITLE_ONLY)
                continue
            stronger = self.rivals.get(shown_name(hit))
            if stronger is not None:
                self.withhold(hit, f"{CONTRADICTS}{safe_line(stronger.card.title)}")
                continue
            best = max(best, hit.confidence)
            # A card for another part of the prompt is not compared with the best hit.
            is_for_another_part = any(self._is_free(part) for part in hit.leads)
            far = _odds(hit.confidence) < self.settings.weakest * _odds(best)
            if far and not (protects_file(hit) or is_for_another_part):
                self.withhold(
                    hit, f"weaker than the best hit: {hit.confidence:.2f} against {best:.2f}"
                )
            elif not is_for_another_part and self._is_second_best(hit):
                self.withhold(hit, SAME_PART)
            elif places <= 0:
                self.withhold(hit, f"beyond max_lessons = {self.settings.max_lessons}")
            elif shown_name(hit) in in_context:
                self.withhold(hit, IN_CONTEXT)
                places -= 1
            elif self._add_lesson(hit, self.share) or (
                # The share is reserved for lessons beside notes; the first lesson may need more.
                not self.lessons and self._add_lesson(hit, self.budget)
            ):
                places -= 1
            else:
                self.withhold(hit, self._too_large(f"a budget of {self.share} tokens for lessons"))

    def _is_second_best(self, hit: Hit) -> bool:
        """Return whether a lesson in the block already answers the same part of the prompt.

        ``hit`` does not lead in a part of the prompt that no lesson in the block needs. One in four
        of such cards is right, compared with three in four of the cards that lead.
        """
        if not self.lessons or protects_file(hit):
            return False
        # Without parts, the hit passed as an example of the card, or by its meaning.
        return bool(hit.parts) or hit.meaning > 0

    def _is_free(self, part: Sequence[int]) -> bool:
        """Return whether each lesson in the block also answers something outside a part of the
        prompt.
        """
        for lesson in self.lessons:
            if lesson.parts and not any(set(part).isdisjoint(other) for other in lesson.parts):
                return False
        return True

    def add_offers(self, offers: Offers) -> None:
        """Offer the best withheld lessons by title and file."""
        before = [*self.lines, ""] if self.lines else []
        shown: list[str] = []
        remaining: list[Hit] = []
        for hit in self.withheld:
            if not is_possible(hit, offers):
                remaining.append(hit)
                continue
            if not _names_subject(hit):
                remaining.append(_explain_no_offer(hit, OTHER_SUBJECT))
                continue
            if len(shown) >= MAX_OFFERS:
                remaining.append(_explain_no_offer(hit, ENOUGH_OFFERS))
                continue
            if reason := offers.why_not_now(hit):
                remaining.append(replace(hit, reason=reason))
                continue
            place = safe_line(offers.place(hit))
            if not place:
                remaining.append(_explain_no_offer(hit, NOT_OPENABLE))
                continue
            lines = [*shown, format_offer(hit, place, titled=offers.titled)]
            text = format_offers(lines, titled=offers.titled, beside_lessons=bool(self.lessons))
            if not self._fits([*before, *text], self.budget):
                remaining.append(_explain_no_offer(hit, NO_ROOM))
                continue
            self.lines = [*before, *text]
            shown = lines
            reason = hit.reason.removeprefix("suppressed: ")
            self.offered.append(replace(hit, reason=f"{OFFERED}{reason}"))
        self.withheld = remaining

    def add_notes(
        self,
        notes: Sequence[tuple[Hit, str]],
        *,
        alone: bool,
        sources: Callable[[Hit], Collection[str]],
    ) -> None:
        """Give each note an equal part of the remaining budget. Unused tokens go to the next
        note.
        """
        chosen: list[tuple[Hit, str]] = []
        imported = {name for hit in self.lessons for name in sources(hit)} if notes else set()
        for hit, source in notes:
            if not hit.passed:
                self.withheld.append(hit)
            elif not self.settings.context:
                self.withhold(hit, "context is off")
            elif hit.card.id.rpartition("/")[2] in AGENT_FILES:
                self.withhold(hit, READ_BY_AGENT)
            elif not (self.lessons or alone):
                self.withhold(hit, NEVER_ALONE)
            elif hit.card.id.rpartition("/")[2] in imported:
                self.withhold(hit, "a lesson imported from it is in the block")
            elif len(chosen) >= self.settings.max_notes:
                self.withhold(hit, f"beyond max_notes = {self.settings.max_notes}")
            else:
                chosen.append((hit, source))
        for number, (hit, source) in enumerate(chosen):
            used = self.tokens()
            limit = used + (self.budget - used) // (len(chosen) - number)
            if not self._add_note(hit, source, limit):
                self.withhold(hit, self._too_large(f"a budget of {self.budget} tokens"))

    def tokens(self) -> int:
        """Return the number of tokens in the block."""
        return self.count("\n".join(self.lines)) if self.lines else 0

    def _fits(self, lines: list[str], limit: int) -> bool:
        text = "\n".join(lines)
        if self.max_chars is not None and len(text) > self.max_chars:
            return False
        return self.count(text) <= limit

    def _too_large(self, tokens: str) -> str:
        characters = "" if self.max_chars is None else f" and {self.max_chars} characters"
        return f"does not fit into {tokens}{characters}"

    def _add_lesson(self, hit: Hit, limit: int) -> bool:
        last = [self.closings, LESSONS_CLOSE] if self.closings else [LESSONS_CLOSE]
        before = self.lines[: -len(last)] or [LESSONS_OPEN]
        number = len(self.lessons) + 1
        form = _Form(hit, number, name=self._name(hit), labelled=bool(self.closings))
        form.against = [
            safe_line(weaker.card.title) for weaker in self.weaker.get(shown_name(hit), ())
        ]

        def attempt(shown: Sequence[int], *, why: bool = True) -> bool:
            lines = [*before, *form.lines(shown, why=why), *last]
            if fitting := self._fits(lines, limit):
                self.lines = lines
            return fitting

        count = len(form.items)
        is_short = form.total <= _SHORT_CHECKLIST
        fitted = is_short and count == form.total and attempt(range(count))
        if not fitted:
            scores = [overlap(item, self.weigh()) for item in form.items]
            order = sorted(range(count), key=lambda number: (-scores[number], number))
            most = count if is_short else min(count, _MOST_OF_A_LONG_ONE)
            fitted = _widest(most, lambda size: attempt(sorted(order[:size])))
            fitted = fitted or _widest(most, lambda size: attempt(sorted(order[:size]), why=False))
        if fitted:
            self.lessons.append(hit)
        return fitted

    def _add_note(self, hit: Hit, source: str, limit: int) -> bool:
        if self.notes:
            head = [*self.lines[:-1], ""]
        else:
            head = [*self.lines, "", CONTEXT_OPEN] if self.lines else [CONTEXT_OPEN]
        paragraphs = weigh_paragraphs(source, self.weigh())

        def attempt(steps: int) -> bool:
            excerpt = build_excerpt(paragraphs, steps * _EXCERPT_STEP)
            quoted = [f"  {line}".rstrip() for line in excerpt.split("\n")]
            lines = [*head, f"From {self._name(hit)}:", *quoted, CONTEXT_CLOSE]
            if fitting := bool(excerpt) and self._fits(lines, limit):
                self.lines = lines
            return fitting

        fitted = attempt(_EXCERPT_STEPS) or _widest(_EXCERPT_STEPS - 1, attempt)
        if fitted:
            self.notes.append(hit)
        return fitted

    def _name(self, hit: Hit) -> str:
        return safe_line(self.name(hit)) or "unnamed"


class _Form:
    """The lines of a lesson, with every text of the card defanged."""

    def __init__(self, hit: Hit, number: int, *, name: str, labelled: bool) -> None:
        card = hit.card
        self.name = name
        facts = [safe_line(card.severity), self.name]
        if card.occurrences > 1:
            facts.insert(1, f"seen {card.occurrences}×")
        self.title = f"{number}. {safe_line(card.title) or self.name} ({' · '.join(facts)})"
        self.against: list[str] = []
        self.caveat = safe_line(card.standing.caveat)
        self.why = shorten_at_word(safe_line(card.why), MAX_WHY)
        cleaned = [safe_line(item) for item in card.checklist[:_MAX_ITEMS]]
        if labelled:
            places = enumerate(cleaned, 1)
            cleaned = [f"L{number}.{place} {item}" if item else "" for place, item in places]
        self.items = [item for item in cleaned if item]
        self.total = len(self.items) + max(0, len(card.checklist) - _MAX_ITEMS)

    def lines(self, shown: Sequence[int], *, why: bool) -> list[str]:
        lines = [self.title]
        if self.caveat:
            lines.append(f"   {self.caveat}")
        if why and self.why:
            lines.append(f"   Why: {self.why}")
        lines += [f"   Contradicts: {title}" for title in self.against]
        lines += [f"   - [ ] {self.items[number]}" for number in shown]
        if more := self.total - len(shown):
            lines.append(f"   … {more} more in {self.name}")
        return lines


def _names_subject(hit: Hit) -> bool:
    """Return whether a card has advice, or its title, tags or symptoms name the prompt's subject.

    A card without advice is often a long document. The words that it shares with a prompt may come
    from any part of it. Therefore one of the rarest of these words must be in its title.
    """
    card = hit.card
    if not card.is_title_only or protects_file(hit) or hit.meaning > 0:
        return True
    terms = analyze(" ".join((card.title, *card.topics, *card.symptoms)))
    return not set(hit.matched[:_RAREST]).isdisjoint(terms)


def _settle_conflicts(
    hits: Sequence[Hit],
) -> tuple[list[Hit], dict[str, Hit], dict[str, list[Hit]]]:
    """Return the hits in order, a mapping from each weaker hit to its rival, and the reverse
    mapping from each rival to its weaker hits.

    If two cards contradict each other, the stronger card gets the better of their two ranks.
    """
    ordered = list(hits)
    rivals: dict[str, Hit] = {}
    weaker: dict[str, list[Hit]] = {}
    passed = [hit for hit in hits if hit.passed][:_MOST_COMPARED]
    for first, second in combinations(passed, 2):
        if shown_name(first) in rivals or shown_name(second) in rivals:
            continue
        if _yields(first, second):
            stronger, beaten = second, first
        elif _yields(second, first):
            stronger, beaten = first, second
        else:
            continue
        rivals[shown_name(beaten)] = stronger
        weaker.setdefault(shown_name(stronger), []).append(beaten)
        if stronger is second:
            ordered.remove(second)
            ordered.insert(ordered.index(first), second)
    return ordered, rivals, weaker


def _yields(hit: Hit, other: Hit) -> bool:
    """Return whether, according to the index, a card yields to another card that contradicts it."""
    is_other_brain = bool(hit.brain and other.brain and hit.brain != other.brain)
    return not is_other_brain and other.card.id in hit.card.standing.yields_to


def _widest(most: int, attempt: Callable[[int], bool]) -> bool:
    """Attempt sizes up to ``most``. The last successful size is the largest. Return whether a size
    fits.
    """
    sizes = range(min(1, most), most + 1)
    return bisect_left(sizes, True, key=lambda size: not attempt(size)) > 0


def _odds(confidence: float) -> float:
    return confidence / max(1 - confidence, 1e-9)
