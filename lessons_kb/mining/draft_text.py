"""What a draft says before anybody has thought about it: the facts, and room for the rest."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace

from lessons_kb.calls.failure_signs import (
    CHANGES,
    FEEDBACK,
    REQUEST,
    RUNS,
    error_excerpt,
    find_failing,
    one_line,
)
from lessons_kb.cards.check_card import is_vague
from lessons_kb.cards.keys import split_header
from lessons_kb.cards.sections import CAUSE, normal_newlines, read_checklist, read_sections, text_of
from lessons_kb.data import compile_patterns, read_patterns
from lessons_kb.detect.propose import Proposal, propose_command
from lessons_kb.mining.candidates import Candidate
from lessons_kb.mining.triggers import (
    INTERRUPT,
    MISTAKES,
    RED_GREEN,
    REJECTION,
    ROLLBACK,
    STAGE,
    Trigger,
    find_failure,
    pick_turns,
)
from lessons_kb.model import Document, Event, Pattern
from lessons_kb.text.error_signature import error_signature, shows
from lessons_kb.text.sanitize import clean, clean_line
from lessons_kb.text.sentences import split_sentences
from lessons_kb.values import frozen

SITUATION = "Situation"
FIX = "Fix"
UNNAMED = "TODO name the mistake"
"""How the title of a draft begins until somebody has named it."""

EVIDENCE = "Evidence"
"""Last heading of a draft that somebody completed: what it was written from; no card has it."""

MAX_DIFF = 4_000
MAX_EXCERPT = 1_500
_MAX_KEPT_DIFF = 1_500
"""Of a diff that a card keeps."""
_MAX_BODY = 2_500
_MAX_TESTS = 1_500
Propose = Callable[[str], Proposal]
"""Returns how the mistake may look that a unified diff put right."""
_PROPOSAL = """\
<!-- The mistake looks like this. If that is right, move it to the header: the lesson then arrives
     before it is made again (`lessons detect` shows where it is now)."""
_DIFF = re.compile(r"(?ms)^(`{3,})diff\n(.*?)\n\1$")
_PLACE = re.compile(r"^(?:cd \S+\s*(?:&&|;)\s*)+")
_ABSOLUTE = re.compile(r"(?<![\w.:/\\~-])(?:~|[A-Za-z]:)?(?:[/\\][\w.@+-]+){2,}[/\\]([\w.@+-]+)")
_CHANGED = "What was changed:"
_MAX_QUOTE = 500
_MAX_HINT = 100
_MAX_FILES = 12
_MAX_PATHS = 5


@frozen
class Sketch:
    """What is known of a card before it is written."""

    title: str
    sections: Mapping[str, str] = field(default_factory=dict)
    """Heading → Markdown."""
    kind: str = "lesson"
    topics: Sequence[str] = ()
    project: str | None = None
    stage: str | None = None
    severity: str | None = None
    paths: Sequence[str] = ()
    symptoms: Sequence[str] = ()
    detect: Sequence[Pattern] = ()
    example: str = ""
    """The task in which it happened, one line."""


def sketch_trigger(
    trigger: Trigger, *, diff: str = "", propose: Propose = lambda _diff: Proposal()
) -> Sketch:
    """Return what a trigger tells; ``diff`` is the change that put it right, where one did.

    ``propose`` finds how the mistake looks in code.
    """
    files, failure = trigger.files or _names(diff), trigger.failure
    is_fixed, output = trigger.kind == RED_GREEN, failure.output if failure else ""
    facts = [_asked(trigger.request), _headline(trigger)]
    if failure is not None and trigger.kind != REJECTION:
        facts += _failed(failure, ", and later passed" if is_fixed else "")
    what = trigger.quote or trigger.cause.text or trigger.cause.tool or trigger.kind
    if is_fixed:
        failing = find_failing(output)
        what = f"{failing[0] if failing else trigger.cause.text} failed"
    how = "The change that made it pass:" if is_fixed else _CHANGED
    change, facts = diff or "\n".join(trigger.changes), [*facts, _changed(files)]
    return Sketch(
        title=f"{UNNAMED} ({one_line(what, _MAX_HINT)})",
        sections=_write_sections(facts, how, change, propose, output=output),
        paths=_protected(files),
        symptoms=_find_symptoms(trigger),
        stage=trigger.cause.stage,
        example=one_line(trigger.request or trigger.quote, _MAX_HINT),
    )


def _find_symptoms(trigger: Trigger) -> tuple[str, ...]:
    """Return the task and the error of a mistake: what a future task may have in common."""
    output = trigger.failure.output if trigger.failure else ""
    lines = (line.strip().removeprefix("E ").strip() for line in clean(output).splitlines())
    errors = [_shorten(one_line(line, _MAX_HINT)) for line in lines if shows("error", line.lower())]
    request = one_line(trigger.request, _MAX_HINT) if trigger.kind != REJECTION else ""
    enough = len(request.split()) >= _MIN_WORDS
    return tuple(dict.fromkeys([*([request] if enough else []), *errors[-1:]]))


def sketch_session(
    events: Sequence[Event],
    *,
    diff: str = "",
    title: str = "",
    propose: Propose = lambda _diff: Proposal(),
) -> Sketch:
    """Return what a session tells: its last request, its last failure, what it changed.

    With a ``title`` only what belongs to the mistake that it names.
    """
    if title:
        events = pick_turns(events, title)
    asked = [event for event in events if event.kind == "prompt" and event.text.strip()]
    failures = [event for event in events if event.kind in RUNS and event.outcome == "exec_error"]
    files = _unique(path for event in events if event.kind in CHANGES for path in event.targets)
    # What was asked first is the task; what follows until it passed are its repetitions.
    request = (asked[0] if title else asked[-1]).text if asked else ""
    facts = [_asked(request)]
    if failures:
        facts += _failed((find_failure(events, title) if title else None) or failures[-1])
    fixed = _names(diff)
    both = tuple(path for path in fixed if path in files)
    return Sketch(
        title=title or UNNAMED,
        sections=_write_sections([*facts, _changed(files or fixed)], _CHANGED, diff, propose),
        paths=_protected(both or fixed or files),
        example=one_line(request, _MAX_HINT),
    )


def sketch_diff(
    path: str,
    hunks: str,
    *,
    line: int = 0,
    title: str = "",
    propose: Propose = lambda _diff: Proposal(),
) -> Sketch:
    """Return what a change of one file tells; ``line`` 0 means all of it."""
    where = f"line {line} of `{path}`" if line else f"`{path}`"
    sections = _write_sections([f"Seen at {where}."], f"The change of {where}:", hunks, propose)
    return Sketch(title=title or UNNAMED, sections=sections, paths=(path,))


def sketch_candidate(
    candidate: Candidate,
    *,
    prompts: Sequence[str] = (),
    diff: str = "",
    tests: str = "",
    propose: Propose = lambda _diff: Proposal(),
    ran: Iterable[str] = (),
) -> Sketch:
    """Return what sessions and commits of the past tell; ``diff`` is the commit that fixed it.

    ``prompts`` are the tasks in which it happened, ``tests`` what that commit changed of its
    tests, ``ran`` the commands that did no harm. Cause, checklist and symptoms hold what somebody
    wrote, word for word.
    """
    facts = [f"Seen {candidate.occurrences}×: {'; '.join(candidate.reasons)}."]
    for one in candidate.sightings[:2]:
        facts += [_asked(prompt) for prompt in one.prompts[:1] if prompt in prompts]
        facts.append(f"What was said:\n\n{_quoted(one.quote)}" if one.quote else "")
        facts.append(f"What failed: {_code(_shorten(one.command))}" if one.command else "")
    excerpt = _shorten(next((one.excerpt for one in candidate.sightings if one.excerpt), ""))
    facts.append(fence(excerpt, "text", limit=MAX_EXCERPT) if excerpt else "")
    for commit in candidate.commits[:3]:
        facts.append(f"Commit {_code(commit.id[:10])}: {one_line(commit.subject, _MAX_QUOTE)}")
    body = next((_TRAILER.sub("", commit.body).strip() for commit in candidate.commits[:1]), "")
    if body and body != candidate.commits[0].subject:
        quoted = "\n".join(f"> {line}".rstrip() for line in clean(body[:_MAX_BODY]).splitlines())
        facts.append(f"Its message:\n\n{quoted}")
    causes = [cause for commit in candidate.commits[:1] for cause in commit.causes]
    if causes:
        said = "\n".join(f"> {one_line(cause, _MAX_QUOTE)}" for cause in causes)
        facts.append(f"The fix explains itself:\n\n{said}")
    change = diff or next((one.diff for one in candidate.sightings if one.diff), "")
    failed = propose_command([o.command for o in candidate.sightings if o.command], ran)
    told, how = dict.fromkeys(facts), "What fixed it:"
    sections = _write_sections(told, how, change, propose, output=excerpt, command=failed)
    if tests.strip():
        shown = fence(tests, "diff", limit=_MAX_TESTS)
        sections[FIX] = _paragraphs([sections.get(FIX, ""), "Its tests:", shown])
    written = [
        sentence
        for text in (body, *causes, *(one.quote for one in candidate.sightings))
        for line in re.split(r"\n\s*\n|\n(?=\s*[-*] )", text)
        for sentence in split_sentences(" ".join(line.split()))
        if 0 < len(sentence) <= _MAX_SENTENCE and "|" not in sentence
    ]
    named = name_mistake(candidate.title)
    hint = f"{UNNAMED} ({one_line(candidate.title, _MAX_HINT)})"
    why = [one for one in written if shows("explains", one.lower())][:2]
    whole = (one for one in written if not (one[0].islower() or one in why))  # no end of a sentence
    items = [one for one in whole if shows("advises", one.lower())][:3]
    sections |= {"Root Cause": " ".join(map(clean_line, why))} if why else {}
    checklist = "\n".join(f"- [ ] {clean_line(one).lstrip('-* ')}" for one in items)
    sections |= {"Prevention Checklist": checklist} if items else {}
    errors = [one.title for one in candidate.sightings if one.signature]
    errors += [line.strip() for line in body.splitlines() if shows("error", line.strip().lower())]
    symptoms = (*prompts[:2], *(_shorten(one_line(line, _MAX_HINT)) for line in errors[:2]))
    return Sketch(
        title=named or hint,
        sections=sections,
        paths=_protected(candidate.paths),
        symptoms=tuple(dict.fromkeys(symptoms))[:3],
        example=one_line(next(iter(prompts), ""), _MAX_HINT),
    )


def name_mistake(subject: str) -> str:
    """Return the mistake that a commit's subject names, "" where it names what was done."""
    text = _REFERENCE.sub("", _CONVENTION.sub("", subject.strip())).strip()
    for pattern in _TITLES:
        if (found := pattern.match(text)) and (told := (found[1] or "").strip(" .:")):
            first = told.split()[0]
            named = told[0].upper() + told[1:] if first.isalpha() and first.islower() else told
            return "" if _words(named) <= _MIN_TITLE else named
    return ""


