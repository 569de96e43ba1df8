"""What hurt in a session that nobody watched: several weak signals, counted together.

No signal decides alone. Errors are compared by their signature, the line that tells them without
what differs each time; what users say is searched for complaints as they open a turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache

from lessons_kb.data import read_patterns
from lessons_kb.learn.failure_output import error_excerpt, find_failing
from lessons_kb.learn.feedback_phrases import find_phrase
from lessons_kb.learn.test_runs import find_test_command
from lessons_kb.model import CALLS, FAILURES, Event
from lessons_kb.text.sanitize import clean, clean_line
from lessons_kb.text.sentences import split_sentences

SAME_ERROR, PASTED, OPENER, COMPLAINT, FEEDBACK = (
    *("same error again", "pasted error", "turn opened with a complaint", "complaint"),
    "said it broke again",
)
ADMISSION, RED_GREEN, RETURNED = "agent admitted it", "red, then green", "error came back"
REVIEW = "review"
"""In place of the agent of a session: reviewers said it of a change."""
REVIEWED, CAUSE, SUGGESTED, REQUESTED, AGREED = (
    *("review comment", "gives a cause", "suggests a change", "changes requested"),
    "the author agreed",
)
POINTS: Mapping[str, float] = {
    SAME_ERROR: 3.0,
    FEEDBACK: 2.5,
    COMPLAINT: 1.5,
    OPENER: 1.5,
    RETURNED: 1.5,
    RED_GREEN: 1.5,
    PASTED: 1.5,
    ADMISSION: 1.0,
    CAUSE: 1.5,
    REVIEWED: 1.0,
    AGREED: 1.0,
    REQUESTED: 1.0,
    SUGGESTED: 0.5,
}
"""Signal → what it adds; a sighting needs LEAST in all."""
LEAST = 1.5
FEW_WORDS = 4
"""Fewer do not say what went wrong: "Nope."."""
MAX_SIGHTINGS = 200
"""Of one session."""
MAX_UNSURE = 50
_MAX_ERRORS = 12
"""Signatures of one output."""
_MAX_LINE = 300
_SIGNATURE = 100
_PROMPT_CHARS = 4_000
_MAX_DIFF = 3_000
_SENTENCE, _MAX_SENTENCES = 300, 20
_EXCERPT = 800
_OUTPUT_CHARS = 8_000
"""Of an output, its end: where programs say what was wrong."""
_COMMAND_CHARS = 2_000
_MAX_RED = 50
_OPENING_CHARS = 800
"""Of an answer: what went wrong is told first, what was done after it."""
_HINTS = (
    *(
        "error",
        "exception",
        "fatal",
        "panic",
        "fault",
        "dumped",
        "denied",
        "not found",
        "undefined",
    ),
    *("is not ", "cannot", "could not", "no module", "unexpected", "no attribute", "timed out"),
    *("timeout", "refused", "out of memory", "traceback", "externally", "no such file", "killed"),
    *("abort", "오류", "에러", "실패"),
)
"""Without any of these a line is not looked at."""
_INSTALL = re.compile(
    r"\b(?:pip3?|uv|poetry|npm|pnpm|yarn|bun|cargo|gem|go|apt(?:-get)?|brew|conda|composer)\s+"
    r"(?:pip\s+)?(?:install|add|i|get)\b"
)
_ABSENT = re.compile(
    r"no module named|cannot find (?:module|package)|module not found|modulenotfounderror"
    r"|unresolved import|could not resolve|command '?[\w.-]+'? not found|command not found"
)
_QUOTED_NAME = re.compile(r"['\"`]([\w@./-]+)['\"`]")
_LABEL = re.compile(r"^(?:E|>|\||\*|-|\d+[:.)])\s+")
_VARIES = (
    (
        re.compile(
            r"^.*?(?=\b(?:no module named|cannot (?:find|import|resolve)|command '[\w.-]+' not))"
        ),
        "",
    ),
    (re.compile(r"\d{4}[-/]\d\d[-/]\d\d[t ][\d:.,]+z?"), ""),
    (re.compile(r"(?:[\w.~-]*[/\\])+([\w.-]+)"), r"\1"),
    (re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{8,}\b|\d+"), "0"),
    (re.compile(r"^[\W_0]+|[\s.:]+$"), ""),
    (re.compile(r"\s+"), " "),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Sighting:
    """One mistake as one session shows it."""

    session: str
    agent: str
    at: float
    """When it was last seen, seconds since the epoch; 0 where the record does not say."""
    began: float = 0.0
    """When it was seen first; the same in each copy of a session that was resumed."""
    title: str
    """The error line, else the user's sentence."""
    signature: str = ""
    """Equal for equal errors; "" where only words tell."""
    signals: tuple[str, ...] = ()
    quote: str = ""
    """What the user or the agent said."""
    prompts: tuple[str, ...] = ()
    """What was typed before it went wrong."""
    paths: tuple[str, ...] = ()
    command: str = ""
    excerpt: str = ""
    diff: str = ""
    """What was changed until it passed."""
    turns: int = 1
    """In how many turns it was seen."""
    calls: int = 0
    """Tool calls between the first and the last time."""

    @property
    def points(self) -> float:
        """How sure it is that something went wrong."""
        return sum(POINTS[signal] for signal in self.signals)


