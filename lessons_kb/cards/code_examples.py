"""A card's own examples, bad and good, and what its patterns find in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from lessons_kb.cards.outline import Fence, find_fences, normal_newlines
from lessons_kb.data import read_words
from lessons_kb.detect.ast_patterns import find_language, is_available, language_of, name_example
from lessons_kb.detect.matcher import Matcher, Rule
from lessons_kb.model import Card, Document, Finding, Pattern

MISSED, FOUND_GOOD, FOUND_OFTEN = "misses-bad-example", "finds-good-example", "finds-often"
EXAMPLE_RULES = (MISSED, FOUND_GOOD, FOUND_OFTEN)
_MAX_LABEL_WORDS = 6
"""A longer line above a block tells a story, and its words say little about the block."""
_MAX_SHOWN = 60
_PROMPTS = ("$ ", "> ", "# ")


@dataclass(frozen=True, kw_only=True, slots=True)
class Example:
    """A block of code that shows the mistake, or how to avoid it."""

    good: bool
    language: str
    """As ast-grep calls it; "" = not known."""
    text: str
    line: int
    """From 0, in the body."""


def find_examples(body: str) -> list[Example]:
    """Return the blocks that a heading or a short line above them calls bad or good.

    Of a diff the lines that it removes are bad, those that it adds good.
    """
    found: list[Example] = []
    for fence in find_fences(normal_newlines(body)):
        if fence.language == "diff":
            found += _sides(fence)
        elif (good := _judge(fence)) is not None:
            language = find_language(fence.language)
            found.append(Example(good=good, language=language, text=fence.text, line=fence.line))
    return found


def check_examples(card: Card, document: Document) -> list[Finding]:
    """Return which patterns of a card miss its bad examples, or find its good ones."""
    if not card.detect:
        return []
    examples = find_examples(document.body)
    found: list[Finding] = []
    for pattern in card.detect:
        if pattern.kind == "ast" and not is_available():
            continue
        fitting = [one for one in examples if _fits(pattern, one)]
        bad = [one for one in fitting if not one.good]
        good = [one for one in fitting if one.good and _finds(pattern, one)]
        if bad and not any(_finds(pattern, one) for one in bad):
            line = document.body_line + bad[0].line
            message = f"finds nothing in the bad example on line {line}"
            found.append(advise(card, document, pattern, MISSED, message))
        if good:
            line = document.body_line + good[0].line
            message = f"finds the good example on line {line}"
            found.append(advise(card, document, pattern, FOUND_GOOD, message))
    return found


_FIXES = {
    MISSED: "correct the pattern or the example",
    FOUND_GOOD: "narrow the pattern, or add `unless`",
    FOUND_OFTEN: "narrow it with `files` or `unless`, or fix these places",
}


def advise(card: Card, document: Document, pattern: Pattern, rule: str, message: str) -> Finding:
    """Return a finding about one pattern of a card."""
    text = " ".join(pattern.text.split())
    shown = text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 1]}…"
    return Finding(
        path=card.id,
        line=document.key_lines.get("detect", 0),
        rule=rule,
        message=f"detect: {pattern.kind} {shown} {message}",
        fix=_FIXES[rule],
    )


def _sides(fence: Fence) -> Iterator[Example]:
    for mark, good in (("-", False), ("+", True)):
        lines = [line for line in fence.text.split("\n") if line.startswith((mark, " "))]
        if any(line.startswith(mark) and line[1:2] != mark for line in lines):
            text = "".join(f"{line[1:]}\n" for line in lines)
            yield Example(good=good, language="", text=text, line=fence.line)


def _judge(fence: Fence) -> bool | None:
    """Return whether the nearest label that says so calls a block good or bad."""
    labels = _labels()
    for label in fence.labels:
        words = label.casefold().replace("\u2019", "'").split()
        told = {word.strip('.,:;()[]*_`"—–-/') for word in words}
        bad, good = not told.isdisjoint(labels["bad"]), not told.isdisjoint(labels["good"])
        if bad != good and len(words) <= _MAX_LABEL_WORDS:
            return good
    return None


def _fits(pattern: Pattern, example: Example) -> bool:
    """Tell whether a pattern may be about an example, as far as their languages tell."""
    if pattern.kind == "command":
        return example.language in ("", "bash")
    meant = {find_language(pattern.language)} if pattern.language else set()
    meant |= {language_of(glob) for glob in pattern.files}
    if pattern.kind == "ast" and not (pattern.language or example.language):
        return False
    return not example.language or not meant or "" in meant or example.language in meant


def _finds(pattern: Pattern, example: Example) -> bool:
    matcher = Matcher([Rule(card="", pattern=_anywhere(pattern))])
    if pattern.kind == "command":
        lines = [line.strip() for line in example.text.splitlines()]
        for prompt in _PROMPTS:
            lines = [line.removeprefix(prompt) for line in lines]
        return bool(matcher.find_in_commands(lines))
    return bool(matcher.find_in_file(name_example(example.language), example.text))


def _anywhere(pattern: Pattern) -> Pattern:
    return Pattern(
        kind=pattern.kind, text=pattern.text, language=pattern.language, unless=pattern.unless
    )


@cache
def _labels() -> dict[str, frozenset[str]]:
    return read_words("example_labels.txt")
