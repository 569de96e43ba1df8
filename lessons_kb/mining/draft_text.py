"""Sketch a draft, with the facts about a mistake and placeholders for the parts that a person
writes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from lessons_kb.calls.failure_signs import (
    FEEDBACK,
    REQUEST,
    RUNS,
    error_excerpt,
    find_failing,
    is_test_report,
    one_line,
)
from lessons_kb.cards.draft_gaps import MIN_TITLE, count_words
from lessons_kb.cards.edit_sources import (
    MAX_QUOTE,
    make_commit_source,
    make_file_source,
    make_request_source,
    make_session_source,
)
from lessons_kb.cards.keys import split_header
from lessons_kb.cards.sections import normal_newlines, read_sections, text_of
from lessons_kb.cards.sketch import Sketch, format_patterns, strip_comments
from lessons_kb.data import read_patterns
from lessons_kb.mining.candidates import NAMED_COMMITS, Candidate
from lessons_kb.mining.prefill import (
    choose_paths,
    find_error_lines,
    pick_causes,
    pick_items,
    pick_main_files,
    pick_mechanism,
    pick_symptoms,
    split_prose,
)
from lessons_kb.mining.rank_commits import GIVES_CAUSE
from lessons_kb.mining.triggers import (
    INTERRUPT,
    MISTAKES,
    RED_GREEN,
    REJECTION,
    REVIEW,
    ROLLBACK,
    STAGE,
    Trigger,
    find_failure,
    pick_turns,
)
from lessons_kb.model import CHANGES, Event, Pattern, Source
from lessons_kb.text.error_signature import error_signature, shows
from lessons_kb.text.sanitize import clean, counted
from lessons_kb.text.times import format_moment

SITUATION = "Situation"
FIX = "Fix"
UNTITLED = "Untitled"
"""The title of a draft that has neither an error nor the words of a person."""

EVIDENCE = "Evidence"
"""The last heading of a completed draft. Its section is the material of the draft, and is removed
when the draft becomes a card."""
NOT_SHOWN = "NOT IN THE EVIDENCE"
"""The remark about a statement of a completed draft that the evidence does not support."""
TITLE_NOT_SHOWN = "TITLE NOT IN THE EVIDENCE"
"""The remark about the title of such a draft, which stands before its first section."""

MAX_DIFF = 4_000
MAX_EXCERPT = 1_500
_MAX_KEPT_DIFF = 1_500
"""The length limit, in characters, of a diff in a card."""
_MAX_BODY = 2_500
_MAX_TESTS = 1_500
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
_MAX_ITEMS = 3
_MAX_SOURCES = 3
"""The maximum number of sightings that a draft names as sources."""


def sketch_trigger(trigger: Trigger, *, diff: str = "") -> Sketch:
    """Return the sketch of a trigger. ``diff`` is the change that fixed the mistake, if known."""
    files = trigger.files or _names(diff)
    failure = trigger.failure
    is_fixed = trigger.kind == RED_GREEN
    output = failure.output if failure else ""
    facts = [_asked(trigger.request), _headline(trigger)]
    if failure is not None and trigger.kind != REJECTION:
        facts += _failed(failure, ", and later passed" if is_fixed else "")
    hint = trigger.quote or trigger.cause.text or trigger.cause.tool or trigger.kind
    if is_fixed:
        failing = find_failing(output)
        hint = f"{failing[0] if failing else trigger.cause.text} failed"
    heading = "The change that made it pass:" if is_fixed else _CHANGED
    change = diff or "\n".join(trigger.changes)
    facts.append(_changed(files))
    return Sketch(
        title=_shorten(one_line(hint, _MAX_HINT)) or UNTITLED,
        sections=_write_sections(facts, heading, change, output=output),
        paths=choose_paths(files),
        symptoms=_find_symptoms(trigger),
        stage=trigger.cause.stage,
        example=one_line(trigger.request or trigger.quote, _MAX_HINT),
        sources=(_make_trigger_source(trigger),),
    )


def _make_trigger_source(trigger: Trigger) -> Source:
    """Return the session of a trigger as a source, with the user's words or the failure in it."""
    output = trigger.failure.output if trigger.failure else ""
    quote = trigger.quote or error_excerpt(output, limit=MAX_QUOTE)
    return make_session_source(trigger.cause.session, format_moment(trigger.cause.at), quote)


