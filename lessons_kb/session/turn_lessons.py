"""Lessons that no prompt brings: a change or an error of its turn does, or the agent opens them."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from math import log

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains, refresh_in_hook
from lessons_kb.config import PreflightSettings
from lessons_kb.detect.change import Change
from lessons_kb.detect.matcher import Match
from lessons_kb.errors import ConfigError, LessonsError, StorageError
from lessons_kb.find.detection import Detected, is_card_file
from lessons_kb.find.search import find_lessons
from lessons_kb.find.titles import build_titles, find_card
from lessons_kb.ledger.given import (
    find_cards,
    find_known,
    is_in_context,
    note_given,
)
from lessons_kb.ledger.session_memory import GivenCard, SessionMemory
from lessons_kb.ledger.withheld import is_withheld, read_withholding
from lessons_kb.model import DONE, RULE, SERVED, Card, Event, Hit, Preflight, Query
from lessons_kb.preflight.offers import shown_name
from lessons_kb.relevance.gate import NEAR, is_due, is_named, is_sure
from lessons_kb.session.state import Hook
from lessons_kb.store.files import read_inside
from lessons_kb.store.scan import SUFFIXES
from lessons_kb.text.analyzer import analyze, find_names, get_share
from lessons_kb.text.paths import relative_path, show_path
from lessons_kb.text.redact import redact
from lessons_kb.text.sanitize import defang_line
from lessons_kb.text.token_estimate import estimate_tokens
from lessons_kb.values import frozen, replace

MOST = 2
"""Lessons given so in one turn."""
_MAX_TEXT = 6_000
"""Characters of a change that are searched for: a few hundred words say what it is about."""
_LOOKED_AT = 3
"""Of those that the turn was not given."""
_FEW = 3
"""Cards of a brain that may have a name which tells one of them from the others."""

_LEAST_CARDS = 16
"""A smaller brain is taken for one of so many: few cards cannot tell how rare a name is."""

Found = tuple[Brain, Card]


def is_kept_back(hook: Hook, brain: Brain, card: Card) -> bool:
    """Tell whether a lesson is withheld from the session; if so, the ledger notes the occasion."""
    return is_withheld(brain, card, hook.event.context_id, occasion=hook.occasion, at=hook.now)


def find_for_change(hook: Hook, brains: Brains, changes: Sequence[Change]) -> list[Found]:
    """Return the lessons that some changes bring, best first, those with something to do.

    A change shares words with many a lesson of its repository: what tells is that it has names of
    the code that one lesson has, and few others; and that it says what the title says, or takes
    out such a name, unless the prompt spoke of the lesson.
    """
    changed = (one for one in changes if not is_card_file(brains, one.path))
    text = "\n".join(f"{one.path}\n{one.before}\n{one.after}" for one in changed)[:_MAX_TEXT]
    names = find_names(text)
    found: list[Found] = []
    for place, (brain, hit, at_prompt) in enumerate(_search(brains, text, hook.state)):
        card, first = hit.card, place == 0
        if not card.is_title_only:
            own = names & find_names(_read(brain, card))
            nats = _weigh_names(brain, own)
            # The text is looked at once more only for what is about to be given.
            if is_due(hit.confidence, nats, first=first, at_prompt=at_prompt) and (
                at_prompt >= NEAR
                or is_named(card, frozenset(analyze(text)))
                or own & _find_gone(changes)
            ):
                found.append((brain, card))
    return found


def _find_gone(changes: Sequence[Change]) -> set[str]:
    """Return the names of the code that some changes take out."""
    before = find_names("\n".join(one.before for one in changes)[:_MAX_TEXT])
    # A file that is written whole may be large, and takes out nothing.
    return before - find_names("\n".join(one.after for one in changes)) if before else before


def find_for_error(hook: Hook, text: str) -> list[Found]:
    """Return the lesson that an error brings, if any."""
    for brain, hit, at_prompt in _search(hook.brains, text, hook.state):
        if is_sure(hit.confidence, at_prompt=at_prompt):
            return [(brain, hit.card)]
    return []


def _search(brains: Brains, text: str, state: SessionMemory) -> Iterator[tuple[Brain, Hit, float]]:
    """Yield what passes the gate, with its confidence at the prompt, where few were given so."""
    if state.late >= MOST or not text.strip() or not brains.members[0].settings.hooks.during_turn:
        return
    if not all(brain.ensure_indexed() for brain in brains.members):
        return  # a hook does not wait for a whole index
    near = {hit.name: float(hit.confidence) for hit in state.near}
    for brain, hit in find_lessons(brains, Query(text=text, limit=_LOOKED_AT + len(state.cards))):
        if hit.passed:
            yield brain, hit, near.get(shown_name(hit), 0.0)


def _read(brain: Brain, card: Card) -> str:
    try:
        return read_inside(brain.root, card.id, limit=brain.settings.index.max_file_bytes).decode(
            "utf-8", "replace"
        )
    except (LessonsError, OSError):  # it was moved just now
        return ""


def _weigh_names(brain: Brain, names: Iterable[str]) -> float:
    """Return the nats of the names that no common text holds, nor more than a few cards."""
    found = {terms[-1] for name in names if (terms := analyze(name))}
    rare = [term for term in found if get_share(term) is None]
    held = brain.read(lambda one: one.reader.document_frequencies(rare) if one.reader else {})
    cards = max(brain.state.cards if brain.state else 0, _LEAST_CARDS)
    counts = (max(held.get(term, 0), 1) for term in rare)
    return sum(log((cards + 1) / count) for count in counts if count <= _FEW)


@frozen
class LessonLimits:
    """What giving lessons takes from settings: read before a transaction, which touches no file."""

    packing: PreflightSettings
    reinject_after: Mapping[Brain, int]
    """Prompts after which a lesson is no longer in the context."""


def read_limits(brains: Brains) -> LessonLimits:
    """Return the limits of the brains, and open their journals."""
    for brain in brains.members:
        _ = brain.hook_journal
    settings = {brain: brain.settings.preflight for brain in brains.members}
    after = {brain: one.reinject_after for brain, one in settings.items()}
    return LessonLimits(packing=settings[brains.members[0]], reinject_after=after)


def give(
    hook: Hook, limits: LessonLimits, found: Collection[Found], *, counted: bool = True
) -> tuple[Preflight, list[GivenCard]]:
    """Return the block of some cards, and [root, card id] of each; the journal notes them.

    Those that the session has in its context are left out. Unless it is ``counted``, the block
    costs nothing.
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
    # Rules are short, and each of them holds for the call: they are no choice of the best.
    rules = [hit for hit in missing if hit.card.source == RULE]
    others = [hit for hit in missing if hit.card.source != RULE]
    packing = limits.packing
    if rules:
        packing = replace(packing, max_lessons=packing.max_lessons + len(rules))
    block = hook.can.pack_known([*rules, *others], packing)
    given = note_given(homes, block, session, at=hook.now, occasion=hook.occasion, counted=counted)
    return block, given


