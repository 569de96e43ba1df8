"""Find the state of each checklist item after an answer.

An answer may describe the work for an item in entirely different words, or use the same words for
something else. Therefore only certain results get a state, and all other items stay *open*.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
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
from lessons_kb.postcheck.closing_line import LEFT_OUT, NOT_NEEDED, Closing, remove_closing_lines
from lessons_kb.text.analyzer import analyze, find_names, get_share
from lessons_kb.text.diffs import parse_hunks
from lessons_kb.text.paths import FILE_NAMES, find_paths
from lessons_kb.text.patterns import find_line
from lessons_kb.text.redact import redact
from lessons_kb.text.sentences import split_sentences
from lessons_kb.values import frozen, replace

MAX_ANSWER, MAX_EVIDENCE = 100_000, 400_000
"""The maximum numbers of characters that are searched."""
MAX_ITEM = 1_000
_REFUTED_FOR = {
    **dict.fromkeys((NO_TEST_RUN, TESTS_FAILED), "asks to run tests"),
    NO_TEST_WRITTEN: "asks for a test",
}
"""Mapping from each reason to the phrases of the items that it refutes."""
_REFUTED_UNLESS_SHOWN = {NO_TEST_RUN: "asks for a test"}
"""The same for items that nothing else shows: tests that nobody wrote or ran did not pass."""

SHOWN_FROM = 0.5
"""The share of an item's terms, weighted by rarity, that a sentence or code must contain to show
the item. The words for the action must be among them."""
SUPPORTED_FROM = 0.1
"""The share of an item's terms that an edit or a command must contain to support a sentence."""
DENIED_FROM = 0.2
"""The minimum share of an item's terms in a clause that denies it."""
NEAR_FROM = 0.6
"""The minimum sum of that share and of the share of the clause's topic in the item."""
SURE_FROM = 1.0
"""The minimum sum if something else shows that the item was done."""
ABSENT_FROM = 0.6
"""The minimum share of an item's terms in a clause which states that something does not exist."""

_LEAST_TERMS = 2
"""The minimum number of terms, because a single word could occur anywhere."""
_RAREST = 1e-3
"""The assumed share of texts that contain a term which is not in any table."""
_LEAST_WEIGHT = 0.1
_CHUNK_LINES, _CHUNK_OVERLAP = 12, 4
_FENCE = r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)"
_BLOCK_QUOTE = r"(?m)^[ \t]*>.*$"
_USED = re.compile(
    r"(?i)\b(?:us(?:e|es|ing)|with|via|through|by|call(?:s|ing)?)\s+(?:the\s+|an?\s+)?`?([\w.]+)"
)
"""Matches the name of code that an item asks to use."""
_REPLACED = re.compile(r"(?i)\b(?:instead\s+of|rather\s+than|not)\b.*")
_IDENTIFIER = re.compile(r"[a-z][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]")
_COMMENT = r"^\s*(?:#(?!!)|//|--(?!\w)|/?\*|<!--).*$|\b(?:TODO|FIXME)\b.*$"


def read_texts(texts: Iterable[str]) -> Evidence:
    r"""Parse texts about the work as evidence, which is incomplete.

    A text of one line is a command. A text that begins with the name of a file is an edit of it. A
    patch is split into edits.
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
    """Return whether a text is a patch of git or of an agent."""
    return re.search(r"(?m)^(?:\*\*\* Begin Patch|@@ -\d+)", text) is not None


def read_patch(text: str, *, path: str = "") -> list[Edit]:
    """Return the edits of a patch. Any other text is a single edit of ``path``.

    Lines that begin with ``-`` or ``+`` in its text are removed or added lines.
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
    """Return the share of ``terms`` that is among ``others``, weighted by rarity (0 to 1)."""
    both = terms & others
    return sum(map(_weigh, both)) / sum(map(_weigh, terms)) if both else 0.0


@lru_cache(maxsize=10_000)
def _weigh(term: str) -> float:
    """Return the weight of a term, which is 1 for a rare term and less for a common term."""
    frequency = get_share(term)
    if frequency is None:
        return 1.0
    return max(_LEAST_WEIGHT, math.log(frequency) / math.log(_RAREST))


