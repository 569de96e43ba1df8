"""Syntax patterns learnt from the change that put a mistake right, for a human to confirm.

The tokens of both sides are aligned. What a fix removed is cut out of the syntax tree: the
smallest node around each removed run, and the nodes around that one up to the statement. Names
that are bound nearby and whatever was only passed along become metavariables, arguments and bodies
that did not change become ``$$$``. Where something was added, the code around it is an anchor
and what was added excuses it. What finds the code before and not after is left; of those that are
rare in the project, the one with the fewest words is the most general.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import islice
from typing import Any

from lessons_kb.data import read_words
from lessons_kb.detect.matcher import (
    Change,
    Matcher,
    Rule,
    check_pattern,
    find_words,
    language_of,
    parse,
)
from lessons_kb.model import Pattern

MAX_LEARNT_CHARS = 20_000
"""Of each side of one change; a longer one is no fix of one mistake."""
_MAX_WRITTEN = 40
"""Ways to write one change that are tried on it."""
_MAX_CANDIDATES = 12
"""Of those that find it, the ones that are looked for in the project."""
_MAX_LEVELS = 8
"""Nodes around the smallest one that are looked at."""
_MAX_LITERAL = 40
"""Characters of a text in quotes that may be a part of the mistake."""
_MAX_PATTERN = 200
_STATEMENT = "statement"
_SYNTAX = {name: tuple(words) for name, words in read_words("syntax_nodes.txt").items()}
_MODULE_VALUE = re.compile(r"(?m)^(?:(?:const|let|var)\s+)?([a-z_]\w*)\s*(?::[^=\n]+)?=(?!=)")
_TRAILING = re.compile(r", \$\$\$(?=[)\]}])")
_QUOTED = re.compile(r"(['\"])((?:(?!\1).)*)\1")
_ORDINARY = {*_SYNTAX["control"], *_SYNTAX["constants"]}
_IMPORT = re.compile(r"(?m)^[^\n#]*\b(?:import|require|use|using)\b[^\n]*")
_PUNCTUATION = {*"()[]{},:;"}
_WORD = re.compile(r"\w+")
_KEYED_DIGIT = re.compile(r"[\[({].*[0-9]")
_FOLDS = re.compile(r"\s*\n\s*")
_SELF = ("self", "this", "cls")

Proposal = tuple[Pattern, ...]
"""One way in which a mistake looks: a pattern, and its variants where one cannot say it."""
Rarity = Callable[[Sequence[Proposal], int], Sequence[bool]]
"""Which proposals find no more than so many places in the project after the fix."""
MANY_PLACES = 5
"""A pattern of one mistake that finds more places describes something ordinary."""
A_COUPLE = 2
"""Places that a pattern may find which two fixes agree on."""


def propose(
    changes: Iterable[Change],
    are_rare: Rarity,
    *,
    again: Sequence[Change] | None = None,
    most: int = 3,
) -> list[Pattern]:
    """Return patterns that find what some changes put right and nothing that they left.

    With ``again``, a second fix of the same mistake, only what both fixes show. The most general
    one of each change comes first. Nothing is proposed for a language that is not known, and
    without ast-grep.
    """
    groups = [found for change in changes if (found := find_candidates(change))]
    if again is not None:  # what any of the second fix's changes agrees with
        agreed = (
            {one for change in again for one in find_agreeing(group, change)} for group in groups
        )
        groups = [
            kept
            for group, common in zip(groups, agreed, strict=True)
            if (kept := [one for one in group if one in common])
        ]
    flat = [one for group in groups for one in group]
    places = MANY_PLACES if again is None else A_COUPLE
    rare = dict(zip(flat, are_rare(flat, places), strict=True))
    return [one for proposal in choose(groups, rare) for one in proposal][:most]


def choose(groups: Iterable[Sequence[Proposal]], rare: Mapping[Proposal, bool]) -> list[Proposal]:
    """Return the first rare candidate of each change, the most general ones first."""
    firsts = (next((one for one in group if rare[one]), None) for group in groups)
    return sorted(dict.fromkeys(one for one in firsts if one), key=_generality)


def find_candidates(change: Change) -> list[Proposal]:
    """Return what finds a change's old side and not its new one, the most general first."""
    language = language_of(change.path)
    if not language or not change.before.strip() or not change.after.strip():
        return []
    if max(len(change.before), len(change.after)) > MAX_LEARNT_CHARS:
        return []
    written = islice(_write_all(change, language), 4 * _MAX_WRITTEN)
    ranked = sorted({one for one in written if _is_sound(one)}, key=_generality)
    return find_agreeing(ranked[:_MAX_WRITTEN], change)[:_MAX_CANDIDATES]


