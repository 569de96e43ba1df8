"""After the answer: what became of each checklist item.

What an item asks for can be told in words that share nothing with it, and the same words can tell
of something else. Hence four states, of which only the sure ones are claims; the rest is open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from lessons_kb.check.claims import Claims
from lessons_kb.check.denials import ABSENT, PUT_OFF, Denial, find_denials
from lessons_kb.check.item_closings import LEFT, Closing, without_closings
from lessons_kb.check.item_evidence import (
    MAX_EVIDENCE,
    Place,
    is_unsure,
    locate,
    read_answer,
    read_done,
    read_texts,
    share,
)
from lessons_kb.model import (
    ANSWER,
    COMMAND,
    CONTRADICTED,
    DENIED,
    DETECTED,
    NOT_CHANGED,
    NOT_RUN,
    OPEN,
    SHOWN,
    Card,
    Check,
    CheckedItem,
    DetectedLine,
    Evidence,
)
from lessons_kb.text.analyzer import analyze

MAX_ITEM = 1_000

SHOWN_FROM = 0.5
"""Part of an item's terms, weighed by rarity, that one sentence or piece of code has to hold,
what it asks to do among them."""
BORNE_OUT_FROM = 0.1
"""Part of them that something which was done has to hold to bear a sentence out."""
DENIED_FROM = 0.2
"""Part of an item's terms that a denying clause has to hold at least, …"""
NEAR_FROM = 0.6
"""… and what that and the item's part of what the clause is about have to come to, …"""
SURE_FROM = 1.0
"""… or this, where something else says that the item was done."""
ABSENT_FROM = 0.6
"""Part of an item's terms in a clause that only says of something that it is not so."""

_LEAST_TERMS = 2
"""One word is found anywhere."""
_FORBIDS = (
    r"(?i)^\W*(?:never|do\s+not|don['\u2019]t|avoid|not?|nothing|none|neither)\b|"
    r"\b(?:must|should|may|can|shall)\s*(?:not|never)\b|\bwithout\b|"
    "않|금지|말 것|마라|없이|없는|없다"
)
"""What an item says that is kept by not doing something."""
_NEGATES = (
    r"(?i)\b(?:never|don['\u2019]t|no|not|without|avoid|nothing|none|neither)\b|"
    "않|금지|말 것|마라|없이|없는|없다"
)
_REMOVES = r"(?i)^\W*(?:remove|delete|drop|get\s+rid)\b|(?:제거|삭제)\S*$"
_LIGHT = (
    "add cover use make set write keep ensure have give put do provide never avoid nothing none"
)
"""Words that say little of what is to be done: what follows them does."""
_CONDITION = (
    r"(?i)^\W*(?:only\s+)?(?:when|whenever|if|while|before|after|once|unless|any\s?time)\b"
    r"(?!.*[,:;\u2013\u2014\u2192](?=\s|$))"
)
"""A condition without a main clause. What follows a comma is one."""
_ASKS_NOTHING = r"(?i)^\W*(?!(?:need|seed|feed|speed|embed|shed|exceed|proceed)\b)[a-z][a-z-]+ed\b"
_ASKS = r"(?i)\b(?:must|should|shall|never|always|has\s+to|have\s+to|needs?\s+to|is|are|be)\b"


def check_items(
    cards: Sequence[Card],
    answer: str,
    evidence: Evidence,
    detected: Sequence[DetectedLine] = (),
    closings: Mapping[tuple[str, str], Closing] | None = None,
) -> Check:
    """Return the state of each checklist item of some cards.

    An item is contradicted by what ``detected`` found in the change, or if the answer claims for
    it what never happened; denied by the answer's own sentence; shown by a match of its
    ``shown-by`` pattern, or by lines of an edit, a command or a sentence with enough of its words,
    what it asks to do among them. Of complete evidence, a sentence alone shows nothing: something
    that was done has to bear it out. Conditions, statements and items without a word that could
    be looked for are left out. ``closings`` are by (card id, item): what one cites must have been
    touched or run.
    """
    # The mistake of a card without an item contradicts the card.
    titles = {
        card.id: [(card.title, "")] for card in cards if any(d.card == card.id for d in detected)
    }
    sought = [
        _Item(card=card, text=item, order=order, pattern=pattern)
        for card in cards
        for item, pattern in list(_checks_of(card)) or titles.get(card.id, [])
        if (order := tuple(dict.fromkeys(analyze(item[:MAX_ITEM]))))
    ]
    told, code = read_answer(without_closings(answer) if closings else answer)
    added, removed = read_done(evidence)
    everything = frozenset[str]().union(*(terms for _, terms in told))
    everything = everything.union(*(place.terms for place in (*code, *added)))
    about = frozenset[str]().union(*(one.terms for one in sought))
    scene = _Scene(
        told=told,
        code=code,
        added=added,
        removed=removed,
        denials=find_denials(told, about),
        evidence=evidence,
        claims=Claims(evidence),
        closings=closings or {},
    )
    found = _assign(sought, detected)
    items = []
    for number, one in enumerate(sought):
        checked = found.get(number) or _judge(one, scene)
        seen = checked.state == SHOWN
        terms = () if seen else _words_of(one.text, one.terms - everything)
        items.append(
            CheckedItem(
                card=one.card,
                item=one.text,
                state=checked.state,
                quote=checked.quote,
                where=checked.where,
                reason=checked.reason,
                terms=terms,
            )
        )
    return Check(items=tuple(items))


