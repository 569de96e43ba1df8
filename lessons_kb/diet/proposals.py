"""Ask an agent for the conditions of rules in which `read_condition` finds none.

An answer counts only if it quotes the rule, and if its paths and commands fit the project. The rule
then has to pass the same proof as every other rule.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from lessons_kb.diet.condition import (
    BROAD,
    GONE,
    Condition,
    is_broad,
    join_conditions,
    make_command_condition,
    make_path_condition,
)
from lessons_kb.diet.probes import contains_rule
from lessons_kb.diet.project_files import Project
from lessons_kb.diet.read_clause import (
    ANY_TASK,
    IS_OTHER_COMMAND,
    UNCONDITIONAL,
    holds_for_any_task,
)
from lessons_kb.diet.read_condition import cover_quoted_places
from lessons_kb.importers.rules_file import AgentRule, is_command

_MOST = 4
_FEWEST_WORDS = 2
_NAMES_A_SITUATION = re.compile(
    r"\b(?:when(?:ever)?|if|before|after|while|during|for|in|under|to|adding|changing|editing)\b",
    re.IGNORECASE,
)
NOT_QUOTED = "its condition is not quoted from the rule"
NO_PROGRAM = "its command does not begin with a known program"


def may_have_condition(rule: AgentRule, reason: str) -> bool:
    """Return whether to ask an agent about a rule that stays for ``reason``."""
    text = f"{rule.lead} {rule.text}"
    is_unread = reason in (UNCONDITIONAL, IS_OTHER_COMMAND)
    return is_unread and bool(rule.names or _NAMES_A_SITUATION.search(text))


def describe_rule(rule: AgentRule) -> str:
    """Return a rule with its headings and its lead, as evidence for a prompt."""
    above = " > ".join(rule.headings)
    return "\n\n".join(filter(None, (f"Under: {above}" if above else "", rule.lead, rule.text)))


def read_proposal(
    rule: AgentRule, answer: Mapping[str, Any], project: Project
) -> tuple[Condition | None, str]:
    """Return the condition in an answer, or None and the reason why the answer is invalid.

    The reason is "" if the answer states no condition; the rule then stays.
    """
    said = str(answer.get("condition") or "").strip()
    if not said:
        return None, ""
    if len(said.split()) < _FEWEST_WORDS or not contains_rule(f"{rule.lead}\n{rule.text}", said):
        return None, NOT_QUOTED
    if holds_for_any_task(said):
        return None, ANY_TASK
    globs = _read_texts(answer.get("paths"))
    commands = _read_texts(answer.get("commands"))
    if not all(project.match(glob) for glob in globs):
        return None, GONE
    if is_broad(globs, project):
        return None, BROAD
    if not all(map(is_command, commands)):
        return None, NO_PROGRAM
    conditions = []
    if globs:
        conditions.append(make_path_condition(said, globs, project))
    if commands:
        conditions.append(make_command_condition(said, commands))
    if not conditions:
        return None, ""
    condition = join_conditions(conditions)
    return cover_quoted_places(condition, rule.text, project) if globs else (condition, "")


def _read_texts(value: object) -> list[str]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return []
    texts = [" ".join(text.split()) for text in value if isinstance(text, str)]
    return [text for text in texts if text][:_MOST]
