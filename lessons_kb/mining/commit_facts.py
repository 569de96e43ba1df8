"""The facts about one commit: message, files, counted lines, and comments that give a cause."""

from __future__ import annotations

import base64
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any
from zlib import crc32

from lessons_kb.calls.failure_signs import is_test
from lessons_kb.data import read_patterns
from lessons_kb.on_demand import REGULAR_EXPRESSIONS, load
from lessons_kb.text.error_signature import shows
from lessons_kb.values import frozen

MAX_FILE_BYTES = 400_000
"""The maximum size, in bytes, of one file's part of a patch. A longer part is data or generated
code.
"""
_MAX_CAUSES = 6
_MAX_PATHS = 12

_NAME = re.compile(rb'^\+\+\+ "?b/(.+?)"?\t?$', re.MULTILINE)
_FILE = b"\ndiff --git "
_BLANK = b" \t+-{}()[];,\r"
"""Lines that consist only of these characters are not counted."""
_COMMENT = re.compile(
    rb"^\+[ \t]*(?:///?|#|\*|/\*\*?|--|;;|<!--)[ \t]+([^\n]{10,400})"
    rb"|[ \t](?://|#)[ \t]+([^\n]{10,400})"
)
_WRAPS = 4
"""The number of lines before and after the line with the cause that may belong to its sentence."""
_ENDS = (".", "!", "?", ":", ";")
_LONG_LINE = 2_000
_REWRAPPED = 0.9
"""A comment that has this share of its words in the removed lines was only re-wrapped."""
_SIGNALS = read_patterns("mining_signals.toml")
_CODE = frozenset(" ".join(_SIGNALS["code"]).split())
"""Extensions of files with code that people write."""
_TEXT = frozenset(" ".join(_SIGNALS["text"]).split())
"""Extensions, and names, of configuration and documentation that people write."""
_PROSE = ("md", "mdx", "rst")
_MIN_LINE = 10
"""The minimum number of characters in a line that is stored. Shorter lines occur everywhere."""
_MAX_LINES = 3_000
"""The maximum number of added lines, and of removed lines, that are stored for a commit."""


@frozen
class CommitFacts:
    """The facts about one commit. Lines of brackets alone are not counted."""

    id: str
    at: float
    """The time of the commit, in seconds since the epoch."""
    subject: str
    body: str = ""
    paths: tuple[str, ...] = ()
    """Changed files that people write, without tests. Code comes first, then the most changed
    files.
    """
    tests: tuple[str, ...] = ()
    """Changed test files."""
    files: int = 0
    """The number of files that the commit changes, including generated files and tests."""
    added: int = 0
    """The number of added lines in these files, without tests."""
    removed: int = 0
    """The number of removed lines in these files, without tests."""
    test_lines: int = 0
    """The number of added lines in tests."""
    causes: tuple[str, ...] = ()
    """The first few added comments that give a cause."""
    cause_count: int = 0
    """The number of different added comments that give a cause."""
    added_lines: str = ""
    """Checksums of the added lines; see `unpack_lines`."""
    removed_lines: str = ""
    """Checksums of the removed lines."""

    @property
    def has_code(self) -> bool:
        """Whether the commit changes code, and not only configuration or documentation."""
        return any(is_code(path) for path in self.paths[:1])


def name_facts(commit_id: str, at: float, message: str, paths: Sequence[str]) -> CommitFacts:
    """Return the facts that the message and the changed files of a commit give, without a patch."""
    subject, _, body = message.strip().partition("\n")
    written = filter(is_written, paths)
    changed: list[str] = []
    tests: list[str] = []
    for path in written:
        names = tests if is_test(path) else changed
        names.append(path)
    changed.sort(key=lambda path: not is_code(path))
    return CommitFacts(
        id=commit_id,
        at=at,
        subject=subject.strip(),
        body=body.strip(),
        paths=tuple(changed[:_MAX_PATHS]),
        tests=tuple(tests[:_MAX_PATHS]),
        files=len(paths),
    )


def read_facts(commit_id: str, at: float, message: str, patch: bytes) -> CommitFacts:
    """Return the facts about a commit. ``patch`` is git's patch without context lines."""
    subject, _, body = message.strip().partition("\n")
    changed: dict[str, int] = {}
    tests: dict[str, None] = {}
    added = removed = test_lines = 0
    added_lines, removed_lines = array("I"), array("I")
    causes: dict[str, str] = {}  # equal comments in copies of a file count once
    parts = (b"\n" + patch).split(_FILE)[1:]
    for part in parts:
        name = _NAME.search(part[:2_000])
        path = name[1].decode("utf-8", "replace") if name else ""
        if name is None or len(part) > MAX_FILE_BYTES or not is_written(path):
            continue
        lines = part[name.end() :].split(b"\n")
        if is_test(path):
            signs = [line[:1] for line in lines if line.strip(_BLANK)]
            test_lines += signs.count(b"+")
            tests[path] = None
            continue
        plus, minus = _count_lines(path, lines, added_lines, removed_lines)
        changed[path] = plus + minus
        added += plus
        removed += minus
        if is_prose(path):
            continue
        old_words: set[str] | None = None
        for text, sentence in _find_causes(lines):
            if old_words is None:
                old_words = _read_old_words(lines)
            words = text.split()
            is_rewrapped = sum(word in old_words for word in words) >= _REWRAPPED * len(words)
            if not is_rewrapped:
                causes.setdefault(text, sentence)
    paths = sorted(changed, key=lambda path: (not is_code(path), -changed[path]))
    return CommitFacts(
        id=commit_id,
        at=at,
        subject=subject.strip(),
        body=body.strip(),
        paths=tuple(paths[:_MAX_PATHS]),
        tests=tuple(tests)[:_MAX_PATHS],
        files=len(parts),
        added=added,
        removed=removed,
        test_lines=test_lines,
        causes=tuple(dict.fromkeys(causes.values()))[:_MAX_CAUSES],
        cause_count=len(causes),
        added_lines=_pack_lines(added_lines),
        removed_lines=_pack_lines(removed_lines),
    )


