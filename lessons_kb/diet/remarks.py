"""Remarks on the rules of a project, about missing files, duplicates, contradictions and their
use.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain, pairwise
from typing import NamedTuple

from lessons_kb.calls.parse_call import kind_of_tool
from lessons_kb.cards.sections import find_code_lines
from lessons_kb.collection.near_duplicates import PROPOSED, similarity
from lessons_kb.diet.diet import Diet
from lessons_kb.errors import LessonsError
from lessons_kb.importers.rules_file import NEGATIVE, AgentRule, RulesFile, is_place
from lessons_kb.mining.mine_project import find_sources, read_entries
from lessons_kb.model import CHANGES
from lessons_kb.text.analyzer import analyze
from lessons_kb.text.token_estimate import estimate_tokens
from lessons_kb.transcripts.session_records import CALL, PROMPT, mapping
from lessons_kb.values import mutable

_FORBIDDEN = re.compile(rf"(?:{NEGATIVE.pattern})[^.;\n`]{{0,40}}`([^`\n]{{4,}})`", re.IGNORECASE)
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+\S")
_REPLACED = ("old_string", "old_str", "oldString")
"""Arguments of an edit with the text that the edit replaces."""
_MAX_SESSIONS = 200
_FEWEST_SHARED = 4
"""The minimum number of shared terms for which two rules are compared."""
_SHORTEST_NAME = 4
_CODE = re.compile(r"`([^`\n]+)`")
_ADDRESS = re.compile(r"\[[^\]\n]*\]\([^)\n]*\)|\(?https?://\S+")
"""Matches a link or an address."""
_NUMBERED = re.compile(r"\A\s*\d+[.)]\s")
_EMPHASIS = re.compile(r"(?i)\b(?:always|only|must|please|make sure|be sure|ensure)\b")
_FEWEST_WORDS = 4
"""The minimum number of words, beside code and addresses, of a rule that is compared."""
_PLACEHOLDER = re.compile(r"(?i)example|placeholder|foo|xxx|your|my[_-]|name_?here|some[_-]")
"""Matches a name that stands for a name of the reader's own."""


def find_gone(diet: Diet) -> list[tuple[RulesFile, AgentRule, str]]:
    """Return (file, rule, name) for each file or folder that a rule names and the project lacks.

    Only names below an existing folder count, because other names may be examples. A placeholder,
    such as ``test_YourFeature.py``, does not count.
    """
    known = {*diet.tracked, *_find_folders(diet)}
    tops = {path.partition("/")[0] for path in known}
    return [
        (file, rule, name)
        for file in diet.files
        for rule in file.rules
        for name in rule.names
        if is_place(name)
        and (path := name.strip("@/").removeprefix("./")).partition("/")[0] in tops
        and re.fullmatch(r"[\w./-]+", path)
        and path not in known
        and not _PLACEHOLDER.search(path)
        and not os.path.exists(os.path.join(diet.root, path))
    ]


class Part(NamedTuple):
    """A heading of a rules file with the text below it, up to the next heading."""

    file: str
    line: int
    """The line of the heading, counted from 1."""
    heading: str
    tokens: int


def find_largest_parts(diet: Diet, most: int) -> list[Part]:
    """Return the parts of the rules files with the most tokens, of files that every session
    reads.
    """
    parts: list[Part] = []
    for file in diet.files:
        if not file.globs:
            parts += _divide_by_headings(file)
    parts.sort(key=lambda part: part.tokens, reverse=True)
    return parts[:most]


def _divide_by_headings(file: RulesFile) -> Iterator[Part]:
    lines = file.text.replace("\r\n", "\n").split("\n")
    code = find_code_lines("\n".join(lines))
    starts = [
        number
        for number, line in enumerate(lines)
        if number not in code and _HEADING.match(line) is not None
    ]
    for start, end in pairwise([*starts, len(lines)]):
        heading = lines[start].strip("# \t")
        tokens = estimate_tokens("\n".join(lines[start:end]))
        yield Part(file=file.name, line=start + 1, heading=heading, tokens=tokens)


def _find_folders(diet: Diet) -> Counter[str]:
    """Return a mapping from each folder of the project to the number of files in it."""
    return Counter(
        path[:place] for path in diet.tracked for place, char in enumerate(path) if char == "/"
    )


class Place(NamedTuple):
    """A rule, with the name of its file."""

    file: str
    rule: AgentRule


def find_pairs(diet: Diet) -> Iterator[tuple[str, Place, Place]]:
    """Yield (``same`` or ``contradicts``, first, second) for rules that are similar.

    Two rules contradict each other if they differ only in that one of them forbids, or only in
    their numbers: "use X" and "never use Y" agree in most words, and in what they demand. Two rules
    about different code ("run one test: …", "run all tests: …") are not the same, and neither are
    two rules that each name something of their own ("for bugs …", "for features …"). Tags, links,
    tables and code examples are not compared.
    """
    places = [
        Place(file.name, rule) for file in diet.files for rule in file.rules if _is_sentence(rule)
    ]
    terms = [frozenset(analyze(place.rule.text)) for place in places]
    for number, other in _find_overlapping(terms):
        kind = _compare(places[number].rule.text, places[other].rule.text)
        if kind:
            yield kind, places[number], places[other]


