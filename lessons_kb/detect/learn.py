"""Syntax patterns learnt from the change that put a mistake right, for a human to confirm.

What a fix removed is cut out of the syntax tree: the smallest node around each removed run, and
the nodes around that one. Names and literals that were only passed along become metavariables,
arguments that did not change become ``$$$``. What finds the code before and not after is left;
the shortest such pattern is the most general one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Any

from lessons_kb.detect.changes import Change
from lessons_kb.detect.patterns import check_pattern, find_words
from lessons_kb.detect.syntax import find_nodes, language_of, parse
from lessons_kb.model import Pattern

MAX_LEARNT_CHARS = 20_000
"""Of each side of one change; a longer one is no fix of one mistake."""
_MAX_LEVELS = 4
"""Nodes around the smallest one that are looked at."""
_MAX_LITERAL = 40
"""Characters of a text in quotes that may be a part of the mistake."""
_STOPS = ("statement", "declaration", "definition", "block", "module", "program", "ERROR")
_ARGUMENTS = ("argument_list", "arguments")
_MEMBERS = ("attribute", "member_expression", "selector_expression", "field_expression")
_NAMED = ("keyword_argument", "pair", "named_argument")
_BINDERS = ("assignment", "parameters", "for_statement", "variable_declarator", "lambda_parameters")
_TRAILING = ", $$$)"
_SELF = ("self", "this", "cls")


def propose(changes: Iterable[Change], *, most: int = 3) -> list[Pattern]:
    """Return patterns that find what some changes removed and nothing that they left.

    The most general one comes first. Nothing is proposed for a change that only adds, for a
    language that is not known, and without ast-grep.
    """
    found: dict[Pattern, None] = {}
    for change in changes:
        language = language_of(change.path)
        sides = (change.before, change.after)
        if not language or not all(sides) or max(map(len, sides)) > MAX_LEARNT_CHARS:
            continue
        for text in sorted(set(_candidates(*sides, language)), key=_generality):
            pattern = Pattern(kind="ast", text=text, language=language)
            if _is_telling(pattern, *sides, language):
                found |= dict.fromkeys(_with_last_argument(pattern))
                break
    return list(found)[:most]


def _with_last_argument(pattern: Pattern) -> Iterator[Pattern]:
    """Yield a pattern, and again without the ``$$$`` that some arguments end with.

    Where nothing follows the last argument, a trailing ``$$$`` matches nothing.
    """
    yield pattern
    if _TRAILING in pattern.text:
        yield replace(pattern, text=pattern.text.replace(_TRAILING, ")"))


def _generality(text: str) -> tuple[int, int, str]:
    return len(find_words(Pattern(kind="ast", text=text))), len(text), text


def _is_telling(pattern: Pattern, before: str, after: str, language: str) -> bool:
    """Tell whether a pattern finds one side alone, by a word that the other lacks."""
    if check_pattern(pattern) or ("(" not in pattern.text and "." not in pattern.text):
        return False
    there = {leaf.text() for leaf in _leaves(parse(after, language))}
    if there.issuperset(find_words(pattern)):
        return False
    finds = [bool(list(find_nodes(text, language, [pattern.text]))) for text in (before, after)]
    return finds == [True, False]


def _candidates(before: str, after: str, language: str) -> Iterator[str]:
    old, new = (list(_leaves(parse(text, language))) for text in (before, after))
    matcher = SequenceMatcher(
        None, [leaf.text() for leaf in old], [leaf.text() for leaf in new], autojunk=False
    )
    bound = _find_bound(old)
    for kind, first, end, _first, _end in matcher.get_opcodes():
        if kind not in ("delete", "replace"):
            continue
        run = (_span(old[first])[0], _span(old[end - 1])[1])
        for node in _around(old[first], run):
            yield _Writer(run, bound).write(node)


def _leaves(root: Any) -> Iterator[Any]:
    if root is None:
        return
    waiting = [root]
    while waiting:
        node = waiting.pop()
        children = node.children()
        if children:
            waiting += reversed(children)
        elif node.text():
            yield node


def _span(node: Any) -> tuple[int, int]:
    found = node.range()
    return found.start.index, found.end.index


def _around(leaf: Any, run: tuple[int, int]) -> Iterator[Any]:
    """Yield the smallest node that covers a run, and those around it, up to the statement."""
    node, levels = leaf, 0
    while node is not None and levels < _MAX_LEVELS:
        if node.kind().endswith(_STOPS):
            return
        start, end = _span(node)
        if start <= run[0] and run[1] <= end and node.kind() not in _ARGUMENTS:
            levels += 1
            yield node
        node = node.parent()


def _find_bound(leaves: Sequence[Any]) -> set[str]:
    """Return the names that are given a value here: they mean nothing elsewhere."""
    bound = set(_SELF)
    for leaf in leaves:
        if leaf.kind() != "identifier":
            continue
        parent = leaf.parent()
        if parent is not None and parent.kind() in _BINDERS:
            first = parent.child(0)
            if parent.kind().endswith("parameters") or _span(first) == _span(leaf):
                bound.add(leaf.text())
    return bound


class _Writer:
    """Writes a node as a pattern; what lies outside the removed run is generalised."""

    def __init__(self, run: tuple[int, int], bound: set[str]) -> None:
        self._run = run
        self._bound = bound
        self._names: dict[str, str] = {}

    def write(self, node: Any) -> str:
        """Return the pattern of a node."""
        kind = node.kind()
        if kind in _ARGUMENTS:
            return self._write_arguments(node)
        if "string" in kind or "number" in kind or kind in ("integer", "float"):
            kept = self._is_removed(node) and len(node.text()) <= _MAX_LITERAL
            return str(node.text()) if kept else self._metavariable(node.text())
        children = node.children()
        if not children:
            return self._write_leaf(node)
        start, end = _span(node)
        pieces: list[str] = []
        source, at = node.text(), start
        for child in children:
            begin, stop = _span(child)
            pieces += [source[at - start : begin - start], self.write(child)]
            at = stop
        return "".join((*pieces, source[at - start : end - start]))

    def _write_arguments(self, node: Any) -> str:
        """Write arguments: those that the fix removed, the others as ``$$$``."""
        written: list[str] = []
        for child in node.children():
            if not child.is_named():
                continue
            text = self.write(child) if self._is_removed(child) else "$$$"
            if written[-1:] != ["$$$"] or text != "$$$":
                written.append(text)
        opening, closing = node.text()[:1], node.text()[-1:]
        return f"{opening}{', '.join(written)}{closing}"

    def _write_leaf(self, leaf: Any) -> str:
        text = str(leaf.text())
        if leaf.kind() != "identifier":
            return text
        if text in self._bound or not (self._is_removed(leaf) or self._is_name(leaf)):
            return self._metavariable(text)
        return text

    def _is_name(self, leaf: Any) -> bool:
        """Tell whether an identifier names what is called, a member, an option or a type."""
        parent = leaf.parent()
        kind = parent.kind() if parent is not None else ""
        first = parent is not None and _span(parent.child(0)) == _span(leaf)
        if leaf.text()[:1].isupper():
            return True
        if kind in _MEMBERS and first:  # of what is called, as in `yaml.load()`, not of any object
            around = parent.parent()
            return around is not None and "call" in around.kind()
        return kind in _MEMBERS or (first and ("call" in kind or kind in _NAMED))

    def _is_removed(self, node: Any) -> bool:
        start, end = _span(node)
        return start < self._run[1] and self._run[0] < end

    def _metavariable(self, text: str) -> str:
        return self._names.setdefault(text, f"${chr(ord('A') + len(self._names) % 26)}")