def find_unaddressed_items(
    answer: str, cards: Sequence[Card], evidence: Sequence[str] = ()
) -> Check:
    """Return the check of an answer against texts of what the agent did.

    ``evidence`` are edits (path and new text, or a diff) and commands, each one string; nothing is
    said of what else was done, so that no claim is contradicted. All that is not shown is in
    ``unaddressed``.
    """
    return check_items(cards, answer, read_texts(evidence))


def is_check(item: str) -> bool:
    """Tell whether an item asks for something: a condition or a statement cannot be checked."""
    if re.search(_CONDITION, item):
        return False
    return not re.match(_ASKS_NOTHING, item) or bool(re.search(_ASKS, item))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Item:
    """An item that is looked for."""

    card: Card
    text: str
    order: tuple[str, ...]
    """Its terms in order."""
    pattern: str

    @property
    def terms(self) -> frozenset[str]:
        return frozenset(self.order)

    def is_told_in(self, terms: frozenset[str], *, asked: int = 2) -> bool:
        """Tell whether a place has enough of the item's words, what it asks to do among them.

        That is its first ``asked`` words, the verb and its object as a rule.
        """
        own = self.terms
        if len(own) < _LEAST_TERMS or share(own, terms) < SHOWN_FROM:
            return False
        meaningful = [term for term in self.order if term not in _light()]
        return terms.issuperset(meaningful[:asked])


@dataclass(frozen=True, kw_only=True, slots=True)
class _Scene:
    """Everything an item is looked for in."""

    told: list[tuple[str, frozenset[str]]]
    code: list[Place]
    added: list[Place]
    removed: list[Place]
    denials: list[Denial]
    evidence: Evidence
    claims: Claims
    closings: Mapping[tuple[str, str], Closing]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Verdict:
    state: str
    quote: str = ""
    where: str = ""
    reason: str = ""


def _checks_of(card: Card) -> Iterable[tuple[str, str]]:
    patterns = card.shown_by or ("",) * len(card.checklist)
    if card.conditional:
        return
    for item, pattern in zip(card.checklist, patterns, strict=False):
        if pattern or is_check(item):
            yield item, pattern


def _assign(sought: Sequence[_Item], detected: Sequence[DetectedLine]) -> dict[int, _Verdict]:
    """Return the items that a detected mistake contradicts: of each card the nearest in words."""
    found: dict[int, _Verdict] = {}
    for one in detected:
        own = [number for number, item in enumerate(sought) if item.card.id == one.card]
        terms = frozenset(analyze(one.quote))
        if own:
            nearest = max(own, key=lambda number: share(sought[number].terms, terms))
            verdict = _Verdict(
                state=CONTRADICTED, quote=one.quote.strip(), where=one.where, reason=DETECTED
            )
            found.setdefault(nearest, verdict)
    return found


def _judge(item: _Item, scene: _Scene) -> _Verdict:
    if item.pattern and (found := _find_pattern(item.pattern, scene.evidence)):
        return found
    closing = scene.closings.get((item.card.id, item.text))
    if closing and (found := _verify(closing, scene)):
        return found
    shown = _find_done(item, scene) or _find_told(item, scene)
    if denied := _find_denial(item.text, item.terms, scene.denials):
        sure, denial = denied
        if shown is None or sure >= SURE_FROM:
            return _Verdict(state=DENIED, quote=denial.sentence, where=ANSWER)
    elif found := _find_contradiction(item, scene) or shown:
        return found
    nearest = max(scene.told, key=lambda one: share(item.terms, one[1]), default=None)
    if nearest is None or item.terms.isdisjoint(nearest[1]):
        return _Verdict(state=OPEN)
    return _Verdict(state=OPEN, quote=nearest[0], where=ANSWER)


def _verify(closing: Closing, scene: _Scene) -> _Verdict | None:
    """Hold a closing against what happened; None where it cites nothing."""
    if closing.state == LEFT:
        return _Verdict(state=DENIED, quote=closing.line, where=ANSWER)
    if not closing.path and not closing.command:
        return None
    if closing.path:
        happened, reason = scene.claims.touches(closing.path), NOT_CHANGED
        where = locate(closing.path, (closing.number,) if closing.number else (), 0)
    else:
        happened, reason, where = scene.claims.ran(closing.command), NOT_RUN, COMMAND
    if happened:
        return _Verdict(state=SHOWN, quote=closing.command or closing.line, where=where)
    if not scene.evidence.complete:
        return _Verdict(state=OPEN, quote=closing.line, where=ANSWER)
    return _Verdict(state=CONTRADICTED, quote=closing.line, where=ANSWER, reason=reason)


