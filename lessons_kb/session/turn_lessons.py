"""Lessons that are given during a turn: for a change or an error, or opened by the agent."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from math import log

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.config import PreflightSettings
from lessons_kb.detect.change import Change
from lessons_kb.detect.matcher import Match
from lessons_kb.errors import LessonsError
from lessons_kb.find.detection import Detected, is_card_file
from lessons_kb.find.search import find_lessons
from lessons_kb.ledger.given import (
    CardInBrain,
    find_known,
    is_in_context,
    note_given,
)
from lessons_kb.ledger.session_memory import GivenCard, SessionMemory
from lessons_kb.model import RULE, SERVED, Card, Hit, Preflight, Query
from lessons_kb.on_demand import PREFLIGHT_BLOCK, load
from lessons_kb.preflight.offers import shown_name
from lessons_kb.relevance.gate import NEAR, has_enough_names, is_due, is_named, is_sure
from lessons_kb.session.state import Hook
from lessons_kb.store.files import read_inside
from lessons_kb.text.analyzer import analyze, find_names, get_share
from lessons_kb.text.paths import relative_path, show_path
from lessons_kb.text.redact import redact
from lessons_kb.text.sanitize import defang_line, shorten_at_word
from lessons_kb.text.token_estimate import estimate_tokens
from lessons_kb.values import frozen, replace

MOST = 2
"""Maximum number of such lessons in one turn."""
_MAX_TEXT = 6_000
"""The number of characters of a change that form the query. A few hundred words are sufficient."""
_LOOKED_AT = 3
"""The number of lessons to consider in addition to the lessons of the turn."""
_FEW = 3
"""A name is distinctive if at most this number of cards contain it."""

_LEAST_CARDS = 16
"""The minimum size of a brain in the calculation. A few cards do not show how rare a name is."""


def find_for_change(hook: Hook, brains: Brains, changes: Sequence[Change]) -> list[CardInBrain]:
    """Return the lessons with advice for some changes, best first.

    A change shares words with many lessons of its repository, so words are not sufficient. The
    change must contain names of code that occur in the lesson and in few others. If the confidence
    at the prompt was below ``NEAR``, the change must also contain the words of the lesson's title,
    or remove such a name.
    """
    changed = [change for change in changes if not is_card_file(brains, change.path)]
    parts = [f"{change.path}\n{change.before}\n{change.after}" for change in changed]
    text = "\n".join(parts)[:_MAX_TEXT]
    names = find_names(text)
    lessons: list[CardInBrain] = []
    if not _may_be_due(brains, names, hook.state):
        return lessons
    for rank, (brain, hit, at_prompt) in enumerate(_search(brains, text, hook.state)):
        card = hit.card
        if card.is_title_only:
            continue
        shared = names & find_names(_read(brain, card))
        nats = _weigh_names(brain, shared)
        if not is_due(hit.confidence, nats, first=rank == 0, at_prompt=at_prompt):
            continue
        # The text is analysed only for a lesson that is due.
        if (
            at_prompt >= NEAR
            or is_named(card, frozenset(analyze(text)))
            or shared & _find_removed(changes)
        ):
            lessons.append((brain, card))
    return lessons


def _may_be_due(brains: Brains, names: Collection[str], state: SessionMemory) -> bool:
    """Return whether a card that shares all ``names`` with a change could be due.

    If not, no search is needed. This is so for most changes, because they contain few names.
    """
    if not names:
        nats = 0.0
    elif all(brain.ensure_indexed() for brain in brains.members):
        nats = max(_weigh_names(brain, names) for brain in brains.members)
    else:
        return False  # a hook does not wait for a complete index
    at_prompt = max((float(hit.confidence) for hit in state.near), default=0.0)
    return has_enough_names(nats, at_prompt=at_prompt)


def _find_removed(changes: Sequence[Change]) -> set[str]:
    """Return the names of code that some changes remove."""
    before = find_names("\n".join(change.before for change in changes)[:_MAX_TEXT])
    if not before:  # such as for a whole new file, which may be large
        return set()
    return before - find_names("\n".join(change.after for change in changes))


def find_for_error(hook: Hook, text: str) -> list[CardInBrain]:
    """Return a list with the lesson for an error, or an empty list if there is no such lesson."""
    for brain, hit, at_prompt in _search(hook.brains, text, hook.state):
        if is_sure(hit.confidence, at_prompt=at_prompt):
            return [(brain, hit.card)]
    return []


def _search(brains: Brains, text: str, state: SessionMemory) -> Iterator[tuple[Brain, Hit, float]]:
    """Yield (brain, hit, confidence for the prompt) of the lessons that pass the gate.

    Yield nothing if the turn already has MOST lessons.
    """
    if (
        state.given_in_turn >= MOST
        or not text.strip()
        or not brains.members[0].settings.hooks.during_turn
    ):
        return
    if not all(brain.ensure_indexed() for brain in brains.members):
        return  # a hook does not wait for a complete index
    confidence_at_prompt = {hit.name: float(hit.confidence) for hit in state.near}
    for brain, hit in find_lessons(brains, Query(text=text, limit=_LOOKED_AT + len(state.cards))):
        if hit.passed:
            yield brain, hit, confidence_at_prompt.get(shown_name(hit), 0.0)


def _read(brain: Brain, card: Card) -> str:
    try:
        return read_inside(brain.root, card.id, limit=brain.settings.index.max_file_bytes).decode(
            "utf-8", "replace"
        )
    except (LessonsError, OSError):  # the card has just been moved
        return ""


def _weigh_names(brain: Brain, names: Iterable[str]) -> float:
    """Return the information of the distinctive names, in nats.

    A name is distinctive if it is not in common text and is in at most _FEW cards.
    """
    terms = {terms[-1] for terms in map(analyze, names) if terms}
    rare = [term for term in terms if get_share(term) is None]
    frequencies = brain.read(
        lambda index: index.reader.document_frequencies(rare) if index.reader else {}
    )
    cards = max(brain.state.cards if brain.state else 0, _LEAST_CARDS)
    counts = [max(frequencies.get(term, 0), 1) for term in rare]
    return sum(log((cards + 1) / count) for count in counts if count <= _FEW)


@frozen
class LessonLimits:
    """Settings for giving lessons. They are read before a transaction, which must not read
    files.
    """

    packing: PreflightSettings
    reinject_after: Mapping[Brain, int]
    """Mapping from each brain to the number of prompts after which a lesson is no longer in the
    context.
    """


def read_limits(brains: Brains) -> LessonLimits:
    """Return the limits in the settings of the brains, and open their journals."""
    load(PREFLIGHT_BLOCK)  # an import reads files
    after = {}
    for brain in brains.members:
        _ = brain.hook_journal  # opens it
        after[brain] = brain.settings.preflight.reinject_after
    return LessonLimits(packing=brains.members[0].settings.preflight, reinject_after=after)


def give(
    hook: Hook, limits: LessonLimits, found: Collection[CardInBrain], *, counted: bool = True
) -> tuple[Preflight, list[GivenCard]]:
    """Return a block of cards, and the cards in it. The journal records these cards as given.

    Cards in the session's context are left out. Without ``counted``, the tokens of the block are
    not counted.
    """
    ids = [card.id for _brain, card in found]
    session = hook.event.context_id
    known = find_known(limits.reinject_after, session)
    homes: dict[tuple[str, str], Brain] = {}
    missing: list[Hit] = []
    for brain, card in found:
        alias = brain.alias if ids.count(card.id) > 1 else ""
        hit = Hit(card=card, score=1.0, bm25=0.0, passed=True, brain=alias)
        if not is_in_context(known, brain, card):
            missing.append(hit)
            homes[alias, card.id] = brain
    # Rules are short, and each of them applies to the call, so all are given.
    rules = [hit for hit in missing if hit.card.source == RULE]
    others = [hit for hit in missing if hit.card.source != RULE]
    packing = limits.packing
    if rules:
        packing = replace(packing, max_lessons=packing.max_lessons + len(rules))

    def name_file(hit: Hit) -> str:
        return hook.name_file(homes[hit.brain, hit.card.id], hit)

    block = hook.can.pack_known([*rules, *others], packing, name_file)
    given = note_given(homes, block, session, at=hook.now, occasion=hook.occasion, counted=counted)
    return block, given


_MAX_LINES = 5
_MAX_TITLE = 160
_MAX_TOKENS, _MOST_TOKENS = 60, 120
"""Maximum tokens of a reminder that needs no more for its title and one item, and of any reminder.
"""
_MAX_HEAD = 60
"""Maximum tokens of the title and path in a reminder that has no room for one whole item."""
_LEAST = 20
"""Minimum characters of a text that is cut."""
_MAX_REFUSAL_ITEMS = 3


def tell_before(detected: Iterable[Detected], directory: str, *, given: Container[str] = ()) -> str:
    """Return a text with the mistakes that a call is about to make, and the lesson for each of
    them.

    For cards in ``given``, only the path is named, because the block contains their titles.
    """
    lines = []
    for mistake in detected:
        lesson = name_card(mistake.brain, mistake.card, directory, given=given)
        lines += [f"- {name_place(match)} — {lesson}" for match in mistake.matches]
    more = [f"- … {len(lines) - _MAX_LINES} more"] if len(lines) > _MAX_LINES else []
    return "\n".join(["This is a mistake that a lesson describes:", *lines[:_MAX_LINES], *more])


def tell_after(mistake: Detected, directory: str) -> str:
    """Return the text after a change that made the mistake in spite of its lesson."""
    places = ", ".join(map(name_place, mistake.matches[:_MAX_LINES]))
    lesson = name_card(mistake.brain, mistake.card, directory)
    return (
        f"The change went in with {places}, a mistake that a lesson describes: "
        f"{lesson}. Fix it, or say why it is right here."
    )


def remind(card: Card, name: str, *, done: Container[str] = ()) -> str:
    """Return a card's title, the name of its file, and its first items that are not ``done``.

    The text has at most 60 tokens, or as many as the title and one whole item need, up to 120. If
    these need more, they are cut at a word. Return "" if every item is done, because a title alone
    is not a lesson.
    """
    lines = [f"\n- [ ] {defang_line(item)}" for item in card.checklist if item not in done]
    if not lines:
        return ""
    place = show_path(name)
    title = shorten_at_word(defang_line(card.title), _MAX_TITLE)

    def make_head(title: str) -> str:
        return f"Before this, once more: “{title}” ({place})"

    first, *others = lines
    head = make_head(title)
    if estimate_tokens(head + first) > _MOST_TOKENS:
        title = _cut_to_fit(title, lambda text: estimate_tokens(make_head(text)) <= _MAX_HEAD)
        head = make_head(title)
        first = _cut_to_fit(first, lambda text: estimate_tokens(head + text) <= _MOST_TOKENS)
    text = head + first
    for line in others:
        if estimate_tokens(text + line) > _MAX_TOKENS:
            break
        text += line
    return text


def _cut_to_fit(text: str, fits: Callable[[str], bool]) -> str:
    """Return the text, or its longest beginning that fits, cut at a word and with "…" at its end.

    A text without a blank near its cut, such as Japanese prose, is cut inside its last word.
    """
    if fits(text):
        return text
    end = len(text)
    while end > _LEAST and not fits(f"{text[:end]} …"):
        end -= 5
    cut = text.rfind(" ", _LEAST, end + 1)
    return f"{text[:end]}…" if cut < end // 2 else f"{text[:cut]} …"


def shorten_id(brain: Brain, card_id: str) -> str:
    """Return the file name of a card, or its whole id if another card has the same name."""
    if SERVED in card_id:  # the agent needs the whole id to ask the server for the card
        return card_id
    name = posixpath.basename(card_id)
    return card_id if name in brain.read(lambda index: index.repeated_names()) else name


def remind_of_refusal(card: Card, *, done: Container[str] = ()) -> str:
    """Return the title of a card that refuses a call and its first items that are not ``done``.

    The agent has to act on this text, so nothing is cut. Return "" if every item is done.
    """
    items = [item for item in card.checklist if item not in done]
    lines = [f"- [ ] {defang_line(item)}" for item in items[:_MAX_REFUSAL_ITEMS]]
    head = f"Before this, once more: “{defang_line(card.title)}”"
    return "\n".join([head, *lines]) if lines else ""


def name_place(match: Match) -> str:
    """Return the place and text of a match, such as ``src/run.py:12: `shell=True` ``. A command has
    no file. Secrets are redacted.
    """
    line = f":{match.line}" if match.line else ""
    place = f"{show_path(match.path)}{line}: " if match.path else ""
    return f"{place}`{defang_line(redact(match.text))}`"


def name_card(brain: Brain, card: Card, directory: str, *, given: Container[str] = ()) -> str:
    """Return a card's title and the path of its file, or only the path for a card in ``given``."""
    place = card.id if SERVED in card.id else os.path.join(brain.root, card.id)
    place = show_path(relative_path(place, directory))
    title = shorten_at_word(defang_line(card.title), _MAX_TITLE)
    return place if card.id in given else f"“{title}” ({place})"
