"""Cards whose mistake is in a change or in a command that is about to run."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from zlib import crc32

from lessons_kb.brain.layer import Layer
from lessons_kb.brain.layers import Layers
from lessons_kb.brain.retrieve import find_usable
from lessons_kb.cards.file_kinds import kind_of
from lessons_kb.detect.added_code import Change
from lessons_kb.detect.matcher import MAX_CHARS, Match, Matcher
from lessons_kb.errors import StorageError
from lessons_kb.guards.command_files import find_run
from lessons_kb.model import COMMAND, NOTE, Card, DetectedLine, Evidence
from lessons_kb.store.disk import read_regular
from lessons_kb.store.scan import SUFFIXES


@dataclass(frozen=True, kw_only=True, slots=True)
class Detected:
    """A card, and where its mistake was found."""

    layer: Layer
    card: Card
    matches: tuple[Match, ...]
    """At least one, in the order of the changes."""


def has_detectors(brain: Layers) -> bool:
    """Tell whether any card of any brain has a pattern, without reading a card."""
    for layer in brain.layers:
        layer.prepare()
    return any(layer.state is not None and layer.state.detectors for layer in brain.layers)


def find_detected(
    brain: Layers, changes: Iterable[Change], commands: Sequence[str] = ()
) -> list[Detected]:
    """Return the cards whose mistake is in what changes add or in commands, nearest brain first.

    ``changes`` are not looked at where no card has patterns. The last commit is looked at as it
    is. Changes to the brains' own cards do not count: a card that shows its mistake would find
    itself.
    """
    if not has_detectors(brain):
        return []
    relevant = [change for change in changes if not is_card_file(brain, change.path)]
    found: list[Detected] = []
    for layer in brain.layers:
        if layer.state is not None and layer.state.detectors:
            found += layer.read(lambda one: _detected(one, brain.project, relevant, commands))
    return found


def find_in_files(
    brain: Layers, paths: Iterable[str], root: str, *, without: Container[str] = ()
) -> list[Detected]:
    """Return the cards whose mistake stands in files, of which ``paths`` start at ``root``.

    Matches with a mark in ``without`` do not count.
    """
    places = ((path, os.path.join(root, *path.split("/"))) for path in paths)
    found = find_detected(brain, [Change(path=path, after=read_text(one)) for path, one in places])
    left = (
        replace(one, matches=tuple(m for m in one.matches if _mark(one, m) not in without))
        for one in found
    )
    return [one for one in left if one.matches]


def mark_matches(detected: Iterable[Detected]) -> list[str]:
    """Return what tells matches from others in a session: card, file and the line's text."""
    return [_mark(one, match) for one in detected for match in one.matches]


def _mark(one: Detected, match: Match) -> str:
    place = f"{one.layer.alias}:{one.card.id}:{match.path}"
    return f"{place[:280]}:{crc32(match.text.encode()):08x}"


def find_in_evidence(brain: Layers, evidence: Evidence, *, look: bool = True) -> list[DetectedLine]:
    """Return the lines that the checked turn added and left, and the commands it ran, with a match.

    A line that is no longer in its file was taken back; unless we may ``look``, none was.
    """
    edits = [edit for edit in evidence.edits if edit.text and not edit.earlier]
    lines = [command.line for command in evidence.commands if not command.earlier]
    if not edits and not lines:
        return []
    changes = [
        Change(
            path=edit.path,
            before=edit.before,
            after=edit.text,
            line=edit.numbers[0] if edit.numbers else 0,
        )
        for edit in edits
    ]
    commands = [run for line in lines for run in find_run(line)]
    found = find_detected(brain, changes, commands)
    told = [tell_line(one.card, match) for one in found for match in one.matches]
    if not look:
        return told
    return [line for line in told if line.where == COMMAND or _is_left(brain.directory, line)]


def tell_line(card: Card, match: Match) -> DetectedLine:
    """Return a match of a card as the post-check takes it."""
    place = f"{match.path}:{match.line}" if match.line else match.path
    return DetectedLine(card=card.id, where=place or COMMAND, quote=match.text)


def _is_left(directory: str, line: DetectedLine) -> bool:
    path = line.where.partition(":")[0]
    text = read_text(os.path.join(directory, path))
    return not text or line.quote.rstrip("\u2026") in text


def is_card_file(brain: Layers, path: str) -> bool:
    """Tell whether a path from the project root is a card of a brain, written or to be written."""
    if not path.endswith(SUFFIXES):
        return False
    full = os.path.join(brain.directory, path)
    return any(
        _is_card(layer, os.path.relpath(full, layer.root).replace(os.sep, "/"))
        for layer in brain.layers
    )


def _is_card(layer: Layer, path: str) -> bool:
    if path.startswith("../") or layer.state is None:
        return False
    known = layer.read(lambda one: one.catalogue.numbers(path))
    if not known:
        return kind_of(path, layer.settings.folders) != NOTE
    return any(number > 0 for number, _digest in known.values())


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
    stop = text.find("\n", end - 1) + 1 if text[end - 1 : end] != "\n" else end
    stop = stop or len(text)
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


def _detected(
    layer: Layer, project: str | None, changes: Sequence[Change], commands: Sequence[str]
) -> list[Detected]:
    matches: dict[int, list[Match]] = {}
    for match in _find(layer.matcher(), changes, commands):
        matches.setdefault(int(match.rule.card), []).append(match)
    if not matches:
        return []
    cards = find_usable(layer, matches, project)
    return [
        Detected(layer=layer, card=card, matches=tuple(matches[number]))
        for number, card in cards.items()
    ]


def _find(matcher: Matcher, changes: Sequence[Change], commands: Sequence[str]) -> list[Match]:
    found = [match for change in changes for match in matcher.find_added(change)]
    return [*found, *matcher.find_in_commands(commands)]
