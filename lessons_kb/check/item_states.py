"""After the answer: what became of each checklist item.

What an item asks for can be told in words that share nothing with it, and the same words can tell
of something else. Hence four states, of which only the sure ones are claims; the rest is open.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from lessons_kb.check.claims import ABSENT, PUT_OFF, Claims, Denial, find_denials
from lessons_kb.errors import InputError
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
    Command,
    DetectedLine,
    Edit,
    Evidence,
)
from lessons_kb.text.analyzer import analyze, get_share
from lessons_kb.text.paths import FILE_NAMES
from lessons_kb.text.patterns import find_line
from lessons_kb.text.redact import redact
from lessons_kb.text.sentences import split_sentences

DONE, LEFT = "done", "left"
REQUEST = (
    "Close each item in your last message, one line each, citing a file or a command: "
    "L1.2 done src/bot.py:41 (or L1.2 left: why)"
)
"""What the block asks for."""
MAX_CLOSINGS = 200
_CLOSING = re.compile(
    r"^[ \t>*+-]*[`*]*L(\d{1,3})\.(\d{1,3})[`*]*[ \t:\u2013\u2014-]+"
    r"(?:\[[xX]\]\s*)?(done|left|open|skipped|not\s+done|n/a)\b[ \t:\u2013\u2014-]*([^\n]{0,400})$",
    re.IGNORECASE | re.MULTILINE,
)
_PLACE = re.compile(r"([\w.@+~/\\-]+?\.\w+|[\w.@+~-]+(?:/[\w.@+~-]+)+)(?::(\d+))?(?=[\s,;.)`]|$)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Closing:
    """What an agent says of one item when it ends."""

    state: str
    """DONE or LEFT."""
    line: str
    """As it was written."""
    path: str = ""
    """The file it cites, POSIX, "" if none."""
    number: int = 0
    """The line in it, 0 if none."""
    command: str = ""
    """The command it cites, "" if none."""


def read_closings(
    answer: str, cards: Mapping[int, str], checklists: Mapping[str, Sequence[str]]
) -> dict[tuple[str, str], Closing]:
    """Return (card id, item) → how an answer closes it; of several the last counts.

    ``cards`` maps a lesson's number in the block to its id, ``checklists`` an id to its items.
    """
    found: dict[tuple[str, str], Closing] = {}
    for number, match in enumerate(_CLOSING.finditer(answer)):
        card = cards.get(int(match[1]), "")
        items = checklists.get(card, ())
        place = int(match[2])
        if number < MAX_CLOSINGS and 1 <= place <= len(items):
            found[card, items[place - 1]] = _closing(match)
    return found


def without_closings(answer: str) -> str:
    """Return an answer without its closings: they are held against what happened, not believed."""
    return _CLOSING.sub("", answer)


def _closing(match: re.Match[str]) -> Closing:
    state = DONE if match[3].lower() == "done" else LEFT
    line, rest = match[0].strip(), match[4].strip()
    span = re.search(r"`([^`\n]+)`", rest)
    cited = span[1].strip() if span else rest
    place = _PLACE.fullmatch(cited) or (None if span else _PLACE.match(cited))
    if place:
        path = place[1].replace("\\", "/").removeprefix("./")
        return Closing(state=state, line=line, path=path, number=int(place[2] or 0))
    return Closing(state=state, line=line, command=cited if span else "")


MAX_ANSWER, MAX_EVIDENCE = 100_000, 400_000
"""Characters that are looked at."""

_RAREST = 1e-3
"""Share of texts that hold a term which is in no table."""
_LEAST_WEIGHT = 0.1
_CHUNK_LINES, _CHUNK_OVERLAP = 12, 4
_FENCE = r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)"
_BLOCK_QUOTE = r"(?m)^[ \t]*>.*$"
_COMMENT = r"^\s*(?:#(?!!)|//|--(?!\w)|/?\*|<!--).*$|\b(?:TODO|FIXME)\b.*$"
_UNSURE = (
    r"\b(?:not|no|never|nothing|none|neither|nor|without|only|could|would|should|might|may|wanted|"
    r"thought|except|remains?|still|left|leave|missing|lacks?|unchanged|instead\s+of|todo|later|"
    r"next|separate|follow-?up|by\s+hand|skip(?:ped|s)?|plan(?:ned)?|if\s+you)\b|n['\u2019]t\b|\?|"
    "않|못|없|아직|나중|예정|생략|ません|まだ|没|未"
)
"""A sentence with one of these words may say that something was not done."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Some text that may show an item."""

    terms: frozenset[str]
    lines: tuple[str, ...]
    where: str
    """ANSWER, COMMAND or a path."""
    numbers: tuple[int, ...] = ()
    """1-based line in the file of each of ``lines``; empty = not known."""
    earlier: bool = False
    failed: bool = False

    def find_line(self, terms: frozenset[str]) -> tuple[str, str]:
        """Return the line that most of some terms stand in, and where it stands."""
        shares = [share(terms, frozenset(analyze(line))) for line in self.lines]
        best = max(range(len(shares)), key=shares.__getitem__, default=0)
        quote = self.lines[best].strip() if self.lines else ""
        return quote, locate(self.where, self.numbers, best)