def find_agreeing(candidates: Sequence[Proposal], change: Change) -> list[Proposal]:
    """Return the candidates that find more in a change's old side than in its new one, in order."""
    matcher = _matcher(candidates, range(len(candidates)))
    before, after = (
        Counter(int(match.rule.card) for match in matcher.find_added(side))
        for side in (replace(change, before="", after=change.before), replace(change, before=""))
    )
    return [one for place, one in enumerate(candidates) if before[place] > after[place]]


def count_matches(
    proposals: Sequence[Proposal], files: Iterable[tuple[str, str]], *, most: int
) -> list[int]:
    """Return how many lines of some files (path, text) each proposal finds, up to ``most`` + 1.

    What has found more is looked for no further.
    """
    counts = [0] * len(proposals)
    left = list(range(len(proposals)))
    matcher = _matcher(proposals, left)
    for path, text in files:
        for match in matcher.find_in_file(path, text):
            counts[int(match.rule.card)] += 1
        if len(kept := [place for place in left if counts[place] <= most]) < len(left):
            left, matcher = kept, _matcher(proposals, kept)
        if not left:
            break
    return [min(count, most + 1) for count in counts]


def _matcher(proposals: Sequence[Proposal], places: Iterable[int]) -> Matcher:
    return Matcher(
        Rule(card=str(place), pattern=pattern) for place in places for pattern in proposals[place]
    )


def _generality(proposal: Proposal) -> tuple[bool, int, int, str]:
    """Return what sorts the most general proposal first, and last what was only added to."""
    one = proposal[0]
    return bool(one.unless), len(find_words(one)), len(one.text), one.text


def _is_sound(proposal: Proposal) -> bool:
    text = proposal[0].text
    plain = "(" in text or "." in text or " " in text
    if not plain or len(text) > _MAX_PATTERN or check_pattern(proposal[0]):
        return False
    if any(len(quoted) > _MAX_LITERAL or " " in quoted for _mark, quoted in _QUOTED.findall(text)):
        return False
    return _KEYED_DIGIT.search(text) is not None or not set(_SYNTAX["control"]).issuperset(
        find_words(proposal[0])
    )


def _write_all(change: Change, language: str) -> Iterator[Proposal]:
    """Yield every way to write what a change removed, or what it added something to."""
    outer, inner = _surroundings(change)
    old, new = (
        _Side(f"{outer}{text}{inner}", language, len(outer), len(text))
        for text in (change.before, change.after)
    )
    if not old.leaves:
        return
    above = f"{change.prefix}{change.before}"
    names = _KnownNames(
        bound=old.bound | set(_MODULE_VALUE.findall(change.prefix)),
        imported=set(_WORD.findall(" ".join(_IMPORT.findall(above)))),
        after=change.after,
        whole=bool(change.prefix or change.suffix),
    )
    before, after = ([leaf.text for leaf in side.leaves] for side in (old, new))
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    steps = [step for step in matcher.get_opcodes() if step[0] != "equal"]
    runs = [(old.leaves[a].start, old.leaves[b - 1].end) for kind, a, b, *_ in steps if a < b]
    for kind, first, end, begin, stop in steps:
        if kind == "insert":
            yield from _anchor(old, new, first, new.leaves[begin:stop], names, language)
            continue
        run = (old.leaves[first].start, old.leaves[end - 1].end)
        for node in _around(old.leaves[first].node, run):
            opening, closing = _span(node)
            is_all = opening <= runs[0][0] and runs[-1][1] <= closing
            for loose in (True, False):
                writer = _Writer(runs, names, loose=loose)
                pattern = Pattern(kind="ast", text=writer.write(node), language=language)
                is_telling = is_all or not _ORDINARY.issuperset(find_words(pattern))
                if is_telling and writer.holds_the_mistake:
                    yield _with_variants(pattern)


