"""Kinds of rules that stay although their condition can be seen.

They matter before the first edit, after the last one or elsewhere, so a card that arrives with an
edit or a command comes at the wrong time. Readers wrote situations in which rules of these kinds
matter, and fewer than 80 % of the situations brought the rule (``benchmarks/judged/diet_*.jsonl``).
"""

from __future__ import annotations

import re

from lessons_kb.diet.condition import Condition
from lessons_kb.diet.read_clause import CODE
from lessons_kb.importers.rules_file import is_command

IS_CHECK = "says what to run, which may happen without an edit of its files"
IS_REMOTE = "is about a server, where its command does not run as it does here"
IS_QUESTION = "demands a question to the user, which comes before the work"
IS_NAME = "says how files are named, so it matters before one exists"
_RUNS = re.compile(
    r"\b(?i:(?:re-?)?(?:run|runs|running|build|builds|building|start|apply)|execute|validated?|verify|verified|lint|"
    r"type-?check)\b|\b[Rr](?:e-?)?generate\b|\bCI\b"
)
_PATTERN_OF_NAMES = re.compile(r"(?:[\w./@*-]*/)?[\w.-]*(?P<sign>[*<{])[\w*<>{}-]*\.[\w.<>{}-]+")
"""Matches a pattern for the names of files, such as ``src/*.test.ts`` or ``<name>.mdc``."""
_REMOTE = re.compile(
    r"\b(?:on|in)\s+(?:(?:the|a|any|our)\s+|(?=production|prod|staging))"
    r"(?:(?:production|prod|staging|live|remote)\s+)?(?:servers?|hosts?|machines?)\b"
    r"(?!\s+(?:code|package|folder|tests?|side|components?))|\b(?:on|in)\s+(?:production|prod|staging)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"\bask\s+(?:(?:the\s+)?user|me|for)\b|"
    r"\b(?:confirm|check|approv\w+|agree)\b[^.;]*\s(?:with|from|by)\s+(?:(?:the\s+)?users?|me)\b",
    re.IGNORECASE,
)
_NAMES_STYLE = re.compile(r"\bnam(?:e|ed|ing)\b[^.;]*\b(?:kebab|snake|camel|pascal)", re.IGNORECASE)
"""Matches a style for names, such as kebab-case."""
_FORBIDS_EDITS = re.compile(
    r"(?:\A|[.;:,(\u2013\u2014*-]\s*|\b(?:do|must|should|may)\s+)(?:not|never|don['\u2019]t|do\s+not)\s+"
    r"(?:\w+\s+)?(?:edit|modify|change|update)\w*\b",
    re.IGNORECASE,
)


def find_late_kind(text: str, condition: Condition, *, is_of_form: bool) -> str:
    """Return why a rule stays although its condition can be seen; "" if it may move.

    ``text`` includes the line above its list. ``is_of_form`` says whether the rule demands a form
    of the content of files.
    """
    if _ASKS.search(text):
        return IS_QUESTION
    if condition.is_by_word and _REMOTE.search(text):
        return IS_REMOTE
    if condition.pattern or _FORBIDS_EDITS.search(text):
        return ""
    if _NAMES_STYLE.search(text):
        return IS_NAME
    spans = [span.strip() for span in CODE.findall(text)]
    is_condition = bool(spans) and spans[0] in condition.said
    for names in filter(None, map(_PATTERN_OF_NAMES.fullmatch, spans)):
        if names["sign"] != "*" or not is_condition:
            return IS_NAME
    lines = [span for span in spans if " " in span and "(" not in span and is_command(span)]
    if lines or (not is_of_form and _RUNS.search(CODE.sub(" ", text))):
        return IS_CHECK
    return ""
