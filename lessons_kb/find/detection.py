"""Find the cards whose mistake is in a change, a command or the output of a failure."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Sequence
from zlib import crc32

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.calls.command_lines import find_run
from lessons_kb.cards.file_kinds import kind_of
from lessons_kb.detect.change import Change
from lessons_kb.detect.matcher import MAX_CHARS, Match, Matcher
from lessons_kb.errors import StorageError
from lessons_kb.find.retrieve import find_usable
from lessons_kb.model import COMMAND, NO_GATE, NOTE, RULE, Card, DetectedLine, Evidence
from lessons_kb.store.files import read_regular
from lessons_kb.store.scan import SUFFIXES
from lessons_kb.values import frozen, replace


@frozen
class Detected:
    """A card and the places where its mistake was found."""

    brain: Brain
    card: Card
    matches: tuple[Match, ...]
    """The matches in the order of the changes. There is at least one."""


def has_detectors(brains: Brains) -> bool:
    """Return whether any card of any brain has a pattern. No card is read."""
    states = [brain.read_indexed_state() for brain in brains.members]
    return any(state is not None and state.detectors for state in states)


def find_detected(
    brains: Brains,
    changes: Iterable[Change],
    commands: Sequence[str] = (),
    failures: Sequence[str] = (),
    *,
    proposed: bool = False,
) -> list[Detected]:
    """Return the cards whose mistake is in added lines, in commands or in the output of failures.

    The cards come from the last commit, the nearest brain first. If no card has patterns,
    ``changes`` are not read. Changes of the brains' own cards are ignored, because a card that
    quotes its mistake would match itself. Lines marked ``lessons: ignore CARD`` are ignored as
    well. The exception is a change ``proposed`` by an agent. For a card with a gate, the mark then
    does not count, because the agent could excuse itself.
    """
    if not has_detectors(brains):
        return []
    relevant = [change for change in changes if not is_card_file(brains, change.path)]

    def detect(brain: Brain) -> list[Detected]:
        matcher = brain.matcher()
        matches: dict[int, list[Match]] = {}
        for match in _find_matches(matcher, relevant, commands, failures):
            matches.setdefault(int(match.rule.card), []).append(match)
        cards = find_usable(brain, matches, brains.project) if matches else {}
        return [
            Detected(brain=brain, card=card, matches=tuple(matches[number]))
            for number, card in cards.items()
        ]

    detected: list[Detected] = []
    for brain in brains.members:
        if brain.state is not None and brain.state.detectors:
            detected += brain.read(detect)
    remaining: list[Detected] = []
    for detection in detected:
        ignores_marks = proposed and detection.card.gate != NO_GATE
        matches = detection.matches if ignores_marks else _drop_ignored(detection)
        if matches:
            remaining.append(replace(detection, matches=matches))
    return remaining


def _find_matches(
    matcher: Matcher,
    changes: Iterable[Change],
    commands: Sequence[str],
    failures: Sequence[str],
) -> Iterator[Match]:
    for change in changes:
        yield from matcher.find_added(change)
    yield from matcher.find_in_commands(commands)
    for output in failures:
        yield from matcher.find_in_failure(output)


def _drop_ignored(detection: Detected) -> tuple[Match, ...]:
    """Return the matches, except matches whose line has a mark that names the card."""
    card_id = detection.card.id
    slug = os.path.splitext(os.path.basename(card_id))[0]
    names = {card_id.casefold(), slug.casefold()}
    return tuple(match for match in detection.matches if names.isdisjoint(match.ignored))


def find_in_files(
    brains: Brains, paths: Iterable[str], root: str, *, without: Container[str] = ()
) -> list[Detected]:
    """Return the cards whose mistake is in files. ``paths`` are relative to ``root``.

    Matches whose mark is in ``without`` are left out. See `mark_matches`.
    """
    changes: list[Change] = []
    for path in paths:
        text = read_text(os.path.join(root, *path.split("/")))
        changes.append(Change(path=path, after=text))
    remaining: list[Detected] = []
    for detection in find_detected(brains, changes):
        matches = [match for match in detection.matches if _mark(detection, match) not in without]
        if matches:
            remaining.append(replace(detection, matches=tuple(matches)))
    return remaining


def mark_matches(detected: Iterable[Detected]) -> list[str]:
    """Return a mark for each match, which identifies the card, the file and the text of the
    line.
    """
    return [_mark(detection, match) for detection in detected for match in detection.matches]


def _mark(detection: Detected, match: Match) -> str:
    place = f"{detection.brain.alias}:{detection.card.id}:{match.path}"
    return f"{place[:280]}:{crc32(match.text.encode()):08x}"


def find_in_evidence(
    brains: Brains, evidence: Evidence, *, look: bool = True
) -> list[DetectedLine]:
    """Return the added lines and the commands of the checked turn that match a pattern.

    With ``look``, lines that are no longer in their file are left out, because the agent removed
    them.
    """
    changes: list[Change] = []
    for edit in evidence.edits:
        if edit.text and not edit.earlier:
            line = next(iter(edit.numbers), 0)
            changes.append(Change(path=edit.path, before=edit.before, after=edit.text, line=line))
    commands: list[str] = []
    for command in evidence.commands:
        if not command.earlier:
            commands += find_run(command.line)
    if not changes and not commands:
        return []
    lines: list[DetectedLine] = []
    for detection in find_detected(brains, changes, commands):
        if detection.card.source != RULE:
            lines += [make_detected_line(detection.card, match) for match in detection.matches]
    return [line for line in lines if not (look and _is_removed(line, brains.directory))]


def _is_removed(line: DetectedLine, directory: str) -> bool:
    """Return whether a line is no longer in its file. A command cannot be removed."""
    if line.where == COMMAND:
        return False
    text = read_text(os.path.join(directory, line.where.partition(":")[0]))
    return bool(text) and line.quote.rstrip("\u2026") not in text


def make_detected_line(card: Card, match: Match) -> DetectedLine:
    """Return a match of a card in the form that the post-check uses."""
    has_line = match.path and match.line  # a command has a line, but no file
    place = f"{match.path}:{match.line}" if has_line else match.path
    return DetectedLine(card=card.id, where=place or COMMAND, quote=match.text)


def is_card_file(brains: Brains, path: str) -> bool:
    """Return whether a path, relative to the project root, is or would be a card of a brain."""
    if not path.endswith(SUFFIXES):
        return False
    full = os.path.join(brains.directory, path)
    for brain in brains.members:
        inside = os.path.relpath(full, brain.root).replace(os.sep, "/")
        if inside.startswith("../") or brain.state is None:
            continue
        entries = brain.read(lambda brain, path=inside: brain.catalogue.numbers(path)).values()  # type: ignore[misc]
        if any(number > 0 for number, _digest in entries):
            return True
        if not entries and kind_of(inside, brain.settings.folders) != NOTE:
            return True
    return False


def place_change(change: Change, root: str) -> Change:
    """Return a change extended to whole lines, with its line number and the text around it.

    ``change.path`` is relative to ``root``. The change is returned as it is if it writes a whole
    file or if its old text is not in the file.
    """
    if not change.before:
        return change
    text = read_text(os.path.join(root, *change.path.split("/")))
    start = text.find(change.before)
    if start < 0:
        return change
    end = start + len(change.before)
    begin = text.rfind("\n", 0, start) + 1
    stop = end
    if not change.before.endswith("\n"):
        stop = text.find("\n", end) + 1 or len(text)
    left, right = text[begin:start], text[end:stop]
    return replace(
        change,
        before=f"{left}{change.before}{right}",
        after=f"{left}{change.after}{right}",
        line=1 + text.count("\n", 0, begin),
        prefix=text[:begin],
        suffix=text[stop:],
    )


def place_creation(change: Change, root: str) -> Change:
    """Return a change that writes a whole file. Its ``before`` is the current text of the file."""
    before = read_text(os.path.join(root, *change.path.split("/")))
    return replace(change, before=before, line=1)


def read_text(path: str) -> str:
    """Return the text of a file, or "" if the file is missing or has more than MAX_CHARS bytes."""
    try:
        data = read_regular(path, limit=MAX_CHARS, name=path)
    except (OSError, StorageError):
        return ""
    return data.decode("utf-8", "replace").replace("\r\n", "\n")