def split_evidence(text: str) -> tuple[str, str]:
    """Return a draft's card and the evidence behind it; one that nobody completed is all evidence.

    The evidence has no comments: what they ask for is no part of it.
    """
    card, mark, evidence = text.partition(f"\n## {EVIDENCE}\n")
    if mark:
        return card.rstrip("\n") + "\n", evidence.strip("\n")
    sections = read_sections(normal_newlines(_strip_comments(split_header(text).body)))
    return text, re.sub(r"\n{3,}", "\n\n", text_of(sections, ("situation", "fix")))


def finish(text: str, template: str) -> str:
    """Return a draft as the card it becomes: no evidence, no guidance, no empty heading.

    ``template`` is what it was written over; of a long diff the beginning stays.
    """
    card = split_evidence(text)[0]
    body = split_header(card).body
    head = card[: len(card) - len(body)]
    unused = {line for line in template.splitlines() if line.startswith("#") or line[-1:] in ":]"}
    head = "".join(line for line in head.splitlines(True) if line.rstrip() not in unused)
    shorter = _DIFF.sub(lambda one: fence(one[2], "diff", limit=_MAX_KEPT_DIFF), body)
    filled = _EMPTY.sub("", _strip_comments(shorter).rstrip() + "\n")
    return head + re.sub(r"\n{3,}", "\n\n", filled).rstrip() + "\n"


