"""Syntax patterns learnt from the changes that put a mistake right, for a human to confirm.

The tokens of both sides are aligned; each place that a fix changed is an instance: the node around
what was removed or added to, and the nodes around that one, up to the statement. A pattern is the
anti-unification of one or more instances (Getafix, Revisar): what the fix removed and all of them
share stays as it is, the rest becomes ``$A`` or ``$$$``. Where a fix added something, what it added
to is the pattern and the addition its ``not-has`` or ``not-inside``. A pattern is shown when the
project bears it out: it finds what was fixed, nothing that the fix left, and next to nothing that
nobody ever changed.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import accumulate, combinations, groupby, islice, permutations, takewhile
from textwrap import dedent
from typing import Any

from lessons_kb.data import read_words
from lessons_kb.detect.matcher import (
    MAX_TEXT,
    Change,
    Matcher,
    Rule,
    check_pattern,
    find_words,
    is_available,
    language_of,
    parse,
)
from lessons_kb.model import Pattern
from lessons_kb.text.sanitize import counted
from lessons_kb.text.shell import split_commands
from lessons_kb.values import frozen

MAX_LEARNT_CHARS = 20_000
"""Of each side of one change; a longer one is no fix of one mistake."""
_MAX_SITES = 8
"""Places of a fix from which is learnt."""
_MAX_WRITTEN = 160
_MAX_CANDIDATES = 24
"""Patterns that are tried on the fix, and those that are then looked for in the project."""
_MAX_LEVELS = 6
"""Nodes around the smallest one that are looked at."""
_MAX_LITERAL = 40
"""Characters of a text in quotes that may be a part of the mistake."""
_MAX_PATTERN = 200
_FEW_RIGHT = 2
"""Places that do it right from which on one fix is taken for a rule."""
MANY_PLACES = 5
"""A pattern of one mistake that finds more places describes something ordinary."""
_TEXTS = ("", "yaml", "json", "html", "css", "markdown")
"""What holds no code."""
_STATEMENT = ("statement", "declaration", "return_statement")
_SYNTAX = {name: tuple(words) for name, words in read_words("syntax_nodes.txt").items()}
_MODULE_VALUE = re.compile(r"(?m)^(?:(?:const|let|var)\s+)?([a-z_]\w*)\s*(?::[^=\n]+)?=(?!=)")
_ORDINARY = {*_SYNTAX["control"], *_SYNTAX["constants"]}
_CONSTANT = {*_SYNTAX["literals"], "none", *map(str.casefold, _SYNTAX["constants"])}
_IMPORT = re.compile(r"(?m)^[^\n#]*\b(?:import|require|use|using)\b[^\n]*")
_PUNCTUATION = {*"()[]{},:;"}
_WORD = re.compile(r"\w+")
_CALLED = re.compile(r"(?<!def )(?<!function )\b(\w[\w.]*)\(")
_VALUE = r"True|False|None|true|false|null|undefined"
_PLAIN = re.compile(
    rf"^(?:def )?[\w.$]+\(?|\)$|\) ?(?:-> \$B)?: \$\$\$$"
    rf"|\w+ ?[=:] ?(?:{_VALUE}|-?[\d.]+)(?=[,)\]}} ]|$)|\$\$\$|\$[A-Z]\b|\b(?:{_VALUE})\b|[\s,{{}}]"
)
"""All of a name or call that means the same in other code: its arguments are options."""
_QUOTED = re.compile(r"(['\"`])(?:(?!\1).)*\1")
_FEW_WORDS = 2
"""Of a command: its program alone tells nothing."""
_FOLDS = re.compile(r"\s*\n\s*")
_SELF = ("self", "this", "cls")


@dataclass(kw_only=True, slots=True)
class PatternCandidate:
    """A pattern that finds what each fix put right, and what the project says of it."""

    pattern: Pattern
    sites: int
    """Places that it found before the fix."""
    files: int
    """Files in which they were: places of one file are the work of one hand."""
    wide: Pattern | None = None
    """What finds the right uses of the same call, if the fix went on calling it: those that have
    what it lacked, else those that the pattern does not find."""
    elsewhere: int = 0
    """Places that it finds today."""
    right: int = 0
    """Places that do today what the fix did."""
    removals: int = 0
    """Other commits that took it out of code that they went on with."""
    fixes: int = 0
    """Those of them that put the same in its place as this fix."""

    @property
    def is_borne_out(self) -> bool:
        """Tell whether it finds the mistake and next to nothing else.

        What was fixed speaks for it, once more with each commit that did the same elsewhere; each
        place that is left, and each commit that took it out for another reason, speaks against
        it, unless four times as many show how it is done right. A single file is a rule only
        where other code shows that.
        """
        fixed, wrong = self.files + self.fixes, self.elsewhere + self.removals - self.fixes
        is_rare = 2 * wrong < fixed or (self.wide is not None and 4 * wrong <= self.right)
        shows_right = fixed > 1 or self.right >= _FEW_RIGHT
        return self.elsewhere <= MANY_PLACES and is_rare and shows_right

    @property
    def said(self) -> str:
        """What it was held against, as one sentence."""
        parts = [f"hits {counted(self.sites, 'place')} before the fix, 0 after"]
        if self.removals:
            parts.append(f"{self.fixes} of {self.removals} other removals in history did the same")
        parts.append(f"{counted(self.elsewhere, 'other place')} today")
        return "; ".join([*parts, f"{self.right} do as the fix does"])


@frozen
class Proposal:
    """How a mistake looks, and what that was held against; or why there is no pattern."""

    pattern: Pattern | None = None
    said: str = ""


Files = Iterable[tuple[str, str]]
"""Path and text of each file of a project, as it is now."""
History = Iterable[Iterable[Change]]
"""What each commit changed."""


def propose(fixes: Sequence[Sequence[Change]], files: Files, history: History) -> Proposal:
    """Return the pattern of a mistake that one or more fixes put right.

    Of several fixes the pattern is one that finds what each of them put right. The fixes
    themselves do not count in the history.
    """
    code = [[one for one in fix if language_of(one.path) not in _TEXTS] for fix in fixes]
    changes = [change for fix in code for change in fix]
    if not is_available():
        return Proposal(said="ast-grep is not installed")
    if not changes:
        return Proposal(said="the fix changes no code in a language that ast-grep knows")
    candidates = find_candidates(code)
    if not candidates:
        return Proposal(said="nothing that the fix removed or added tells it from other code")
    _look(candidates, changes, files, history)
    borne = [one for one in candidates if one.is_borne_out]
    if not borne:
        return Proposal(said=_explain(candidates))
    best = max(borne, key=lambda one: one.sites + one.fixes)
    return Proposal(pattern=_with_examples(best.pattern, changes), said=best.said)


def _explain(candidates: Sequence[PatternCandidate]) -> str:
    """Return why none of some candidates is proposed, by the one that comes nearest."""
    best = min(candidates, key=lambda one: (one.elsewhere, -one.right))
    if best.elsewhere:
        more = "more than " if best.elsewhere > MANY_PLACES else ""
        count = min(best.elsewhere, MANY_PLACES)
        return f"what it changed also stands in {more}{counted(count, 'place')} that nobody changed"
    if best.removals > best.fixes:
        return f"of {best.removals} other removals in history {best.fixes} did the same"
    return "it was fixed in one file, and no other shows how it is done right"


def _look(
    candidates: Sequence[PatternCandidate], fixed: Sequence[Change], files: Files, history: History
) -> None:
    """Count what a project says of candidates; one that finds much is looked for no further."""
    before, after = (
        {name for one in fixed for name in _CALLED.findall(getattr(one, side))}
        for side in ("before", "after")
    )
    new, done = after - before, Counter[str]()
    languages, own = {one.pattern.language for one in candidates}, {one.path for one in fixed}
    left = dict(enumerate(candidates))
    narrow = wide = Matcher(())
    for path, text in files:
        if language_of(path) not in languages:
            continue
        if len(narrow.rules) != len(left):
            narrow = _matcher((n, one.pattern) for n, one in left.items())
            wide = _matcher((n, one.wide) for n, one in left.items() if one.wide)
        found = {(int(match.rule.card), match.line) for match in narrow.find_in_file(path, text)}
        for place, _line in found:
            left[place].elsewhere += 1
        if path not in own:
            for match in wide.find_in_file(path, text):
                place = int(match.rule.card)
                left[place].right += (place, match.line) not in found
            if any(name in text for name in new):
                done.update(name for name in _CALLED.findall(text) if name in new)
        left = {n: one for n, one in left.items() if one.elsewhere <= MANY_PLACES}
        if not left:
            return
    for one in left.values():
        if one.wide is None:
            one.right = min((done[name] for name in new), default=0)
    known = {one.before for one in fixed}
    narrow = _matcher((n, one.pattern) for n, one in left.items())
    wide = _matcher((n, one.wide) for n, one in left.items() if one.wide)
    for changes in history:
        gone, put = set[int](), set[int]()
        for change in changes:
            if language_of(change.path) in languages and change.before not in known:
                # What a change took out of code that it went on with.
                back = replace(change, before=change.after, after=change.before)
                taken = {int(match.rule.card) for match in narrow.find_added(back)}
                gone |= taken
                if new.isdisjoint(_CALLED.findall(change.after)):
                    taken &= {int(match.rule.card) for match in wide.find_added(change)}
                put |= taken
        for place in gone:
            left[place].removals += 1
            left[place].fixes += place in put


def _find_right(pattern: Pattern, given: str) -> Pattern | None:
    """Return what finds the uses of a call that have what it lacked, or its uses at all."""
    is_one = pattern.text.count("(") == 1
    text = re.sub(r"\(.*\)$", "($$$)", pattern.text) if is_one else pattern.text
    if not pattern.relations:
        text = f"{pattern.text[:-1]}, {given})" if given else text
        return replace(pattern, text=text) if text != pattern.text else None
    near = ((name.removeprefix("not-"), text) for name, text in pattern.relations)
    has = tuple((name, given if name == "has" and given else text) for name, text in near)
    return replace(pattern, text=text, relations=has)


def _matcher(patterns: Iterable[tuple[int, Pattern]]) -> Matcher:
    return Matcher(Rule(card=str(place), pattern=one) for place, one in patterns)


def propose_command(failed: Sequence[str], ran: Iterable[str]) -> Proposal:
    """Return what commands that failed more than once share, unless such commands ran well.

    Shared are the program, its first words and its options, these in any order; paths and other
    operands are not looked at. ``ran`` are the commands that did no harm.
    """
    split = [[words for _operator, words in split_commands(one)] for one in failed]
    for words in split[0] if len(split) > 1 else ():
        alike = [words, *(same for some in split[1:] for same in some if same[0] == words[0])]
        shared = [w for place in zip(*alike, strict=False) for w in {*place} if len({*place}) == 1]
        heads = [*takewhile(lambda word: _WORD.fullmatch(word) is not None, shared)]
        options = sorted({w for w in words if w[:1] == "-" and all(w in one for one in alike)})
        if len(alike) < len(split) or len(heads) + len(options) < _FEW_WORDS or len(options) > 3:  # noqa: PLR2004
            continue
        quoted = [rf".*\s{re.escape(one)}\b" for one in options]
        orders = "|".join(map("".join, permutations(quoted)))
        text = r"\b" + r"\s+".join(map(re.escape, heads)) + r"\b"
        pattern = Pattern(kind="command", text=f"{text}(?:{orders})" if options else text)
        matcher = _matcher([(0, pattern)])
        harmless = sum(bool(matcher.find_in_commands([one])) for one in ran)
        if check_pattern(pattern) or 2 * harmless >= len(split):
            return Proposal(said=f"such commands ran {counted(harmless, 'time')} without harm")
        return Proposal(pattern=pattern, said=f"failed {len(split)} times, ran well {harmless}")
    return Proposal()


def find_candidates(fixes: Sequence[Sequence[Change]]) -> list[PatternCandidate]:
    """Return the patterns that find what each fix put right and nothing that it left.

    What covers more places comes first, then the smallest code.
    """
    seeds = [
        [seed for change in fix for seed in _find_seeds(change)][: _MAX_SITES * _MAX_LEVELS]
        for fix in fixes
    ]
    written: dict[Pattern, _Writer] = {}
    for pattern, writer in islice(_write_all(seeds), _MAX_WRITTEN):
        if _is_sound(pattern):
            written.setdefault(pattern, writer)
    found: list[PatternCandidate] = []
    counts = [_count(written, fix) for fix in fixes]
    for place, (pattern, writer) in enumerate(written.items()):
        is_plain = len(fixes) > 1 or not _PLAIN.sub("", pattern.text)
        if not is_plain or any(after[place] or not before[place] for before, after in counts):
            continue
        wide = _find_right(pattern, writer.given)
        if wide:
            before, after = _count([wide], [change for fix in fixes for change in fix])
            wide = wide if len(after[0]) >= max(len(before[0]), 1) else None
        if wide or writer.is_foreign:
            places = [one[place] for one, _after in counts]
            paths = ({path for path, _line in some} for some in places)
            sites, files = sum(map(len, places)), sum(map(len, paths))
            found.append(PatternCandidate(pattern=pattern, wide=wide, sites=sites, files=files))
    return sorted(found, key=lambda one: -one.sites)[:_MAX_CANDIDATES]


def _write_all(seeds: Sequence[Sequence[_Seed]]) -> Iterator[tuple[Pattern, _Writer]]:
    """Yield a pattern of each pair of instances that are alike, then of each alone."""
    flat = [(place, seed) for place, fix in enumerate(seeds) for seed in fix]
    pairs = (
        (one, other)
        for (fix, one), (again, other) in combinations(flat, 2)
        if one.sort == other.sort
        # What one fix did to two places it must have done in the same way.
        and (fix != again if len(seeds) > 1 else one.put == other.put)
    )
    for some in (*islice(pairs, _MAX_WRITTEN // 4), *((seed,) for seed in seeds[0])):
        writer = _Writer(some)
        if pattern := writer.write_pattern():
            yield pattern, writer


_Found = defaultdict[int, set[tuple[str, str]]]
"""Place of a pattern → (path, line) of what it finds; copies count once."""


def _count(patterns: Iterable[Pattern], fix: Sequence[Change]) -> tuple[_Found, _Found]:
    """Return what each pattern finds before a fix, and after it."""
    matcher, sides = _matcher(enumerate(patterns)), (_Found(set), _Found(set))
    for change in fix:
        for text, found in zip((change.before, change.after), sides, strict=True):
            for match in matcher.find_added(replace(change, before="", after=text)):
                found[int(match.rule.card)].add((change.path, match.text))
    return sides


def _with_examples(pattern: Pattern, changes: Sequence[Change]) -> Pattern:
    """Return a pattern with the first statement it found, and what the fix made of it.

    A name alone that Python imports from a module is that one only after this import.
    """
    called, head = pattern.text.partition("(")[0], ""
    names = rf"(?:\([^)]*|[^\n(]*)\b{re.escape(called)}\b"
    above = "\n".join(change.prefix for change in changes)
    if line := re.search(rf"(?m)^from (\w[\w.]*) import {names}", above):
        near = ("follows", f"from {line[1]} import $$$")
        head = f"from {line[1]} import {called}\n"
        pattern = replace(pattern, relations=(*pattern.relations, near))
    for change in changes:
        rows, fixed = change.before.splitlines(), change.after.splitlines()
        for _kind, a, b, c, d in _steps(rows, fixed):
            bad, good = (head + dedent("\n".join(some)) for some in (rows[a:b], fixed[c:d]))
            before, after = _count([pattern], [Change(path=change.path, before=bad, after=good)])
            is_short = good.strip() != head.strip() and len(max(bad, good, key=len)) <= MAX_TEXT
            if is_short and before[0] and not after[0]:
                return replace(pattern, bad=(bad,), good=(good,))
    return pattern


def _is_sound(pattern: Pattern) -> bool:
    """Tell whether a pattern names something that means the same in other files."""
    if len(pattern.text) > _MAX_PATTERN or check_pattern(pattern):
        return False
    code = _QUOTED.sub("", pattern.text)
    words = {*find_words(replace(pattern, text=code))} - _ORDINARY
    return bool(words) and re.search(r"[(. ]", code) is not None


@dataclass(frozen=True, slots=True)
class _Leaf:
    node: Any
    text: str
    start: int
    end: int
    line: int


@frozen
class _Seed:
    """An instance: a node of what was there before the fix, and how it became different."""

    node: Any
    language: str
    removed: tuple[tuple[int, int], ...]
    """All that the change removed."""
    bound: set[str]
    """Names that are given a value nearby: they mean nothing elsewhere."""
    imported: set[str]
    put: tuple[str, ...] = ()
    """The tokens that the fix put in its place."""
    relations: tuple[tuple[str, str], ...] = ()
    """What the fix added: a word or a pattern."""
    given: str = ""
    """Word and value, where the value means the same in other code."""
    is_short: bool = False
    """Whether the fix added an argument that has no name: the others are counted."""

    @property
    def sort(self) -> tuple[object, ...]:
        """What instances of one mistake have in common."""
        return self.node.kind(), self.language, self.relations


def _find_seeds(change: Change) -> Iterator[_Seed]:
    """Yield the nodes around what a change removed or added to, the smallest first."""
    language = language_of(change.path)
    is_long = max(len(change.before), len(change.after)) > MAX_LEARNT_CHARS
    if not language or is_long or not (change.before.strip() and change.after.strip()):
        return
    # A piece of a block cannot be read without the lines that open it, up to the ends of its
    # outermost block, and the rest of a long file costs time.
    above = change.prefix.splitlines(keepends=True)
    opened = len([*takewhile(_is_inside, reversed(above))]) + 1
    below = takewhile(_is_inside, change.suffix.splitlines(keepends=True))
    outer = "".join(above[-opened:])[-MAX_LEARNT_CHARS:]
    inner = "".join(below)[:MAX_LEARNT_CHARS]
    old, new = (
        _Side(f"{outer}{text}{inner}", language, len(outer), len(text))
        for text in (change.before, change.after)
    )
    if not (old.leaves and new.leaves):
        return
    steps = [*_align(old.leaves, new.leaves)]
    runs = tuple((old.leaves[a].start, old.leaves[b - 1].end) for kind, a, b, *_ in steps if a < b)
    imports = _IMPORT.findall(f"{change.prefix}{change.before}")
    seed = _Seed(
        node=None,
        language=language,
        removed=runs,
        bound=old.bound.union(_MODULE_VALUE.findall(change.prefix)),
        imported=set(_WORD.findall(" ".join(imports))),
    )
    for kind, first, end, begin, stop in steps:
        if kind == "insert":
            yield from _find_additions(seed, old, new, first, (begin, stop))
            continue
        put = tuple(leaf.text for leaf in new.leaves[begin:stop])
        run = (old.leaves[first].start, old.leaves[end - 1].end)
        for node in _around(old.leaves[first].node, run):
            opening, closing = _span(node)
            if kind == "delete" and (opening, closing) == run:
                continue  # what was dropped without anything in its place was not wrong as such
            is_all = opening <= runs[0][0] and runs[-1][1] <= closing
            words = {leaf.text for leaf in old.leaves[first:end]} - _ORDINARY - seed.bound
            if is_all or any(_WORD.fullmatch(word) for word in words):
                yield replace(seed, node=node, put=put)


def _align(old: Sequence[_Leaf], new: Sequence[_Leaf]) -> Iterator[tuple[str, int, int, int, int]]:
    """Yield the steps from the old tokens to the new ones, by lines and then inside them."""
    lines = [
        [tuple(group) for _line, group in groupby(side, key=lambda leaf: leaf.line)]
        for side in (old, new)
    ]
    texts = [[tuple(leaf.text for leaf in line) for line in side] for side in lines]
    starts = [[*accumulate(map(len, side), initial=0)] for side in lines]
    for kind, *spans in _steps(*texts):
        a, b, c, d = (starts[n // 2][at] for n, at in enumerate(spans))
        if kind != "replace":
            yield kind, a, b, c, d
            continue
        words = ([leaf.text for leaf in side] for side in (old[a:b], new[c:d]))
        for inner, first, end, begin, stop in _steps(*words):
            yield inner, a + first, a + end, c + begin, c + stop


def _steps(old: Sequence[Any], new: Sequence[Any]) -> list[tuple[str, int, int, int, int]]:
    found = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [step for step in found if step[0] != "equal"]


def _find_additions(
    seed: _Seed, old: _Side, new: _Side, first: int, added: tuple[int, int]
) -> Iterator[_Seed]:
    """Yield the calls that something was added to, with the addition as what they lacked."""
    leaves = new.leaves[added[0] : added[1]]
    before, after = old.leaves[max(first - 1, 0)], old.leaves[min(first, len(old.leaves) - 1)]
    for marker in (leaf.node.parent() for leaf in leaves if leaf.text == "@"):
        if marker.kind() == "decorator" and _span(marker.parent())[1] > leaves[-1].end:
            yield from _find_unmarked(seed, after.node.parent(), marker.text())
    if leaves[0].text in ("await", "yield"):
        call = _call_around(after, after)
        if call is not None and _span(call)[0] == after.start:
            lacks = ("not-inside", f"{leaves[0].text} $X")
            yield replace(seed, node=call, relations=(lacks,))
        return
    whole = _call_around(leaves[0], leaves[-1])
    for call in (_call_around(before, before), _call_around(after, after)):
        if call is None or whole is None or call.child(0).text() != whole.child(0).text():
            continue  # what stands around that call lacks nothing
        lacking = replace(seed, node=call)
        known = {leaf.text for leaf in old.leaves}
        known.update(leaf.text for leaf in new.leaves if _is_binding(leaf.node))
        for leaf in leaves:
            word, entry = leaf.text, _find_entry(leaf.node)
            if entry is not None and word not in known and re.fullmatch(r"[\w-]{2,}", word):
                value = entry.children()[-1:]
                given = entry.text() if value and value[0].kind() in _CONSTANT else ""
                yield replace(lacking, relations=(("not-has", word),), given=given)
                return
            is_element = leaf.node.parent().kind() in _SYNTAX["lists"]
            if is_element and leaf.node.kind() == "identifier" and word in call.text():
                relations = (("has", word), ("not-has", f"[$$$, {word}, $$$]"))
                yield replace(lacking, relations=relations)
        if len(leaves) > 1 and (given := _find_constant(leaves[1].node, whole)):
            yield replace(lacking, is_short=True, given=given)
        return


def _find_constant(leaf: Any, call: Any) -> str:
    """Return an argument of a call that reads the same in other code, "" of any other."""
    for parent in leaf.ancestors():
        if parent.kind() in _SYNTAX["arguments"]:
            is_own, is_list = parent.parent() == call, leaf.kind() in _SYNTAX["lists"]
            given = "[$$$]" if is_list else leaf.text() if leaf.kind() in _CONSTANT else ""
            return given if is_own else ""
        leaf = parent
    return ""


def _call_around(first: _Leaf, last: _Leaf) -> Any:
    """Return the smallest call that covers some tokens, None without one."""
    around = _around(first.node, (first.start, last.end))
    return next((node for node in around if node.kind() in _SYNTAX["calls"]), None)


def _find_unmarked(seed: _Seed, node: Any, marker: str) -> Iterator[_Seed]:
    """Yield a function that a decorator was added to, with each name that may be why."""
    if node is not None and node.kind() == "decorator":  # another one, before which it was added
        node = node.parent().children()[-1]
    if node is not None and node.kind() == "function_definition":
        body = f"{node.field('parameters').text()} {node.field('body').text()}"
        lacks = ("not-inside", re.split(r"[\s(]", marker)[0])
        for word in dict.fromkeys(_WORD.findall(body)):
            if word not in _ORDINARY:
                yield replace(seed, node=node, relations=(("has", word), lacks))


def _find_entry(leaf: Any) -> Any:
    """Return the argument or the entry of a mapping that a word names, None where it does not."""
    if "shorthand" in leaf.kind():
        return leaf
    parent = leaf.parent()
    while parent is not None and parent.kind() not in _SYNTAX["named"]:
        leaf, parent = parent, parent.parent() if "string" in parent.kind() else None
    return parent if parent is not None and _is_first(leaf) else None


def _is_inside(line: str) -> bool:
    return not line[:1].strip() or line[0] in ")]}"


class _Side:
    """One side of a change: the tokens of the piece, and the names bound around it."""

    def __init__(self, text: str, language: str, begin: int, length: int) -> None:
        self.leaves: list[_Leaf] = []
        self.bound = set(_SELF)
        root = parse(text, language)
        waiting = [] if root is None else [root]
        while waiting:
            node = waiting.pop()
            if children := node.children():
                waiting += reversed(children)
            elif token := node.text():
                start, end = _span(node)
                line = node.range().start.line
                if node.kind() in _SYNTAX["names"] and _is_binding(node):
                    self.bound.add(token)
                if start < begin + length and end > begin and "comment" not in node.kind():
                    self.leaves.append(_Leaf(node, token, start, end, line))


def _span(node: Any) -> tuple[int, int]:
    found = node.range()
    return found.start.index, found.end.index


def _around(leaf: Any, run: tuple[int, int]) -> Iterator[Any]:
    """Yield the smallest node that covers a run, and those around it, up to the statement."""
    node, levels = leaf, 0
    while node is not None and levels < _MAX_LEVELS:
        kind = node.kind()
        if kind.endswith(_SYNTAX["outermost"]) or "comment" in kind or "import" in kind:
            return
        start, end = _span(node)
        if start <= run[0] and run[1] <= end and kind not in _SYNTAX["arguments"]:
            levels += 1
            yield node
        if kind.endswith(_STATEMENT):
            return
        node = node.parent()


def _is_binding(leaf: Any) -> bool:
    """Tell whether a name is given a value here: it means nothing elsewhere."""
    parent = leaf.parent()
    kind = parent.kind() if parent is not None else ""
    if kind in _SYNTAX["defaulted"]:
        return _is_first(leaf)
    if kind not in _SYNTAX["binders"]:
        return False
    if kind.endswith(("parameters", "pattern", "pattern_list", "target")):
        return True
    named = "left" if kind != "variable_declarator" else "name"
    first = parent.field(named) or parent.child(0)
    return _span(first) == _span(leaf)


class _Writer:
    """Writes what some instances share; what the fix did not remove is generalised."""

    def __init__(self, seeds: Sequence[_Seed]) -> None:
        self.seeds = seeds
        self._holes: dict[tuple[str, ...], str] = {}
        self._kept = False
        """Whether a part of the mistake is left: ``f("$A")`` says nothing of ``f("a, b")``."""
        self.is_foreign = False
        """Whether something that the file imports is a part of it."""

    def write_pattern(self) -> Pattern | None:
        """Return the pattern, None where nothing is left of what was wrong."""
        first = self.seeds[0]
        text = self._write([seed.node for seed in self.seeds])
        if first.node.kind() == "function_definition":
            text = f"def $A($$$){' -> $B' if first.node.field('return_type') else ''}: $$$"
        if not (self._kept or first.relations or first.is_short):
            return None
        text, near = _FOLDS.sub(" ", text), first.relations
        return Pattern(kind="ast", text=text, language=first.language, relations=near)

    def _write(self, nodes: Sequence[Any]) -> str:
        kinds, node = {node.kind() for node in nodes}, nodes[0]
        if len(kinds) > 1:
            return self._hole(nodes)
        kind = node.kind()
        removed = all(map(self._is_removed, nodes, self.seeds))
        if kind in _SYNTAX["arguments"] or (removed and kind in _SYNTAX["mappings"]):
            return self._write_arguments(nodes)
        if kind in _SYNTAX["bodies"] and not removed:
            return "$$$"
        if kind in _SYNTAX["literals"]:
            # A text is a part of the mistake only if fixes agree on it.
            is_plain = kind != "string" or (len(nodes) > 1 and len(node.text()) <= _MAX_LITERAL)
            if not (removed and is_plain and len({one.text() for one in nodes}) == 1):
                return self._hole(nodes)
            self._kept = True
            return str(node.text())
        children = [node.children() for node in nodes]
        if not children[0]:
            return self._write_leaf(nodes, removed=removed)
        if len({len(one) for one in children}) > 1:
            return self._hole(nodes)
        is_value = kind.endswith(_SYNTAX["values"]) and kind not in _SYNTAX["listed"]
        is_value &= node.is_named()
        is_part = not removed and node is not self.seeds[0].node
        if is_part and kind in _SYNTAX["members"]:
            if not _is_called(node) and not self._is_foreign(nodes):
                return self._hole(nodes)
        elif is_part and (is_value or (kind in _SYNTAX["calls"] and kind != "decorator")):
            return self._hole(nodes)
        return self._write_children(nodes, children)

    def _write_children(self, nodes: Sequence[Any], children: Sequence[Sequence[Any]]) -> str:
        start, end = _span(nodes[0])
        pieces: list[str] = []
        source, at = nodes[0].text(), start
        for some in zip(*children, strict=True):
            begin, stop = _span(some[0])
            if "comment" not in some[0].kind():
                pieces += [source[at - start : begin - start], self._write(some)]
            at = stop
        return "".join((*pieces, source[at - start : end - start]))

    @property
    def given(self) -> str:
        """What all fixes gave: others of its kind are right in other places."""
        return self.seeds[0].given if len({seed.given for seed in self.seeds}) == 1 else ""

    def _write_arguments(self, nodes: Sequence[Any]) -> str:
        """Write the arguments that every fix removed, the others as ``$$$``."""
        opening, closing = nodes[0].text()[:1], nodes[0].text()[-1:]
        if self.seeds[0].is_short and nodes[0].parent() == self.seeds[0].node:
            named = (child for child in nodes[0].children() if child.is_named())
            return f"({', '.join(self._hole([one]) for one in named)})"
        if opening not in "([{<":
            return self._write_children(nodes[:1], [nodes[0].children()])
        removed = [
            {
                (one.kind(), one.text()): one
                for one in node.children()
                if self._is_removed(one, seed)
            }
            for node, seed in zip(nodes, self.seeds, strict=True)
        ]
        written, is_open = list[str](), len(nodes) > 1
        for child in nodes[0].children():
            if child.is_named() and "comment" not in child.kind():
                same = [some.get((child.kind(), child.text())) for some in removed]
                is_open |= all(same) and child.kind() in _SYNTAX["named"]
                written.append(self._write(same) if all(same) else "$$$")
        if is_open:  # else their places tell
            written = ["$$$", *written, "$$$"]
        pairs = zip(("", *written), written, strict=False)
        return f"{opening}{', '.join(o for was, o in pairs if {was, o} != {'$$$'})}{closing}"

    def _write_leaf(self, leaves: Sequence[Any], *, removed: bool) -> str:
        leaf, text = leaves[0], str(leaves[0].text())
        if len({one.text() for one in leaves}) > 1:
            return self._hole(leaves)
        if leaf.kind() != "identifier":
            self._kept |= removed and text not in _PUNCTUATION
            return text
        parent = leaf.parent()
        kind = parent.kind() if parent is not None else ""
        note_first, is_member = _is_first(leaf), kind in _SYNTAX["members"]
        # The name of a member, or of an argument.
        is_option = not note_first if is_member else note_first and kind == "keyword_argument"
        is_bound = any(text in seed.bound for seed in self.seeds)
        is_known = _is_called(parent if is_member else leaf)
        is_known |= (removed or is_member) and self._is_foreign(leaves)
        kept = is_option or (is_known and not is_bound)
        self._kept |= removed and kept
        self.is_foreign |= kept and all(text in seed.imported for seed in self.seeds)
        return text if kept else self._hole(leaves)

    def _is_foreign(self, nodes: Sequence[Any]) -> bool:
        """Tell whether a value begins with a name that means the same in other files."""
        first = nodes[0]
        while first.children():
            first = first.child(0)
        text = first.text()
        return text[:1].isupper() or any(text in seed.imported for seed in self.seeds)

    def _is_removed(self, node: Any, seed: _Seed) -> bool:
        start, end = _span(node)
        return any(start < run[1] and run[0] < end for run in seed.removed)

    def _hole(self, nodes: Sequence[Any]) -> str:
        texts = tuple(node.text() for node in nodes)
        return self._holes.setdefault(texts, f"${chr(ord('A') + len(self._holes) % 26)}")


def _is_called(node: Any) -> bool:
    parent = node.parent()
    is_call = parent is not None and parent.kind() in _SYNTAX["calls"]
    return is_call and _span(parent.child(0))[0] == _span(node)[0]


def _is_first(node: Any) -> bool:
    parent = node.parent()
    return parent is not None and _span(parent.child(0)) == _span(node)