def check_items(
    cards: Sequence[Card],
    answer: str,
    evidence: Evidence,
    detected: Sequence[DetectedLine] = (),
    closings: Mapping[tuple[str, str], Closing] | None = None,
) -> Check:
    """Return the state of each checklist item of some cards.

    An item is *contradicted* by a match in ``detected``, or by a claim in the answer that the
    evidence refutes. It is *denied* by a sentence of the answer. It is *shown* by a match of its
    ``shown-by`` pattern, or by an edit, a command or a sentence that contains enough of its words,
    those for the action among them. If the evidence is complete, a sentence also needs support by
    an edit or a command. Conditions, statements, items without a searchable word and the items of
    conditional cards are left out. The title stands for a card with a match in
    ``detected`` if no item of the card can be contradicted by a line of source. ``terms`` of an
    item that is not shown are its words that occur nowhere in the answer and the evidence.
    ``closings`` maps (card id, item) to a statement; the cited file must have been changed, or the
    cited command run.
    """
    closings = closings or {}
    places: dict[str, set[str]] = {}
    for line in detected:
        places.setdefault(line.card, set()).add(line.where)
    sought: list[_Item] = []
    for card in cards:
        sought += _collect_items(card, detected_at=places.get(card.id, ()))
    # Closing statements are compared with the evidence, and are no evidence themselves.
    scene = _Scene(remove_closing_lines(answer) if closings else answer, evidence, sought)
    verdicts = _match_detected_lines(detected, sought)
    items: list[CheckedItem] = []
    for number, item in enumerate(sought):
        verdict = verdicts.get(number)
        if verdict is None:
            verdict = scene.judge(item, closings.get((item.card.id, item.text)))
        open_words: tuple[str, ...] = ()
        if verdict.state != SHOWN:
            open_words = _find_open_words(item, scene.terms)
        items.append(
            CheckedItem(card=item.card, item=item.text, terms=open_words, **verdict._asdict())
        )
    return Check(items=tuple(items))


def _collect_items(card: Card, *, detected_at: Collection[str]) -> list[_Item]:
    """Return the items of a card that can be checked; none of a conditional card.

    If the card's mistake is ``detected_at`` places where no item can be contradicted, the title is
    added as an item, so that the mistake contradicts the card.
    """
    texts: list[tuple[str, str]] = []
    if not card.conditional:
        patterns = card.shown_by or ("",) * len(card.checklist)
        for text, pattern in zip(card.checklist, patterns, strict=False):
            if pattern or is_check(text):
                texts.append((text, pattern))
    is_source = any(place != COMMAND for place in detected_at)
    can_contradict = [text for text, _pattern in texts if not (is_source and is_about_tests(text))]
    if detected_at and not can_contradict:
        texts.append((card.title, ""))
    items = [_Item(card, text, pattern) for text, pattern in texts]
    return [item for item in items if item.order]


def _match_detected_lines(
    detected: Sequence[DetectedLine], items: Sequence[_Item]
) -> dict[int, _Verdict]:
    """Return number of each contradicted item → verdict with the first line that contradicts it.

    A line contradicts the item of its card that is nearest in words. Items about tests are not
    contradicted by a line of source, but by a command.
    """
    verdicts: dict[int, _Verdict] = {}
    for line in detected:
        terms = frozenset(analyze(line.quote))
        shares: dict[int, float] = {}
        for number, item in enumerate(items):
            if item.card.id != line.card:
                continue
            if line.where == COMMAND or not is_about_tests(item.text):
                shares[number] = share(item.terms, terms)
        if shares:
            nearest = max(shares, key=shares.__getitem__)
            verdict = _Verdict(CONTRADICTED, line.quote.strip(), line.where, DETECTED)
            verdicts.setdefault(nearest, verdict)
    return verdicts


def _find_open_words(item: _Item, terms: frozenset[str]) -> tuple[str, ...]:
    """Return the words of an item with a term that is not among ``terms``, each once, in order."""
    missing = item.terms - terms
    if not missing:
        return ()
    open_words: dict[str, None] = {}
    for word in re.findall(r"[^\W_](?:[\w'./-]*\w)?", item.text):
        if not missing.isdisjoint(analyze(word)):
            open_words[word] = None
    return tuple(open_words)


def find_unaddressed_items(
    answer: str, cards: Sequence[Card], evidence: Sequence[str] = ()
) -> Check:
    """Check an answer against texts about the agent's work.

    ``evidence`` are edits (a path and the new text, or a diff) and commands, one string each. It
    counts as incomplete, so that no claim is contradicted. ``unaddressed`` of the result contains
    all items that are not shown.
    """
    return check_items(cards, answer, read_texts(evidence))


