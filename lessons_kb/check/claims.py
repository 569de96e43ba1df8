"""What an answer claims and what happened: where the two cannot both be true.

A claim is refuted only if nothing that was done could bear it out: a command that may run anything
leaves every claim open.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from lessons_kb.data import read_words
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

_TEST = r"(?:tests?|suite|specs?|pytest|jest|vitest|rspec)"
_PASSED = r"(?:pass(?:es|ed|ing)?(?!\s+(?:a|an|the|it)\b)|green|succeed(?:s|ed)?)"
_TESTS_RAN = (
    rf"\b{_TEST}\b[^.;]{{0,60}}\b{_PASSED}\b|"
    rf"\b(?:ran|re-?ran|executed|(?:have|were|was|been)\s+run)\b[^.;]{{0,40}}\b{_TEST}\b|"
    rf"\b{_TEST}\b[^.;]{{0,30}}\b(?:ran|were\s+run|was\s+run)\b|"
    "테스트[^.]{0,30}(?:통과|성공|돌렸|실행했)"
)
_ELSEWHERE = r"\b(?:CI|pipeline|workflow|actions)\b"
_CHANGED = (
    r"(?:added|updated|changed|created|wrote|written|fixed|edited|extended|moved|renamed|modified|"
    r"documented|adjusted|rewrote|rewritten|introduced|implemented|replaced|registered|recorded)"
)
_CHANGED_KOREAN = "(?:추가|수정|변경|작성|생성|업데이트|구현)했|고쳤|만들었"
_WROTE_TEST = (
    rf"\b(?:added|wrote|written|created|extended|introduced|covered)\b[^.;]{{0,60}}\b{_TEST}\b|"
    rf"\b{_TEST}\b[^.;]{{0,40}}\b(?:was|were|is|are|been)\s+(?:added|written|created|extended)\b|"
    "테스트[^.]{0,20}(?:추가했|작성했|만들었)"
)
_I_CHANGED = rf"^(?:[\W\d]|i\b|we\b|ve\b|have\b|also\b|then\b|now\b)*{_CHANGED}\b|{_CHANGED_KOREAN}"
_REFERS = r"(?:from|like|as\s+in|see|per|matching|match|of|with|than|by|via|using|against)\s+\S?$"
_RAN = (
    r"\b(?:ran|re-?ran|executed|run|passes|passed|clean|green|succeeds|succeeded|reports?|"
    r"reported|exits?|exited|says|came\s+back)\b"
)
_EXECUTED = (
    r"^(?:[\W\d]|i\b|we\b|ve\b|have\b|also\b|then\b|now\b)*"
    r"(?:ran|re-?ran|executed|benchmarked|profiled|deployed|redeployed|rebuilt|restarted|measured|"
    r"reproduced|load-?tested|smoke-?tested|tested)\b|(?:실행|배포|측정|재현|테스트)했"
)
"""What cannot be done without a command."""
_TESTY = r"(?i)(?:^|[^a-z])(?:tests?|specs?)(?:[^a-z]|$)|[a-z]Tests?\b|__tests__"
_RUNS_TESTS = (
    rf"(?i)\b(?:run|re-?run|execute|repeat|launch|start|verify|check|pass(?:es|ing)?|green)\b.*"
    rf"\b{_TEST}\b|"
    rf"\b{_TEST}\b.*\b(?:run|pass(?:es|ing)?|green)\b|"
    "테스트.*(?:돌린|돌려|실행|통과)"
)
_ASKS_FOR_TEST = rf"(?i)\b(?:{_TEST}|tested)\b|테스트"


_MAX_TEXT = 100_000
"""Characters of an edit."""


class Claims:
    """What happened, to hold the sentences of an answer against."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._is_open = any(map(_may_do_anything, evidence.commands))
        self._may_write = any(map(_may_write, evidence.commands))
        self._cache: dict[str, str] = {}

    def refute(self, sentence: str) -> str:
        """Return which of REASONS an affirmative sentence is refuted for, "" if it may be true.

        Nothing is refuted where it is not known what else was done.
        """
        if not self._evidence.complete:
            return ""
        if sentence not in self._cache:
            self._cache[sentence] = next(self._refutations(sentence), "")
        return self._cache[sentence]

    def is_about(self, reason: str, item: str) -> bool:
        """Tell whether what is refuted for a reason is what an item asks for, by its kind."""
        if reason in (NO_TEST_RUN, TESTS_FAILED):
            return bool(re.search(_RUNS_TESTS, item))
        return reason == NO_TEST_WRITTEN and bool(re.search(_ASKS_FOR_TEST, item))

    def touches(self, path: str) -> bool:
        """Tell whether a file was written, or is named by a command that may have written it."""
        return any(_is_same(path, edit.path) for edit in self._evidence.edits) or any(
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
        low = sentence.lower()
        if re.search(_TESTS_RAN, low) and not re.search(_ELSEWHERE, sentence):
            runs = [command for command in self._evidence.commands if command.tests]
            if not runs and not self._is_open:
                yield NO_TEST_RUN
            elif runs and runs[-1].failed and not self._is_open:
                yield TESTS_FAILED
        if not self._is_open and any(map(self._never_ran, _named_commands(sentence))):
            yield NOT_RUN
        if all(map(_is_look, self._evidence.commands)) and re.search(_EXECUTED, low):
            yield NOT_RUN
        if self._may_write or self._is_open:
            return
        if re.search(rf"\b{_CHANGED}\b|{_CHANGED_KOREAN}", low):
            paths = [path for path in find_paths(sentence) if not _is_referred(path, sentence)]
            if paths and not any(map(self._touched, paths)):
                yield NOT_CHANGED
        if re.search(_WROTE_TEST, low) and not any(map(_holds_test, self._evidence.edits)):
            yield NO_TEST_WRITTEN
        if re.search(_I_CHANGED, low) and self._shares_nothing(sentence):
            yield NO_CHANGE

    def _shares_nothing(self, sentence: str) -> bool:
        """Tell whether no word of a claim is in what was written."""
        written = (f"{e.path}\n{e.text}\n{e.before}" for e in self._evidence.edits)
        terms = frozenset(analyze(sentence))
        return all(terms.isdisjoint(analyze(text[:_MAX_TEXT])) for text in written)

    def _never_ran(self, named: str) -> bool:
        return not any(
            re.search(rf"(?<![\w-]){re.escape(named)}(?![\w-])", command.line)
            for command in self._evidence.commands
        )

    def _touched(self, path: str) -> bool:
        name = posixpath.basename(path)
        return any(posixpath.basename(edit.path) == name for edit in self._evidence.edits) or any(
            name in command.line for command in self._evidence.commands if not command.tests
        )


def is_harmless(tool: str) -> bool:
    """Tell whether an agent's tool of this name changes nothing in the project."""
    return tool in _effects()["harmless tools"] or "lessons_" in tool


def _is_look(command: Command) -> bool:
    """Tell whether a command only looks: no tests either."""
    return not command.tests and not _may_write(command)


def is_quiet(command: Command) -> bool:
    """Tell whether a command certainly changes nothing in the project: it looks, or runs tests."""
    return command.tests or not _may_write(command)


def _named_commands(sentence: str) -> Iterator[str]:
    """Yield the programs of the command lines that a sentence says were run."""
    if not re.search(_RAN, re.sub(r"`[^`]*`", " ", sentence), re.IGNORECASE):
        return
    for span in re.findall(r"`([^`\n]+)`", sentence):
        words = span.split()
        is_command = len(words) > 1 and re.fullmatch(r"[a-z][a-z0-9_.-]*", words[0])
        if is_command and not re.search(r"[=({;]", span):
            yield words[0]


def _is_referred(path: str, sentence: str) -> bool:
    """Tell whether a sentence only refers to a file: "as in `docs/api.md`"."""
    before = sentence[: sentence.find(posixpath.basename(path))]
    before = before[: len(before) - len(before.rsplit(" ", 1)[-1])] if "/" in path else before
    return re.search(_REFERS, before.lower().rstrip("`\"'(*_ ") + " ") is not None


def _holds_test(edit: Edit) -> bool:
    return any(re.search(_TESTY, text) for text in (edit.path, edit.text, edit.before))


def _is_same(path: str, other: str) -> bool:
    """Tell whether two paths, one of which may begin further up, can be of one file."""
    return f"/{path}".endswith(f"/{other}") or f"/{other}".endswith(f"/{path}")


@cache
def _effects() -> dict[str, frozenset[str]]:
    return {name: frozenset(words) for name, words in read_words("command_effects.txt").items()}


def _may_do_anything(command: Command) -> bool:
    """Tell whether a command may run tests that nobody sees in its line."""
    if command.tests:
        return False
    commands = split_commands(command.line)
    if not commands:
        return True
    for _operator, words in commands:
        program = posixpath.basename(words[0])
        is_script = "/" in words[0] or re.search(r"\.(?:sh|py|js|ts|rb|ps1)$", program)
        if not is_script and program not in _effects()["opaque"]:
            continue
        if _effects()["plain targets"].isdisjoint(words[1:]):
            return True
    return False


def _may_write(command: Command) -> bool:
    """Tell whether a command may change a file of the project."""
    if command.tests:
        return False
    if ">" in command.line:
        return True
    commands = split_commands(command.line)
    for _operator, words in commands:
        program = posixpath.basename(words[0])
        if program == "git":
            if len(words) < 2 or words[1] not in _effects()["quiet git"]:  # noqa: PLR2004
                return True
        elif program not in _effects()["quiet"]:
            return True
    return not commands


LEFT, PUT_OFF, ABSENT = "left", "put off", "absent"
"""What a clause says: it was not done; it may be done some day; it is not so."""

MAX_SENTENCE = 2_000
"""Characters. Nobody writes a longer sentence: it is data."""

_BE = r"(?:did|have|has|had|was|were|could)"
_NOT = r"(?:n['\u2019]t|\s+not)"
_WORK = r"(?:pr|pull|change|release|version|step|sprint|task|ticket|issue|commit|time)"
_DONE = (
    r"(?:added|built|changed|checked|committed|covered|created|documented|done|implemented|made|"
    r"measured|run|taken|tested|touched|tried|updated|verified|written)"
)
_LEAVE = r"(?:skipped|omitted|postponed|deferred|left)"
_SAID: dict[str, tuple[str, ...]] = {
    PUT_OFF: (
        r"\b(?:follow-?ups?|to-?do|fixme|tomorrow|for\s+later|later\s+on|revisit|will\s+follow)\b",
        (
            r"\b(?:in|as|for)\s+(?:(?:a|the|another|some|my|our)\s+)?(?:next|later|separate|future)\s+"
            rf"(?:\w+\s+)?{_WORK}\b"
        ),
        r"\bnext\s+(?:week|month|sprint)\b|\b(?:some|one)\s+(?:point|day)\b|\bin\s+(?:the|a)\s+future\b",
        r"\b(?:would|i['\u2019]d|i|we)\s+(?:also\s+)?(?:suggest|recommend|advise|propose)\b",
        r"\b(?:we|you|one|someone|somebody)\s+(?:should|could|might|may\s+want)\b",
        r"\bshould\s+probably\b|\bcould\s+be\s+added\b|\bneeds?\s+to\s+be\b|\bplan(?:ned)?\s+to\b",
        r"^\W*(?:i|we)\s+(?:considered|thought\s+about|wanted\s+to|meant\s+to|intended\s+to)\b",
        r"\b(?:we|you|one|someone|somebody)(?:['\u2019]d)?\s+(?:may|might)\s+(?:also\s+)?want\s+to\b",
        r"\b(?:feel\s+free|say\s+the\s+word)\b|\bplease\s+(?:run|check|test|add|do)\b",
        r"\bwould\s+be\s+(?:good|nice|better|wise)\b|\bhappy\s+to\b|\blet\s+me\s+know\b",
        r"\bif\s+you\s+(?:want|like)\b|\b(?:shall|should)\s+(?:i|we)\b[^?]*\?",
        "좋겠|권장|나중에|추후|다음에|다음\\s(?:작업|스프린트|배포)|향후|보류|예정입|까요",
        "以后|今後|必要があります",
    ),
    LEFT: (
        rf"\b{_BE}{_NOT}\b(?!\s+(?:have|need)\s+to\b)|\bnot\s+(?:been|able|yet)\b|\byet\s+to\b",
        rf"\b(?:is|are|does|do){_NOT}\b[^.;:]{{0,60}}\byet\b",
        rf"\b(?:is|are){_NOT}\s+(?:\w+ed|done|run|set|written)\b",
        rf"\b(?:i|we)\s+(?:have\s+)?(?:\w+\s+)?{_LEAVE}\b|^\W*(?:{_LEAVE}|skipping|leaving)\b",
        r"\b(?:was|were|been)\s+(?:skipped|omitted|postponed|deferred)\b",
        r"\b(?:is|are|was|were|been)\s+(?:put\s+off|left\s+(?:out|alone|for|to|as))\b",
        rf"\bnot\s+{_DONE}\b",
        r"\b(?:untested|unverified|out\s+of\s+scope)\b|\bunable\s+to\b|\bno\s+time\b",
        rf"\bno\b[^.,;:]{{0,60}}\b(?:yet|so\s+far|(?:was|were)\s+{_DONE})\b",
        r"\bthere\s+(?:is|are)\s+no\b[^.;:]{0,60}\b(?:yet|for\s+(?:this|it|that))\b",
        r"\bstill\s+(?:open|missing|lacks?|needs?|to\s+do|to\s+be|has\s+to|have\s+to)\b",
        r"\b(?:un(?:touched|changed|finished|done))\b|\bleft\b[^.;:]{0,40}\balone\b",
        r"\b(?:remains?|stays?|is\s+still|are\s+still)\s+(?:as\s+(?:it|they|is|before)|off|there|hard-?coded)\b",
        r"\bnot\s+(?:with|on|against|for)\s+(?:the|a|an|real)\b|\bthere\s+is\s+none\b",
        r"\b(?:didn['\u2019]t|did\s+not)\s+(?:get\s+(?:to|around)|deal)\b",
        r"\b(?:is|are)\s+(?:still\s+)?missing\b|\bremains?\s+(?:open|to\s+be)\b",
        r"\bwithout\s+(?:adding|writing|running|checking|testing|a\s+test|tests)\b",
        "않았|지\\s?못했|못\\s?했|생략|건너뛰|건너뛴|제외했|빠졌|빠져|미뤘|미루|아직|손대지",
        "还没|没有|未能|ていません|しませんでした|まだ",
        r"\bnicht\s+(?:\w+\s+)?(?:ge|\w+ge)\w+(?:t|en)\b|\bn['\u2019](?:ai|avons|a)\s+pas\b",
        r"\bno\s+(?:he|hemos|ha|se\s+ha)\b|\bpendiente\b",
    ),
    ABSENT: (r"\b(?:is|are|does|do|can)(?:n['\u2019]t|\s*not)\b",),
}
"""What is said → patterns for lower case; the first that fits decides. Grammar, not topics."""

_PATTERNS = {what: "|".join(patterns) for what, patterns in _SAID.items()}
_CLAUSE = (
    r";\s+|,?\s+[\u2013\u2014-]\s+|"
    r",?\s+(?=(?:but|though|although|however|except|because|since|while|which|so(?!\s+far))\s)|"
    "(?:(?<=지만)|(?<=으나)|(?<=는데)|(?<=고)),?\\s+|[\uff0c\uff1b]"
)
_SUBORDINATE = r"\b(?:if|when|where|unless|that|which|who|whose|because|as|since|so)\b[^,;:]*$"
"""Before a "not": it tells when or which, not what was done."""
_LIST_ITEM = r"\s*(?:[-*+•]|\d{1,3}[.)])\s"
_QUOTED = r"`[^`\n]*`|\"[^\"\n]*\"|\u201c[^\u201d\n]*\u201d"
"""What somebody else says, or a program: it may be what is denied, but denies nothing itself."""
_PAST = r"\b(?:before|previously|until\s+now|earlier|formerly)\b\s*(?:[,;:.(|)\u2014]|$)"
"""Behind a "not": so it was, and is no longer."""
_UNTICKED = r"^[-*\s]*\[ \]|^[-*\s]*[❌✗✘☐⬜]"
_WORDS_OF_DENIALS = """
    did not yet left leave follow-up follow up later skip skipped omitted postponed deferred
    untested add added write wrote written make made done do time far still open missing todo next
    step PR separate release suggest recommend should could happy let know
    ich wir habe haben nicht je nous n'ai n'avons pas no he hemos pendiente
    않았습니다 못했습니다 없습니다 생략했습니다 아직 나중에 추후 다음에 추가할 예정입니다 좋겠습니다
"""


@dataclass(frozen=True, kw_only=True, slots=True)
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
            found.append(_denial(LEFT, "", sentence, sentence))
            continue
        clauses = list(_denying_clauses(sentence))
        found += [_denial(what, cue, sentence, clause) for what, cue, clause in clauses]
        is_left = is_heading and bool(clauses)
    return found


def _denying_clauses(sentence: str) -> Iterator[tuple[str, str, str]]:
    own = re.sub(_QUOTED, lambda quoted: "_" * len(quoted[0]), sentence)
    start = 0
    for end in [*re.finditer(_CLAUSE, own), None]:
        clause = slice(start, end.start() if end else None)
        start = end.end() if end else start
        low = own[clause].lower()
        for what, pattern in _PATTERNS.items():
            cue = re.search(pattern, low)
            if cue and (what == PUT_OFF or not re.search(_SUBORDINATE, low[: cue.start()])):
                if what == PUT_OFF or not re.search(_PAST, low[cue.end() :]):
                    yield what, cue[0], sentence[clause]
                break


def _denial(what: str, cue: str, sentence: str, clause: str) -> Denial:
    terms = frozenset(analyze(clause))
    topic = terms - _cue_terms()
    return Denial(what=what, cue=cue, sentence=sentence, terms=terms, topic=topic)


@cache
def _cue_terms() -> frozenset[str]:
    return frozenset(analyze(_WORDS_OF_DENIALS))
