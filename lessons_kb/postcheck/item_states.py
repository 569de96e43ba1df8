"""After the answer: what became of each checklist item.

What an item asks for can be told in words that share nothing with it, and the same words can tell
of something else. Hence four states, of which only the sure ones are claims; the rest is open.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby, islice
from typing import NamedTuple

from lessons_kb.errors import InputError
from lessons_kb.model import (
    ANSWER,
    CLAIMED,
    COMMAND,
    CONTRADICTED,
    DENIED,
    DETECTED,
    NO_TEST_RUN,
    NO_TEST_WRITTEN,
    NOT_CHANGED,
    NOT_RUN,
    OPEN,
    SHOWN,
    TESTS_FAILED,
    Card,
    Check,
    CheckedItem,
    Command,
    DetectedLine,
    Edit,
    Evidence,
)
from lessons_kb.postcheck.claims import (
    ABSENT,
    PUT_OFF,
    Claims,
    Denial,
    find_denials,
    phrase,
    terms_of_phrases,
)
from lessons_kb.text.analyzer import analyze, get_share
from lessons_kb.text.diffs import parse_hunks
from lessons_kb.text.paths import FILE_NAMES
from lessons_kb.text.patterns import find_line
from lessons_kb.text.redact import redact
from lessons_kb.text.sentences import split_sentences
from lessons_kb.values import frozen

DONE, LEFT_OUT, NOT_NEEDED = "done", "left", "not needed"
MAX_CLOSINGS = 200
_CLOSING_LINE = re.compile(
    r"^[ \t>*#/<!+-]*[`*_]*(?:lessons[`*_]*[ \t]*:|(?=L\d{1,3}\.\d))[^\n]{1,4000}$",
    re.IGNORECASE | re.MULTILINE,
)
_CLOSING = re.compile(
    r"\bL?(\d{1,3})\.(\d{1,3})[`*]*[ \t:\u2013\u2014-]+(?:\[[xX]\]\s*)?"
    r"(?:(done)|(n/?a|not\s+needed)|left|open|skipped|not\s+done)\b[ \t:(\u2013\u2014-]*"
    r"((?:(?![;|\u00b7]|,\s*L?\d{1,3}\.\d{1,3}\b).){0,400})",
    re.IGNORECASE,
)
_PLACE = re.compile(r"([\w.@+~/\\-]+?\.\w+|[\w.@+~-]+(?:/[\w.@+~-]+)+)(?::(\d+))?(?=[\s,;.)`]|$)")


@frozen
class Closing:
    """What an agent says of one item when it ends."""

    state: str
    """DONE, LEFT_OUT or NOT_NEEDED."""
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
    lines = (line[0] for line in _CLOSING_LINE.finditer(answer))
    for match in islice((one for line in lines for one in _CLOSING.finditer(line)), MAX_CLOSINGS):
        card, place = cards.get(int(match[1]), ""), int(match[2])
        items = checklists.get(card, ())
        if not 1 <= place <= len(items):
            continue
        rest = match[5].strip()
        span = re.search(r"`([^`\n]+)`", rest)
        cited = span[1].strip() if span else rest
        file = _PLACE.fullmatch(cited) or (None if span else _PLACE.match(cited))
        found[card, items[place - 1]] = Closing(
            state=DONE if match[3] else NOT_NEEDED if match[4] else LEFT_OUT,
            line=match[0].strip(),
            path=file[1].replace("\\", "/").removeprefix("./") if file else "",
            number=int(file[2] or 0) if file else 0,
            command=cited if span and not file else "",
        )
    return found


MAX_ANSWER, MAX_EVIDENCE = 100_000, 400_000
"""Characters that are looked at."""
MAX_ITEM = 1_000
_REFUTED_FOR = {
    **dict.fromkeys((NO_TEST_RUN, TESTS_FAILED), "asks to run tests"),
    NO_TEST_WRITTEN: "asks for a test",
}
"""Reason → the phrases of an item that is refuted by its kind."""

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
_RAREST = 1e-3
"""Share of texts that hold a term which is in no table."""
_LEAST_WEIGHT = 0.1
_CHUNK_LINES, _CHUNK_OVERLAP = 12, 4
_FENCE = r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)"
_BLOCK_QUOTE = r"(?m)^[ \t]*>.*$"
_COMMENT = r"^\s*(?:#(?!!)|//|--(?!\w)|/?\*|<!--).*$|\b(?:TODO|FIXME)\b.*$"


def read_texts(texts: Iterable[str]) -> Evidence:
    r"""Return texts of what was done as evidence, nothing known of what else was done.

    A text of one line is a command, one that begins with the name of a file an edit of it; a patch
    is taken apart.
    """
    edits: list[Edit] = []
    commands: list[Command] = []
    for text in texts:
        first, newline, rest = text.partition("\n")
        name = first.strip()
        is_name = "." in name or "/" in name or name in FILE_NAMES
        if not newline or not rest.strip():
            commands.append(Command(line=text.strip()))
        elif is_patch(text):
            edits += read_patch(text)
        elif is_name and re.fullmatch(r"[\w.@+~/\\:-]+", name):
            edits += read_patch(rest, path=name)
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
    if not is_patch(text):
        marks = r"(?m)^\+" if path.endswith((".md", ".yml", ".yaml")) else r"(?m)^[+-]\s*\S"
        if not re.search(marks, text):
            return [Edit(path=path, text=text)]
        lines = [line for line in text.split("\n") if not line.startswith(("*** ", "@@", "\\ "))]
        after = [line.removeprefix("+") for line in lines if not line.startswith("-")]
        before = [line[1:] for line in lines if line.startswith("-")]
        return [Edit(path=path, text="\n".join(after), before="\n".join(before))]
    edits = []
    for name, group in groupby(parse_hunks(text, path=path), key=lambda hunk: hunk.path):
        hunks = list(group)
        added = [row for hunk in hunks for row in hunk.added()]
        removed = [line for hunk in hunks for mark, line in hunk.rows if mark == "-"]
        numbers = tuple(number for number, _line in added)
        if added or removed:
            edits.append(
                Edit(
                    path=name,
                    text="\n".join(line for _number, line in added),
                    before="\n".join(removed),
                    numbers=numbers if all(numbers) else (),
                )
            )
    return edits


def share(terms: frozenset[str], others: frozenset[str]) -> float:
    """Return the part of some terms, weighed by rarity, that is among others."""
    both = terms & others
    return sum(map(_weigh, both)) / sum(map(_weigh, terms)) if both else 0.0


@lru_cache(maxsize=10_000)
def _weigh(term: str) -> float:
    """Return what a term tells: 1 for a rare one, less the commoner it is anywhere."""
    known = get_share(term)
    return 1.0 if known is None else max(_LEAST_WEIGHT, math.log(known) / math.log(_RAREST))


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
    sought: list[_Item] = []
    for card in cards:
        patterns = card.shown_by or ("",) * len(card.checklist)
        pairs = [] if card.conditional else zip(card.checklist, patterns, strict=False)
        own = [(item, pattern) for item, pattern in pairs if pattern or is_check(item)]
        if any(line.card == card.id for line in detected) and all(
            is_about_tests(i) for i, _ in own
        ):
            own = [*own, (card.title, "")]  # the mistake then contradicts the card
        sought += (item for pair in own if (item := _Item(card, *pair)).order)
    # What a closing says is held against what happened, not believed.
    scene = _Scene(_CLOSING_LINE.sub("", answer) if closings else answer, evidence, sought)
    verdicts: dict[int, _Verdict] = {}
    for line in detected:  # of a card's items, the nearest in words
        terms = frozenset(analyze(line.quote))
        shares = {
            number: share(item.terms, terms)
            for number, item in enumerate(sought)
            if item.card.id == line.card and not is_about_tests(item.text)
        }
        nearest = max(shares, key=shares.__getitem__, default=-1)
        verdict = _Verdict(CONTRADICTED, line.quote.strip(), line.where, DETECTED)
        verdicts.setdefault(nearest, verdict)
    items = []
    for number, one in enumerate(sought):
        closing = (closings or {}).get((one.card.id, one.text))
        verdict = verdicts.get(number) or scene.judge(one, closing)
        missing = one.terms - scene.terms if verdict.state != SHOWN else frozenset()
        words = re.findall(r"[^\W_](?:[\w'./-]*\w)?", one.text) if missing else ()
        open_words = tuple(dict.fromkeys(w for w in words if not missing.isdisjoint(analyze(w))))
        items.append(
            CheckedItem(card=one.card, item=one.text, terms=open_words, **verdict._asdict())
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
    """Tell whether an item asks for something: a condition or a statement cannot be checked.

    A condition has no main clause; what follows a comma is one.
    """
    if phrase("is a condition").search(item):
        return False
    return not phrase("is a statement").search(item) or bool(phrase("asks").search(item))


def is_about_tests(item: str) -> bool:
    """Tell whether an item asks to write tests or run them: no line of a source tells of that."""
    return any(phrase(f"asks {what}").search(item) for what in ("to run tests", "for a test"))


class _Verdict(NamedTuple):
    state: str
    quote: str = ""
    where: str = ""
    reason: str = ""


class _Item:
    """An item that is looked for."""

    def __init__(self, card: Card, text: str, pattern: str) -> None:
        self.card, self.text, self.pattern = card, text, pattern
        self.order = tuple(dict.fromkeys(analyze(text[:MAX_ITEM])))
        """Its terms in order."""
        self.terms = frozenset(self.order)
        self.forbids = phrase("forbids").search(text) is not None
        """Whether it is kept by not doing something."""

    def is_told_in(self, terms: frozenset[str], *, asked: int = 2) -> bool:
        """Tell whether a place has enough of the item's words, what it asks to do among them.

        That is its first ``asked`` words, the verb and its object as a rule.
        """
        if len(self.order) < _LEAST_TERMS or share(self.terms, terms) < SHOWN_FROM:
            return False
        light = terms_of_phrases("words of any item")
        return terms.issuperset([term for term in self.order if term not in light][:asked])

    def is_unsure_in(self, sentence: str) -> bool:
        """Tell whether a sentence may say that something was not done.

        The words that the item itself uses say nothing of that.
        """
        own = self.text.lower()
        return any(found[0] not in own for found in phrase("unsure").finditer(sentence.lower()))


@frozen
class _Place:
    """Some text that may show an item."""

    terms: frozenset[str]
    lines: tuple[str, ...]
    where: str
    """ANSWER, COMMAND or a path."""
    numbers: tuple[int, ...] = ()
    """1-based line in the file of each of ``lines``; empty = not known."""
    counts: bool = True
    """It was done in this turn, without failing."""
    failed: bool = False

    def show(self, item: _Item) -> _Verdict:
        """Return the line that most of an item's terms stand in as what shows it."""
        shares = [share(item.terms, frozenset(analyze(line))) for line in self.lines]
        best = max(range(len(shares)), key=shares.__getitem__)
        return _Verdict(SHOWN, self.lines[best].strip(), _locate(self.where, self.numbers, best))