def _find_pattern(pattern: str, evidence: Evidence) -> _Verdict | None:
    """Return the line of an edit, the file or the command that an item's own pattern is found in.

    Comments count: whoever wrote the pattern knows what shows the item.
    """
    from lessons_kb.text.sentence_patterns import (
        find_line,  # RE2 only for cards that have a pattern
    )

    left = MAX_EVIDENCE
    for edit in evidence.edits:
        lines = edit.text[:left].split("\n")
        left = max(0, left - len(edit.text))
        if edit.earlier:
            continue
        if (place := find_line(pattern, lines)) is not None:
            where = locate(edit.path, edit.numbers, place)
            return _Verdict(state=SHOWN, quote=lines[place].strip(), where=where)
        if edit.path and find_line(pattern, (edit.path,)) is not None:
            return _Verdict(state=SHOWN, quote=edit.path, where=edit.path)
    for command in evidence.commands:
        usable = not command.earlier and not command.failed
        if usable and find_line(pattern, (command.line[:left],)) is not None:
            return _Verdict(state=SHOWN, quote=command.line, where=COMMAND)
    return None


def _find_denial(
    item: str, terms: frozenset[str], denials: Iterable[Denial]
) -> tuple[float, Denial] | None:
    """Return the clause that most nearly says of an item that it was not done, and how nearly.

    What an item forbids is kept by not doing it: that may only be put off.
    """
    forbids = re.search(_FORBIDS, item)
    near: list[tuple[float, Denial]] = []
    for denial in denials:
        if (forbids and denial.what != PUT_OFF) or (denial.cue and denial.cue in item.lower()):
            continue
        part = share(terms, denial.terms)
        about = part + share(denial.topic, terms)
        least = ABSENT_FROM if denial.what == ABSENT else DENIED_FROM
        if part >= least and about >= NEAR_FROM:
            near.append((about, denial))
    return max(near, key=lambda entry: entry[0], default=None)


def _find_contradiction(item: _Item, scene: _Scene) -> _Verdict | None:
    """Return the sentence that claims for an item what never happened."""
    if not scene.evidence.complete:
        return None
    for sentence, terms in scene.told:
        if is_unsure(sentence, unless_in=item.text):
            continue
        reason = scene.claims.refute(sentence)
        if reason and (scene.claims.is_about(reason, item.text) or item.is_told_in(terms, asked=1)):
            return _Verdict(state=CONTRADICTED, quote=sentence, where=ANSWER, reason=reason)
    return None


def _find_done(item: _Item, scene: _Scene) -> _Verdict | None:
    """Return what was written or run that shows an item; what is forbidden is not shown by doing.

    What is to be removed is looked for among what was.
    """
    if re.search(_FORBIDS, item.text):
        return None
    removes = re.search(_REMOVES, item.text)
    for place in scene.removed if removes else scene.added:
        if place.earlier or place.failed:
            continue
        if removes:
            rest = frozenset(item.order[1:])
            is_shown = bool(rest) and share(rest, place.terms) >= SHOWN_FROM
        else:
            is_shown = item.is_told_in(place.terms)
        if is_shown:
            quote, where = place.find_line(item.terms)
            return _Verdict(state=SHOWN, quote=quote, where=where)
    return None


def _find_told(item: _Item, scene: _Scene) -> _Verdict | None:
    """Return the sentence or the code of the answer that says that an item was done."""
    forbids = bool(re.search(_FORBIDS, item.text))
    if scene.evidence.complete and not _is_borne_out(item, scene):
        return None
    for sentence, terms in scene.told:
        if not item.is_told_in(terms) or scene.claims.refute(sentence):
            continue
        is_kept = (
            re.search(_NEGATES, sentence)
            if forbids
            else not is_unsure(sentence, unless_in=item.text)
        )
        if not is_kept:
            continue
        return _Verdict(state=SHOWN, quote=sentence, where=ANSWER)
    for place in () if forbids else scene.code:
        if item.is_told_in(place.terms):
            quote, where = place.find_line(item.terms)
            return _Verdict(state=SHOWN, quote=quote, where=where)
    return None


def _is_borne_out(item: _Item, scene: _Scene) -> bool:
    return any(
        share(item.terms, place.terms) >= BORNE_OUT_FROM
        for place in (*scene.added, *scene.removed)
        if not place.failed
    )


@cache
def _light() -> frozenset[str]:
    return frozenset(analyze(_LIGHT))


def _words_of(item: str, terms: frozenset[str]) -> tuple[str, ...]:
    """Return the words of an item that give some terms, as it writes them."""
    words = re.findall(r"[^\W_](?:[\w'./-]*\w)?", item)
    return tuple(dict.fromkeys(word for word in words if terms & frozenset(analyze(word))))