def _count_lines(
    path: str, lines: Sequence[bytes], added: array[int], removed: array[int]
) -> tuple[int, int]:
    """Return the numbers of lines that a file's patch adds and removes, and append their checksums.

    A checksum includes the file's name, so that the same line in another file counts as a different
    line.
    """
    seed = crc32(path.rpartition("/")[2].encode())
    counts: list[int] = []
    for sign, checksums in ((b"+", added), (b"-", removed)):
        texts = [line.strip(_BLANK) for line in lines if line.startswith(sign)]
        counts.append(len(texts) - texts.count(b""))
        stored = [text for text in texts if len(text) >= _MIN_LINE]
        room = _MAX_LINES - len(checksums)
        checksums.extend([crc32(text, seed) for text in stored[:room]])
    plus, minus = counts
    return plus, minus


def _read_old_words(lines: Sequence[bytes]) -> set[str]:
    """Return the words of the removed lines."""
    before = b" ".join(line[1:].strip(b" \t#/*;-") for line in lines if line[:1] == b"-")
    return set(before.decode("utf-8", "replace").split())


def _pack_lines(checksums: array[int]) -> str:
    return base64.b64encode(checksums.tobytes()).decode()


def unpack_lines(text: str) -> array[int]:
    """Return the checksums of lines in a field of `CommitFacts`."""
    checksums = array("I")
    checksums.frombytes(base64.b64decode(text))
    return checksums


def _find_causes(lines: Sequence[bytes]) -> Iterator[tuple[str, str]]:
    """Yield each added comment that gives a cause, and its sentence, which may span several
    lines.
    """
    text = b"\n".join(lines).lower()
    number, counted_to, last = 0, 0, -1
    for match in _cause_finder().finditer(text):
        number += text.count(b"\n", counted_to, match.start())
        counted_to = match.start()
        line = lines[number]
        if number == last or line[:1] != b"+" or len(line) >= _LONG_LINE:
            continue
        last = number
        comment = _COMMENT.search(line)
        words = (comment[1] or comment[2]).decode("utf-8", "replace") if comment else ""
        if words and shows("cause", words.lower()):
            yield words.strip(), _read_sentence(lines, number) or words.strip()


@cache
def _cause_finder() -> Any:
    """Return the pattern of a cause for RE2, which takes a tenth of the time to search a
    history.
    """
    whole = "|".join(f"(?:{pattern})" for pattern in _SIGNALS["cause"])
    return load(REGULAR_EXPRESSIONS).compile(whole.encode())


def _read_sentence(lines: Sequence[bytes], number: int) -> str:
    """Return the sentence of a comment that spans several lines, or "" if the comment follows
    code.
    """

    def comment_of(number: int) -> str:
        match = _COMMENT.match(lines[number]) if 0 <= number < len(lines) else None
        return match[1].decode("utf-8", "replace").strip() if match and match[1] else ""

    first = last = number
    while number - first < _WRAPS:
        before = comment_of(first - 1)
        if not before or before.endswith(_ENDS):
            break
        first -= 1
    while last - number < _WRAPS:
        if comment_of(last).endswith(_ENDS) or not comment_of(last + 1):
            break
        last += 1
    return " ".join(map(comment_of, range(first, last + 1)))


@cache
def is_code(path: str) -> bool:
    """Return whether a path names a file of code that people wrote."""
    extension = path.rpartition(".")[2].lower()
    return extension in _CODE and not shows("generated", path.lower())


@cache
def is_written(path: str) -> bool:
    """Return whether people wrote the file, as code, configuration or documentation.

    Change logs and lessons are left out, because they describe changes in other files.
    """
    if is_code(path):
        return True
    low = path.lower()
    name = low.rpartition("/")[2]
    is_text = name in _TEXT or name.rpartition(".")[2] in _TEXT
    return is_text and not shows("generated", low) and not shows("records", low)


@cache
def is_prose(path: str) -> bool:
    """Return whether the file is documentation."""
    return path.rpartition(".")[2].lower() in _PROSE


def choose(history: Iterable[CommitFacts]) -> list[CommitFacts]:
    """Return the commits that change files which people write, because only these can fix a
    mistake.
    """
    return [facts for facts in history if facts.paths]