def _locate(where: str, numbers: Sequence[int], place: int) -> str:
    """Return ``path:line`` if the line is known."""
    return f"{where}:{numbers[place]}" if where and place < len(numbers) else where


def _chunks(
    where: str, text: str, numbers: Sequence[int] = (), *, counts: bool = True
) -> Iterator[_Place]:
    """Yield some lines of a text at a time, without comments: they do nothing."""
    if not text.strip():
        return
    name = frozenset(analyze(where)) if where != ANSWER else frozenset()
    lines = [re.sub(_COMMENT, "", line) for line in text.split("\n")]
    for start in range(0, len(lines), _CHUNK_LINES):
        part = slice(start, start + _CHUNK_LINES + _CHUNK_OVERLAP)
        own, placed = tuple(lines[part]), tuple(numbers[part])
        terms = name | frozenset(analyze("\n".join(own)))
        yield _Place(terms=terms, lines=own, where=where, numbers=placed, counts=counts)


class _Scene:
    """Everything that items are looked for in: an answer, and what was done."""

    def __init__(self, answer: str, evidence: Evidence, sought: Iterable[_Item]) -> None:
        self._claims = Claims(evidence)
        self._evidence = evidence = _cut(evidence)
        answer = answer[:MAX_ANSWER]
        # A block quote is what somebody else said.
        prose = re.sub(_BLOCK_QUOTE, "", re.sub(_FENCE, "", answer))
        self._told = [(one, frozenset(analyze(one))) for one in split_sentences(prose)]
        about = frozenset[str]().union(*(item.terms for item in sought))
        self._denials = find_denials(self._told, about)
        fences = (fence[0].strip("\n") for fence in re.finditer(_FENCE, answer))
        self._code = [place for text in fences for place in _chunks(ANSWER, text)]
        self._added: list[_Place] = []
        self._removed: list[_Place] = []
        for edit in evidence.edits:
            is_new = not edit.earlier
            self._added += _chunks(edit.path, edit.text, edit.numbers, counts=is_new)
            self._removed += _chunks(edit.path, edit.before, counts=is_new)
        self._added += (
            _Place(
                terms=frozenset(analyze(command.line)),
                lines=(command.line,),
                where=COMMAND,
                counts=not command.earlier and not command.failed,
                failed=command.failed,
            )
            for command in evidence.commands
            if command.line.strip()
        )
        self.terms = frozenset[str]().union(
            *(terms for _sentence, terms in self._told),
            *(place.terms for place in (*self._code, *self._added)),
        )

    def judge(self, item: _Item, closing: Closing | None) -> _Verdict:
        """Return the state of an item, from the surest sign to none."""
        if item.pattern and (found := self._find_pattern(item.pattern)):
            return found
        if closing:
            return self._verify(closing, item)
        shown = self._find_done(item) or self._find_told(item)
        near, denial = self._find_denial(item)
        if denial and (shown is None or near >= SURE_FROM):
            return _Verdict(DENIED, denial.sentence, ANSWER)
        if not denial and (found := self._find_contradiction(item) or shown):
            return found
        nearest = max(self._told, key=lambda one: share(item.terms, one[1]), default=None)
        if nearest is None or item.terms.isdisjoint(nearest[1]):
            return _Verdict(OPEN)
        return _Verdict(OPEN, nearest[0], ANSWER)

    def _find_pattern(self, pattern: str) -> _Verdict | None:
        """Return the line, the file or the command that an item's own pattern is found in.

        Comments count: whoever wrote the pattern knows what shows the item.
        """
        for edit in self._evidence.edits:
            if edit.earlier:
                continue
            lines = edit.text.split("\n")
            if (place := find_line(pattern, lines)) is not None:
                where = _locate(edit.path, edit.numbers, place)
                return _Verdict(SHOWN, lines[place].strip(), where)
            if edit.path and find_line(pattern, (edit.path,)) is not None:
                return _Verdict(SHOWN, edit.path, edit.path)
        for command in self._evidence.commands:
            usable = not command.earlier and not command.failed
            if usable and find_line(pattern, (command.line,)) is not None:
                return _Verdict(SHOWN, command.line, COMMAND)
        return None

    def _verify(self, closing: Closing, item: _Item) -> _Verdict:
        """Hold a closing against what happened; what nothing speaks for or against is a claim."""
        if closing.state == LEFT_OUT:
            return _Verdict(DENIED, closing.line, ANSWER)
        claimed = _Verdict(CLAIMED, closing.line, ANSWER)
        if closing.state == NOT_NEEDED:
            return claimed
        happened, reason, where = False, self._claims.refute_done(item.text), COMMAND
        if not reason and closing.path:
            happened, reason = self._claims.touches(closing.path), NOT_CHANGED
            where = _locate(closing.path, (closing.number,) if closing.number else (), 0)
        elif not reason and closing.command:
            happened, reason = self._claims.ran(closing.command), NOT_RUN
        if happened:  # a file that was written does not show that something ran
            ran = where == COMMAND or not phrase("asks to run").search(item.text)
            return _Verdict(SHOWN, closing.command or closing.line, where) if ran else claimed
        if reason and self._evidence.complete:
            return _Verdict(CONTRADICTED, closing.line, ANSWER, reason)
        return claimed

    def _find_done(self, item: _Item) -> _Verdict | None:
        """Return what was written or run that shows an item; what is forbidden is not so shown.

        What is to be removed is looked for among what was.
        """
        removes = phrase("removes").search(item.text)
        rest = frozenset(item.order[1:])
        for place in () if item.forbids else self._removed if removes else self._added:
            if place.counts and (
                share(rest, place.terms) >= SHOWN_FROM if removes else item.is_told_in(place.terms)
            ):
                return place.show(item)
        return None

    def _find_told(self, item: _Item) -> _Verdict | None:
        """Return the sentence or the code of the answer that says that an item was done.

        Of complete evidence something that was done has to bear it out.
        """
        if self._evidence.complete and not any(
            share(item.terms, place.terms) >= BORNE_OUT_FROM
            for place in (*self._added, *self._removed)
            if not place.failed
        ):
            return None
        for sentence, terms in self._told:
            if not item.is_told_in(terms) or self._claims.refute(sentence):
                continue
            if (
                phrase("negates").search(sentence)
                if item.forbids
                else not item.is_unsure_in(sentence)
            ):
                return _Verdict(SHOWN, sentence, ANSWER)
        code = (place for place in self._code if item.is_told_in(place.terms))
        place = None if item.forbids else next(code, None)
        return place.show(item) if place else None

    def _find_denial(self, item: _Item) -> tuple[float, Denial | None]:
        """Return how nearly which clause says of an item that it was not done.

        What an item forbids is kept by not doing it: that may only be put off.
        """
        near: list[tuple[float, Denial | None]] = []
        for denial in self._denials:
            is_own = denial.cue and denial.cue in item.text.lower()
            if is_own or (denial.what != PUT_OFF and item.forbids):
                continue
            part = share(item.terms, denial.terms)
            about = part + share(denial.topic, item.terms)
            least = ABSENT_FROM if denial.what == ABSENT else DENIED_FROM
            if part >= least and about >= NEAR_FROM:
                near.append((about, denial))
        return max(near, key=lambda entry: entry[0], default=(0.0, None))

    def _find_contradiction(self, item: _Item) -> _Verdict | None:
        """Return the sentence that claims for an item what never happened."""
        for sentence, terms in self._told if self._evidence.complete else ():
            if item.is_unsure_in(sentence) or not (reason := self._claims.refute(sentence)):
                continue
            asks = _REFUTED_FOR.get(reason)  # what is refuted is then what the item asks for
            if (asks and phrase(asks).search(item.text)) or item.is_told_in(terms, asked=1):
                return _Verdict(CONTRADICTED, sentence, ANSWER, reason)
        return None