def _anchor(
    old: _Side, new: _Side, first: int, added: Sequence[_Leaf], names: _KnownNames, language: str
) -> Iterator[Proposal]:
    """Yield the code to which something was added, excused by a word of what was added.

    A name that was given its value here means nothing elsewhere, and excuses nothing.
    """
    known = {leaf.text for leaf in old.leaves}
    known.update(leaf.text for leaf in new.leaves if _is_binding(leaf.node))
    words = (leaf.text for leaf in added if re.fullmatch(r"\w\w+", leaf.text))
    word = next((word for word in words if word not in known), "")
    for place in {max(first - 1, 0), min(first, len(old.leaves) - 1)} if word else ():
        leaf = old.leaves[place]
        for node in _around(leaf.node, (leaf.start, leaf.end)):
            text = _Writer([(leaf.start, leaf.start)], names, loose=True).write(node)
            pattern = Pattern(kind="ast", text=text, language=language)
            yield _with_variants(replace(pattern, unless=rf"\b{re.escape(word)}\b"))


def _with_variants(pattern: Pattern) -> Proposal:
    """Return a pattern, and again as the same code may be written otherwise.

    A trailing ``$$$`` matches nothing where no argument follows, and quotes match their own kind.
    """
    text = _FOLDS.sub(" ", pattern.text)
    texts = [text, _TRAILING.sub("", text)]
    texts += [_QUOTED.sub(_swap_quotes, one) for one in texts]
    return tuple(replace(pattern, text=one) for one in dict.fromkeys(texts))


def _swap_quotes(found: re.Match[str]) -> str:
    mark = "'" if found[1] == '"' else '"'
    return found[0] if mark in found[2] or "\\" in found[2] else f"{mark}{found[2]}{mark}"


def _surroundings(change: Change) -> tuple[str, str]:
    """Return what stands around a piece up to the ends of its outermost block.

    A piece of a block cannot be read without the lines that open it, and the rest of a long file
    costs time.
    """
    before, after = "", ""
    for line in reversed(change.prefix.splitlines(keepends=True)):
        before = f"{line}{before}"
        if (line[:1].strip() and line[0] not in ")]}") or len(before) > MAX_LEARNT_CHARS:
            break
    for line in change.suffix.splitlines(keepends=True):
        if (line[:1].strip() and line[0] not in ")]}") or len(after) > MAX_LEARNT_CHARS:
            break
        after += line
    return before, after


@dataclass(frozen=True, slots=True)
class _Leaf:
    node: Any
    text: str
    start: int
    end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class _KnownNames:
    bound: set[str]
    """Given a value nearby: they mean nothing elsewhere."""
    imported: set[str]
    after: str
    """The fixed side."""
    whole: bool
    """Whether the rest of the file is known: what is bound nowhere is then a global name."""


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
                if node.kind() in _SYNTAX["names"] and _is_binding(node):
                    self.bound.add(token)
                if start < begin + length and end > begin and "comment" not in node.kind():
                    self.leaves.append(_Leaf(node, token, start, end))


def _span(node: Any) -> tuple[int, int]:
    found = node.range()
    return found.start.index, found.end.index


def _around(leaf: Any, run: tuple[int, int]) -> Iterator[Any]:
    """Yield the smallest node that covers a run, and those around it, up to the statement."""
    node, levels = leaf, 0
    while node is not None and levels < _MAX_LEVELS:
        kind = node.kind()
        if kind.endswith(_SYNTAX["outermost"]) or "comment" in kind:
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
    if kind in ("default_parameter", "typed_parameter", "typed_default_parameter"):
        return _span(parent.child(0)) == _span(leaf)
    if kind not in _SYNTAX["binders"]:
        return False
    if kind.endswith(("parameters", "pattern", "pattern_list", "target")):
        return True
    named = "left" if kind != "variable_declarator" else "name"
    first = parent.field(named) or parent.child(0)
    return _span(first) == _span(leaf)


