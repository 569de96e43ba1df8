"""Find the claims and denials of an answer, and refute claims that contradict the evidence.

A claim is refuted only if no edit or command could support it. After a command that may run
anything, no claim is refuted.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
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
    Edit,
    Evidence,
)
from lessons_kb.text.analyzer import analyze
from lessons_kb.text.paths import find_paths
from lessons_kb.text.shell import split_commands
from lessons_kb.values import frozen

_MAX_TEXT = 100_000
"""The maximum number of characters of an edit that are searched."""
_CLAUSE_END = re.compile(r"[:;]\s+|,?\s+(?:and|but|while)\s+|,\s+|\s+[–—-]\s+")
"""Matches the text between two clauses of a sentence, each of which may be a claim."""
_SCRIPT = re.compile(r"\.(?:sh|py|js|ts|rb|ps1)$")

_phrases = cache(read_patterns)
_words = cache(read_words)


@cache
def phrase(name: str) -> re.Pattern[str]:
    """Return a pattern that matches the phrases of a section of ``data/claim_phrases.toml``."""
    return re.compile("|".join(_phrases("claim_phrases.toml")[name]))


@cache
def terms_of_phrases(name: str) -> frozenset[str]:
    """Return the index terms of the words in a section of ``data/claim_phrases.toml``."""
    return frozenset(analyze("\n".join(_phrases("claim_phrases.toml")[name])))


class Claims:
    """The evidence of a turn, with which the sentences of an answer are compared."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._is_open = any(map(_may_do_anything, evidence.commands))
        self._may_write = any(map(_may_write, evidence.commands))
        runs = [command for command in evidence.commands if command.tests]
        failed = TESTS_FAILED if runs and runs[-1].failed else ""
        self._untested = failed if runs else NO_TEST_RUN
        """The member of REASONS that refutes a claim that tests passed, or "" if there is none."""
        self._reasons: dict[str, str] = {}
        self._refuted: dict[str, list[str]] = {}
        self._terms: dict[str, frozenset[str]] = {}
        self.wrote_test = any(map(_is_test_edit, evidence.edits))
        """Whether an edit looks like one of a test."""

    def refute(self, sentence: str) -> str:
        """Return the member of REASONS that refutes an affirmative sentence, or "" if it may be
        true.

        Nothing is refuted if the evidence is incomplete.
        """
        if not self._evidence.complete:
            return ""
        if sentence not in self._reasons:
            self._reasons[sentence] = next(self._refutations(sentence), "")
        return self._reasons[sentence]

    def find_refuted(self, sentence: str) -> list[str]:
        """Return the clauses of a refuted sentence that are refuted for the same reason.

        The list contains the whole sentence if no clause is refuted alone.
        """
        if sentence not in self._refuted:
            reason = self.refute(sentence)
            clauses = [clause.strip(" .") for clause in _CLAUSE_END.split(sentence)]
            refuted = [clause for clause in clauses if self.refute(clause) == reason]
            self._refuted[sentence] = refuted or [sentence]
        return self._refuted[sentence]

    def find_terms(self, claim: str) -> frozenset[str]:
        """Return the terms of a claim, which several items are compared with."""
        if claim not in self._terms:
            self._terms[claim] = frozenset(analyze(claim))
        return self._terms[claim]

    def refute_done(self, item: str) -> str:
        """Return the member of REASONS that refutes the test run that an item requests, or "" if
        there is none.
        """
        asks = phrase("asks to run tests").search(item)
        return self._untested if asks and not self._is_open else ""

    def touches(self, path: str) -> bool:
        """Return whether a file was edited, or named by a command that may have written it.

        Two paths denote the same file if one is the end of the other.
        """
        for edit in self._evidence.edits:
            if f"/{path}".endswith(f"/{edit.path}") or f"/{edit.path}".endswith(f"/{path}"):
                return True
        writers = [command for command in self._evidence.commands if not is_quiet(command)]
        return any(path in command.line for command in writers)

    def ran(self, line: str) -> bool:
        """Return whether a command line succeeded, alone or as part of a longer command line."""
        wanted = " ".join(line.split())
        succeeded = [command for command in self._evidence.commands if not command.failed]
        return any(wanted in " ".join(command.line.split()) for command in succeeded)

    def _refutations(self, sentence: str) -> Iterator[str]:
        low = sentence.lower()
        commands = self._evidence.commands
        edits = self._evidence.edits
        is_tested = phrase("tests ran").search(low) and not phrase("elsewhere").search(sentence)
        if is_tested and self._untested and not self._is_open:
            yield self._untested
        names_missing = not all(map(self._has_program, _named_programs(sentence)))
        if not self._is_open and names_missing:
            yield NOT_RUN
        only_looked = not any(command.tests or _may_write(command) for command in commands)
        if only_looked and phrase("did what takes a command").search(low):
            yield NOT_RUN
        if self._may_write or self._is_open:
            return
        if phrase("changed").search(low):
            names = _named_files(sentence)
            if names and not any(map(self._mentions_file, names)):
                yield NOT_CHANGED
        if phrase("wrote a test").search(low) and not self.wrote_test:
            yield NO_TEST_WRITTEN
        if phrase("I changed").search(low):
            terms = frozenset(analyze(sentence))
            texts = [f"{edit.path}\n{edit.text}\n{edit.before}" for edit in edits]
            if all(terms.isdisjoint(analyze(text[:_MAX_TEXT])) for text in texts):
                yield NO_CHANGE

    def _has_program(self, name: str) -> bool:
        """Return whether a command contains the name of a program as a word."""
        word = rf"(?<![\w-]){re.escape(name)}(?![\w-])"
        return any(re.search(word, command.line) for command in self._evidence.commands)

    def _mentions_file(self, name: str) -> bool:
        """Return whether a file of this name was edited, or named by a command without tests."""
        if any(name == posixpath.basename(edit.path) for edit in self._evidence.edits):
            return True
        lines = [command.line for command in self._evidence.commands if not command.tests]
        return any(name in line for line in lines)


