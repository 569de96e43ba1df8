"""The text report of `lessons lint`: faults first, then one line per rule of advice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lessons_kb import render
from lessons_kb.cards.check_card import ADVICE, SUMMARIES
from lessons_kb.model import Finding
from lessons_kb.text.sanitize import clean_line, counted

MAX_FAULTS = 100
"""Up to this number, faults are printed one by one. More faults are grouped by rule."""
_SHOWN = 3
"""The maximum number of places in a line about a group of findings."""
_LEVELS = ("error", "warning", "info")


def split_findings(findings: Iterable[Finding]) -> tuple[list[Finding], list[Finding]]:
    """Return the faults, with the most severe first, and the advice."""
    faults: list[Finding] = []
    advice: list[Finding] = []
    for finding in findings:
        (advice if finding.rule in ADVICE else faults).append(finding)
    faults.sort(key=lambda finding: _LEVELS.index(finding.level))
    return faults, advice


def is_listed_whole(faults: Sequence[Finding], advice: Sequence[Finding]) -> bool:
    """Return whether the report, although it is grouped by rule, prints every finding."""
    return len(faults) <= MAX_FAULTS and len(group_by_rule(advice)) == len(advice)


def sort_by_file(findings: Sequence[Finding]) -> list[Finding]:
    """Group findings by file. The files stay in the order of their first findings."""
    paths = dict.fromkeys(finding.path for finding in findings)
    positions = {path: position for position, path in enumerate(paths)}
    return sorted(findings, key=lambda finding: positions[finding.path])


def summarise_faults(faults: Sequence[Finding]) -> list[str]:
    """Return one line for each rule that faults break."""
    return [_summarise_rule(group) for group in group_by_rule(faults)]


def summarise_advice(advice: Sequence[Finding]) -> list[str]:
    """Return one line for each rule of advice. A single finding keeps its own line."""
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
    """Return the findings of each rule. The rules are in the order of their first findings."""
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
    """Return the places of the first findings of a group, each in a different file."""
    first_by_path: dict[str, Finding] = {}
    for finding in group:
        first_by_path.setdefault(finding.path, finding)
    places = []
    for path, finding in [*first_by_path.items()][:_SHOWN]:
        places.append(f"{path}:{finding.line}" if finding.line else path)
    return clean_line(", ".join(places))
