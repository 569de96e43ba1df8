"""Derive syntax patterns from fixes of a mistake, for a person to confirm.

The tokens before and after a fix are aligned. Each changed place gives instances: the node around
the removed or extended code, and its ancestors up to the statement. A pattern is the
anti-unification of one or more instances (Getafix, Revisar): code that the fix removed and that all
instances share is unchanged, the rest becomes ``$A`` or ``$$$``. If a fix added something, the
pattern is the extended code with the addition as its ``not-has`` or ``not-inside``. A pattern is
proposed if the project supports it: it matches the code before each fix, none of the code after
it, and almost none of the code that was never changed.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import accumulate, combinations, groupby, islice, permutations, takewhile
from textwrap import dedent
from typing import Any, NamedTuple

from lessons_kb.data import read_words
from lessons_kb.detect.change import Change
from lessons_kb.detect.matcher import (
    MAX_TEXT,
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
from lessons_kb.values import frozen, mutable, replace

MAX_LEARNT_CHARS = 20_000
"""Characters of each side of a change. A longer one is not the fix of a single mistake."""
_MAX_SITES = 8
"""Changed places of a fix that are used."""
_MAX_WRITTEN = 160
_MAX_CANDIDATES = 24
"""How many patterns are tried on the fix, and how many of them are searched for in the project."""
_MAX_LEVELS = 6
"""How many ancestors of the smallest node are used."""
_MAX_LITERAL = 40
"""The longest string literal, in characters, that may be part of the mistake."""
_MAX_PATTERN = 200
_FEW_RIGHT = 2
"""From this many correct places on, a single fix counts as evidence of a rule."""
MANY_PLACES = 5
"""A pattern that matches more places of today's code describes something ordinary."""
_TEXTS = ("", "yaml", "json", "html", "css", "markdown")
"""Languages that are not code; "" is an unknown language."""
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
"""Removes from a pattern every part that means the same in other code. Nothing remains of a plain
name, or of a call whose arguments are options."""
_QUOTED = re.compile(r"(['\"`])(?:(?!\1).)*\1")
_FEW_WORDS = 2
"""Words that failed commands must share: the program alone is not enough."""
_MAX_OPTIONS = 3
_FOLDS = re.compile(r"\s*\n\s*")
_SELF = ("self", "this", "cls")


@mutable
class PatternCandidate:
    """A pattern that matches the code before each fix, and the evidence from the project."""

    pattern: Pattern
    sites: int
    """Matches before the fix."""
    files: int
    """Files of these matches. Matches in one file count once: they have the same author."""
    wide: Pattern | None = None
    """A pattern for correct uses of the same call, if the fix still calls it: uses with the
    addition of the fix, or all uses that the pattern does not match."""
    elsewhere: int = 0
    """Matches in today's code."""
    right: int = 0
    """Places in today's code that are written as after the fix."""
    removals: int = 0
    """Other commits that removed a match from code that remained."""
    fixes: int = 0
    """Those of them that replaced it as this fix did."""

    @property
    def is_supported(self) -> bool:
        """Whether it matches the mistake and almost nothing else.

        Fixed files and commits with the same fix are evidence for it. Matches in today's code and
        commits that removed a match for another reason are evidence against it, unless there are
        four times as many correct places. A fix of a single file is enough only if other code is
        correct.
        """
        fixed, wrong = self.files + self.fixes, self.elsewhere + self.removals - self.fixes
        is_rare = 2 * wrong < fixed or (self.wide is not None and 4 * wrong <= self.right)
        shows_right = fixed > 1 or self.right >= _FEW_RIGHT
        return self.elsewhere <= MANY_PLACES and is_rare and shows_right

    @property
    def said(self) -> str:
        """The evidence from the project, as one sentence."""
        parts = [f"hits {counted(self.sites, 'place')} before the fix, 0 after"]
        if self.removals:
            parts.append(f"{self.fixes} of {self.removals} other removals in history did the same")
        parts.append(f"{counted(self.elsewhere, 'other place')} today")
        return "; ".join([*parts, f"{self.right} do as the fix does"])