def _named_files(sentence: str) -> list[str]:
    """Return the names of files in a sentence, without mere references (as in `docs/api.md`)."""
    names = []
    for path in find_paths(sentence):
        name = posixpath.basename(path)
        before = sentence[: sentence.find(name)]
        if "/" in path:
            before = before[: before.rfind(" ") + 1]
        if not phrase("refers").search(before.lower().rstrip("`\"'(*_ ") + " "):
            names.append(name)
    return names


def _is_test_edit(edit: Edit) -> bool:
    return any(phrase("like a test").search(text) for text in (edit.path, edit.text, edit.before))


def is_harmless(tool: str) -> bool:
    """Return whether an agent's tool of this name changes nothing in the project."""
    return tool in _words("command_effects.txt")["harmless tools"] or "lessons_" in tool


def is_quiet(command: Command) -> bool:
    """Return whether a command certainly changes nothing, because it only reads or runs tests."""
    return command.tests or not _may_write(command)


def is_act(command: Command, named: Collection[str]) -> bool:
    """Return whether a command does more than read, or runs a program with a ``named`` word.

    ``named`` are the words of patterns. A pattern may be about a program that only reads.
    """
    commands = split_commands(command.line)
    if ">" in command.line or not commands:
        return True
    effects = _words("command_effects.txt")
    for _operator, words in commands:
        program = posixpath.basename(words[0])
        name = [program, *words[1:2]] if program == "git" else [program]
        only_reads = program in effects["reading"]
        if program == "git":
            only_reads = effects["reading git"].issuperset(words[1:2] or ("",))
        if not only_reads or all(word in named for word in name):
            return True
    return False


def _named_programs(sentence: str) -> Iterator[str]:
    """Yield the programs of the command lines that were run according to a sentence."""
    if not phrase("ran").search(re.sub(r"`[^`]*`", " ", sentence)):
        return
    for span in re.findall(r"`([^`\n]+)`", sentence):
        words = span.split()
        is_command = len(words) > 1 and re.fullmatch(r"[a-z][a-z0-9_.-]*", words[0])
        if is_command and not re.search(r"[=({;]", span):
            yield words[0]


def _may_do_anything(command: Command) -> bool:
    """Return whether a command may run tests that are not visible in its line."""
    if command.tests:
        return False
    commands = split_commands(command.line)
    return not commands or any(_is_opaque(words) for _operator, words in commands)


