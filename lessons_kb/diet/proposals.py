"""Conditions that an agent reads out of rules which name none in a way that we read.

An answer counts only if it quotes the rule, and if its paths and commands fit the project. The same
occasions as for every other rule then decide whether it moves.
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
from lessons_kb.diet.read_condition import ANY_TASK, UNCONDITIONAL, holds_for_any_task
from lessons_kb.importers.rules_file import AgentRule, is_command

_MOST = 4
_FEWEST_WORDS = 2
_NAMES_A_SITUATION = re.compile(
    r"\b(?:when(?:ever)?|if|before|after|while|during|for|in|under|to|adding|changing|editing)\b",
    re.IGNORECASE,
)
NOT_QUOTED = "its condition is not quoted from the rule"
NO_PROGRAM = "its command begins with no known program"


def may_have_condition(rule: AgentRule, reason: str) -> bool:
    """Return whether an agent is asked about a rule that stays for a reason."""
    text = f"{rule.lead} {rule.text}"
    return reason == UNCONDITIONAL and bool(rule.names or _NAMES_A_SITUATION.search(text))


def describe_rule(rule: AgentRule) -> str:
    """Return a rule with what stands above it, as evidence for a prompt."""
    above = " > ".join(rule.headings)
    return "\n\n".join(filter(None, (f"Under: {above}" if above else "", rule.lead, rule.text)))


def read_proposal(
    rule: AgentRule, answer: Mapping[str, Any], project: Project
) -> tuple[Condition | None, str]:
    """Return the condition that an answer states, or None and what is wrong with it.

    An answer without a condition has nothing wrong with it: the rule stays.
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
    return (join_conditions(conditions) if conditions else None), ""


def _read_texts(value: object) -> list[str]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return []
    texts = [" ".join(text.split()) for text in value if isinstance(text, str)]
    return [text for text in texts if text][:_MOST]
