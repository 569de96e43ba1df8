"""What an answer claims and denies, and where that and what happened cannot both be true.

A claim is refuted only if nothing that was done could bear it out: a command that may run anything
leaves every claim open.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from functools import cache

from lessons_kb.data import read_patterns, read_words
from lessons_kb.model import (
    NO_CHANGE,
    NO_TEST_RUN,
    NO_TEST_WRITTEN,
    NOT_CHANGED,
    NOT_RUN,
    TESTS_FAILED,
    Command,
    Evidence,
)
from lessons_kb.text.analyzer import analyze
from lessons_kb.text.paths import find_paths
from lessons_kb.text.shell import split_commands
from lessons_kb.values import frozen

_MAX_TEXT = 100_000
"""Characters of an edit."""
_SCRIPT = re.compile(r"\.(?:sh|py|js|ts|rb|ps1)$")

_phrases = cache(read_patterns)
_words = cache(read_words)


@cache
def phrase(name: str) -> re.Pattern[str]:
    """Return what finds the phrases of a section of ``data/claim_phrases.toml``."""
    return re.compile("|".join(_phrases("claim_phrases.toml")[name]))


@cache
def terms_of_phrases(name: str) -> frozenset[str]:
    """Return the index terms of the words in a section of ``data/claim_phrases.toml``."""
    return frozenset(analyze("\n".join(_phrases("claim_phrases.toml")[name])))


class Claims:
    """What happened, to hold the sentences of an answer against."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._is_open = any(map(_may_do_anything, evidence.commands))
        self._may_write = any(map(_may_write, evidence.commands))
        runs = [command for command in evidence.commands if command.tests]
        failed = TESTS_FAILED if runs and runs[-1].failed else ""
        self._untested = failed if runs else NO_TEST_RUN
        """Which of REASONS speaks against tests that passed, "" if none does."""
        self._reasons: dict[str, str] = {}

    def refute(self, sentence: str) -> str:
        """Return which of REASONS an affirmative sentence is refuted for, "" if it may be true.

        Nothing is refuted where it is not known what else was done.
        """
        if not self._evidence.complete:
            return ""
        if sentence not in self._reasons:
            self._reasons[sentence] = next(self._refutations(sentence), "")
        return self._reasons[sentence]

    def refute_done(self, item: str) -> str:
        """Return which of REASONS speaks against an item that asks to run tests, "" if none."""
        asks = phrase("asks to run tests").search(item)
        return self._untested if asks and not self._is_open else ""

    def touches(self, path: str) -> bool:
        """Tell whether a file was written, or is named by a command that may have written it.

        Of two paths of one file, one may begin further up.
        """
        return any(
            f"/{path}".endswith(f"/{edit.path}") or f"/{edit.path}".endswith(f"/{path}")
            for edit in self._evidence.edits
        ) or any(
            path in command.line for command in self._evidence.commands if not is_quiet(command)
        )

    def ran(self, line: str) -> bool:
        """Tell whether a command line was run without failing, alone or as part of a longer one."""
        shown = " ".join(line.split())
        return any(
            shown in " ".join(command.line.split())
            for command in self._evidence.commands
            if not command.failed
        )

    def _refutations(self, sentence: str) -> Iterator[str]:
        low, commands, edits = sentence.lower(), self._evidence.commands, self._evidence.edits
        is_tested = phrase("tests ran").search(low) and not phrase("elsewhere").search(sentence)
        if is_tested and self._untested and not self._is_open:
            yield self._untested
        if not self._is_open and any(
            not any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", c.line) for c in commands)
            for name in _named_programs(sentence)
        ):
            yield NOT_RUN
        only_looked = not any(command.tests or _may_write(command) for command in commands)
        if only_looked and phrase("did what takes a command").search(low):
            yield NOT_RUN
        if self._may_write or self._is_open:
            return
        if phrase("changed").search(low):
            names = []
            for path in find_paths(sentence):
                before = sentence[: sentence.find(posixpath.basename(path))]
                before = before[: before.rfind(" ") + 1] if "/" in path else before
                if not phrase("refers").search(before.lower().rstrip("`\"'(*_ ") + " "):
                    names.append(posixpath.basename(path))  # not only "as in `docs/api.md`"
            lines = [command.line for command in commands if not command.tests]
            written = {posixpath.basename(edit.path) for edit in edits}
            if names and not any(n in written or any(n in one for one in lines) for n in names):
                yield NOT_CHANGED
        if phrase("wrote a test").search(low) and not any(
            phrase("like a test").search(text)
            for edit in edits
            for text in (edit.path, edit.text, edit.before)
        ):
            yield NO_TEST_WRITTEN
        if phrase("I changed").search(low):
            terms = frozenset(analyze(sentence))
            texts = (f"{e.path}\n{e.text}\n{e.before}" for e in edits)
            if all(terms.isdisjoint(analyze(text[:_MAX_TEXT])) for text in texts):
                yield NO_CHANGE


