"""Cards whose mistake is in a change or in a command that is about to run."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Sequence
from zlib import crc32

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.calls.command_lines import find_run
from lessons_kb.cards.file_kinds import kind_of
from lessons_kb.detect.matcher import (
    MAX_CHARS,
    Change,
    Match,
)
from lessons_kb.errors import StorageError
from lessons_kb.find.retrieve import find_usable
from lessons_kb.model import COMMAND, NO_GATE, NOTE, RULE, Card, DetectedLine, Evidence
from lessons_kb.store.files import read_regular
from lessons_kb.store.scan import SUFFIXES
from lessons_kb.values import frozen, replace


@frozen
class Detected:
    """A card, and where its mistake was found."""

    brain: Brain
    card: Card
    matches: tuple[Match, ...]
    """At least one, in the order of the changes."""


def has_detectors(brains: Brains) -> bool:
    """Tell whether any card of any brain has a pattern, without reading a card."""
    for brain in brains.members:
        brain.ensure_indexed()
    return any(brain.state is not None and brain.state.detectors for brain in brains.members)


def find_detected(
    brains: Brains,
    changes: Iterable[Change],
    commands: Sequence[str] = (),
    failures: Sequence[str] = (),
    *,
    proposed: bool = False,
) -> list[Detected]:
    """Return the cards whose mistake is in what changes add, in commands or in the output of what
    failed, nearest brain first.

    ``changes`` are not looked at where no card has patterns. The last commit is looked at as it
    is. Changes to the brains' own cards do not count: a card that shows its mistake would find
    itself. Neither do places that say ``lessons: ignore CARD``; in what an agent has ``proposed``
    they count for cards with a gate, or it could wave itself through.
    """
    if not has_detectors(brains):
        return []
    relevant = [change for change in changes if not is_card_file(brains, change.path)]

    def detect(brain: Brain) -> list[Detected]:
        matcher = brain.matcher()
        added = (match for change in relevant for match in matcher.find_added(change))
        errors = (match for output in failures for match in matcher.find_in_failure(output))
        matches: dict[int, list[Match]] = {}
        for match in (*added, *matcher.find_in_commands(commands), *errors):
            matches.setdefault(int(match.rule.card), []).append(match)
        cards = find_usable(brain, matches, brains.project) if matches else {}
        return [
            Detected(brain=brain, card=card, matches=tuple(matches[number]))
            for number, card in cards.items()
        ]

    members = [one for one in brains.members if one.state is not None and one.state.detectors]
    left = []
    for one in (found for brain in members for found in brain.read(detect)):
        slug = os.path.splitext(os.path.basename(one.card.id))[0]
        names = {one.card.id.casefold(), slug.casefold()}
        is_held = proposed and one.card.gate != NO_GATE
        kept = tuple(m for m in one.matches if is_held or names.isdisjoint(m.ignored))
        left += [replace(one, matches=kept)] if kept else []
    return left


def find_in_files(
    brains: Brains, paths: Iterable[str], root: str, *, without: Container[str] = ()
) -> list[Detected]:
    """Return the cards whose mistake stands in files, of which ``paths`` start at ``root``.

    Matches with a mark in ``without`` do not count.
    """
    places = ((path, os.path.join(root, *path.split("/"))) for path in paths)
    found = find_detected(brains, [Change(path=path, after=read_text(one)) for path, one in places])
    left = [tuple(m for m in one.matches if _mark(one, m) not in without) for one in found]
    return [replace(one, matches=some) for one, some in zip(found, left, strict=True) if some]


def mark_matches(detected: Iterable[Detected]) -> list[str]:
    """Return what tells matches from others in a session: card, file and the line's text."""
    return [_mark(one, match) for one in detected for match in one.matches]


def _mark(one: Detected, match: Match) -> str:
    place = f"{one.brain.alias}:{one.card.id}:{match.path}"
    return f"{place[:280]}:{crc32(match.text.encode()):08x}"


def find_in_evidence(
    brains: Brains, evidence: Evidence, *, look: bool = True
) -> list[DetectedLine]:
    """Return the lines that the checked turn added and left, and the commands it ran, with a match.

    A line that is no longer in its file was taken back; unless we may ``look``, none was.
    """
    changes = [
        Change(path=one.path, before=one.before, after=one.text, line=next(iter(one.numbers), 0))
        for one in evidence.edits
        if one.text and not one.earlier
    ]
    lines = [command.line for command in evidence.commands if not command.earlier]
    if not changes and not lines:
        return []
    found = find_detected(brains, changes, [run for line in lines for run in find_run(line)])
    left = []
    mistakes = [one for one in found if one.card.source != RULE]
    for line in (tell_line(one.card, match) for one in mistakes for match in one.matches):
        path = os.path.join(brains.directory, line.where.partition(":")[0])
        text = read_text(path) if look and line.where != COMMAND else ""
        if not text or line.quote.rstrip("\u2026") in text:
            left.append(line)
    return left


def tell_line(card: Card, match: Match) -> DetectedLine:
    """Return a match of a card as the post-check takes it."""
    place = f"{match.path}:{match.line}" if match.line else match.path
    return DetectedLine(card=card.id, where=place or COMMAND, quote=match.text)


def is_card_file(brains: Brains, path: str) -> bool:
    """Tell whether a path from the project root is a card of a brain, written or to be written."""
    if not path.endswith(SUFFIXES):
        return False
    full = os.path.join(brains.directory, path)
    for brain in brains.members:
        inside = os.path.relpath(full, brain.root).replace(os.sep, "/")
        if inside.startswith("../") or brain.state is None:
            continue
        known = brain.read(lambda one, path=inside: one.catalogue.numbers(path)).values()  # type: ignore[misc]
        if any(number > 0 for number, _digest in known):
            return True
        if not known and kind_of(inside, brain.settings.folders) != NOTE:
            return True
    return False


def place_change(change: Change, root: str) -> Change:
    """Return a change with its lines and what stands around it, as far as the file tells.

    ``root`` is the folder from which ``change.path`` starts. A change that writes a whole file
    keeps ``before`` as it is; of one whose old text is not in the file nothing becomes known.
    """
    if not change.before:
        return change
    text = read_text(os.path.join(root, *change.path.split("/")))
    at = text.find(change.before)
    if at < 0:
        return change
    end = at + len(change.before)
    begin = text.rfind("\n", 0, at) + 1
    stop = end if change.before.endswith("\n") else text.find("\n", end) + 1 or len(text)
    left, right = text[begin:at], text[end:stop]
    return replace(
        change,
        before=f"{left}{change.before}{right}",
        after=f"{left}{change.after}{right}",
        line=1 + text.count("\n", 0, begin),
        prefix=text[:begin],
        suffix=text[stop:],
    )


def place_creation(change: Change, root: str) -> Change:
    """Return a change that writes a whole file beside what the file holds now."""
    before = read_text(os.path.join(root, *change.path.split("/")))
    return replace(change, before=before, line=1)


def read_text(path: str) -> str:
    """Return the text of a file of at most MAX_CHARS bytes, "" of any other or of none."""
    try:
        data = read_regular(path, limit=MAX_CHARS, name=path)
    except (OSError, StorageError):
        return ""
    return data.decode("utf-8", "replace").replace("\r\n", "\n")