def _find_symptoms(trigger: Trigger) -> tuple[str, ...]:
    """Return the task and the error of a mistake, because a future task may have the same."""
    prompts = [trigger.request] if trigger.kind != REJECTION else []
    output = trigger.failure.output if trigger.failure else ""
    lines = [line.strip().removeprefix("E ").strip() for line in clean(output).splitlines()]
    named = [line for line in lines if shows("error", line.lower())]
    errors = [line for line in named if not is_test_report(line)]
    return pick_symptoms(prompts, map(_shorten, errors[-1:]))


def sketch_session(
    events: Sequence[Event],
    *,
    diff: str = "",
    title: str = "",
) -> Sketch:
    """Return the sketch of a session: its last request, its last failure and its changes.

    With a ``title``, only events that belong to the mistake in the title are used.
    """
    if title:
        events = pick_turns(events, title)
    sources = [make_session_source(event.session, format_moment(event.at)) for event in events[-1:]]
    asked = [event for event in events if event.kind == "prompt" and event.text.strip()]
    failures = [event for event in events if event.kind in RUNS and event.outcome == "exec_error"]
    files = _unique(path for event in events if event.kind in CHANGES for path in event.targets)
    request = ""
    if asked:  # with a title, the first prompt is the task, and the others repeat it
        request = asked[0].text if title else asked[-1].text
    facts = [_asked(request)]
    if failures:
        facts += _failed((find_failure(events, title) if title else None) or failures[-1])
    fixed = _names(diff)
    both = tuple(path for path in fixed if path in files)
    if not title:
        error = error_excerpt(failures[-1].output, limit=_MAX_HINT) if failures else ""
        title = _shorten(one_line(error or request, _MAX_HINT))
    return Sketch(
        title=title or UNTITLED,
        sections=_write_sections([*facts, _changed(files or fixed)], _CHANGED, diff),
        paths=choose_paths(both or fixed or files),
        example=one_line(request, _MAX_HINT),
        sources=sources,
    )


def sketch_diff(
    path: str,
    hunks: str,
    *,
    line: int = 0,
    title: str = "",
) -> Sketch:
    """Return the sketch of a change of one file at ``line``, or of the whole change if ``line`` is
    0.
    """
    where = f"line {line} of `{path}`" if line else f"`{path}`"
    sections = _write_sections([f"Seen at {where}."], f"The change of {where}:", hunks)
    source = make_file_source(path, line)
    return Sketch(title=title or UNTITLED, sections=sections, paths=(path,), sources=(source,))


def sketch_candidate(
    candidate: Candidate,
    *,
    prompts: Sequence[str] = (),
    diff: str = "",
    tests: str = "",
) -> Sketch:
    """Return the sketch of a mined mistake. ``diff`` is the commit that fixed it.

    ``prompts`` are the tasks in which the mistake was made, ``tests`` is the change of the commit's
    tests. Root cause, checklist and symptoms quote sentences that people wrote, without changes.
    """
    first_commit = next(iter(candidate.commits), None)
    body = _TRAILER.sub("", first_commit.body).strip() if first_commit else ""
    causes = first_commit.causes if first_commit else ()
    excerpt = _shorten(
        next((sighting.excerpt for sighting in candidate.sightings if sighting.excerpt), "")
    )
    facts = _list_facts(candidate, prompts, excerpt, body, causes)
    change = diff or next((sighting.diff for sighting in candidate.sightings if sighting.diff), "")
    sections = _write_sections(facts, "What fixed it:", change, output=excerpt)
    if tests.strip():
        shown = fence(tests, "diff", limit=_MAX_TESTS)
        sections[FIX] = _paragraphs([sections.get(FIX, ""), "Its tests:", shown])
    statements = read_statements(candidate)
    if statements.causes:
        sections["Root Cause"] = " ".join(statements.causes)
    if statements.items:
        items = [f"- [ ] {sentence}" for sentence in statements.items]
        sections["Prevention Checklist"] = "\n".join(items)
    errors = [sighting.title for sighting in candidate.sightings if sighting.signature]
    errors += find_error_lines(body)
    main = pick_main_files(candidate.paths, _count_changed_lines(change), candidate.title)
    subject = _REFERENCE.sub("", candidate.title).strip()
    return Sketch(
        title=name_mistake(candidate.title) or one_line(subject, _MAX_HINT) or UNTITLED,
        sections=sections,
        paths=choose_paths(main),
        symptoms=pick_symptoms(prompts, map(_shorten, errors)),
        example=one_line(next(iter(prompts), ""), _MAX_HINT),
        sources=_find_sources(candidate),
    )