@frozen
class Proposal:
    """A pattern of a mistake and its evidence; or, without a pattern, the reason."""

    pattern: Pattern | None = None
    said: str = ""


Files = Iterable[tuple[str, str]]
"""The path and the current text of each file of a project."""
History = Iterable[Iterable[Change]]
"""The changes of each commit."""


def propose(fixes: Sequence[Sequence[Change]], files: Files, history: History) -> Proposal:
    """Derive the pattern of a mistake from one or more fixes.

    The pattern matches the code before each fix. The fixes themselves do not count as history.
    """
    code = [_select_code(fix) for fix in fixes]
    changes = [change for fix in code for change in fix]
    if not is_available():
        return Proposal(said="ast-grep is not installed")
    if not changes:
        return Proposal(said="the fix changes no code in a language that ast-grep knows")
    candidates = find_candidates(code)
    if not candidates:
        return Proposal(said="nothing that the fix removed or added tells it from other code")
    _gather_evidence(candidates, changes, files, history)
    supported = [candidate for candidate in candidates if candidate.is_supported]
    if not supported:
        return Proposal(said=_explain(candidates))
    best = max(supported, key=lambda candidate: candidate.sites + candidate.fixes)
    return Proposal(pattern=_with_examples(best.pattern, changes), said=best.said)


def _select_code(fix: Sequence[Change]) -> list[Change]:
    return [change for change in fix if language_of(change.path) not in _TEXTS]


def _explain(candidates: Sequence[PatternCandidate]) -> str:
    """Return why the best of the rejected candidates is not proposed."""
    best = min(candidates, key=lambda candidate: (candidate.elsewhere, -candidate.right))
    if best.elsewhere:
        more = "more than " if best.elsewhere > MANY_PLACES else ""
        count = min(best.elsewhere, MANY_PLACES)
        return f"what it changed also stands in {more}{counted(count, 'place')} that nobody changed"
    if best.removals > best.fixes:
        return f"of {best.removals} other removals in history {best.fixes} did the same"
    return "it was fixed in one file, and no other shows how it is done right"


def _gather_evidence(
    candidates: Sequence[PatternCandidate], fixed: Sequence[Change], files: Files, history: History
) -> None:
    """Count the evidence for and against candidates, first in the code, then in the history.

    A candidate with too many matches in the code is dropped, and its counts are incomplete.
    """
    languages = {candidate.pattern.language for candidate in candidates}
    new_calls = _find_calls(change.after for change in fixed)
    new_calls -= _find_calls(change.before for change in fixed)
    own_files = {change.path for change in fixed}
    code = ((path, text) for path, text in files if language_of(path) in languages)
    remaining = _gather_from_code(dict(enumerate(candidates)), code, own_files, new_calls)
    if not remaining:
        return
    own_texts = {change.before for change in fixed}
    narrow, wide = _compile(remaining)
    for changes in history:
        removed, replaced = set[int](), set[int]()
        for change in changes:
            if language_of(change.path) not in languages or change.before in own_texts:
                continue
            reverted = replace(change, before=change.after, after=change.before)
            lost = {int(match.rule.card) for match in narrow.find_added(reverted)}
            removed |= lost
            if new_calls.isdisjoint(_CALLED.findall(change.after)):
                lost &= {int(match.rule.card) for match in wide.find_added(change)}
            replaced |= lost
        for number in removed:
            remaining[number].removals += 1
            remaining[number].fixes += number in replaced


