"""Where an item can be seen: the sentences of an answer, lines of edits, commands.

A place is some lines at a time: a whole file holds any word.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from lessons_kb.model import ANSWER, COMMAND, Command, Edit, Evidence
from lessons_kb.text.analyzer import analyze
from lessons_kb.text.document_frequencies import get_share
from lessons_kb.text.paths import FILE_NAMES
from lessons_kb.text.sentences import split_sentences

MAX_ANSWER, MAX_EVIDENCE = 100_000, 400_000
"""Characters that are looked at."""

_RAREST = 1e-3
"""Share of texts that hold a term which is in no table."""
_LEAST_WEIGHT = 0.1
_CHUNK_LINES, _CHUNK_OVERLAP = 12, 4
_FENCE = r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)"
_BLOCK_QUOTE = r"(?m)^[ \t]*>.*$"
_COMMENT = r"^\s*(?:#(?!!)|//|--(?!\w)|/?\*|<!--).*$|\b(?:TODO|FIXME)\b.*$"
_UNSURE = (
    r"\b(?:not|no|never|nothing|none|neither|nor|without|only|could|would|should|might|may|wanted|"
    r"thought|except|remains?|still|left|leave|missing|lacks?|unchanged|instead\s+of|todo|later|"
    r"next|separate|follow-?up|by\s+hand|skip(?:ped|s)?|plan(?:ned)?|if\s+you)\b|n['\u2019]t\b|\?|"
    "않|못|없|아직|나중|예정|생략|ません|まだ|没|未"
)
"""A sentence with one of these words may say that something was not done."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Some text that may show an item."""

    terms: frozenset[str]
    lines: tuple[str, ...]
    where: str
    """ANSWER, COMMAND or a path."""
    numbers: tuple[int, ...] = ()
    """1-based line in the file of each of ``lines``; empty = not known."""
    earlier: bool = False
    failed: bool = False

    def find_line(self, terms: frozenset[str]) -> tuple[str, str]:
        """Return the line that most of some terms stand in, and where it stands."""
        shares = [share(terms, frozenset(analyze(line))) for line in self.lines]
        best = max(range(len(shares)), key=shares.__getitem__, default=0)
        quote = self.lines[best].strip() if self.lines else ""
        return quote, locate(self.where, self.numbers, best)


def locate(where: str, numbers: Sequence[int], place: int) -> str:
    """Return ``path:line`` if the line is known."""
    return f"{where}:{numbers[place]}" if where and place < len(numbers) else where


def read_answer(answer: str) -> tuple[list[tuple[str, frozenset[str]]], list[Place]]:
    """Return the sentences of an answer with their terms, and its fenced code as places.

    A block quote is what somebody else said.
    """
    answer = answer[:MAX_ANSWER]
    code = [fence[0].strip("\n") for fence in re.finditer(_FENCE, answer)]
    prose = re.sub(_BLOCK_QUOTE, "", re.sub(_FENCE, "", answer))
    told = [(s, frozenset(analyze(s))) for s in split_sentences(prose)]
    return told, [place for text in code for place in _chunks(ANSWER, text)]


def read_done(evidence: Evidence) -> tuple[list[Place], list[Place]]:
    """Return what was added or run, and what was removed, as places."""
    added: list[Place] = []
    removed: list[Place] = []
    left = MAX_EVIDENCE
    for edit in evidence.edits:
        added += _chunks(edit.path, edit.text[:left], edit.numbers, edit.earlier)
        left = max(0, left - len(edit.text))
        removed += _chunks(edit.path, edit.before[:left], (), edit.earlier)
        left = max(0, left - len(edit.before))
    for command in evidence.commands:
        line = command.line[:left]
        left = max(0, left - len(line))
        if line.strip():
            place = Place(
                terms=frozenset(analyze(line)),
                lines=(line,),
                where=COMMAND,
                earlier=command.earlier,
                failed=command.failed,
            )
            added.append(place)
    return added, removed


def read_texts(texts: Iterable[str]) -> Evidence:
    r"""Return texts of what was done as evidence, nothing known of what else was done.

    A text of one line is a command, one that begins with the name of a file an edit of it; a patch
    is taken apart.
    """
    edits: list[Edit] = []
    commands: list[Command] = []
    for text in texts:
        first, newline, rest = text.partition("\n")
        if not newline or not rest.strip():
            commands.append(Command(line=text.strip()))
        elif is_patch(text):
            edits += read_patch(text)
        elif _is_name(first):
            edits += [*read_patch(rest, path=first.strip())]
        else:
            edits.append(Edit(path="", text=text))
    return Evidence(edits=tuple(edits), commands=tuple(commands))