def _is_opaque(words: Sequence[str]) -> bool:
    """Return whether a simple command is a script or a task runner that may run anything."""
    effects = _words("command_effects.txt")
    program = words[0]
    is_opaque = "/" in program or _SCRIPT.search(program) or program in effects["opaque"]
    return bool(is_opaque) and effects["plain targets"].isdisjoint(words[1:])


def _may_write(command: Command) -> bool:
    """Return whether a command may change a file of the project."""
    if command.tests:
        return False
    commands = split_commands(command.line)
    if ">" in command.line or not commands:
        return True
    return any(_is_writer(words) for _operator, words in commands)


def _is_writer(words: Sequence[str]) -> bool:
    """Return whether a simple command may write, because it is not in the list of reading
    programs.
    """
    effects = _words("command_effects.txt")
    program = posixpath.basename(words[0])
    if program == "git":
        return not effects["quiet git"].issuperset(words[1:2] or ("",))
    return program not in effects["quiet"]


LEFT, PUT_OFF, ABSENT = "left", "put off", "absent"
"""Kinds of denials: it was not done, it may be done later, or something does not exist."""

MAX_SENTENCE = 2_000
"""The maximum number of characters of a sentence. A longer sentence is data, not prose."""

_SUBORDINATE = r"\b(?:if|when|where|unless|that|which|who|whose|because|as|since|so)\b[^,;:]*$"
"""Matches a subordinate clause before a "not", which does not report work that was done."""
_PAST = r"\b(?:before|previously|until\s+now|earlier|formerly)\b\s*(?:[,;:.(|)\u2014]|$)"
"""Matches words after a "not" which show that the denial is about the past."""
_LIST_ITEM = r"\s*(?:[-*+•]|\d{1,3}[.)])\s"
_UNTICKED = r"^[-*\s]*\[ \]|^[-*\s]*[❌✗✘☐⬜]"
_QUOTED = r"`[^`\n]*`|\"[^\"\n]*\"|\u201c[^\u201d\n]*\u201d"
"""Matches quotations and code. Their content may be denied, but it does not deny anything
itself.
"""


@frozen
class Denial:
    """A clause of an answer that denies something."""

    kind: str
    """LEFT, PUT_OFF or ABSENT."""
    cue: str
    """The words of the denial, in lower case."""
    sentence: str
    terms: frozenset[str]
    """All index terms of the clause."""
    topic: frozenset[str]
    """The terms of the denied thing, without those of the denial itself."""

    @property
    def is_about_tests(self) -> bool:
        """Whether tests in general were left out or put off, as in "I left the tests for later"."""
        is_left = self.kind in (LEFT, PUT_OFF)
        return is_left and "test" in self.topic <= terms_of_phrases("words of tests")


def find_denials(
    sentences: Iterable[tuple[str, frozenset[str]]], about: frozenset[str]
) -> list[Denial]:
    """Return the clauses of an answer that deny that something was done.

    An open box of a checklist and the items of a list below "Not done:" are denials, too.
    ``sentences`` are pairs of a sentence and its terms. Sentences without a term of ``about`` are
    skipped.
    """
    denials: list[Denial] = []
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
        for kind, cue, clause in clauses:
            terms_of_clause = frozenset(analyze(clause))
            denials.append(
                Denial(
                    kind=kind,
                    cue=cue,
                    sentence=sentence,
                    terms=terms_of_clause,
                    topic=terms_of_clause - terms_of_phrases("words of denials"),
                )
            )
    return denials


def _denying_clauses(sentence: str) -> Iterator[tuple[str, str, str]]:
    """Yield (kind, cue, clause) for each clause of a sentence that denies something."""
    unquoted = re.sub(_QUOTED, lambda quoted: "_" * len(quoted[0]), sentence)
    start = 0
    for end in [*phrase("clause ends").finditer(unquoted), None]:
        clause = slice(start, end.start() if end else None)
        start = end.end() if end else start
        low = unquoted[clause].lower()
        for kind in (PUT_OFF, LEFT, ABSENT):
            cue = phrase(kind).search(low)
            if cue and (kind == PUT_OFF or not re.search(_SUBORDINATE, low[: cue.start()])):
                if kind == PUT_OFF or not re.search(_PAST, low[cue.end() :]):
                    yield kind, cue[0], sentence[clause]
                break