_MAX_LINES = 5
_MAX_TITLE = 160
_MAX_TOKENS, _MAX_HEAD = 60, 36
"""Of what is said again, and of its title and place."""
_LEAST = 20
"""Characters that are left of a text that is cut."""


def tell_before(detected: Iterable[Detected], directory: str, *, given: Container[str] = ()) -> str:
    """Return the lines that a call is about to add or run, each with its lesson.

    The titles of the cards that are ``given`` stand in the block that comes with it.
    """
    lines = [
        f"- {name_place(match)} — {name_card(one.brain, one.card, directory, given=given)}"
        for one in detected
        for match in one.matches
    ]
    more = [f"- … {len(lines) - _MAX_LINES} more"] if len(lines) > _MAX_LINES else []
    return "\n".join(["This is a mistake that a lesson describes:", *lines[:_MAX_LINES], *more])


def tell_after(one: Detected, directory: str) -> str:
    """Return what is said when the change was made all the same."""
    places = ", ".join(map(name_place, one.matches[:_MAX_LINES]))
    return (
        f"The change went in with {places}, a mistake that a lesson describes: "
        f"{name_card(one.brain, one.card, directory)}. Fix it, or say why it is right here."
    )


def remind(brain: Brain, card: Card, directory: str, *, done: Container[str] = ()) -> str:
    """Return a card's title and its first items that are not ``done``, in at most 60 tokens.

    "" where nothing is left to do: a title alone is no lesson.
    """
    place = name_card(brain, card, directory, given={card.id})
    title = defang_line(card.title)[:_MAX_TITLE]
    while estimate_tokens(f"{title}{place}") > _MAX_HEAD and len(title) > _LEAST:
        title = f"{title[:-5]}…"
    text = head = f"Before this, once more: “{title}” ({place})"
    for item in card.checklist:
        if item in done:
            continue
        line = f"\n- [ ] {defang_line(item)}"
        while text is head and estimate_tokens(text + line) > _MAX_TOKENS and len(line) > _LEAST:
            line = f"{line[:-5]}…"
        if estimate_tokens(text + line) > _MAX_TOKENS:
            break
        text += line
    return "" if text is head else text


