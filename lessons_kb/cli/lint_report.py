"""What `lessons lint` prints for a reader: faults first, then a line per rule of advice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lessons_kb import render
from lessons_kb.cards.check_card import ADVICE, SUMMARIES
from lessons_kb.model import Finding
from lessons_kb.text.sanitize import clean_line, counted

MAX_FAULTS = 100
"""Faults that are printed one by one; more of them are grouped by rule."""
_SHOWN = 3
"""Places that are named of a group."""
_LEVELS = ("error", "warning", "info")


def split_findings(findings: Iterable[Finding]) -> tuple[list[Finding], list[Finding]]:
    """Return the faults, the worst first, and the advice."""
    faults: list[Finding] = []
    advice: list[Finding] = []
    for finding in findings:
        (advice if finding.rule in ADVICE else faults).append(finding)
    faults.sort(key=lambda finding: _LEVELS.index(finding.level))
    return faults, advice


def is_listed_whole(faults: Sequence[Finding], advice: Sequence[Finding]) -> bool:
    """Return whether a report with a line for each rule of advice would print every finding."""
    return len(faults) <= MAX_FAULTS and len(group_by_rule(advice)) == len(advice)


def sort_by_file(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings with those of one file together, in the order in which files come first."""
    files = {path: place for place, path in enumerate(dict.fromkeys(one.path for one in findings))}
    return sorted(findings, key=lambda finding: files[finding.path])


def summarise_faults(faults: Sequence[Finding]) -> list[str]:
    """Return a line for each rule that faults break, for where there are too many to list."""
    return [_summarise_rule(group) for group in group_by_rule(faults)]


def summarise_advice(advice: Sequence[Finding]) -> list[str]:
    """Return a line for each rule of advice; of a single finding it is the finding's own."""
    lines = []
    for group in group_by_rule(advice):
        first = group[0]
        files = len({finding.path for finding in group})
        summary = SUMMARIES.get(first.rule)
        if len(group) == 1:
            lines.append(render.finding_line(first))
        elif summary:
            cards = counted(files, f"card {summary.one}", f"cards {summary.many}")
            lines.append(f"{cards} ({first.rule}), for example {_places(group)} → {first.fix}")
        else:
            lines.append(_summarise_rule(group))
    return lines


def group_by_rule(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Return the findings of each rule, in the order in which the rules come first."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.rule, []).append(finding)
    return [*groups.values()]


def _summarise_rule(group: Sequence[Finding]) -> str:
    first = group[0]
    if len(group) == 1:
        return render.finding_line(first)
    head = f"{counted(len(group), first.level)} {first.rule}, for example {_places(group)}"
    return f"{head}: {clean_line(first.message)} → {clean_line(first.fix)}"


def _places(group: Sequence[Finding]) -> str:
    """Return the first places of a group, in different files."""
    firsts: dict[str, Finding] = {}
    for finding in group:
        firsts.setdefault(finding.path, finding)
    shown = [*firsts.values()][:_SHOWN]
    places = [f"{one.path}:{one.line}" if one.line else one.path for one in shown]
    return clean_line(", ".join(places))