def is_harmless(tool: str) -> bool:
    """Tell whether an agent's tool of this name changes nothing in the project."""
    return tool in _words("command_effects.txt")["harmless tools"] or "lessons_" in tool


def is_quiet(command: Command) -> bool:
    """Tell whether a command certainly changes nothing in the project: it looks, or runs tests."""
    return command.tests or not _may_write(command)


def _named_programs(sentence: str) -> Iterator[str]:
    """Yield the programs of the command lines that a sentence says were run."""
    if not phrase("ran").search(re.sub(r"`[^`]*`", " ", sentence)):
        return
    for span in re.findall(r"`([^`\n]+)`", sentence):
        words = span.split()
        is_command = len(words) > 1 and re.fullmatch(r"[a-z][a-z0-9_.-]*", words[0])
        if is_command and not re.search(r"[=({;]", span):
            yield words[0]


def _may_do_anything(command: Command) -> bool:
    """Tell whether a command may run tests that nobody sees in its line."""
    commands = split_commands(command.line)
    effects = _words("command_effects.txt")
    return not command.tests and (
        not commands
        or any(
            ("/" in words[0] or _SCRIPT.search(words[0]) or words[0] in effects["opaque"])
            and effects["plain targets"].isdisjoint(words[1:])
            for _operator, words in commands
        )
    )


def _may_write(command: Command) -> bool:
    """Tell whether a command may change a file of the project."""
    if command.tests or ">" in command.line:
        return not command.tests
    commands = split_commands(command.line)
    effects = _words("command_effects.txt")
    return not commands or any(
        not effects["quiet git"].issuperset(words[1:2] or ("",))
        if posixpath.basename(words[0]) == "git"
        else posixpath.basename(words[0]) not in effects["quiet"]
        for _operator, words in commands
    )


LEFT, PUT_OFF, ABSENT = "left", "put off", "absent"
"""What a clause says: it was not done; it may be done some day; it is not so."""

MAX_SENTENCE = 2_000
"""Characters. Nobody writes a longer sentence: it is data."""

_SUBORDINATE = r"\b(?:if|when|where|unless|that|which|who|whose|because|as|since|so)\b[^,;:]*$"
"""Before a "not": it tells when or which, not what was done."""
_PAST = r"\b(?:before|previously|until\s+now|earlier|formerly)\b\s*(?:[,;:.(|)\u2014]|$)"
"""Behind a "not": so it was, and is no longer."""
_LIST_ITEM = r"\s*(?:[-*+•]|\d{1,3}[.)])\s"
_UNTICKED = r"^[-*\s]*\[ \]|^[-*\s]*[❌✗✘☐⬜]"
_QUOTED = r"`[^`\n]*`|\"[^\"\n]*\"|\u201c[^\u201d\n]*\u201d"
"""What somebody else says, or a program: it may be what is denied, but denies nothing itself."""


@frozen
class Denial:
    """A clause of an answer that denies something."""

    what: str
    """LEFT, PUT_OFF or ABSENT."""
    cue: str
    """The words that deny, in lower case."""
    sentence: str
    terms: frozenset[str]
    """All terms of the clause."""
    topic: frozenset[str]
    """Those that tell what is denied, not that it is."""


def find_denials(
    sentences: Iterable[tuple[str, frozenset[str]]], about: frozenset[str]
) -> list[Denial]:
    """Return the clauses of an answer that say of something that it was not done.

    So does an open box of a checklist, and what stands in a list below "Not done:". ``sentences``
    come with their terms; those without a term of ``about`` are passed over.
    """
    found: list[Denial] = []
    is_left = False
    for sentence, terms in sentences:
        is_left = is_left and bool(re.match(_LIST_ITEM, sentence))
        is_heading = sentence.startswith("#") or sentence.rstrip(" *_").endswith(":")
        if (about.isdisjoint(terms) and not is_heading) or len(sentence) > MAX_SENTENCE:
            continue
        if is_left or re.match(_UNTICKED, sentence):
            clauses = [(LEFT, "", sentence)]
        else:
            clauses = list(_denying_clauses(sentence))
            is_left = is_heading and bool(clauses)
        for what, cue, clause in clauses:
            own = frozenset(analyze(clause))
            topic = own - terms_of_phrases("words of denials")
            found.append(Denial(what=what, cue=cue, sentence=sentence, terms=own, topic=topic))
    return found


def _denying_clauses(sentence: str) -> Iterator[tuple[str, str, str]]:
    own = re.sub(_QUOTED, lambda quoted: "_" * len(quoted[0]), sentence)
    start = 0
    for end in [*phrase("clause ends").finditer(own), None]:
        clause = slice(start, end.start() if end else None)
        start = end.end() if end else start
        low = own[clause].lower()
        for what in (PUT_OFF, LEFT, ABSENT):
            cue = phrase(what).search(low)
            if cue and (what == PUT_OFF or not re.search(_SUBORDINATE, low[: cue.start()])):
                if what == PUT_OFF or not re.search(_PAST, low[cue.end() :]):
                    yield what, cue[0], sentence[clause]
                break