def _strip_comments(body: str) -> str:
    """Return Markdown without comments, but for those in code, and what shows an item done."""
    return _REMARK.sub(lambda one: one[0] if one[1] else "", body)


def _write_sections(
    facts: Iterable[str],
    how: str,
    diff: str,
    propose: Propose,
    *,
    output: str = "",
    command: Proposal = Proposal(),  # noqa: B008
) -> dict[str, str]:
    """Return the facts and, if there is one, the diff that fixed it.

    Behind it stand, as a comment, how the mistake looks in what it removed, and the error in the
    ``output`` of what failed, for the header.
    """
    sections = {SITUATION: _paragraphs(facts)}
    proposal = propose(diff) if diff.strip() else Proposal()
    patterns = [one.pattern for one in (proposal, command) if one.pattern]
    signature = error_signature(output)
    if signature and not signature.startswith("assert"):  # what a test expected is no cause
        patterns.append(Pattern(kind="error", text=signature))
    if "--" in format_patterns(patterns):  # it would end the comment
        patterns = [replace(one, bad=(), good=()) for one in patterns]
    shown = [how, fence(diff, "diff")] if diff.strip() else []
    if patterns and "--" not in (form := format_patterns(patterns)):
        said = "".join(f"# {one.said}\n" for one in (proposal, command) if one.pattern)
        shown.append(f"{_PROPOSAL}\n{said}{form}\n-->")
    elif proposal.said:
        shown.append(f"<!-- No pattern: {proposal.said.replace('--', '—')}. -->")
    return {**sections, FIX: _paragraphs(shown)} if shown else sections