@dataclass(kw_only=True, slots=True)
class _Error:
    line: str
    excerpt: str
    command: str
    first: int
    last: int = 0
    began: float = 0.0
    at: float = 0.0
    turns: dict[int, None] = field(default_factory=dict)
    typed: dict[int, None] = field(default_factory=dict)
    """Turns whose prompt holds it."""
    seen: int = 0
    changed: bool = False
    """Something was changed between two of its times."""
    fixed: bool = False
    installed: bool = False


@dataclass(kw_only=True, slots=True)
class _Turn:
    prompt: str
    at: float
    paths: dict[str, None] = field(default_factory=dict)
    edits: list[str] = field(default_factory=list)
    created: set[str] = field(default_factory=set)


class SessionReader:
    """Takes in the events of one session in order; ``finish`` returns what hurt."""

    def __init__(self, phrases: Sequence[str] = ()) -> None:
        self._phrases = phrases
        self._turns: list[_Turn] = []
        self._errors: dict[str, _Error] = {}
        self._said: list[tuple[int, Sighting]] = []
        """With the number of the turn."""
        self._red: dict[str, list[str]] = {}
        self._calls = 0
        self._last_edit = -1
        self._who = ("", "")

    def see(self, event: Event) -> None:
        """Take in one event."""
        self._who = (event.session or self._who[0], event.agent or self._who[1])
        if event.kind == "prompt":
            self._asked(event)
        elif event.kind == "answer":
            self._answered(event)
        elif event.kind in CALLS:
            self._called(event)

    def finish(self) -> list[Sighting]:
        """Return what the session shows, strongest first."""
        kept = [one for one in self._all() if one.points >= LEAST]
        return sorted(kept, key=lambda one: -one.points)[:MAX_SIGHTINGS]

    def unsure(self) -> list[Sighting]:
        """Return errors of no weight alone, which other sessions may know, too."""
        return [one for one in self._all() if one.points < LEAST and one.signature][:MAX_UNSURE]

    def _all(self) -> list[Sighting]:
        """Return errors, and what was said where it is about none of them."""
        errors = {one.signature: one for one in self._of_errors()}
        spoken = []
        for turn, said in self._said:
            near = [sign for sign in errors if {turn, turn - 1} & set(self._errors[sign].turns)]
            if not near:
                spoken.append(said)
                continue
            host = max(near, key=lambda sign: (self._errors[sign].seen, self._errors[sign].last))
            signals = dict.fromkeys((*errors[host].signals, *said.signals))
            quote = errors[host].quote or said.quote
            errors[host] = replace(errors[host], signals=tuple(signals), quote=quote)
        return [*errors.values(), *spoken]

    def _turn(self) -> _Turn:
        if not self._turns:
            self._turns.append(_Turn(prompt="", at=0.0))
        return self._turns[-1]

    def _asked(self, event: Event) -> None:
        number = len(self._turns)
        self._turns.append(_Turn(prompt=event.text[:_PROMPT_CHARS], at=event.at))
        text = event.text[:_PROMPT_CHARS]
        for line in _find_errors(text):
            error = self._note(line, text, "", event.at)
            error.typed[number] = None
        if _find("go on", text.lower()):
            return
        told = {signal: said for signal, said in _judge(text, self._phrases) if said}
        if number == 0:  # nothing had been done that could be wrong
            told.pop(OPENER, None)
        if told:
            said = self._sighting(number, _quote(text, list(told.values())), list(told))
            self._said.append((number, said))

    def _sighting(self, number: int, quote: str, signals: Sequence[str]) -> Sighting:
        before = self._turns[number - 1] if number else self._turns[number]
        return Sighting(
            session=self._who[0],
            agent=self._who[1],
            at=self._turns[number].at,
            began=self._turns[number].at,
            title=_one_line(quote),
            signals=tuple(dict.fromkeys(signals)),
            quote=_one_line(quote, 500),
            prompts=_prompts([before.prompt] if number else []),
            paths=tuple(before.paths)[:5],
        )

    def _answered(self, event: Event) -> None:
        turn = len(self._turns) - 1
        opening = event.text[:_OPENING_CHARS]
        if turn < 0 or not _find("admission", opening.lower()):
            return
        for sentence in _sentences(opening):
            low = sentence.lower()
            if _find("admission", low) and not _find("not said", low):
                self._admit(turn, sentence)
                return

    def _admit(self, turn: int, sentence: str) -> None:
        """Count an admission with what was said in this turn, for it has no words of its own."""
        for place, (number, one) in enumerate(self._said):
            if number == turn and ADMISSION not in one.signals:
                self._said[place] = (turn, replace(one, signals=(*one.signals, ADMISSION)))
                return
        self._said.append((turn, self._sighting(turn, sentence, [ADMISSION])))

    def _called(self, event: Event) -> None:
        self._calls += 1
        turn = self._turn()
        if event.kind in ("edit", "create") and event.outcome not in FAILURES:
            self._last_edit = self._calls
            turn.paths |= dict.fromkeys(event.targets)
            if event.kind == "create":
                turn.created.update(event.targets)
            change = event.record.get("change")
            if isinstance(change, str) and change:
                turn.edits.append(change[:_MAX_DIFF])
                del turn.edits[:-6]
        if event.kind in ("command", "test"):
            self._ran(event)
        elif event.outcome in FAILURES and event.outcome != "permission_denied":
            self._failed(event)

    def _ran(self, event: Event) -> None:
        failed, unknown = event.outcome in FAILURES, event.outcome == "unknown"
        lines: list[str] = []
        if _INSTALL.search(event.text):
            self._forget_absent(event.text)
        if failed or unknown:
            lines = self._failed(event)
            failed = failed or bool(lines)
        if not failed and not self._red:
            return
        test = _find_test(event.text[:_COMMAND_CHARS]) or event.text
        if failed:
            self._red.setdefault(test, []).extend(self._failing(event, lines))
            while len(self._red) > _MAX_RED:
                del self._red[next(iter(self._red))]
        elif test in self._red and event.outcome in ("ok", "unknown"):
            for signature in self._red.pop(test):
                error = self._errors.get(signature)
                if error is not None and self._last_edit > error.first:
                    error.fixed = True

    def _failing(self, event: Event, lines: Sequence[str]) -> list[str]:
        """Return signatures of a red run; none of tests that this turn has just written."""
        created = self._turn().created
        names = find_failing(event.output[-_OUTPUT_CHARS:]) if created else ()
        fresh = [name for name in names if any(path in name or name in path for path in created)]
        if names and len(fresh) == len(names):
            return []
        return [_sign(line) for line in lines]

    def _failed(self, event: Event) -> list[str]:
        lines = _find_errors(event.output[-_OUTPUT_CHARS:])
        for line in lines:
            self._note(line, event.output, event.text, event.at)
        return lines

    def _note(self, line: str, text: str, command: str, at: float) -> _Error:
        signature, turn = _sign(line), max(len(self._turns) - 1, 0)
        error = self._errors.get(signature)
        if error is None:
            excerpt = error_excerpt(text[-_OUTPUT_CHARS:], limit=_EXCERPT)
            error = _Error(line=line, excerpt=excerpt, command=command, first=self._calls, began=at)
            self._errors[signature] = error
        elif self._last_edit > error.last:
            error.changed = True
        error.seen += 1
        error.turns[turn] = None
        error.last, error.at = self._calls, at or error.at
        return error

    def _forget_absent(self, command: str) -> None:
        """Forget a missing package that is installed now: nobody did anything wrong."""
        for error in self._errors.values():
            if _ABSENT.search(error.line.lower()):
                names = _QUOTED_NAME.findall(error.line)
                stem = names[0].split("/")[0].split(".")[0].lower() if names else ""
                if not stem or stem in command.lower() or " -r " in command or " -e" in command:
                    error.installed = True

    def _of_errors(self) -> Iterator[Sighting]:
        for signature, error in self._errors.items():
            signals = []
            if len(error.typed) > 1:
                signals.append(SAME_ERROR)
            elif error.typed:
                signals.append(PASTED)
            if error.seen > 1 and (error.changed or len(error.turns) > 1):
                signals.append(RETURNED)
            if error.fixed:
                signals.append(RED_GREEN)
            if error.installed and not error.typed:
                continue
            turns = [self._turns[turn] for turn in error.turns if turn < len(self._turns)]
            last = turns[-1] if turns else None
            yield Sighting(
                session=self._who[0],
                agent=self._who[1],
                at=error.at,
                began=error.began,
                title=_one_line(_LABEL.sub("", error.line)),
                signature=signature,
                signals=tuple(signals),
                prompts=_prompts([turn.prompt for turn in turns]),
                paths=tuple(dict.fromkeys(p for turn in turns for p in turn.paths))[:5],
                command=_one_line(error.command),
                excerpt=error.excerpt,
                diff="\n".join(last.edits)[:_MAX_DIFF] if last and error.fixed else "",
                turns=len(error.turns),
                calls=error.last - error.first,
            )