class _Writer:
    """Writes a node as a pattern; what the fix did not remove is generalised."""

    def __init__(
        self, removed: Sequence[tuple[int, int]], names: _KnownNames, *, loose: bool
    ) -> None:
        self._removed = removed
        self._names_in = names
        self._loose = loose
        """Whether any value may stand for a removed text in quotes, or for a removed name."""
        self._names: dict[str, str] = {}
        self._kept = self._lost = False

    @property
    def holds_the_mistake(self) -> bool:
        """Tell whether a part of the mistake is left: not if its text was all that went away.

        ``f("$A")`` says nothing of ``f("a, b")``, which became ``f(("a", "b"))``.
        """
        return self._kept or not self._lost

    def write(self, node: Any) -> str:
        """Return the pattern of a node."""
        kind = node.kind()
        if kind in _SYNTAX["arguments"]:
            return self._write_arguments(node)
        removed = self._is_removed(node)
        if kind in _SYNTAX["bodies"] and not removed:
            return "$$$"
        if kind == "string":
            return self._write_string(node, removed=removed)
        if kind in _SYNTAX["literals"]:
            self._kept |= removed
            return str(node.text()) if removed else self._metavariable(node.text())
        children = node.children()
        if not children:
            return self._write_leaf(node, removed=removed)
        if not removed and kind in _SYNTAX["calls"] and kind != "decorator":
            return self._metavariable(node.text())
        if not removed and kind in _SYNTAX["members"]:
            return self._write_member(node)
        is_value = kind.endswith(_SYNTAX["values"]) and kind not in (
            "pattern_list",
            "argument_list",
        )
        if not removed and node.is_named() and is_value:
            return self._metavariable(node.text())
        return self._write_children(node, children)

    def _write_children(self, node: Any, children: Sequence[Any]) -> str:
        start, end = _span(node)
        pieces: list[str] = []
        source, at = node.text(), start
        for child in children:
            begin, stop = _span(child)
            if "comment" not in child.kind():
                pieces += [source[at - start : begin - start], self.write(child)]
            at = stop
        return "".join((*pieces, source[at - start : end - start]))

    def _write_arguments(self, node: Any) -> str:
        """Write arguments: those that the fix removed, the others as ``$$$``."""
        written: list[str] = []
        for child in node.children():
            if not child.is_named() or "comment" in child.kind():
                continue
            text = self.write(child) if self._is_removed(child) else "$$$"
            if written[-1:] != ["$$$"] or text != "$$$":
                written.append(text)
        opening, closing = node.text()[:1], node.text()[-1:]
        if opening not in "([{<":
            return self._write_children(node, node.children())
        return f"{opening}{', '.join(written)}{closing}"

    def _write_string(self, node: Any, *, removed: bool) -> str:
        text = str(node.text())
        self._lost |= removed and text.strip("'\"") not in self._names_in.after
        if removed and not self._loose:
            self._kept |= len(text) <= _MAX_LITERAL
            return text if len(text) <= _MAX_LITERAL else self._metavariable(text)
        if not removed and self._loose:
            return self._metavariable(text)
        if text[:1] not in "\"'" or text[:3] in ('"""', "'''"):
            return self._metavariable(text)
        return f'"{self._metavariable(text)}"'

    def _write_member(self, node: Any) -> str:
        """Write ``module.name`` as it is, the name alone of what another value has."""
        first = node
        while first.kind() in _SYNTAX["members"] and first.children():
            first = first.child(0)
        is_imported = first.kind() == "identifier" and first.text() in self._names_in.imported
        if is_imported or _is_called(node):
            return "".join(self.write(child) for child in node.children())
        return self._metavariable(node.text())

    def _write_leaf(self, leaf: Any, *, removed: bool) -> str:
        text = str(leaf.text())
        if leaf.kind() != "identifier":
            self._kept |= removed and text not in _PUNCTUATION
            return text
        # A name that means the same in other files; without the rest of the file, one that may.
        is_global = text in self._names_in.imported or text[:1].isupper()
        is_global |= self._names_in.whole and not self._loose
        kept = _is_option(leaf) or (
            text not in self._names_in.bound and (self._is_name(leaf) or (removed and is_global))
        )
        self._kept |= removed and kept
        return text if kept else self._metavariable(text)

    def _is_name(self, leaf: Any) -> bool:
        """Tell whether an identifier names what is called, a member, an option or a type."""
        parent = leaf.parent()
        is_member = parent is not None and parent.kind() in _SYNTAX["members"]
        if is_member and leaf.text() not in self._names_in.imported:
            return _is_option(leaf) or _is_called(parent)
        return is_member or _is_option(leaf) or _is_called(leaf)

    def _is_removed(self, node: Any) -> bool:
        start, end = _span(node)
        return any(start < run[1] and run[0] < end for run in self._removed)

    def _metavariable(self, text: str) -> str:
        return self._names.setdefault(text, f"${chr(ord('A') + len(self._names) % 26)}")


def _is_called(node: Any) -> bool:
    parent = node.parent()
    is_call = parent is not None and parent.kind() in _SYNTAX["calls"]
    return is_call and _span(parent.child(0))[0] == _span(node)[0]


def _is_option(leaf: Any) -> bool:
    """Tell whether an identifier is the name of an argument, or of a member."""
    parent = leaf.parent()
    kind = parent.kind() if parent is not None else ""
    if kind in _SYNTAX["members"]:
        return _span(parent.child(0)) != _span(leaf)
    return kind == "keyword_argument" and _span(parent.child(0)) == _span(leaf)