def fill(template: str, sections: Mapping[str, str]) -> str:
    """Return a card's text with the guidance under these level-2 headings replaced."""
    kept: list[str] = []
    skipping = False
    for line in template.split("\n"):
        if line.startswith("## "):
            text = sections.get(line[3:].strip(), "").strip()
            kept += [line, "", text, ""] if text else [line]
            skipping = bool(text)
        elif not skipping:
            kept.append(line)
    return "\n".join(kept).rstrip("\n") + "\n"


def fence(text: str, language: str, *, limit: int = MAX_DIFF) -> str:
    """Return a code block that its content cannot close, cut after ``limit`` characters."""
    body = clean(text).strip("\n")
    if len(body) > limit:
        cut = body.rfind("\n", 0, limit)
        body = body[: cut if cut > 0 else limit] + "\n…"
    longest = max((len(run) for run in re.findall(r"`{3,}", body)), default=2)
    ticks = "`" * (longest + 1)
    return f"{ticks}{language}\n{body}\n{ticks}"


def find_diff(text: str) -> str:
    """Return the unified diff that a draft, or a card made of one, shows; "" if none."""
    found = _DIFF.search(text)
    return f"{found[2]}\n" if found else ""


def format_patterns(patterns: Iterable[Pattern]) -> str:
    """Return patterns as the key of a card's header."""

    def quoted(text: str) -> str:
        return "'" + text.replace("'", "''") + "'"

    rows = ["detect:"]
    for one in patterns:
        rows.append(f"  - {one.kind}: {quoted(one.text)}")
        rows += [f"    language: {one.language}"] if one.language else []
        rows += [f"    files: [{', '.join(map(quoted, one.files))}]"] if one.files else []
        rows += [f"    unless: {quoted(one.unless)}"] if one.unless else []
        rows += [f"    {name}: {quoted(text)}" for name, text in one.relations]
        for name, examples in (("bad", one.bad), ("good", one.good)):
            for text in examples[:1]:
                lines = "".join(f"\n      {line}" for line in text.split("\n"))
                rows.append(f"    {name}: " + (f"|-{lines}" if "\n" in text else quoted(text)))
    return "\n".join(rows)


def pick_hunks(diff: str, path: str, line: int = 0) -> str:
    """Return a file's part of a unified diff, with ``line`` only the hunk it lies in; "" if none.

    Lines are those of the new file.
    """

    def holds(hunk: str) -> bool:
        match = re.match(r"@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@", hunk)
        return match is not None and 0 <= line - int(match[1]) < max(int(match[2] or 1), 1)

    part = next((one for one in split_files(diff) if path in names_of(one)), "")
    return (_keep_hunks(part, holds) if line else part).rstrip("\n")