def _gather_from_code(
    remaining: dict[int, PatternCandidate], files: Files, own_files: set[str], new_calls: set[str]
) -> dict[int, PatternCandidate]:
    """Count matches and correct places in the code; return the candidates that are still rare.

    ``new_calls`` are the functions that the fix calls and the code before it did not.
    """
    call_counts = Counter[str]()
    narrow = wide = Matcher(())
    for path, text in files:
        if len(narrow.rules) != len(remaining):
            narrow, wide = _compile(remaining)
        matches = narrow.find_in_file(path, text)
        places = {(int(match.rule.card), match.line) for match in matches}
        for number, _line in places:
            remaining[number].elsewhere += 1
        if path not in own_files:
            for match in wide.find_in_file(path, text):
                number = int(match.rule.card)
                remaining[number].right += (number, match.line) not in places
            if any(name in text for name in new_calls):
                call_counts.update(name for name in _CALLED.findall(text) if name in new_calls)
        remaining = {
            number: candidate
            for number, candidate in remaining.items()
            if candidate.elsewhere <= MANY_PLACES
        }
        if not remaining:
            return {}
    for candidate in remaining.values():
        if candidate.wide is None:
            candidate.right = min((call_counts[name] for name in new_calls), default=0)
    return remaining


def _find_calls(texts: Iterable[str]) -> set[str]:
    return {name for text in texts for name in _CALLED.findall(text)}


def _compile(candidates: Mapping[int, PatternCandidate]) -> tuple[Matcher, Matcher]:
    """Return a matcher of the patterns of some candidates, and one of their wide patterns."""
    narrow, wide = [], []
    for number, candidate in candidates.items():
        narrow.append((number, candidate.pattern))
        if candidate.wide:
            wide.append((number, candidate.wide))
    return _matcher(narrow), _matcher(wide)


def _widen(pattern: Pattern, given: str) -> Pattern | None:
    """Return a pattern for the uses of a call that have the addition of a fix, or for all its uses.

    ``given`` is the argument that the fix added. The result is None if it would not differ.
    """
    has_one_call = pattern.text.count("(") == 1
    text = re.sub(r"\(.*\)$", "($$$)", pattern.text) if has_one_call else pattern.text
    if not pattern.relations:
        text = f"{pattern.text[:-1]}, {given})" if given else text
        return replace(pattern, text=text) if text != pattern.text else None
    relations = []
    for name, required in pattern.relations:
        positive = name.removeprefix("not-")
        relations.append((positive, given if positive == "has" and given else required))
    return replace(pattern, text=text, relations=tuple(relations))


def _matcher(patterns: Iterable[tuple[int, Pattern]]) -> Matcher:
    """Return a matcher whose rules have the numbers of the patterns as their cards."""
    return Matcher(Rule(card=str(number), pattern=pattern) for number, pattern in patterns)


def propose_command(failed: Sequence[str], ran: Iterable[str]) -> Proposal:
    """Derive a pattern from command lines that failed, unless similar commands often succeeded.

    The pattern has the words that the failed commands share: the program, its first words, and its
    options in any order. Paths and other operands are ignored. ``ran`` are command lines that
    succeeded.
    """
    lines = [[words for _operator, words in split_commands(line)] for line in failed]
    for words in lines[0] if len(lines) > 1 else ():
        same_program = [words]
        for line in lines[1:]:
            same_program += [other for other in line if other[0] == words[0]]
        pattern = _generalise_command(same_program)
        if len(same_program) < len(lines) or pattern is None:
            continue
        matcher = _matcher([(0, pattern)])
        harmless = sum(bool(matcher.find_in_commands([command])) for command in ran)
        if check_pattern(pattern) or 2 * harmless >= len(lines):
            return Proposal(said=f"such commands ran {counted(harmless, 'time')} without harm")
        return Proposal(pattern=pattern, said=f"failed {len(lines)} times, ran well {harmless}")
    return Proposal()