def is_check(item: str) -> bool:
    """Return whether an item asks for an action. Conditions and statements cannot be checked.

    A condition has no main clause; text after a comma counts as a main clause.
    """
    if phrase("is a condition").search(item):
        return False
    return not phrase("is a statement").search(item) or bool(phrase("asks").search(item))


def is_about_tests(item: str) -> bool:
    """Return whether an item asks to write or run tests, which a line of source cannot show."""
    return any(phrase(f"asks {action}").search(item) for action in ("to run tests", "for a test"))


def _asks_to_write_test(item: str) -> bool:
    asks_to_run = phrase("asks to run tests").search(item)
    return not asks_to_run and phrase("asks for a test").search(item) is not None


class _Verdict(NamedTuple):
    state: str
    quote: str = ""
    where: str = ""
    reason: str = ""


class _Item:
    """An item to be checked."""

    def __init__(self, card: Card, text: str, pattern: str) -> None:
        self.card, self.text, self.pattern = card, text, pattern
        self.order = tuple(dict.fromkeys(analyze(text[:MAX_ITEM])))
        """The terms of the item in order."""
        self.terms = frozenset(self.order)
        self.forbids = phrase("forbids").search(text) is not None
        """Whether the item forbids something, so that nothing has to be done for it."""
        wanted = _REPLACED.sub("", _remove_paths(text))
        self.names = sorted(filter(_IDENTIFIER.search, find_names(wanted)))
        """The identifiers in the item, without those that it wants to be replaced."""
        used = [match[1].rstrip(".") for match in _USED.finditer(wanted)]
        self.asks_to_use = not set(used).isdisjoint(self.names)
        """Whether the item asks to use one of these names."""

    def is_told_in(self, terms: frozenset[str], *, action_words: int = 2) -> bool:
        """Return whether the terms of a text contain enough of the item's words.

        The words for the action must be among them: the first ``action_words`` words, usually the
        verb and its object. Words that any item may have are not counted among these.
        """
        if len(self.order) < _LEAST_TERMS or share(self.terms, terms) < SHOWN_FROM:
            return False
        light = terms_of_phrases("words of any item")
        own = [term for term in self.order if term not in light]
        return terms.issuperset(own[:action_words])

    def is_unsure_in(self, sentence: str) -> bool:
        """Return whether a sentence may say that something was not done.

        Words such as "not" do not count if the item itself contains them.
        """
        item = self.text.lower()
        return any(word[0] not in item for word in phrase("unsure").finditer(sentence.lower()))


def _remove_paths(text: str) -> str:
    """Return a text without the paths of files, whose names are not used in code."""
    for path in find_paths(text):
        text = text.replace(path, " ")
    return text


@frozen
class _Place:
    """A text that may show an item."""

    terms: frozenset[str]
    lines: tuple[str, ...]
    where: str
    """ANSWER, COMMAND or a path."""
    numbers: tuple[int, ...] = ()
    """The 1-based line number in the file of each of ``lines``; empty if unknown."""
    counts: bool = True
    """Whether it was done in this turn and did not fail."""
    failed: bool = False

    def show(self, item: _Item) -> _Verdict:
        """Return the verdict that an item is shown, with the line that has most of its terms."""
        shares = [share(item.terms, frozenset(analyze(line))) for line in self.lines]
        best = max(range(len(shares)), key=shares.__getitem__)
        return _Verdict(SHOWN, self.lines[best].strip(), _locate(self.where, self.numbers, best))


def _locate(path: str, numbers: Sequence[int], index: int) -> str:
    """Return ``path:line`` if the line number is available, or else the path."""
    return f"{path}:{numbers[index]}" if path and index < len(numbers) else path


