"""Find the commits of a history that a later commit took back."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from lessons_kb.mining.commit_facts import CommitFacts

_BODY = re.compile(r"\bthis reverts commit ([0-9a-f]{7,40})\b", re.IGNORECASE)
_SUBJECT = re.compile(r'revert "(.+)"(?: \(#\d+\))?', re.IGNORECASE)
_NUMBER = re.compile(r" \(#\d+\)\Z")
"""Matches the number of a pull request, which a merge adds to the subject of its commit."""


def quote_revert(body: str) -> str:
    """Return the words of a message that name the commit which it takes back, or ""."""
    named = _BODY.search(body)
    return named[0] if named else ""


def find_targets(history: Sequence[CommitFacts]) -> dict[str, str]:
    """Return a mapping from the id of each revert to the id of the commit that it takes back.

    Reverts of commits outside the history are left out.
    """
    targets: dict[str, str] = {}
    ids_by_subject: dict[str, str] = {}
    earlier: list[str] = []
    for facts in sorted(history, key=lambda facts: facts.at):
        named = _BODY.search(facts.body)
        quoted = _SUBJECT.fullmatch(facts.subject)
        target = ""
        if named:
            target = next((name for name in earlier if name.startswith(named[1].lower())), "")
        if not target and quoted:
            target = ids_by_subject.get(_NUMBER.sub("", quoted[1]), "")
        if target:
            targets[facts.id] = target
        ids_by_subject[_NUMBER.sub("", facts.subject)] = facts.id
        earlier.append(facts.id)
    return targets


def find_reverted(history: Sequence[CommitFacts], targets: Mapping[str, str]) -> dict[str, str]:
    """Return a mapping from the id of each commit that was taken back to the id of its revert.

    A revert that was itself taken back has no effect. ``targets`` is the result of
    ``find_targets``.
    """
    reverted: dict[str, str] = {}
    for facts in sorted(history, key=lambda facts: facts.at, reverse=True):
        target = targets.get(facts.id)
        if target is not None and facts.id not in reverted:
            reverted[target] = facts.id
    return reverted