def locate(where: str, numbers: Sequence[int], place: int) -> str:
    """Return ``path:line`` if the line is known."""
    return f"{where}:{numbers[place]}" if where and place < len(numbers) else where


def read_answer(answer: str) -> tuple[list[tuple[str, frozenset[str]]], list[Place]]:
    """Return the sentences of an answer with their terms, and its fenced code as places.

    A block quote is what somebody else said.
    """
    answer = answer[:MAX_ANSWER]
    code = [fence[0].strip("\n") for fence in re.finditer(_FENCE, answer)]
    prose = re.sub(_BLOCK_QUOTE, "", re.sub(_FENCE, "", answer))
    told = [(s, frozenset(analyze(s))) for s in split_sentences(prose)]
    return told, [place for text in code for place in _chunks(ANSWER, text)]


def read_done(evidence: Evidence) -> tuple[list[Place], list[Place]]:
    """Return what was added or run, and what was removed, as places."""
    added: list[Place] = []
    removed: list[Place] = []
    left = MAX_EVIDENCE
    for edit in evidence.edits:
        added += _chunks(edit.path, edit.text[:left], edit.numbers, edit.earlier)
        left = max(0, left - len(edit.text))
        removed += _chunks(edit.path, edit.before[:left], (), edit.earlier)
        left = max(0, left - len(edit.before))
    for command in evidence.commands:
        line = command.line[:left]
        left = max(0, left - len(line))
        if line.strip():
            place = Place(
                terms=frozenset(analyze(line)),
                lines=(line,),
                where=COMMAND,
                earlier=command.earlier,
                failed=command.failed,
            )
            added.append(place)
    return added, removed


def read_texts(texts: Iterable[str]) -> Evidence:
    r"""Return texts of what was done as evidence, nothing known of what else was done.

    A text of one line is a command, one that begins with the name of a file an edit of it; a patch
    is taken apart.
    """
    edits: list[Edit] = []
    commands: list[Command] = []
    for text in texts:
        first, newline, rest = text.partition("\n")
        if not newline or not rest.strip():
            commands.append(Command(line=text.strip()))
        elif is_patch(text):
            edits += read_patch(text)
        elif _is_name(first):
            edits += [*read_patch(rest, path=first.strip())]
        else:
            edits.append(Edit(path="", text=text))
    return Evidence(edits=tuple(edits), commands=tuple(commands))


def is_patch(text: str) -> bool:
    """Tell whether a text is a patch, of git or of an agent."""
    return re.search(r"(?m)^(?:\*\*\* Begin Patch|@@ -\d+)", text) is not None


def read_patch(text: str, *, path: str = "") -> list[Edit]:
    """Return the edits of a patch; of any other text one edit of ``path``.

    Lines that begin with ``-`` and ``+`` in the text of an edit were removed and added.
    """
    marks = r"(?m)^\+" if path.endswith((".md", ".yml", ".yaml")) else r"(?m)^[+-]\s*\S"
    is_git = re.search(r"(?m)^@@ -\d+", text) is not None
    if not is_patch(text) and not re.search(marks, text):
        return [Edit(path=path, text=text)]
    edits: list[Edit] = []
    added: list[tuple[int, str]] = []
    removed: list[str] = []
    number = old = new = 0

    def close() -> None:
        if added or removed:
            numbers = tuple(at for at, _line in added) if all(at for at, _ in added) else ()
            lines = "\n".join(line for _at, line in added)
            edit = Edit(path=path, text=lines, before="\n".join(removed), numbers=numbers)
            edits.append(edit)
        added.clear()
        removed.clear()

    for line in text.split("\n"):
        inside = old > 0 or new > 0 or not is_git
        if name := re.match(_AGENTS if inside else _GITS, line):
            close()
            path = path if name[1] == "/dev/null" else name[1].strip()
        elif hunk := re.match(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))?", line):
            number = int(hunk[2])
            old, new = (1 if count is None else int(count) for count in (hunk[1], hunk[3]))
        elif (is_git and not inside) or line.startswith(("*** ", "@@", "\\ ")):
            continue
        elif line.startswith("-"):
            removed.append(line[1:])
            old -= 1
        else:
            is_added = line.startswith("+")
            if is_added or not is_patch(text):
                added.append((number, line.removeprefix("+")))
            number += number > 0
            old, new = old - (not is_added), new - 1
    close()
    return edits