def _chunks(
    where: str, text: str, numbers: Sequence[int] = (), *, counts: bool = True
) -> Iterator[_Place]:
    """Yield a text in overlapping chunks of lines. Comments are removed, because they have no
    effect.
    """
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
    """The texts in which items are searched: the answer, the edits and the commands."""

    def __init__(self, answer: str, evidence: Evidence, sought: Iterable[_Item]) -> None:
        self._claims = Claims(evidence)
        self._evidence = evidence = _cut(evidence)
        answer = answer[:MAX_ANSWER]
        # A block quote was written by somebody else.
        prose = re.sub(_BLOCK_QUOTE, "", re.sub(_FENCE, "", answer))
        self._told = [
            (sentence, frozenset(analyze(sentence))) for sentence in split_sentences(prose)
        ]
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
        """Return the state of an item. More certain signs take precedence.

        A weak denial and a sign that the item was done cancel each other out, and the item stays
        open.
        """
        match = self._find_pattern(item.pattern) if item.pattern else None
        if match:
            return match
        if closing:
            return self._verify(closing, item)
        shown = self._find_done(item) or self._find_used(item) or self._find_told(item)
        closeness, denial = self._find_denial(item)
        if denial and (shown is None or closeness >= SURE_FROM):
            return _Verdict(DENIED, denial.sentence, ANSWER)
        if not denial:
            verdict = self._find_contradiction(item, is_shown=shown is not None) or shown
            if verdict:
                return verdict
        touched = self._find_name(item.names)
        if touched is not None:
            return touched
        nearest = max(self._told, key=lambda pair: share(item.terms, pair[1]), default=None)
        if nearest is None:
            return _Verdict(OPEN)
        sentence, terms = nearest
        if item.terms.isdisjoint(terms):
            return _Verdict(OPEN)
        return _Verdict(OPEN, sentence, ANSWER)

    def _find_pattern(self, pattern: str) -> _Verdict | None:
        """Return the line, file or command that an item's ``shown-by`` pattern matches.

        Comments are searched, too: the author of the pattern decides what shows the item.
        """
        for edit in self._evidence.edits:
            if edit.earlier:
                continue
            lines = edit.text.split("\n")
            place = find_line(pattern, lines)
            if place is not None:
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
        """Compare a closing statement with the evidence. Without evidence the item is *claimed*."""
        if closing.state == LEFT_OUT:
            return _Verdict(DENIED, closing.line, ANSWER)
        claimed = _Verdict(CLAIMED, closing.line, ANSWER)
        if closing.state == NOT_NEEDED:
            return claimed
        happened = False
        reason = self._claims.refute_done(item.text)
        where = COMMAND
        if not reason and closing.path:
            happened = self._claims.touches(closing.path)
            reason = NOT_CHANGED
            where = _locate(closing.path, (closing.number,) if closing.number else (), 0)
        elif not reason and closing.command:
            happened = self._claims.ran(closing.command)
            reason = NOT_RUN
        if happened:  # an edited file does not show that a command ran
            ran = where == COMMAND or not phrase("asks to run").search(item.text)
            return _Verdict(SHOWN, closing.command or closing.line, where) if ran else claimed
        if reason and self._evidence.complete:
            return _Verdict(CONTRADICTED, closing.line, ANSWER, reason)
        return claimed

    def _find_done(self, item: _Item) -> _Verdict | None:
        """Return the edit or command that shows an item, or None for an item that forbids
        something.

        An item that asks to remove something is searched in the removed lines.
        """
        if item.forbids:
            return None
        if phrase("removes").search(item.text):
            rest = frozenset(item.order[1:])
            for place in self._removed:
                if place.counts and share(rest, place.terms) >= SHOWN_FROM:
                    return place.show(item)
            return None
        for place in self._added:
            if place.counts and item.is_told_in(place.terms):
                return place.show(item)
        return None

    def _find_used(self, item: _Item) -> _Verdict | None:
        """Return the edit with the code that an item asks to use, or None if a name is missing."""
        if not item.asks_to_use or item.forbids or phrase("removes").search(item.text):
            return None
        shown: _Verdict | None = None
        for name in item.names:
            line = self._find_name([name])
            if line is None:
                return None
            shown = shown or line._replace(state=SHOWN)
        return shown

    def _find_name(self, names: Iterable[str]) -> _Verdict | None:
        """Return the first line of an edit of this turn with one of the names, as an open
        verdict.
        """
        for name in names:
            word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
            for place in self._added:
                if place.where == COMMAND or not place.counts:
                    continue
                for index, line in enumerate(place.lines):
                    if word.search(line):
                        where = _locate(place.where, place.numbers, index)
                        return _Verdict(OPEN, line.strip(), where)
        return None

    def _find_told(self, item: _Item) -> _Verdict | None:
        """Return the sentence or the code of the answer that shows that an item was done.

        If the evidence is complete, an edit or a command must support it.
        """
        if self._evidence.complete and not self._is_supported(item):
            return None
        for sentence, terms in self._told:
            if not item.is_told_in(terms) or self._claims.refute(sentence):
                continue
            if item.forbids:
                is_shown = phrase("negates").search(sentence) is not None
            else:
                is_shown = not item.is_unsure_in(sentence)
            if is_shown:
                return _Verdict(SHOWN, sentence, ANSWER)
        if item.forbids:
            return None
        for place in self._code:
            if item.is_told_in(place.terms):
                return place.show(item)
        return None

    def _is_supported(self, item: _Item) -> bool:
        """Return whether an edit, or a command that did not fail, has some of the item's words."""
        places = [place for place in (*self._added, *self._removed) if not place.failed]
        return any(share(item.terms, place.terms) >= SUPPORTED_FROM for place in places)

    def _find_denial(self, item: _Item) -> tuple[float, Denial | None]:
        """Return the clause that denies an item, with its closeness, or (0, None) without one.

        An item that forbids something can only be put off, because the item requests that it is not
        done.
        """
        close: list[tuple[float, Denial | None]] = []
        for denial in self._denials:
            is_own = denial.cue and denial.cue in item.text.lower()
            if is_own or (denial.kind != PUT_OFF and item.forbids):
                continue
            part = share(item.terms, denial.terms)
            closeness = part + share(denial.topic, item.terms)
            least = ABSENT_FROM if denial.kind == ABSENT else DENIED_FROM
            is_near = part >= least and closeness >= NEAR_FROM
            if is_near or (denial.is_about_tests and _asks_to_write_test(item.text)):
                close.append((closeness, denial))
        return max(close, key=lambda entry: entry[0], default=(0.0, None))

    def _find_contradiction(self, item: _Item, *, is_shown: bool) -> _Verdict | None:
        """Return a verdict with the first claim about an item that the evidence refutes.

        A sentence may contain claims about several items. A claim about tests refutes only items
        about tests. A sentence that may say that the item was not done does not count. The result
        is None without such a claim, or if the evidence is incomplete.
        """
        if not self._evidence.complete:
            return None
        for sentence, _terms in self._told:
            if item.is_unsure_in(sentence):
                continue
            reason = self._claims.refute(sentence)
            if not reason:
                continue
            sections = [_REFUTED_FOR.get(reason)]
            if not is_shown and not self._claims.wrote_test:
                sections.append(_REFUTED_UNLESS_SHOWN.get(reason))
            is_asked_for = any(name and phrase(name).search(item.text) for name in sections)
            is_about_tests = reason in _REFUTED_FOR
            if is_about_tests and not is_asked_for:
                continue
            for claim in self._claims.find_refuted(sentence):
                if is_asked_for or item.is_told_in(self._claims.find_terms(claim), action_words=1):
                    return _Verdict(CONTRADICTED, claim, ANSWER, reason)
        return None