def _generalise_command(commands: Sequence[Sequence[str]]) -> Pattern | None:
    """Return a pattern of the words that commands share; None if they share too few."""
    columns = [set(column) for column in zip(*commands, strict=False)]
    shared = [word for column in columns if len(column) == 1 for word in column]
    heads = [*takewhile(lambda word: _WORD.fullmatch(word) is not None, shared)]
    common = set(commands[0]).intersection(*commands[1:])
    options = sorted(word for word in common if word.startswith("-"))
    if len(heads) + len(options) < _FEW_WORDS or len(options) > _MAX_OPTIONS:
        return None
    quoted = [rf".*\s{re.escape(option)}\b" for option in options]
    orders = "|".join(map("".join, permutations(quoted)))
    text = r"\b" + r"\s+".join(map(re.escape, heads)) + r"\b"
    return Pattern(kind="command", text=f"{text}(?:{orders})" if options else text)


def find_candidates(fixes: Sequence[Sequence[Change]]) -> list[PatternCandidate]:
    """Return the patterns that match the code before each fix and not the code after it.

    Patterns with more matches come first, then those of the smallest code.
    """
    seeds = [_find_seeds_of_fix(fix) for fix in fixes]
    written: dict[Pattern, _Writer] = {}
    for pattern, writer in islice(_write_all(seeds), _MAX_WRITTEN):
        if _is_sound(pattern):
            written.setdefault(pattern, writer)
    changes = [change for fix in fixes for change in fix]
    counts = [_count(written, fix) for fix in fixes]
    candidates: list[PatternCandidate] = []
    for number, (pattern, writer) in enumerate(written.items()):
        is_plain = len(fixes) > 1 or not _PLAIN.sub("", pattern.text)
        separates = all(before[number] and not after[number] for before, after in counts)
        if not is_plain or not separates:
            continue
        wide = _widen(pattern, writer.given)
        if wide:
            before, after = _count([wide], changes)
            wide = wide if len(after[0]) >= max(len(before[0]), 1) else None
        if wide or writer.is_foreign:
            sites = files = 0
            for before, _after in counts:
                sites += len(before[number])
                files += len({path for path, _line in before[number]})
            candidates.append(
                PatternCandidate(pattern=pattern, wide=wide, sites=sites, files=files)
            )
    return sorted(candidates, key=lambda candidate: -candidate.sites)[:_MAX_CANDIDATES]


def _find_seeds_of_fix(fix: Sequence[Change]) -> list[_Seed]:
    seeds = [seed for change in fix for seed in _find_seeds(change)]
    return seeds[: _MAX_SITES * _MAX_LEVELS]


