"""Find items of a checklist that the agent provably ignored.

An item is ignored if its evidence would have been visible and was not seen. For example, a command
that it names did not run, a file that it names was not changed, no test was written or run, or its
``shown-by`` pattern does not match. This is valid only if the evidence is complete, and if the turn
changed something that the lesson is about.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Sequence

from lessons_kb.data import read_words
from lessons_kb.model import OPEN, Card, Check, CheckedItem, Command, Edit, Evidence
from lessons_kb.postcheck.claims import Claims, phrase
from lessons_kb.postcheck.item_states import share
from lessons_kb.text.analyzer import analyze, find_names
from lessons_kb.text.paths import find_paths
from lessons_kb.text.patterns import compile_globs, match_globs

MOST = 2
"""The maximum number of items that one line names."""
_ABOUT_FROM = 0.25
"""The share of a title's terms, weighted by rarity, that the edits must contain."""
_CONDITION_FROM = 0.5
"""The same share for an item's condition, such as "when a column is added"."""
_CODE = re.compile(r"`([^`\n]+)`")
_CONDITION = re.compile(
    r"(?i)^\W*(?:only\s+)?(?:when|whenever|if|while|before|after|once|unless|any\s?time|for)\b"
    r"(.*?)[,:;–—→](?=\s|$)(.*)$"
)
_WORDS = read_words("item_commands.txt")
_MOST_WORDS = 2
_COMMAND_PART = re.compile(r"[a-z0-9-][\w:./@=-]*")
_COMMAND_WORD = re.compile(r"[a-z][\w.+-]*")
_ASKS_TO_RUN = re.compile(
    r"(?i)\b(?:run|re-?run|execute|call|start|invoke|use|with|by|via|through)\b"
)
_ASKS_TO_TEST = re.compile(
    r"(?i)^\W*(?:also\s+)?(?:write|add|cover|extend|include|create|test|pin|guard|lock)\b"
)
_ASKS_TO_CHANGE = re.compile(
    r"(?i)^\W*(?:also\s+)?(?:update|change|edit|add|bump|regenerate|register|extend|document|note|"
    r"write|record|list|mention|keep|sync|adapt|adjust)\b"
)


def find_ignored(check: Check, evidence: Evidence) -> list[CheckedItem]:
    """Return the open items of a check that were provably ignored, in their order."""
    if not evidence.complete:
        return []
    scene = _Scene(evidence)
    unseen = [item for item in check.items if item.state == OPEN and scene.is_about(item.card)]
    return [item for item in unseen if scene.is_ignored(item)]


class _Scene:
    """The actions of a session, as far as they can show an item."""

    def __init__(self, evidence: Evidence) -> None:
        self._edits: Sequence[Edit] = evidence.edits
        self._commands: Sequence[Command] = evidence.commands
        self._claims = Claims(evidence)
        written = "\n".join(f"{edit.path}\n{edit.before}\n{edit.text}" for edit in evidence.edits)
        self._terms = frozenset(analyze(written))
        self._names = find_names(written)
        self._tests_written = any(_is_test_file(edit.path) for edit in evidence.edits)
        self._tests_run = any(command.tests for command in evidence.commands)

    def is_about(self, card: Card) -> bool:
        """Return whether the turn changed something that a card is about."""
        new = [edit.path for edit in self._edits if not edit.earlier]
        if card.paths:
            globs = compile_globs(card.paths)
            return any(match_globs(globs, path) for path in new)
        if not new:
            return False
        if find_names(f"{card.title} {card.why}") & self._names:
            return True
        return share(frozenset(analyze(card.title)), self._terms) >= _ABOUT_FROM

    def is_ignored(self, item: CheckedItem) -> bool:
        """Return whether the evidence of an item would have been visible, and was not seen."""
        text = item.item
        condition = _CONDITION.match(text)
        if condition is not None:
            asked = frozenset(analyze(condition[1]))
            if share(asked, self._terms) < _CONDITION_FROM:
                return False
            text = condition[2].strip()
        if phrase("forbids").search(text):
            return False
        if _find_pattern(item):
            return True  # it does not match, or the item would be shown
        commands = _find_commands(text)
        if commands:
            return not any(self._has_run(command) for command in commands)
        files = _find_files(text)
        if files and _ASKS_TO_CHANGE.search(text):
            return not any(self._claims.touches(file) for file in files)
        if phrase("asks to run tests").search(text):
            return not self._tests_run
        if phrase("asks for a test").search(text) and _ASKS_TO_TEST.search(text):
            return not self._tests_written
        return False

    def _has_run(self, command: str) -> bool:
        words = command.split()
        return any(_holds_in_order(run.line.split(), words) for run in self._commands)


def _find_pattern(item: CheckedItem) -> str:
    """Return the ``shown-by`` pattern of an item, or "" if the item has no pattern."""
    pairs = zip(item.card.checklist, item.card.shown_by, strict=False)
    return next((pattern for text, pattern in pairs if text == item.item), "")


def _find_commands(text: str) -> list[str]:
    """Return the commands that an item requests, which are code or a program after a verb."""
    found = []
    for verb in _ASKS_TO_RUN.finditer(text):
        command = _read_command(text[verb.end() :])
        if command:
            found.append(command)
    for code in _CODE.finditer(text):
        before = text[: code.start()]
        words = code[1].split()
        is_program = bool(words) and _COMMAND_WORD.fullmatch(words[0]) is not None
        is_path = "/" in words[0] or "." in words[0] if words else True
        if is_program and not is_path and _ASKS_TO_RUN.search(before):
            found.append(code[1])
    return found


def _read_command(text: str) -> str:
    """Return the command at the beginning of some prose, or "" if the prose does not begin with a
    program.
    """
    words: list[str] = []
    for word in text.split():
        plain = word.strip("`").rstrip("`.,;:)")
        is_end = plain in _WORDS["ends"] or not _COMMAND_PART.fullmatch(plain)
        if is_end or (not words and plain not in _WORDS["programs"]):
            break
        words.append(plain)
        if len(words) == _MOST_WORDS or plain != word.strip("`"):
            break
    return " ".join(words)


def _find_files(text: str) -> list[str]:
    return [path for path in find_paths(text) if "." in posixpath.basename(path)]


def _holds_in_order(words: Sequence[str], asked: Sequence[str]) -> bool:
    """Return whether a command line contains the words of a command in their order."""
    # With an iterator, ``in`` continues after the last match.
    rest = iter([word.strip("\"'();&|") for word in words])
    return all(word in rest for word in _without_placeholders(asked))


def _without_placeholders(words: Collection[str]) -> list[str]:
    """Return the words of a command without ``<file>``, ``FILE``, ``…`` and options."""
    plain = re.compile(r"[a-z0-9][\w./:@+-]*")
    return [word for word in words if plain.fullmatch(word)]


def _is_test_file(path: str) -> bool:
    return (
        re.search(r"(?i)(?:^|[/._-])(?:tests?|specs?|__tests__|e2e)(?:[/._-]|$)", path) is not None
    )