@lru_cache(maxsize=1_000)
def _find_test(command: str) -> str | None:
    return find_test_command(command)


def _judge(text: str, phrases: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each signal of what a user typed, and the sentence that shows it."""
    found = find_phrase(text, phrases)
    yield FEEDBACK, found[1] if found and found[0] == "feedback" else ""
    sentences = _sentences(text)
    first = sentences[0] if sentences else ""
    opened = _find("opener", first.lower()) and not first.endswith("?")
    yield OPENER, first if opened else ""
    complaint = ""
    for sentence in sentences:
        low = sentence.lower()
        if _find("complaint", low) and not _find("not said", low):
            complaint = sentence
            break
    yield COMPLAINT, complaint


def _quote(text: str, told: Sequence[str]) -> str:
    """Return the first sentence that tells something, else how the prompt begins."""
    meaningful = (sentence for sentence in told if len(sentence.split()) >= FEW_WORDS)
    return next(meaningful, " ".join(_sentences(text)[:3]))


def _sentences(text: str) -> list[str]:
    """Return the first sentences that somebody wrote: no code, no lists, no log."""
    prose = re.sub(r"```.*?(?:```|\Z)", " ", text[:_PROMPT_CHARS], flags=re.DOTALL)
    lines = [line for line in prose.splitlines() if len(line) < 600]  # noqa: PLR2004 no prose
    found = [one.strip() for line in lines for one in split_sentences(line)]
    return [one for one in found if len(one) <= _SENTENCE][:_MAX_SENTENCES]


def _find_errors(text: str) -> list[str]:
    """Return the lines of a text that name an error, each signature once."""
    found: dict[str, str] = {}
    if not _has_hint(text.lower()):
        return []
    for line in text.splitlines():
        low = line.lower()
        if len(line) > _MAX_LINE or not _has_hint(low):
            continue
        row = clean(line).strip() if not line.isprintable() else line.strip()
        low = row.lower()
        if (
            _find("error", low)
            and not _find("not said", low)
            and not _find("shell noise", low)
            and len(_sign(row)) > 7  # noqa: PLR2004 "error" alone tells nothing
        ):
            found.setdefault(_sign(row), row)
    specific = [row for row in found.values() if not row.lower().startswith("traceback")]
    return specific[-_MAX_ERRORS:]


def _find(section: str, low: str) -> bool:
    """Tell whether a pattern of a section of the table is in a text in lower case."""
    return _compiled(section).search(low) is not None


@cache
def _compiled(section: str) -> re.Pattern[str]:
    patterns = read_patterns("mining_signals.txt")[section]
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.MULTILINE)


def _has_hint(low: str) -> bool:
    return any(hint in low for hint in _HINTS)


def _sign(line: str) -> str:
    text = line.lower()
    for pattern, instead in _VARIES:
        text = pattern.sub(instead, text)
    return text[:_SIGNATURE]


def _prompts(texts: Iterable[str]) -> tuple[str, ...]:
    """Return prompts that ask for something, as one line each; a complaint came after it."""
    lines = (_one_line(text, 200) for text in texts)
    told = (line for line in lines if line and not _is_reply(line.lower()))
    return tuple(dict.fromkeys(told))[:3]


def _is_reply(low: str) -> bool:
    return _find("go on", low) or _find("opener", low)


def _one_line(text: str, limit: int = 160) -> str:
    line = clean_line(text[: 4 * limit])
    return line if len(line) <= limit else line[: limit - 1] + "…"