def is_patch(text: str) -> bool:
    """Tell whether a text is a patch, of git or of an agent."""
    return re.search(r"(?m)^(?:\*\*\* Begin Patch|@@ -\d+)", text) is not None


def read_patch(text: str, *, path: str = "") -> list[Edit]:
    """Return the edits of a patch; of any other text one edit of ``path``.

    Lines that begin with ``-`` and ``+`` in the text of an edit were removed and added.
    """
    marks = r"(?m)^\+" if path.endswith((".md", ".yml", ".yaml")) else r"(?m)^[+-]\s*\S"
    is_git = re.search(r"(?m)^@@ -\d+", text) is not None
    if not is_patch(text) and not re.search(marks, text):
        return [Edit(path=path, text=text)]
    edits: list[Edit] = []
    added: list[tuple[int, str]] = []
    removed: list[str] = []
    number = old = new = 0

    def close() -> None:
        if added or removed:
            numbers = tuple(at for at, _line in added) if all(at for at, _ in added) else ()
            lines = "\n".join(line for _at, line in added)
            edit = Edit(path=path, text=lines, before="\n".join(removed), numbers=numbers)
            edits.append(edit)
        added.clear()
        removed.clear()

    for line in text.split("\n"):
        inside = old > 0 or new > 0 or not is_git
        if name := re.match(_AGENTS if inside else _GITS, line):
            close()
            path = path if name[1] == "/dev/null" else name[1].strip()
        elif hunk := re.match(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))?", line):
            number = int(hunk[2])
            old, new = (1 if count is None else int(count) for count in (hunk[1], hunk[3]))
        elif (is_git and not inside) or line.startswith(("*** ", "@@", "\\ ")):
            continue
        elif line.startswith("-"):
            removed.append(line[1:])
            old -= 1
        else:
            is_added = line.startswith("+")
            if is_added or not is_patch(text):
                added.append((number, line.removeprefix("+")))
            number += number > 0
            old, new = old - (not is_added), new - 1
    close()
    return edits


_AGENTS = r"\*\*\* (?:Update|Add|Delete) File: (.*)"
_GITS = r"(?:\+\+\+|---) (?:[ab]/)?([^\t]*)"


def share(terms: frozenset[str], others: frozenset[str]) -> float:
    """Return the part of some terms, weighed by rarity, that is among others."""
    both = terms & others
    return sum(map(_weigh, both)) / sum(map(_weigh, terms)) if both else 0.0


@cache
def _unsure() -> re.Pattern[str]:
    return re.compile(_UNSURE)


def is_unsure(sentence: str, *, unless_in: str = "") -> bool:
    """Tell whether a sentence may say that something was not done.

    The words that the item itself uses say nothing of that.
    """
    item = unless_in.lower()
    return any(found[0] not in item for found in _unsure().finditer(sentence.lower()))


def _chunks(
    where: str, text: str, numbers: Sequence[int] = (), earlier: bool = False
) -> Iterator[Place]:
    """Yield some lines of a text at a time, without comments: they do nothing."""
    if not text.strip():
        return
    name = frozenset(analyze(where)) if where != ANSWER else frozenset()
    lines = [re.sub(_COMMENT, "", line) for line in text.split("\n")]
    for start in range(0, len(lines), _CHUNK_LINES):
        end = start + _CHUNK_LINES + _CHUNK_OVERLAP
        own = tuple(lines[start:end])
        terms = name | frozenset(analyze("\n".join(own)))
        placed = tuple(numbers[start:end])
        yield Place(terms=terms, lines=own, where=where, numbers=placed, earlier=earlier)


def _is_name(line: str) -> bool:
    name = line.strip()
    named = "." in name or "/" in name or name in FILE_NAMES
    return named and re.fullmatch(r"[\w.@+~/\\:-]+", name) is not None


@lru_cache(maxsize=10_000)
def _weigh(term: str) -> float:
    """Return what a term tells: 1 for a rare one, less the commoner it is anywhere."""
    known = get_share(term)
    return 1.0 if known is None else max(_LEAST_WEIGHT, math.log(known) / math.log(_RAREST))