class Statements(NamedTuple):
    """The sentences of people that a draft takes over."""

    causes: Sequence[str]
    items: Sequence[str]
    """The instructions, which become items of the checklist."""


def read_statements(candidate: Candidate) -> Statements:
    """Return the causes and the instructions that people wrote about a mined mistake.

    They come from the message of its first commit, the comments that the commit added, and what was
    said in sessions and reviews.
    """
    message: list[str] = []
    comments: list[str] = []
    for commit in candidate.commits[:1]:
        message = split_prose([_TRAILER.sub("", commit.body).strip()])
        comments = split_prose(commit.causes)
    quotes = split_prose(sighting.quote for sighting in candidate.sightings)
    written = [*message, *comments]
    causes = pick_causes([*written, *quotes]) or pick_mechanism(message)
    of_commit = [sentence for sentence in written if sentence not in causes]
    said = [sentence for sentence in quotes if sentence not in causes]
    items = [*pick_items(of_commit, of_commit=True), *pick_items(said)]
    return Statements(causes, items[:_MAX_ITEMS])


def list_signs(candidate: Candidate) -> list[str]:
    """Return the reasons why a candidate looks like a mistake, for its line in a list.

    A commit gives a cause only if its draft takes the cause over.
    """
    # The list has a column for the number of commits.
    signs = [sign for sign in candidate.reasons if not sign.endswith(" commits alike")]
    if candidate.sightings:
        return signs
    statements = read_statements(candidate)
    if GIVES_CAUSE in signs:
        signs.remove(GIVES_CAUSE)
    filled = [GIVES_CAUSE] if statements.causes else []
    if statements.items:
        filled.append(f"gives {counted(len(statements.items), 'instruction')}")
    return [*filled, *signs]


def _find_sources(candidate: Candidate) -> tuple[Source, ...]:
    """Return the commits, review comments and sessions of a candidate as sources."""
    sources: list[Source] = []
    stated = read_statements(candidate).causes
    for commit in candidate.commits[:NAMED_COMMITS]:
        body = _TRAILER.sub("", commit.body).strip()
        prose = [line for line in body.split("\n") if line.strip() and not line.startswith("#")]
        first_lines = [*stated, *commit.causes, *prose[:1], ""]
        quote, stated = first_lines[0], ()
        at = format_moment(commit.at)
        sources.append(make_commit_source(commit.id, commit.subject, at, quote))
    for sighting in candidate.sightings[:_MAX_SOURCES]:
        at = format_moment(sighting.at)
        quote = sighting.quote or sighting.title
        if sighting.agent == REVIEW:
            sources.append(make_request_source(sighting.session, at, quote))
        else:
            sources.append(make_session_source(sighting.session, at, quote))
    return tuple(sources)


def _list_facts(
    candidate: Candidate,
    prompts: Sequence[str],
    excerpt: str,
    body: str,
    causes: Sequence[str],
) -> list[str]:
    """Return the facts about a candidate as paragraphs without duplicates.

    ``excerpt`` is an excerpt of its error. ``body`` and ``causes`` belong to its first commit.
    """
    facts = [f"Seen {candidate.occurrences}×: {'; '.join(list_signs(candidate))}."]
    for sighting in candidate.sightings[:2]:
        facts += [_asked(prompt) for prompt in sighting.prompts[:1] if prompt in prompts]
        if sighting.quote:
            facts.append(f"What was said:\n\n{_quoted(sighting.quote)}")
        if sighting.command:
            facts.append(f"What failed: {_code(_shorten(sighting.command))}")
    if excerpt:
        facts.append(fence(excerpt, "text", limit=MAX_EXCERPT))
    for commit in candidate.commits[:NAMED_COMMITS]:
        facts.append(f"Commit {_code(commit.id[:10])}: {one_line(commit.subject, _MAX_QUOTE)}")
    if body and body != candidate.commits[0].subject:
        quoted = [f"> {line}".rstrip() for line in clean(body[:_MAX_BODY]).splitlines()]
        facts.append("\n".join(["Its message:\n", *quoted]))
    if causes:
        quoted = [f"> {one_line(cause, _MAX_QUOTE)}" for cause in causes]
        facts.append("\n".join(["The fix explains itself:\n", *quoted]))
    return list(dict.fromkeys(facts))