_AGENTS = r"\*\*\* (?:Update|Add|Delete) File: (.*)"
_GITS = r"(?:\+\+\+|---) (?:[ab]/)?([^\t]*)"


def share(terms: frozenset[str], others: frozenset[str]) -> float:
    """Return the part of some terms, weighed by rarity, that is among others."""
    both = terms & others
    return sum(map(_weigh, both)) / sum(map(_weigh, terms)) if both else 0.0


@cache
def _unsure() -> re.Pattern[str]:
    return re.compile(_UNSURE)


def is_unsure(sentence: str, *, unless_in: str = "") -> bool:
    """Tell whether a sentence may say that something was not done.

    The words that the item itself uses say nothing of that.
    """
    item = unless_in.lower()
    return any(found[0] not in item for found in _unsure().finditer(sentence.lower()))


def _chunks(
    where: str, text: str, numbers: Sequence[int] = (), earlier: bool = False
) -> Iterator[Place]:
    """Yield some lines of a text at a time, without comments: they do nothing."""
    if not text.strip():
        return
    name = frozenset(analyze(where)) if where != ANSWER else frozenset()
    lines = [re.sub(_COMMENT, "", line) for line in text.split("\n")]
    for start in range(0, len(lines), _CHUNK_LINES):
        end = start + _CHUNK_LINES + _CHUNK_OVERLAP
        own = tuple(lines[start:end])
        terms = name | frozenset(analyze("\n".join(own)))
        placed = tuple(numbers[start:end])
        yield Place(terms=terms, lines=own, where=where, numbers=placed, earlier=earlier)


def _is_name(line: str) -> bool:
    name = line.strip()
    named = "." in name or "/" in name or name in FILE_NAMES
    return named and re.fullmatch(r"[\w.@+~/\\:-]+", name) is not None


@lru_cache(maxsize=10_000)
def _weigh(term: str) -> float:
    """Return what a term tells: 1 for a rare one, less the commoner it is anywhere."""
    known = get_share(term)
    return 1.0 if known is None else max(_LEAST_WEIGHT, math.log(known) / math.log(_RAREST))


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


MAX_TEXT = 100_000
"""Characters of the answer, and of each edit and command."""


def format_request(check: Check, answer: str, evidence: Evidence) -> str:
    """Return what the program reads, without secrets: items, answer, edits, commands as JSON."""
    request = {
        "items": [
            {"id": str(number), "card": item.card.title, "item": item.item, "state": item.state}
            for number, item in enumerate(check.items, 1)
        ],
        "answer": redact(answer)[:MAX_TEXT],
        "edits": [
            {
                "path": redact(edit.path),
                "text": redact(edit.text)[:MAX_TEXT],
                "before": redact(edit.before)[:MAX_TEXT],
            }
            for edit in evidence.edits
            if not edit.earlier
        ],
        "commands": [
            {"line": redact(command.line)[:MAX_TEXT], "failed": command.failed}
            for command in evidence.commands
            if not command.earlier
        ],
    }
    return json.dumps(request, ensure_ascii=False)


def read_verdicts(check: Check, output: str, answer: str) -> Check:
    """Return a check with the states that a program printed; see ``format_request``.

    What is contradicted is a fact and stays. A denied item needs the answer's own words as its
    ``quote``. Raises InputError, one line, for anything else than the JSON that was asked for.
    """
    try:
        told = json.loads(output)
        rows = told["items"]
        verdicts = {str(row["id"]): (row["state"], row.get("quote", "")) for row in rows}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise InputError('its output is not {"items": [{"id": …, "state": …}]}') from None
    known = {str(number) for number in range(1, len(check.items) + 1)}
    for name, (state, quote) in verdicts.items():
        if name not in known or state not in (SHOWN, DENIED, OPEN) or not isinstance(quote, str):
            raise InputError(f"its verdict on item {name[:20]!r} is not shown, denied or open")
    items = (
        _judged(item, verdicts, str(number), answer) for number, item in enumerate(check.items, 1)
    )
    return replace(check, items=tuple(items))


def _judged(
    item: CheckedItem, verdicts: Mapping[str, tuple[str, str]], name: str, answer: str
) -> CheckedItem:
    state, quote = verdicts.get(name, (item.state, ""))
    if item.state in (CONTRADICTED, state):
        return item
    where = ANSWER if quote and quote in answer else ""
    if state == DENIED and not where:
        return item  # nobody is told that something was not done without the agent's own words
    return replace(item, state=state, quote=quote, where=where, terms=())
