"""Read rules about the text of commits, the titles of pull requests, and the names of branches.

The heading or the line above such a rule shows its situation: "Commit guidelines", "PR title
format". A rule below a heading for the text itself moves whatever its form. A rule below a heading
for the activity moves only if it names a part of the text, such as the subject of a commit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from lessons_kb.diet.condition import Condition, join_conditions
from lessons_kb.diet.project_files import Project
from lessons_kb.diet.read_clause import CODE, SENTENCE_END, read_situation, unmarked
from lessons_kb.diet.situations import (
    Situation,
    find_by_command,
    find_by_lead,
    find_by_text,
    find_subject,
    get_situation,
)
from lessons_kb.importers.rules_file import AgentRule, is_command

_DECORATION = re.compile(
    r"\A[\W\d]*(?=[^\W\d])|\s*\([^()]*\)\s*\Z|\s+[-\u2013\u2014]\s.*\Z|[\s:.!]+\Z", re.DOTALL
)
"""Matches numbers and signs before a heading, and remarks behind it."""
_AND = re.compile(r"\s*(?:&|/|,|\band\b)\s*", re.IGNORECASE)
_PART = re.compile(
    r"(?:(?:required|common|valid|allowed|commit|good|bad|more)\s+)?"
    r"(?:titles?|descriptions?|formats?|types?|bod(?:y|ies)|subjects?(?:\s+lines?)?|scopes?|"
    r"prefix(?:es)?|templates?|structure|sections?|examples?|names?|naming|labels?)",
    re.IGNORECASE,
)
"""Matches a heading that names a part of the text that the heading above it is about."""
_GENERAL = re.compile(
    r"do|don['\u2019]?ts?|do\s+not|dos\s+and\s+don['\u2019]?ts|good|bad|(?:key\s+)?(?:guidelines?|"
    r"rules?|conventions?|principles?|requirements?|notes?|style)|important|always|never|avoid",
    re.IGNORECASE,
)
"""Matches a heading that names nothing, so that the heading above it counts."""
_DEMAND_ON_PART = re.compile(
    r"\b(?:titles?|subjects?|bod(?:y|ies)|messages?|descriptions?|summar(?:y|ies)|"
    r"prefix\w*|conventional|imperative|(?:present|past)\s+tense|lower-?case|capitali[sz]e|"
    r"characters|emojis?|footers?|trailers?|co-author\w*|sign(?:ed)?-?off|templates?|"
    r"screenshots?|screen\s+recordings?|labels?|drafts?)\b|"
    r"`(?:feat|fix|chore|docs)(?:\([^`]*\))?!?:|"
    r"\b(?:link|reference|mention|close|cite|include)\w*\s(?:[^.;]*\s)?(?:issues?|tickets?)\b",
    re.IGNORECASE,
)
_OTHER_WORK = re.compile(
    r"\A(?:(?:always|please|also)\s+)?(?:run|re-?run|execute|test|ensure|make\s+sure|verify|check|"
    r"confirm|wait|review|merge|push|rebase|update|fix|build|format\s+(?:the\s+)?code|lint|add\s+"
    r"(?:\w+\s+)?tests?|work|monitor|resolve|respond|reply)\b|"
    r"\b(?:current|up[\s-]to[\s-]date|in\s+sync|squash\w*|merged|automatic\w*|CI|coverage|hooks?|"
    r"review(?:s|ed|ers?|ing)?)\b|"
    r"\b(?:is|are)\s+(?:\w+ly\s+)?\w+ed\s+(?:by|via|with|in|on|from)\b|"
    r"\b(?:before|after|once|until)\s+(?:\w+ing|you|the|an?|each|every|any|it|they)\b",
    re.IGNORECASE,
)
"""Matches work on other things than the text, and statements about what happens to it."""

_LABEL = re.compile(r"\A[^\n:]{1,40}:\s+")
_POINTER = re.compile(r"\A[^\n:]{1,40}:\W+[\w.-]*/[\w./-]+\W*\Z")
"""Matches a label and the file that it is about ("PR template: `.github/template.md`")."""
_FILE = re.compile(r"[./]")
_TITLE = re.compile(r"\btitles?\b", re.IGNORECASE)
"""Matches a rule about the title of a pull request. The rest of its text is often written to a file
before any command, so a rule about that text may arrive too late.
"""
_ELSEWHERE = ("branches", "changelog", "changesets")
"""Situations of which rules about commits and pull requests often speak."""


class _Above(NamedTuple):
    """What the heading or the line above a rule names."""

    said: str
    situations: tuple[Situation, ...]
    is_text: bool
    """Whether it names the text itself ("Commit messages"), not only the activity ("Commits")."""


def read_message(rule: AgentRule, text: str, project: Project) -> Condition | None:
    """Return the condition of a rule about the text that a command writes, or None."""
    above = _find_above(rule)
    if above is None or not _is_about(above, unmarked(text), project):
        return None
    labels = (rule.lead, *rule.headings, text)
    if above.situations == (get_situation("pull requests"),) and not any(
        _TITLE.search(label) for label in labels
    ):
        return None
    situations = list(above.situations)
    pull_requests = get_situation("pull requests")
    if get_situation("commits") in situations and pull_requests not in situations:
        situations.append(pull_requests)  # the title of a pull request often becomes a commit
    readings = [read_situation(above.said, situation, project) for situation in situations]
    return join_conditions([reading.condition for reading in readings if reading.condition])


def _is_about(above: _Above, text: str, project: Project) -> bool:
    """Return whether a rule is about the text that is written, not about work that precedes it."""
    prose = CODE.sub("x", text)
    if _OTHER_WORK.search(prose) or _OTHER_WORK.match(_LABEL.sub("", prose)):
        return False
    if _POINTER.match(text) or any(_names_another(text, name, above) for name in _ELSEWHERE):
        return False
    spans = list(map(str.strip, CODE.findall(text)))
    lines = [span for span in spans if " " in span and is_command(span)]
    if any(find_by_command(line) not in above.situations for line in lines):
        return False
    files = [span for span in spans if _FILE.search(span) and project.find_glob(span)]
    if any("template" not in file.casefold() for file in files):
        return False
    if above.is_text:
        return True
    is_only_about_names = above.situations == (get_situation("branches"),)
    first = SENTENCE_END.split(text)[0]
    return not is_only_about_names and bool(_DEMAND_ON_PART.search(first))


def _names_another(text: str, name: str, above: _Above) -> bool:
    """Return whether a text names the things of another situation."""
    other = get_situation(name)
    if other in above.situations or other.things is None:
        return False
    return bool(other.things.search(text))


def _find_above(rule: AgentRule) -> _Above | None:
    """Return what stands above a rule. A heading that names no subject completes the one above."""
    is_part = False
    labels = [*filter(None, [rule.lead]), *reversed(rule.headings)]
    for place, label in enumerate(labels):
        name = _strip(label)
        above = _read_label(name, is_line=bool(rule.lead) and place == 0)
        if above is not None:
            return above._replace(is_text=above.is_text or is_part)
        if _PART.fullmatch(name):
            is_part = True
        elif not _GENERAL.fullmatch(name):
            return None
    return None


def _strip(label: str) -> str:
    name = unmarked(label).strip()
    before = ""
    while name != before:
        before = name
        name = _DECORATION.sub("", name).strip()
    return name


def _read_label(name: str, *, is_line: bool) -> _Above | None:
    situation = find_by_text(name)
    if situation is not None:
        return _Above(name, (situation,), is_text=True)
    subject = find_subject(name) if is_line else None
    if subject is not None and subject[0].text is not None:
        return _Above(subject[1], (subject[0],), is_text=True)
    activity = find_by_lead(name)
    situations = (activity,) if activity else _find_activities(_AND.split(name))
    return _Above(name, situations, is_text=False) if situations else None


def _find_activities(names: Sequence[str]) -> tuple[Situation, ...]:
    """Return the situations of names that are joined by "and", if each of them is one."""
    situations = [find_by_text(name) or find_by_lead(name) for name in names]
    if not all(situations):
        return ()
    return tuple(dict.fromkeys(filter(None, situations)))