def _cut(evidence: Evidence) -> Evidence:
    """Return evidence of at most MAX_EVIDENCE characters."""
    left = MAX_EVIDENCE

    def cut(text: str) -> str:
        nonlocal left
        text = text[:left]
        left -= len(text)
        return text

    edits = (replace(one, text=cut(one.text), before=cut(one.before)) for one in evidence.edits)
    commands = (replace(one, line=cut(one.line)) for one in evidence.commands)
    return replace(evidence, edits=tuple(edits), commands=tuple(commands))


MAX_TEXT = 100_000
"""Characters of the answer, and of each edit and command."""


def format_request(check: Check, answer: str, evidence: Evidence) -> str:
    """Return what the program reads, without secrets: items, answer, edits, commands as JSON."""

    def safe(text: str) -> str:
        return redact(text)[:MAX_TEXT]

    request = {
        "items": [
            {"id": str(number), "card": item.card.title, "item": item.item, "state": item.state}
            for number, item in enumerate(check.items, 1)
        ],
        "answer": safe(answer),
        "edits": [
            {"path": redact(edit.path), "text": safe(edit.text), "before": safe(edit.before)}
            for edit in evidence.edits
            if not edit.earlier
        ],
        "commands": [
            {"line": safe(command.line), "failed": command.failed}
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
        rows = json.loads(output)["items"]
        verdicts = {str(row["id"]): (row["state"], row.get("quote", "")) for row in rows}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise InputError('its output is not {"items": [{"id": …, "state": …}]}') from None
    known = {str(number): item for number, item in enumerate(check.items, 1)}
    for name, (state, quote) in verdicts.items():
        if name not in known or state not in (SHOWN, DENIED, OPEN) or not isinstance(quote, str):
            raise InputError(f"its verdict on item {name[:20]!r} is not shown, denied or open")
        item = known[name]
        where = ANSWER if quote and quote in answer else ""
        # Nobody is told that something was not done without the agent's own words.
        if item.state not in (CONTRADICTED, state) and (where or state != DENIED):
            known[name] = replace(
                item, state=state, quote=quote if where else redact(quote), where=where, terms=()
            )
    return replace(check, items=tuple(known.values()))