def name_mistake(subject: str) -> str:
    """Return the mistake that a commit's subject names, or "" if the subject names the change
    instead.
    """
    text = _REFERENCE.sub("", _CONVENTION.sub("", subject.strip())).strip()
    for pattern in _TITLES:
        match = pattern.match(text)
        title = (match[1] or "").strip(" .:") if match else ""
        if title:
            first = title.split()[0]
            if first.isalpha() and first.islower():
                title = title[0].upper() + title[1:]
            return title if count_words(title) > MIN_TITLE else ""
    return ""


def split_evidence(text: str) -> tuple[str, str]:
    """Return the card in a draft, and its evidence. The evidence of an incomplete draft is the
    draft.

    Comments are removed from the evidence, because their instructions are not part of it.
    """
    card, mark, evidence = text.partition(f"\n## {EVIDENCE}\n")
    if mark:
        return card.rstrip("\n") + "\n", evidence.strip("\n")
    sections = read_sections(normal_newlines(strip_comments(split_header(text).body)))
    return text, re.sub(r"\n{3,}", "\n\n", text_of(sections, ("situation", "fix")))


def finish(text: str, template: str, *, cut_diffs: bool = True) -> str:
    """Return the card of a draft without evidence, guidance and empty headings.

    ``template`` is the template of the draft, whose unused lines are removed. With ``cut_diffs``, a
    long diff is cut.
    """
    card = split_evidence(text)[0]
    body = split_header(card).body
    head = card[: len(card) - len(body)]
    unused = {line for line in template.splitlines() if line.startswith("#") or line[-1:] in ":]"}
    head = "".join(line for line in head.splitlines(True) if line.rstrip() not in unused)
    if cut_diffs:
        body = _DIFF.sub(lambda match: fence(match[2], "diff", limit=_MAX_KEPT_DIFF), body)
    filled = _EMPTY.sub("", strip_comments(body).rstrip() + "\n")
    return head + re.sub(r"\n{3,}", "\n\n", filled).rstrip() + "\n"


def _write_sections(
    facts: Iterable[str], heading: str, diff: str, *, output: str = ""
) -> dict[str, str]:
    """Return a section with the facts. If there is a diff, also return a section with the fix under
    ``heading``.

    A comment after the fix contains a pattern for the header, which matches the error in the
    ``output`` of a failure.
    """
    sections = {SITUATION: _paragraphs(facts)}
    fix = [heading, fence(diff, "diff")] if diff.strip() else []
    signature = error_signature(output)
    if signature and not signature.startswith("assert"):  # an expectation of a test is not a cause
        header = format_patterns([Pattern(kind="error", text=signature)])
        if "--" not in header:  # it would end the comment
            fix.append(f"{_PROPOSAL}\n{header}\n-->")
    if fix:
        sections[FIX] = _paragraphs(fix)
    return sections


def fence(text: str, language: str, *, limit: int = MAX_DIFF) -> str:
    """Return a fenced code block, cut after ``limit`` characters. Its content cannot close the
    fence.
    """
    body = clean(text).strip("\n")
    if len(body) > limit:
        cut = body.rfind("\n", 0, limit)
        body = body[: cut if cut > 0 else limit] + "\n…"
    longest = max((len(run) for run in re.findall(r"`{3,}", body)), default=2)
    ticks = "`" * (longest + 1)
    return f"{ticks}{language}\n{body}\n{ticks}"


def find_diff(text: str) -> str:
    """Return the unified diff in a draft or in the card that it became, or "" if there is none."""
    match = _DIFF.search(text)
    return f"{match[2]}\n" if match else ""


def pick_hunks(diff: str, path: str, line: int = 0) -> str:
    """Return the part of a unified diff for a file, or "" if there is none.

    With ``line``, a line number in the new file, only the hunk that contains it is returned.
    """

    def holds(hunk: str) -> bool:
        match = re.match(r"@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@", hunk)
        return match is not None and 0 <= line - int(match[1]) < max(int(match[2] or 1), 1)

    part = next((part for part in split_files(diff) if path in names_of(part)), "")
    return (_keep_hunks(part, holds) if line else part).rstrip("\n")


def pick_hunks_with(part: str, phrases: Sequence[Sequence[str]]) -> str:
    """Return a file's part of a diff, limited to the hunks that contain one of the phrases."""
    runs = [re.compile(r"\s+".join(map(re.escape, words))) for words in phrases]
    return _keep_hunks(part, lambda hunk: any(run.search(hunk) for run in runs))