def _write_all(seeds: Sequence[Sequence[_Seed]]) -> Iterator[tuple[Pattern, _Writer]]:
    """Yield a pattern for each pair of similar instances, then for each instance alone."""
    pairs = islice(_pair_seeds(seeds), _MAX_WRITTEN // 4)
    for group in (*pairs, *((seed,) for seed in seeds[0])):
        writer = _Writer(group)
        pattern = writer.write_pattern()
        if pattern:
            yield pattern, writer


def _pair_seeds(seeds: Sequence[Sequence[_Seed]]) -> Iterator[tuple[_Seed, _Seed]]:
    """Yield the similar instances of different fixes.

    With a single fix, yield its instances that were replaced by the same tokens.
    """
    numbered = [(number, seed) for number, fix in enumerate(seeds) for seed in fix]
    for (number, seed), (other_number, other) in combinations(numbered, 2):
        if seed.sort != other.sort:
            continue
        is_pair = number != other_number if len(seeds) > 1 else seed.put == other.put
        if is_pair:
            yield seed, other


_Matches = defaultdict[int, set[tuple[str, str]]]
"""Number of a pattern → (path, line) of its matches. Equal lines of a file count once."""


def _count(patterns: Iterable[Pattern], fix: Sequence[Change]) -> tuple[_Matches, _Matches]:
    """Return the matches of each pattern before a fix, and after it."""
    matcher, sides = _matcher(enumerate(patterns)), (_Matches(set), _Matches(set))
    for change in fix:
        for text, matches in zip((change.before, change.after), sides, strict=True):
            for match in matcher.find_added(replace(change, before="", after=text)):
                matches[int(match.rule.card)].add((change.path, match.text))
    return sides


def _with_examples(pattern: Pattern, changes: Sequence[Change]) -> Pattern:
    """Return a pattern with the first statement it matches as ``bad``, and its fix as ``good``.

    If Python code imports the called name from a module, the pattern requires that import.
    """
    called, head = pattern.text.partition("(")[0], ""
    names = rf"(?:\([^)]*|[^\n(]*)\b{re.escape(called)}\b"
    above = "\n".join(change.prefix for change in changes)
    line = re.search(rf"(?m)^from (\w[\w.]*) import {names}", above)
    if line:
        follows = ("follows", f"from {line[1]} import $$$")
        head = f"from {line[1]} import {called}\n"
        pattern = replace(pattern, relations=(*pattern.relations, follows))
    for change in changes:
        old, new = change.before.splitlines(), change.after.splitlines()
        for _kind, a, b, c, d in _steps(old, new):
            bad = head + dedent("\n".join(old[a:b]))
            good = head + dedent("\n".join(new[c:d]))
            before, after = _count([pattern], [Change(path=change.path, before=bad, after=good)])
            is_short = good.strip() != head.strip() and len(max(bad, good, key=len)) <= MAX_TEXT
            if is_short and before[0] and not after[0]:
                return replace(pattern, bad=(bad,), good=(good,))
    return pattern


def _is_sound(pattern: Pattern) -> bool:
    """Return whether a pattern contains a name that means the same in other files."""
    if len(pattern.text) > _MAX_PATTERN or check_pattern(pattern):
        return False
    code = _QUOTED.sub("", pattern.text)
    words = {*find_words(replace(pattern, text=code))} - _ORDINARY
    return bool(words) and re.search(r"[(. ]", code) is not None


class _Leaf(NamedTuple):
    node: Any
    text: str
    start: int
    end: int
    line: int


@frozen
class _Seed:
    """An instance: a node of the code before the fix, and how the fix changed it."""

    node: Any
    language: str
    removed: tuple[tuple[int, int], ...]
    """The (start, end) of everything that the change removed."""
    bound: set[str]
    """Names that are assigned nearby: they mean something else in other files."""
    imported: set[str]
    put: tuple[str, ...] = ()
    """The tokens that replaced it."""
    relations: tuple[tuple[str, str], ...] = ()
    """The addition of the fix as relations of a pattern: a word or a pattern each."""
    given: str = ""
    """The added argument with its value, if the value means the same in other code."""
    is_short: bool = False
    """Whether the fix added a positional argument: the others are counted then."""

    @property
    def sort(self) -> tuple[object, ...]:
        """The properties that all instances of one mistake share."""
        return self.node.kind(), self.language, self.relations


def _find_seeds(change: Change) -> Iterator[_Seed]:
    """Yield the nodes around the code that a change removed or extended, the smallest first."""
    language = language_of(change.path)
    is_long = max(len(change.before), len(change.after)) > MAX_LEARNT_CHARS
    if not language or is_long or not (change.before.strip() and change.after.strip()):
        return
    # A part of a block can only be parsed with the rest of its outermost block. Parsing the whole
    # of a long file would take too long.
    above = change.prefix.splitlines(keepends=True)
    opened = len([*takewhile(_is_inside, reversed(above))]) + 1
    below = takewhile(_is_inside, change.suffix.splitlines(keepends=True))
    head = "".join(above[-opened:])[-MAX_LEARNT_CHARS:]
    tail = "".join(below)[:MAX_LEARNT_CHARS]
    before, after = change.before, change.after
    old = _Side(f"{head}{before}{tail}", language, len(head), len(before))
    new = _Side(f"{head}{after}{tail}", language, len(head), len(after))
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
                continue  # code that was deleted as a whole is not wrong in itself
            is_all = opening <= runs[0][0] and runs[-1][1] <= closing
            words = {leaf.text for leaf in old.leaves[first:end]} - _ORDINARY - seed.bound
            if is_all or any(_WORD.fullmatch(word) for word in words):
                yield replace(seed, node=node, put=put)


def _align(old: Sequence[_Leaf], new: Sequence[_Leaf]) -> Iterator[tuple[str, int, int, int, int]]:
    """Yield the edit steps from the old tokens to the new ones: lines first, then inside lines.

    A step is (kind, old start, old end, new start, new end), as of ``SequenceMatcher``.
    """
    old_lines, new_lines = _split_lines(old), _split_lines(new)
    old_starts = [*accumulate(map(len, old_lines), initial=0)]
    new_starts = [*accumulate(map(len, new_lines), initial=0)]
    for kind, first, end, begin, stop in _steps(old_lines, new_lines):
        a, b = old_starts[first], old_starts[end]
        c, d = new_starts[begin], new_starts[stop]
        if kind != "replace":
            yield kind, a, b, c, d
            continue
        old_words = [leaf.text for leaf in old[a:b]]
        new_words = [leaf.text for leaf in new[c:d]]
        for inner, i, j, k, m in _steps(old_words, new_words):
            yield inner, a + i, a + j, c + k, c + m


def _split_lines(leaves: Sequence[_Leaf]) -> list[tuple[str, ...]]:
    """Return the texts of the tokens of each line."""
    groups = groupby(leaves, key=lambda leaf: leaf.line)
    return [tuple(leaf.text for leaf in group) for _line, group in groups]


def _steps(old: Sequence[Any], new: Sequence[Any]) -> list[tuple[str, int, int, int, int]]:
    opcodes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [step for step in opcodes if step[0] != "equal"]


def _find_additions(
    seed: _Seed, old: _Side, new: _Side, first: int, added: tuple[int, int]
) -> Iterator[_Seed]:
    """Yield the calls that a fix extended, with the addition as the relation they lacked."""
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
            continue  # the addition belongs to another call
        lacking = replace(seed, node=call)
        old_names = {leaf.text for leaf in old.leaves}
        old_names.update(leaf.text for leaf in new.leaves if _is_binding(leaf.node))
        for leaf in leaves:
            word, entry = leaf.text, _find_entry(leaf.node)
            is_new = word not in old_names and re.fullmatch(r"[\w-]{2,}", word)
            if entry is not None and is_new:
                value = entry.children()[-1:]
                given = entry.text() if value and value[0].kind() in _CONSTANT else ""
                yield replace(lacking, relations=(("not-has", word),), given=given)
                return
            is_element = leaf.node.parent().kind() in _SYNTAX["lists"]
            if is_element and leaf.node.kind() == "identifier" and word in call.text():
                relations = (("has", word), ("not-has", f"[$$$, {word}, $$$]"))
                yield replace(lacking, relations=relations)
        given = _find_constant(leaves[1].node, whole) if len(leaves) > 1 else ""
        if given:
            yield replace(lacking, is_short=True, given=given)
        return


def _find_constant(leaf: Any, call: Any) -> str:
    """Return the text of an argument of ``call`` that means the same in other code; else ""."""
    for parent in leaf.ancestors():
        if parent.kind() in _SYNTAX["arguments"]:
            if parent.parent() != call:
                return ""
            if leaf.kind() in _SYNTAX["lists"]:
                return "[$$$]"
            return str(leaf.text()) if leaf.kind() in _CONSTANT else ""
        leaf = parent
    return ""


def _call_around(first: _Leaf, last: _Leaf) -> Any:
    """Return the smallest call that covers a range of tokens; None if there is none."""
    around = _around(first.node, (first.start, last.end))
    return next((node for node in around if node.kind() in _SYNTAX["calls"]), None)


def _find_unmarked(seed: _Seed, node: Any, marker: str) -> Iterator[_Seed]:
    """Yield a function that got a decorator, once with each name that may be the reason."""
    if node is not None and node.kind() == "decorator":  # another decorator of the function
        node = node.parent().children()[-1]
    if node is not None and node.kind() == "function_definition":
        body = f"{node.field('parameters').text()} {node.field('body').text()}"
        lacks = ("not-inside", re.split(r"[\s(]", marker)[0])
        for word in dict.fromkeys(_WORD.findall(body)):
            if word not in _ORDINARY:
                yield replace(seed, node=node, relations=(("has", word), lacks))


def _find_entry(leaf: Any) -> Any:
    """Return the keyword argument or mapping entry whose name a word is; None if it is none."""
    if "shorthand" in leaf.kind():
        return leaf
    parent = leaf.parent()
    while parent is not None and parent.kind() not in _SYNTAX["named"]:
        leaf, parent = parent, parent.parent() if "string" in parent.kind() else None
    return parent if parent is not None and _is_first(leaf) else None


def _is_inside(line: str) -> bool:
    return not line[:1].strip() or line[0] in ")]}"


class _Side:
    """One side of a change: the tokens of the changed part, and the names assigned around it."""

    def __init__(self, text: str, language: str, begin: int, length: int) -> None:
        self.leaves: list[_Leaf] = []
        self.bound = set(_SELF)
        root = parse(text, language)
        waiting = [] if root is None else [root]
        while waiting:
            node = waiting.pop()
            children, token = node.children(), node.text()
            if children:
                waiting += reversed(children)
            elif token:
                start, end = _span(node)
                if node.kind() in _SYNTAX["names"] and _is_binding(node):
                    self.bound.add(token)
                if start < begin + length and end > begin and "comment" not in node.kind():
                    self.leaves.append(_Leaf(node, token, start, end, node.range().start.line))


def _span(node: Any) -> tuple[int, int]:
    """Return the start and the end of a node, in characters."""
    position = node.range()
    return position.start.index, position.end.index


def _around(leaf: Any, run: tuple[int, int]) -> Iterator[Any]:
    """Yield the smallest node that covers a range, then its ancestors, up to the statement."""
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
    """Return whether a name is assigned here, so that it means something else in other files."""
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
    """Writes the code that instances share. Code that the fix did not remove is generalised."""

    def __init__(self, seeds: Sequence[_Seed]) -> None:
        self.seeds = seeds
        self._holes: dict[tuple[str, ...], str] = {}
        self._has_mistake = False
        """Whether the pattern contains removed code. ``f("$A")`` does not if "a, b" was removed."""
        self.is_foreign = False
        """Whether the pattern contains a name that the file imports."""

    def write_pattern(self) -> Pattern | None:
        """Return the pattern; None if it would not contain the mistake."""
        first = self.seeds[0]
        text = self._write([seed.node for seed in self.seeds])
        if first.node.kind() == "function_definition":
            text = f"def $A($$$){' -> $B' if first.node.field('return_type') else ''}: $$$"
        if not (self._has_mistake or first.relations or first.is_short):
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
            # A string literal is part of the mistake only if fixes agree on it.
            is_plain = kind != "string" or (len(nodes) > 1 and len(node.text()) <= _MAX_LITERAL)
            if not (removed and is_plain and _have_one_text(nodes)):
                return self._hole(nodes)
            self._has_mistake = True
            return str(node.text())
        children = [node.children() for node in nodes]
        if not children[0]:
            return self._write_leaf(nodes, removed=removed)
        if len(set(map(len, children))) > 1:
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
        for group in zip(*children, strict=True):
            begin, stop = _span(group[0])
            if "comment" not in group[0].kind():
                pieces += [source[at - start : begin - start], self._write(group)]
            at = stop
        return "".join((*pieces, source[at - start : end - start]))

    @property
    def given(self) -> str:
        """The argument that all fixes added; "" if they differ. Other values may be correct too."""
        return self.seeds[0].given if len({seed.given for seed in self.seeds}) == 1 else ""

    def _write_arguments(self, nodes: Sequence[Any]) -> str:
        """Write the arguments that every fix removed, and all others as ``$$$``."""
        opening, closing = nodes[0].text()[:1], nodes[0].text()[-1:]
        if self.seeds[0].is_short and nodes[0].parent() == self.seeds[0].node:
            named = [child for child in nodes[0].children() if child.is_named()]
            return f"({', '.join(self._hole([child]) for child in named)})"
        if opening not in "([{<":
            return self._write_children(nodes[:1], [nodes[0].children()])
        removed = [self._removed_children(*pair) for pair in zip(nodes, self.seeds, strict=True)]
        written, is_open = list[str](), len(nodes) > 1
        for child in nodes[0].children():
            if child.is_named() and "comment" not in child.kind():
                same = [children.get((child.kind(), child.text())) for children in removed]
                is_open |= all(same) and child.kind() in _SYNTAX["named"]
                written.append(self._write(same) if all(same) else "$$$")
        if is_open:  # the position of the arguments does not matter
            written = ["$$$", *written, "$$$"]
        merged: list[str] = []
        for argument in written:
            if argument != "$$$" or merged[-1:] != ["$$$"]:
                merged.append(argument)
        return f"{opening}{', '.join(merged)}{closing}"

    def _removed_children(self, node: Any, seed: _Seed) -> dict[tuple[str, str], Any]:
        """Return (kind, text) → child, for the children that the fix removed."""
        children = [child for child in node.children() if self._is_removed(child, seed)]
        return {(child.kind(), child.text()): child for child in children}

    def _write_leaf(self, leaves: Sequence[Any], *, removed: bool) -> str:
        leaf, text = leaves[0], str(leaves[0].text())
        if not _have_one_text(leaves):
            return self._hole(leaves)
        if leaf.kind() != "identifier":
            self._has_mistake |= removed and text not in _PUNCTUATION
            return text
        parent = leaf.parent()
        kind = parent.kind() if parent is not None else ""
        is_first, is_member = _is_first(leaf), kind in _SYNTAX["members"]
        # The name of a member or of a keyword argument means the same in other files.
        is_option = not is_first if is_member else is_first and kind == "keyword_argument"
        is_bound = any(text in seed.bound for seed in self.seeds)
        is_global = _is_called(parent if is_member else leaf)
        is_global |= (removed or is_member) and self._is_foreign(leaves)
        is_literal = is_option or (is_global and not is_bound)
        self._has_mistake |= removed and is_literal
        self.is_foreign |= is_literal and all(text in seed.imported for seed in self.seeds)
        return text if is_literal else self._hole(leaves)

    def _is_foreign(self, nodes: Sequence[Any]) -> bool:
        """Return whether a value begins with a name that means the same in other files."""
        first = nodes[0]
        while first.children():
            first = first.child(0)
        text = first.text()
        return text[:1].isupper() or any(text in seed.imported for seed in self.seeds)

    def _is_removed(self, node: Any, seed: _Seed) -> bool:
        start, end = _span(node)
        return any(start < run[1] and run[0] < end for run in seed.removed)

    def _hole(self, nodes: Sequence[Any]) -> str:
        """Return a metavariable. Nodes with the same texts get the same one."""
        texts = tuple(node.text() for node in nodes)
        return self._holes.setdefault(texts, f"${chr(ord('A') + len(self._holes) % 26)}")


def _have_one_text(nodes: Sequence[Any]) -> bool:
    return len({node.text() for node in nodes}) == 1


def _is_called(node: Any) -> bool:
    parent = node.parent()
    is_call = parent is not None and parent.kind() in _SYNTAX["calls"]
    return is_call and _span(parent.child(0))[0] == _span(node)[0]


def _is_first(node: Any) -> bool:
    parent = node.parent()
    return parent is not None and _span(parent.child(0)) == _span(node)