def name_place(match: Match) -> str:
    """Return ``src/run.py:12: `shell=True` ``, a command without a file; secrets are hidden."""
    line = f":{match.line}" if match.line else ""
    place = f"{show_path(match.path)}{line}: " if match.path else ""
    return f"{place}`{defang_line(redact(match.text))}`"


def name_card(brain: Brain, card: Card, directory: str, *, given: Container[str] = ()) -> str:
    """Return a card's title and where its file lies, that alone of a card that is ``given``."""
    place = card.id if SERVED in card.id else os.path.join(brain.root, card.id)
    place = show_path(relative_path(place, directory))
    title = defang_line(card.title)[:_MAX_TITLE]
    return place if card.id in given else f"“{title}” ({place})"


_SHOW = r"\blessons show ([^\s;&|-][^\s;&|]*)"


def find_titles(hook: Hook, brains: Brains | None = None) -> str:
    """Return the titles of the cards that the agent can open, "" where it can open none.

    ``brain`` was looked at for changed files just now.
    """
    if hook.event.posted:
        return ""
    can = hook.can
    session = hook.event.context_id if read_withholding().withhold else ""
    try:
        return build_titles(
            brains or refresh_in_hook(hook.brains)[0],
            replace(hook.access, session=session),
            most=can.tokens,
            counter=can.count_tokens,
        )
    except (ConfigError, StorageError):  # told where a prompt is answered
        return ""


def find_opened(hook: Hook, calls: Iterable[Event]) -> list[Found]:
    """Return the cards whose files some calls have read, or that ``lessons show`` has printed."""
    files: list[str] = []
    names: set[str] = set()
    for call in calls:
        if call.outcome in DONE and call.kind == "read":
            paths = (os.path.expanduser(path) for path in call.targets if path.endswith(SUFFIXES))
            files += (os.path.realpath(os.path.join(hook.scope, path)) for path in paths)
        elif call.outcome in DONE and "lessons show" in call.text:
            names |= {name.strip("\"'") for name in re.findall(_SHOW, call.text)}
    found: list[Found] = []
    for brain in hook.brains.members if (files or names) and not hook.event.posted else ():
        ids = set(filter(None, (find_card(brain, path) for path in files)))
        known = brain.read(lambda one: one.catalogue.numbers()) if names else ()
        ids |= {path for path in known if not names.isdisjoint(_names(path))}
        found += [(brain, card) for card in find_cards(brain, ids)]
    return found


def _names(path: str) -> tuple[str, ...]:
    """Return what a card can be called: its path or its file, with or without their ending."""
    file = posixpath.basename(path)
    return path, posixpath.splitext(path)[0], file, posixpath.splitext(file)[0]
