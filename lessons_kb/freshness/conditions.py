"""Decide the conditions of a card (``when``) by the versions that a project uses."""

from __future__ import annotations

import operator as operators
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum

import nodesemver
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from lessons_kb.cards.conditions import (
    CARGO,
    ECOSYSTEMS,
    GO,
    NPM,
    PYTHON,
    Condition,
    list_conditions,
)
from lessons_kb.freshness.locked_versions import FILES, Use, normal_name, read_versions
from lessons_kb.model import Standing
from lessons_kb.values import frozen, replace

_PARTS = 3
"""The number of parts of a semantic version."""
_RUNTIMES = frozenset({"python", "node", "go"})
_HIGHEST = 999_999
_COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {
    "<": operators.lt,
    "<=": operators.le,
    "==": operators.eq,
    "===": operators.eq,
    "!=": operators.ne,
    ">": operators.gt,
    ">=": operators.ge,
}
Uses = Mapping[tuple[str, str], Use]


class Truth(Enum):
    """Whether a condition holds in a project."""

    TRUE = "true"
    FALSE = "false"
    UNKNOWN = "unknown"
    """The project does not name the package, or has versions for which the condition holds and
    others.
    """


@frozen
class Decision:
    """Whether a condition holds, and the versions that decide it."""

    condition: Condition
    truth: Truth
    versions: tuple[str, ...] = ()
    source: str = ""
    """The file that names the versions."""

    def __str__(self) -> str:
        if not self.versions:
            return f"{self.condition.text}: the project names no version of it"
        has = " and ".join(self.versions)
        return f"{self.condition.text}: {self.source} has {self.condition.name} {has}"


def read_uses(read: Callable[[str], str | None]) -> Uses:
    """Return the versions that a project uses. ``read`` returns the text of a file in its top
    folder.
    """
    return read_versions(FILES, read)


def judge_condition(standing: Standing, when: Sequence[str], uses: Uses) -> Standing:
    """Return the standing of a card with the truth of its conditions."""
    decisions = [decide(condition, uses) for condition in list_conditions(when)]
    if not decisions:
        return standing
    truth = join(decisions)
    reasons = "; ".join(str(decision) for decision in decisions if decision.truth == truth)
    if truth == Truth.FALSE:
        return replace(standing, unmet=reasons)
    if truth == Truth.TRUE:
        return standing
    unknown = [decision for decision in decisions if decision.truth == Truth.UNKNOWN]
    names = " and ".join(decision.condition.text for decision in unknown)
    return replace(standing, caveat=f"Only for {names}. {standing.caveat}".rstrip())


def decide(condition: Condition, uses: Uses) -> Decision:
    """Return whether a condition holds in a project that uses these versions.

    A name without an ecosystem is looked up in all ecosystems. If two of them contain it, the
    condition is undecided.
    """
    ecosystems = [condition.ecosystem] if condition.ecosystem else ECOSYSTEMS
    found = []
    for ecosystem in ecosystems:
        use = uses.get((ecosystem, normal_name(ecosystem, condition.name)))
        if use is not None:
            found.append((ecosystem, use))
    if len(found) != 1:
        return Decision(condition=condition, truth=Truth.UNKNOWN)
    ecosystem, use = found[0]
    answers = {
        _HOLDS[ecosystem](condition, version)
        for written in use.versions
        for version in _list_versions(condition.name, written)
    }
    truth = Truth.UNKNOWN
    if answers == {True}:
        truth = Truth.TRUE
    elif answers == {False}:
        truth = Truth.FALSE
    versions = tuple(sorted(use.versions))
    return Decision(condition=condition, truth=truth, versions=versions, source=use.source)


def _list_versions(name: str, written: str) -> tuple[str, ...]:
    """Return the lowest and the highest version that a text may mean.

    `.nvmrc` and `.python-version` may name only the first numbers.
    """
    missing = _PARTS - written.count(".") - 1
    if name not in _RUNTIMES or missing <= 0:
        return (written,)
    return written + ".0" * missing, written + f".{_HIGHEST}" * missing


def join(decisions: Iterable[Decision]) -> Truth:
    """Return whether all conditions of a card hold."""
    truths = [decision.truth for decision in decisions]
    if Truth.FALSE in truths:
        return Truth.FALSE
    return Truth.UNKNOWN if Truth.UNKNOWN in truths else Truth.TRUE


def _holds_in_python(condition: Condition, version: str) -> bool | None:
    clauses = [_write_for_python(operator, number) for operator, number in condition.clauses]
    try:
        return SpecifierSet(",".join(clauses)).contains(Version(version), prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        return None


def _write_for_python(operator: str, number: str) -> str:
    if operator in {"^", "~"}:
        return f"~={number}" if "." in number else f"=={number}.*"
    return f"{'==' if operator == '=' else operator}{number}"


def _holds_in_npm(condition: Condition, version: str) -> bool | None:
    try:
        return all(
            _satisfies(_fill_up(version), operator, number)
            for operator, number in condition.clauses
        )
    except ValueError:
        return None


def _satisfies(version: str, operator: str, number: str) -> bool:
    """Return whether a version is in the range of an operator and a number.

    A project that uses 5.0.0-rc.1 uses a version above 4. By npm's own rules, such a range would
    not include it. The answers are those of npm's ``semver`` with ``includePrerelease``, from which
    ``nodesemver.satisfies`` differs for whole numbers. Raises ValueError if a part is unreadable.
    """
    if operator in _COMPARISONS and number.count(".") >= _PARTS - 1:
        order: int = nodesemver.compare(version, number, loose=True)
        return _COMPARISONS[operator](order, 0)
    if operator == "!=":
        return not nodesemver.satisfies(version, number, loose=True, include_prerelease=True)
    if operator in {"==", "==="}:
        operator = "="
    if operator == "~=":  # of Python: any later version with the same first numbers
        operator = "^" if number.count(".") == 1 else "~"
    return bool(
        nodesemver.satisfies(version, f"{operator}{number}", loose=True, include_prerelease=True)
    )


def _fill_up(version: str) -> str:
    """Return a version with three numbers, because `.nvmrc` and `go.mod` may name only one or
    two.
    """
    numbers = version.split(".")
    if len(numbers) < _PARTS and all(number.isdigit() for number in numbers):
        numbers += ["0"] * (_PARTS - len(numbers))
    return ".".join(numbers)


_HOLDS: Mapping[str, Callable[[Condition, str], bool | None]] = {
    PYTHON: _holds_in_python,
    NPM: _holds_in_npm,
    CARGO: _holds_in_npm,
    GO: _holds_in_npm,
}