def _find_overlapping(terms: list[frozenset[str]]) -> Iterator[tuple[int, int]]:
    """Yield (earlier, later) indexes of sets that share at least half of their union.

    They must also share at least _FEWEST_SHARED terms. Such a pair shares a term from the rarer
    half of each set, so only these terms are looked up.
    """
    frequency = Counter(chain.from_iterable(terms))
    homes: dict[str, list[int]] = defaultdict(list)
    """Term → indexes of the earlier sets that have it in their rarer half."""
    for number, some in enumerate(terms):
        if len(some) < _FEWEST_SHARED:
            continue
        ordered = sorted(some, key=lambda term: (frequency[term], term))
        # At least `needed` terms are shared, so at least one of them is in the prefix.
        needed = (len(ordered) + 1) // 2
        prefix = ordered[: len(ordered) - needed + 1]
        others = {other for term in prefix for other in homes[term]}
        for other in sorted(others):
            shared = len(some & terms[other])
            if shared >= _FEWEST_SHARED and shared >= len(some | terms[other]) / 2:
                yield other, number
        for term in prefix:
            homes[term].append(number)


def _compare(first: str, second: str) -> str:
    if similarity(first, second) < PROPOSED:
        return ""
    if set(_CODE.findall(first)) != set(_CODE.findall(second)):
        return ""
    terms, others = _find_terms(first), _find_terms(second)
    if bool(NEGATIVE.search(first)) != bool(NEGATIVE.search(second)):
        return "contradicts" if terms == others else ""
    numbers, other_numbers = ({*filter(str.isdigit, some)} for some in (terms, others))
    if numbers != other_numbers:
        differ_in_numbers_alone = terms - numbers == others - other_numbers
        return "contradicts" if differ_in_numbers_alone and numbers and other_numbers else ""
    return "same" if terms <= others or others <= terms else ""


def _find_terms(text: str) -> frozenset[str]:
    """Return the terms of a rule without its marker, its negation and its emphasis."""
    plain = _EMPHASIS.sub(" ", NEGATIVE.sub(" ", _NUMBERED.sub("", text)))
    return frozenset(analyze(plain))


def _is_sentence(rule: AgentRule) -> bool:
    """Return whether a rule says something in words, and is not only a tag, a link or code."""
    text = rule.text.partition("```")[0].lstrip("-*+ \t")
    if text.startswith(("<", "|")):
        return False
    prose = _CODE.sub(" ", _ADDRESS.sub(" ", text))
    return len(re.findall(r"\w+", prose)) >= _FEWEST_WORDS or not prose.isascii()


@mutable
class Use:
    """The numbers of sessions on this machine that concern a rule."""

    relevant: int = 0
    """The number of sessions in which something that the rule names was mentioned or changed."""
    broken: int = 0
    """The number of sessions in which the agent wrote or ran something that the rule forbids."""


def count_uses(diet: Diet) -> tuple[int, dict[str, Use]]:
    """Return the number of the project's sessions, and a mapping from the text of each rule to its
    use.

    A rule that does not name anything is left out, because no session can show when it applies.
    """
    rules = [rule for file in diet.files for rule in file.rules]
    forbidden = {rule.words: _FORBIDDEN.findall(rule.text) for rule in rules}
    names = {
        rule.words: [
            name.casefold()
            for name in (*rule.names, *forbidden[rule.words])
            if len(name) >= _SHORTEST_NAME
        ]
        for rule in rules
    }
    uses = {words: Use() for words, some in names.items() if some}
    sources = find_sources(diet.root)[-_MAX_SESSIONS:]
    for source in sources:
        said, done = [], []
        with contextlib.suppress(LessonsError, OSError, ValueError):
            for entry in read_entries(source):
                said.append(entry.text if entry.kind == PROMPT else "")
                if entry.kind == CALL:
                    given = mapping(entry.arguments) or {"text": entry.arguments}
                    text = json.dumps(
                        {k: v for k, v in given.items() if k not in _REPLACED}, ensure_ascii=False
                    )
                    kind = kind_of_tool(entry.tool, agent=source.agent)
                    done += [text] if kind in (*CHANGES, "command") else []
                    said.append(text)
        spoken = "\n".join(said).casefold()
        written = "\n".join(done)
        for words, use in uses.items():
            use.relevant += any(name in spoken for name in names[words])
            use.broken += any(code in written for code in forbidden[words])
    return len(sources), uses
