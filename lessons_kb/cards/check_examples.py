"""Check the patterns of a card against its own good and bad examples."""

from __future__ import annotations

from collections.abc import Iterator

from lessons_kb.data import read_mapping
from lessons_kb.detect.matcher import (
    Matcher,
    Rule,
    find_language,
    is_available,
    language_of,
    name_example,
)
from lessons_kb.model import Card, Document, Finding, Pattern
from lessons_kb.text.sanitize import shorten
from lessons_kb.values import replace

MISSED, FOUND_GOOD, FOUND_OFTEN = "misses-bad-example", "finds-good-example", "finds-often"
EXAMPLE_RULES = (MISSED, FOUND_GOOD, FOUND_OFTEN)
_MAX_SHOWN = 60
_PROMPTS = ("$ ", "> ", "# ")


def check_examples(card: Card, document: Document) -> list[Finding]:
    """Return findings about patterns that miss their bad examples or match their good ones."""
    findings: list[Finding] = []
    for pattern in card.detect:
        if pattern.kind == "ast" and not is_available():
            continue
        for name, text in find_failing_examples(pattern):
            rule, verb = (MISSED, "does not find") if name == "bad" else (FOUND_GOOD, "finds")
            shown = shorten(" ".join(text.split()), _MAX_SHOWN)
            message = f"{verb} its own {name} example {shown}"
            findings.append(advise(card, document, pattern, rule, message))
    return findings


def find_failing_examples(pattern: Pattern) -> Iterator[tuple[str, str]]:
    """Yield ("bad", text) for each bad example that is missed, ("good", text) if one matches."""
    for text in pattern.bad:
        if not _finds(pattern, f"{text}\n"):
            yield "bad", text
    for text in pattern.good:
        if _finds(pattern, f"{text}\n"):
            yield "good", text


_FIXES = read_mapping("lint_advice.toml")["examples"]


def advise(card: Card, document: Document, pattern: Pattern, rule: str, message: str) -> Finding:
    """Return a finding about one pattern of a card."""
    shown = shorten(" ".join(pattern.text.split()), _MAX_SHOWN)
    return Finding(
        path=card.id,
        line=document.key_lines.get("detect", 0),
        rule=rule,
        message=f"detect: {pattern.kind} {shown} {message}",
        fix=_FIXES[rule],
    )


def _finds(pattern: Pattern, text: str) -> bool:
    """Return whether a pattern matches in an example. The files of the pattern are ignored."""
    matcher = Matcher([Rule(card="", pattern=replace(pattern, files=()))])
    if pattern.kind == "error":
        return bool(matcher.find_in_failure(text))
    if pattern.kind == "command":
        lines = [line.strip() for line in text.splitlines()]
        for prompt in _PROMPTS:
            lines = [line.removeprefix(prompt) for line in lines]
        return bool(matcher.find_in_commands(lines))
    languages = (find_language(pattern.language), *map(language_of, pattern.files))
    name = name_example(next(filter(None, languages), ""))
    return bool(matcher.find_in_file(name, text))
