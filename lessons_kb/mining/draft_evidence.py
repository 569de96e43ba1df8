"""The evidence in a draft: the blocks that lessons_kb wrote, and what a card keeps of them.

A block is a paragraph or a fenced code block. Its digest tells whether a person has changed it
since the draft was written.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from lessons_kb.cards.keys import split_header
from lessons_kb.cards.sections import normal_newlines

SECTIONS = ("Situation", "Fix")
"""The sections that contain the evidence."""
_MAX_EXCERPT = 800
"""The maximum number of characters of a diff in a card."""
_GAP = "…"
"""The line that stands for the lines of a diff that were left out."""
_FENCE = re.compile(r"(`{3,}|~{3,})")
_COMMIT = re.compile(r"Commit `([0-9a-f]{7,40})`: ")
_FILE_HEADER = re.compile(r"(?m)^(?:diff --git|index|new file mode|similarity index) .*\n")
_HEADS = ("@@ ", "--- ", "+++ ")
"""The first characters of the lines before the changes of a file and of a hunk."""
_STAYS = (
    *("What failed", "Failing tests: ", "The change was rolled back: ", "An action was refused: "),
    *("What fixed it:", "What was changed:", "The change that made it pass:"),
)
"""The first words of the paragraphs that stay in a card. The others are quotes, lists of files, and
signs that it is a mistake, which served the review."""


class _Block(NamedTuple):
    section: str
    """The heading of its section."""
    first: int
    """The number of its first line, from 0."""
    lines: list[str]

    @property
    def digest(self) -> str:
        """A digest that ignores spaces at the ends of lines, which some editors remove."""
        text = "\n".join(line.rstrip() for line in self.lines)
        return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=6).hexdigest()


def list_evidence(text: str) -> list[str]:
    """Return the digests of the blocks of evidence in a draft that was just composed."""
    body = normal_newlines(split_header(text).body)
    return [block.digest for block in _read_blocks(body) if block.section in SECTIONS]


def shorten_evidence(text: str, evidence: Collection[str]) -> str:
    """Return the text of a draft with what a card keeps of its evidence.

    ``evidence`` is the result of ``list_evidence``. A block with another digest was written by a
    person, and stays. The commits stay, with the command that shows the rest, and the errors and an
    excerpt of the first diff.
    """
    body = split_header(text).body
    end_of_line = "\r\n" if "\r\n" in body else "\n"
    lines = normal_newlines(body).split("\n")
    changes: list[tuple[_Block, list[str]]] = []
    commit: _Block | None = None
    has_diff = is_shorter = False
    for block in _read_blocks(body):
        if block.digest not in evidence:
            continue
        head = block.lines[0]
        if _COMMIT.match(head):
            commit = commit or block
            continue
        if head.lstrip("`~") == "diff" and not has_diff:
            has_diff = True
            first, *diff, last = block.lines
            kept = [first, *_cut_diff(diff), last]
        else:
            kept = block.lines if head.startswith(_STAYS) or head.lstrip("`~") == "text" else []
        if kept != block.lines:
            is_shorter = True
            changes.append((block, kept))
    if commit is not None and is_shorter:
        name = _COMMIT.match(commit.lines[0])
        hint = [f"`git show {name[1]}` shows its whole message and change."] if name else []
        changes.append((commit, [*commit.lines, "", *hint]))
    for block, kept in sorted(changes, key=lambda change: -change[0].first):
        lines[block.first : block.first + len(block.lines)] = kept
    return text[: len(text) - len(body)] + end_of_line.join(lines)


def _read_blocks(body: str) -> Iterator[_Block]:
    """Yield the blocks of a body, without its headings."""
    section, fence, first = "", "", 0
    waiting: list[str] = []
    for number, line in enumerate([*normal_newlines(body).split("\n"), ""]):
        match = _FENCE.match(line)
        is_heading = not fence and line.startswith("## ")
        begins_block = not fence and (match or is_heading or not line.strip())
        if begins_block and waiting:
            yield _Block(section, first, waiting)
            waiting = []
        if is_heading:
            section = line[3:].strip()
            continue
        if not fence and not line.strip():
            continue
        first = first if waiting else number
        waiting.append(line)
        if fence and line.rstrip() == fence:
            yield _Block(section, first, waiting)
            waiting, fence = [], ""
        elif match and not fence:
            fence = match[1]
    if waiting:
        yield _Block(section, first, waiting)


def _cut_diff(lines: list[str]) -> list[str]:
    """Return the lines of a diff, cut to an excerpt if they are long.

    The lines around a change are cut first, from the farthest to the nearest.
    """
    if _count_chars(lines) <= _MAX_EXCERPT:
        return lines
    shown = _FILE_HEADER.sub("", "\n".join(lines)).split("\n")
    for distance in (3, 2, 1, 0):
        excerpt = _cut_context(shown, distance)
        if _count_chars(excerpt) <= _MAX_EXCERPT:
            return excerpt
    kept: list[str] = []
    size = 0
    for line in excerpt:
        size += len(line) + 1
        if size > _MAX_EXCERPT:
            break
        kept.append(line)
    return [*kept, _GAP]


def _cut_context(lines: list[str], distance: int) -> list[str]:
    """Return a diff without the lines that are farther than ``distance`` from the next change.

    A mark stands for the lines of each gap.
    """
    near: set[int] = set()
    for number, line in enumerate(lines):
        if line.startswith(("+", "-")) and not line.startswith(_HEADS):
            near.update(range(number - distance, number + distance + 1))
    kept: list[str] = []
    for number, line in enumerate(lines):
        if number in near or line.startswith(_HEADS):
            kept.append(line)
        elif kept[-1:] != [_GAP]:
            kept.append(_GAP)
    return kept


def _count_chars(lines: list[str]) -> int:
    return sum(len(line) + 1 for line in lines)