def _cut(evidence: Evidence) -> Evidence:
    """Return the evidence, cut to MAX_EVIDENCE characters."""
    left = MAX_EVIDENCE

    def cut(text: str) -> str:
        nonlocal left
        text = text[:left]
        left -= len(text)
        return text

    edits = (replace(edit, text=cut(edit.text), before=cut(edit.before)) for edit in evidence.edits)
    commands = (replace(command, line=cut(command.line)) for command in evidence.commands)
    return replace(evidence, edits=tuple(edits), commands=tuple(commands))


MAX_TEXT = 100_000
"""The length limit of the answer, and of each edit and command, in characters."""


def format_request(check: Check, answer: str, evidence: Evidence) -> str:
    """Return the redacted input of a checking program: items, answer, edits, commands as JSON."""

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
    """Return a check with the states from a program's output; see ``format_request``.

    A contradicted item does not change, because it is a fact. A denied item needs a ``quote`` from
    the answer. Raises InputError, a single line, for any other output than the requested JSON.
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
        # A denial is reported only with the agent's own words.
        if item.state not in (CONTRADICTED, state) and (where or state != DENIED):
            known[name] = replace(
                item, state=state, quote=quote if where else redact(quote), where=where, terms=()
            )
    return replace(check, items=tuple(known.values()))