def pick_hunks_with(part: str, phrases: Sequence[Sequence[str]]) -> str:
    """Return a file's part of a diff with the hunks that hold one of these runs of words."""
    runs = [re.compile(r"\s+".join(map(re.escape, words))) for words in phrases]
    return _keep_hunks(part, lambda hunk: any(run.search(hunk) for run in runs))


def _keep_hunks(part: str, is_kept: Callable[[str], bool]) -> str:
    head, *hunks = re.split(r"(?m)^(?=@@ )", part)
    kept = "".join(filter(is_kept, hunks))
    return head + kept if kept else ""


def split_files(diff: str) -> list[str]:
    """Return the parts of a unified diff, one a file."""
    return [part for part in re.split(r"(?m)^(?=diff --git )", diff) if part.strip()]


def names_of(part: str) -> tuple[str, ...]:
    """Return the old and the new name of the file that a part of a diff is about, else ("",)."""
    head = part.split("\n@@ ", 1)[0]
    found = re.findall(r'(?m)^(?:---|\+\+\+) "?[ab]/(.+?)"?\t?$', head)
    found = found or re.findall(r"(?m)^(?:rename|copy) (?:from|to) (.+)$", head)
    if not found and (match := re.match(r"diff --git a/(.+) b/(.+)", head)):
        found = list(match.groups())
    return _unique(found) or ("",)


def _names(diff: str) -> tuple[str, ...]:
    return _unique(filter(None, (names_of(part)[-1] for part in split_files(diff))))


def _headline(trigger: Trigger) -> str:
    spoken = trigger.cause.text if trigger.kind in (FEEDBACK, REQUEST) else ""
    # All that a user said beside a complaint, where it is short: what broke, and how.
    said = _quoted(spoken if 0 < len(spoken) <= _MAX_QUOTE else trigger.quote)
    command = _code(trigger.cause.text or trigger.cause.tool)
    lines: Mapping[str, str] = {
        FEEDBACK: f"The user said it went wrong:\n\n{said}",
        REQUEST: f"The user asked to record it:\n\n{said}",
        RED_GREEN: f"The user said:\n\n{said}" if said else "",
        ROLLBACK: f"The change was rolled back: {command}",
        REJECTION: _paragraphs([f"An action was refused: {command}", said]),
        INTERRUPT: f"The user interrupted:\n\n{said}",
        STAGE: f"The stage {trigger.cause.stage or ''} failed:\n\n{said}",
        MISTAKES: f"Calls failed in a row until the turn was stopped; the last one: {command}",
    }
    return lines[trigger.kind]


def _asked(request: str) -> str:
    return f"The request:\n\n{_quoted(request)}" if request.strip() else ""


def _failed(event: Event, passed: str = "") -> list[str]:
    """Return what failed with the error, and the names of the tests."""
    excerpt = error_excerpt(event.output, limit=MAX_EXCERPT)
    told = f"\n\n{fence(excerpt, 'text')}" if excerpt else ""
    names = ", ".join(map(_code, find_failing(event.output)))
    what = f"What failed{passed}: {_code(event.text or event.tool)}{told}"
    return [what, f"Failing tests: {names}" if names else ""]


def _changed(files: Sequence[str]) -> str:
    more = f" and {len(files) - _MAX_FILES} more" if len(files) > _MAX_FILES else ""
    names = ", ".join(map(_code, files[:_MAX_FILES]))
    return f"Changed files: {names}{more}" if files else ""


def _protected(files: Sequence[str]) -> tuple[str, ...]:
    """Return the changed files that a card may guard: in the project, and no tests."""
    inside = [path for path in files if not path.startswith(("/", "..")) and ":" not in path]
    code = [path for path in inside if not re.search(r"(?:^|/)tests?/|test_|[._]test\.", path)]
    return tuple((code or inside)[:_MAX_PATHS])


def _quoted(text: str) -> str:
    line = one_line(text, _MAX_QUOTE)
    return f"> “{line}”" if line else ""


def _shorten(text: str) -> str:
    """Return a text with file names in place of absolute paths.

    They hold a user's name, and the words of folders, such as the project's, fit any prompt.
    """
    return _ABSOLUTE.sub(r"\1", _PLACE.sub("", text))