def _keep_hunks(part: str, is_kept: Callable[[str], bool]) -> str:
    head, *hunks = re.split(r"(?m)^(?=@@ )", part)
    kept = "".join(filter(is_kept, hunks))
    return head + kept if kept else ""


def split_files(diff: str) -> list[str]:
    """Split a unified diff into one part per file."""
    return [part for part in re.split(r"(?m)^(?=diff --git )", diff) if part.strip()]


def names_of(part: str) -> tuple[str, ...]:
    """Return the old and the new name of the file in a part of a diff, or ("",) if they are
    unknown.
    """
    head = part.split("\n@@ ", 1)[0]
    names = re.findall(r'(?m)^(?:---|\+\+\+) "?[ab]/(.+?)"?\t?$', head)
    names = names or re.findall(r"(?m)^(?:rename|copy) (?:from|to) (.+)$", head)
    match = re.match(r"diff --git a/(.+) b/(.+)", head)
    if not names and match:
        names = list(match.groups())
    return _unique(names) or ("",)


def _count_changed_lines(diff: str) -> dict[str, int]:
    """Return the number of changed lines of each file in a diff."""
    counts: dict[str, int] = {}
    for part in split_files(diff):
        body = part.partition("\n@@ ")[2]
        changed = [line for line in body.splitlines() if line.startswith(("+", "-"))]
        counts[names_of(part)[-1]] = len(changed)
    return counts


def _names(diff: str) -> tuple[str, ...]:
    return _unique(filter(None, (names_of(part)[-1] for part in split_files(diff))))


def _headline(trigger: Trigger) -> str:
    spoken = trigger.cause.text if trigger.kind in (FEEDBACK, REQUEST) else ""
    # A short message is quoted completely, because it states what broke and how.
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
    """Return paragraphs about a failed call: its command and error, and its failing tests."""
    excerpt = error_excerpt(event.output, limit=MAX_EXCERPT)
    error = f"\n\n{fence(excerpt, 'text')}" if excerpt else ""
    names = ", ".join(map(_code, find_failing(event.output)))
    failure = f"What failed{passed}: {_code(event.text or event.tool)}{error}"
    return [failure, f"Failing tests: {names}" if names else ""]


def _changed(files: Sequence[str]) -> str:
    more = f" and {len(files) - _MAX_FILES} more" if len(files) > _MAX_FILES else ""
    names = ", ".join(map(_code, files[:_MAX_FILES]))
    return f"Changed files: {names}{more}" if files else ""


def _quoted(text: str) -> str:
    line = one_line(text, _MAX_QUOTE)
    return f"> “{line}”" if line else ""


def _shorten(text: str) -> str:
    """Return a text in which file names replace absolute paths.

    An absolute path contains the user's name, and the names of its folders would match any prompt.
    """
    return _ABSOLUTE.sub(r"\1", _PLACE.sub("", text))


def _code(text: str) -> str:
    line = one_line(text, _MAX_QUOTE).replace("`", "'")
    return f"`{line}`" if line else "(unknown)"


def _paragraphs(texts: Iterable[str]) -> str:
    return "\n\n".join(text for text in texts if text)


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


_TITLES = tuple(
    re.compile(one, re.IGNORECASE) for one in read_patterns("draft_gaps.toml")["titles"]
)
_CONVENTION = re.compile(r"^[a-z]+(?:\([^)]*\))?!?: ", re.IGNORECASE)
_REFERENCE = re.compile(
    r"(?:[\s,;:(\[]+(?:(?:closes|fix(?:es)?|refs|see) )?(?:#|gh-)\d+[)\].]*)+$", re.IGNORECASE
)
_ISSUE = r"(?:[\w./-]*#\d+|https?://\S+|[0-9a-f]{7,40}(?: \(.*\))?|[A-Z][A-Z0-9]+-\d+)"
_TRAILER = re.compile(
    r"(?m)^(?:[A-Z][\w-]*-[Bb]y: .*|(?:Change-Id|PR-URL): .*"
    rf"|(?:Refs?|Closes|Fixes):? +{_ISSUE}(?:(?:,| and)? +{_ISSUE})*\.?)[ \t]*$"
)
"""A line of a commit message that names only people or issues. A sentence that begins with "Fixes"
is no such line, because it tells what was wrong.
"""
_EMPTY = re.compile(r"(?m)^##[ ][^\n]+\n+(?=##[ ]|\Z)")