def _code(text: str) -> str:
    line = one_line(text, _MAX_QUOTE).replace("`", "'")
    return f"`{line}`" if line else "(unknown)"


def _paragraphs(texts: Iterable[str]) -> str:
    return "\n\n".join(text for text in texts if text)


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


MISSING = {
    "title": "a title that names the mistake in one sentence",
    "cause": "a concrete Root Cause: the mechanism, not a lack of care",
    "items": "a Prevention Checklist item that can be checked in a diff or an answer",
    "symptoms": "two or three `symptoms`, worded like a future task",
    "symptom": "a second of the `symptoms`, in other words than the first",
}
"""Part of a card → what is said where it is missing."""

_OPEN, _NO_MISTAKE, _NO_CAUSE = compile_patterns(
    "draft_gaps.toml", "open", "no mistake", "no cause"
)
_TITLES = tuple(
    re.compile(one, re.IGNORECASE) for one in read_patterns("draft_gaps.toml")["titles"]
)
_CONVENTION = re.compile(r"^[a-z]+(?:\([^)]*\))?!?: ", re.IGNORECASE)
_REFERENCE = re.compile(
    r"(?:[\s,;:(\[]+(?:(?:closes|fix(?:es)?|refs|see) )?(?:#|gh-)\d+[)\].]*)+$", re.IGNORECASE
)
_TRAILER = re.compile(r"(?m)^(?:[A-Z][\w-]*-[Bb]y|Refs?|Closes|Fixes|Change-Id|PR-URL)\b[: ].*$")
_MAX_SENTENCE = 300
_MIN_WORDS = 3
_REMARK = re.compile(r"(?ms)^(`{3,})[^\n]*\n.*?^\1[ \t]*$|\n?[ \t]*<!--(?!\s*shown-by).*?-->")
_EMPTY = re.compile(r"(?m)^##[ ][^\n]+\n+(?=##[ ]|\Z)")
_COMMENT = r"<!--.*?(?:-->|\Z)"
_MIN_TITLE, _MIN_CAUSE, _MIN_ITEM = 3, 4, 2
"""Words; of a script without spaces two characters count as one."""
_LONG_CAUSE = 14
"""Words; a longer one says more than its vague part."""


def find_lacks(document: Document) -> tuple[str, ...]:
    """Return what a draft lacks before it may become a card, one line each; none if it may."""
    card = document.card
    if card is None:
        return tuple(f"{finding.message}: {finding.fix}" for finding in document.findings[:1])
    sections = read_sections(normal_newlines(document.body))
    checklist = read_checklist(sections)
    items = checklist.items if checklist.origin == "prevention" else ()
    title, cause = card.title, re.sub(_COMMENT, " ", text_of(sections, (CAUSE,)), flags=re.DOTALL)
    vague = _NO_CAUSE.search(cause) is not None and _words(cause) < _LONG_CAUSE
    symptoms = [one.casefold() for one in card.symptoms if not _is_open(one)]
    told = {" ".join(re.findall(r"\w+", symptom)) for symptom in symptoms}
    lacks = {
        "title": not names_mistake(title),
        "cause": _is_open(cause) or vague or is_vague(cause.strip()) or _words(cause) < _MIN_CAUSE,
        "items": not any(
            not (_is_open(item.text) or is_vague(item.text)) and _words(item.text) >= _MIN_ITEM
            for item in items
        ),
        "symptoms": not told,
        "symptom": len(told) == 1,
    }
    return tuple(MISSING[part] for part, lacking in lacks.items() if lacking)


def names_mistake(title: str) -> bool:
    """Return whether a title may name a mistake: a placeholder and a topic do not."""
    return not (_is_open(title) or _NO_MISTAKE.match(title)) and _words(title) >= _MIN_TITLE


def _is_open(text: str) -> bool:
    return _OPEN.search(text.strip()) is not None


def _words(text: str) -> float:
    dense = len(re.findall(r"[\u3041-\u318f\u31a0-\u9fff\uac00-\ud7a3]", text))
    return len(re.findall(r"[^\W\u3041-\u318f\u31a0-\u9fff\uac00-\ud7a3]+", text)) + dense / 2
