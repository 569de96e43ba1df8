"""`lessons lint`, `lessons check` and `lessons detect`: what is wrong with a line of a file."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import Annotated, Any
from urllib.parse import quote

import typer

from lessons_kb import render
from lessons_kb.cards.rule_files import TOOLS, format_rules
from lessons_kb.cards.sections import find_failing_examples
from lessons_kb.cli.declare import check_choice
from lessons_kb.cli.lint_report import (
    MAX_FAULTS,
    is_listed_whole,
    sort_by_file,
    split_findings,
    summarise_advice,
    summarise_faults,
)
from lessons_kb.cli.options import (
    FAIL_ON,
    FAULT,
    LINT_FAIL_ON,
    FailOn,
    Format,
    Revision,
    Session,
    check_folder,
    open_brain,
    read_file,
    read_text,
    relative_path,
    split_list,
)
from lessons_kb.cli.output import (
    options,
    pick,
    print_bold,
    print_json,
    print_table,
    print_wrapped,
    say,
)
from lessons_kb.errors import InputError
from lessons_kb.find.detection import (
    Months,
    detect_diff,
    detect_files,
    detect_history,
    list_tree,
    tell_line,
    tell_unused,
)
from lessons_kb.library import Library
from lessons_kb.model import (
    CONTRADICTED,
    DENIED,
    OPEN,
    Card,
    CheckedItem,
    DetectedLine,
    Finding,
    as_data,
)
from lessons_kb.outcome.post_check import read_change, read_diff_evidence
from lessons_kb.postcheck.item_states import read_texts
from lessons_kb.store.files import relative, write_export
from lessons_kb.text.sanitize import clean_line, counted, visible, visible_json
from lessons_kb.version import __version__

_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_SARIF_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_GITHUB_LEVELS = {"error": "error", "warning": "warning", "info": "notice"}
_SEVERITY_LEVELS = {"high": "error", "medium": "warning", "low": "info"}
_INFORMATION = "https://pypi.org/project/lessons-kb/"


def _print_found(
    form: str, data: Any, lines: Iterable[str], annotations: Iterable[Finding]
) -> None:
    """Print what was found: as JSON data, as lines of text, or as annotations of lines."""
    if form == "json":
        print_json(data)
    elif form == "sarif":
        print(format_sarif([*annotations], version=__version__))
    elif form == "text":
        for line in lines:
            print_wrapped(line, hang=4)
    elif text := format_github(annotations):
        print(text)


def format_sarif(annotations: Sequence[Finding], *, version: str) -> str:
    """Return one SARIF 2.1.0 log as JSON text; ``version`` is the tool's.

    Paths are POSIX and relative to the working directory.
    """
    rules = sorted({annotation.rule for annotation in annotations})
    driver = {
        "name": "lessons",
        "version": version,
        "informationUri": _INFORMATION,
        "rules": [{"id": rule} for rule in rules],
    }
    results = []
    for one in annotations:
        file, region = {"uri": quote(one.path)}, {"startLine": max(one.line, 1)}
        place = {"physicalLocation": {"artifactLocation": file, "region": region}}
        result = {"ruleId": one.rule, "ruleIndex": rules.index(one.rule)}
        result |= {"level": _SARIF_LEVELS[one.level], "message": {"text": _tell(one)}}
        results.append({**result, "locations": [place]})
    runs = [{"tool": {"driver": driver}, "results": results}]
    log = {"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": runs}
    return visible_json(json.dumps(log, ensure_ascii=False, indent=2))


def format_github(annotations: Iterable[Finding]) -> str:
    """Return GitHub Actions workflow commands, one line each."""
    lines = []
    for one in annotations:
        properties = {"file": one.path, "title": f"lessons: {one.rule}"}
        if one.line:
            properties["line"] = str(one.line)
        shown = ",".join(f"{key}={_escape(text, ':,')}" for key, text in properties.items())
        lines.append(f"::{_GITHUB_LEVELS[one.level]} {shown}::{_escape(_tell(one), '')}")
    return "\n".join(lines)


def _tell(finding: Finding) -> str:
    return f"{finding.message}; {finding.fix}" if finding.fix else finding.message


def _escape(text: str, more: str) -> str:
    """Percent-escape what would end a value or start another command; show what is invisible."""
    return visible("".join(f"%{ord(c):02X}" if c in "%\r\n" + more else c for c in text))


def lint(
    folder: str | None = None,
    form: Format = "text",
    rule: list[str] | None = None,
    verbose: bool = False,
    fail_on: Annotated[str, LINT_FAIL_ON] = "error",
) -> None:
    """Report problems in cards, each with its line and a fix.

    Faults come first: what changes the meaning of a card. Advice follows, one line for each rule.
    Example: lessons lint --fail-on fault

    DIR              Folder of a brain, trusted or not.
    --rule RULE      Report this rule alone; repeatable.
    --verbose, -v    Print every finding.
    --fail-on LEVEL  Exit 1 at this level: error, warning, info or never; fault: for all but
                     advice.
    """
    form = "json" if options().json else form
    if folder:
        check_folder("lint", folder)
    brains = Library.open(folder) if folder else open_brain()
    findings = brains.lint()
    if rule:
        findings = [finding for finding in findings if finding.rule in rule]
    faults, advice = split_findings(findings)
    if form != "text":
        root = brains.members[0].root
        paths = [relative_path(os.path.join(root, finding.path)) for finding in findings]
        pairs = zip(findings, paths, strict=True)
        annotations = [replace(finding, path=path) for finding, path in pairs]
        _print_found(form, [as_data(finding) for finding in findings], (), annotations)
    elif verbose:
        _print_findings(findings)
    else:
        _print_report(faults, advice)
    if form == "text":
        levels = [finding.level for finding in findings]
        told = ", ".join(counted(levels.count(one), one) for one in ("error", "warning", "info"))
        of_them = f"; {len(advice)} of them advice" if advice else ""
        is_short = verbose or is_listed_whole(faults, advice)
        hint = "" if is_short else "; -v prints each"
        say(f"{told}{of_them}{hint}" if findings else "no problems")
    failing = faults if fail_on == FAULT else findings
    levels_to_fail = FAIL_ON["info" if fail_on == FAULT else fail_on]
    if any(finding.level in levels_to_fail for finding in failing):
        raise typer.Exit(1)


def _print_report(faults: Sequence[Finding], advice: Sequence[Finding]) -> None:
    """Print faults one by one, or by rule where they are many, and advice by rule."""
    if is_listed_whole(faults, advice):
        _print_findings(sort_by_file([*faults, *advice]))
        return
    if len(faults) > MAX_FAULTS:
        for line in summarise_faults(faults):
            print_wrapped(line, hang=4)
    else:
        _print_findings(faults)
    for line in summarise_advice(advice):
        print_wrapped(line, hang=4)


def _print_findings(findings: Sequence[Finding]) -> None:
    """Print each finding in its line; on a terminal below the name of its file."""
    if not sys.stdout.isatty():
        for finding in findings:
            print_wrapped(render.finding_line(finding), hang=4)
        return
    for path, group in groupby(findings, key=attrgetter("path")):
        name = clean_line(path)
        print_bold(name)
        for finding in group:
            place = render.finding_line(finding).removeprefix(name).lstrip(":")
            print_wrapped(f"  {place.strip()}")


FAILING = (DENIED, CONTRADICTED, OPEN)


def check(
    answer: list[str] | None = None,
    card: list[str] | None = None,
    evidence: list[str] | None = None,
    diff: Revision = None,
    last: bool = False,
    session: Session = None,
    form: Format = "text",
    fail_on: str = "",
) -> None:
    """Check an answer or a diff against the lessons' checklists.

    Each item is shown, denied, contradicted, claimed (closed by the agent's
    word alone) or open.

    Without --card, check the lessons injected for the last prompt or, with --diff, those that
    match the change. Example: lessons check --diff origin/main...HEAD --format github

    ANSWER                 The answer; default: stdin.
    --card ID              Card to check; repeatable.
    --evidence FILE        File with a record of what was done; repeatable.
    --last                 Check the latest answer in an agent once more.
    --fail-on STATES       Exit 1 for an item in one of these states: denied, contradicted, open.
    """
    failing = split_list(fail_on)
    for state in failing:
        check_choice("--fail-on", state, FAILING)
    if last and (answer or card or evidence or diff is not None):
        raise InputError("--last takes no answer, --card, --evidence or --diff; leave them out")
    brains, chosen = open_brain(), card
    seen = read_texts([read_file(name) for name in evidence or ()])
    text, detected = " ".join(answer or ()), list[DetectedLine]()
    if diff is not None:
        change = read_change(brains, diff)
        seen = replace(seen, edits=(*seen.edits, *read_diff_evidence(change).edits))
        detected = [tell_line(*one) for one in detect_diff(brains, change.text)]
        if chosen is None:
            query = " ".join([text, *change.files, *change.added])
            block = brains.preflight(query, paths=change.files, context=False, remember=False)
            chosen = [hit.card.id for hit in block.lessons]
            chosen += dict.fromkeys(one.card for one in detected if one.card not in chosen)
    elif not last:
        text = read_text(answer or (), what="answer")
        if not text.strip() and not evidence:
            raise InputError("answer missing; pass it as an argument or on stdin")
    if last:
        result = brains.check_last(session)
    else:
        result = brains.check(text, cards=chosen, evidence=seen, detected=detected, session=session)
        if chosen is None and not result.checked:
            say("no lesson to check: none was injected for the last prompt; use --card ID")
    if diff is not None and OPEN not in failing:  # of which nothing is known
        known = tuple(item for item in result.items if item.state != OPEN)
        if left := len(result.items) - len(known):
            say(f"the diff tells nothing of {counted(left, 'item')}; --fail-on open lists them")
            if not known and form == "text" and not options().json:
                return
        result = replace(result, items=known)
    _print_found(
        "json" if options().json else form,
        render.check_data(result),
        render.check_text(result, brains.members[0].settings.language).splitlines(),
        (_annotate_item(brains, item) for item in result.unaddressed),
    )
    if any(item.state in failing for item in result.items):
        raise typer.Exit(1)


def _annotate_item(brains: Library, item: CheckedItem) -> Finding:
    path, document = brains.cards.read(item.card.id)
    items = document.card.checklist if document.card else ()
    line = 0
    if item.item in items and len(items) == len(document.checklist_lines):
        line = document.checklist_lines[items.index(item.item)]
    told = render.checked_message(item)
    return Finding(path=relative_path(path), line=line, rule=item.state, message=told, fix="")


def detect(
    paths: list[str] | None = None,
    diff: Revision = None,
    history: bool = False,
    test: bool = False,
    export: str | None = None,
    form: Format = "text",
    exit_zero: bool = False,
    fail_on: FailOn = "info",
) -> None:
    """Find the mistakes that cards describe by patterns (`detect`).

    Exit 1 if there are any.

    With --diff, report only what a change adds. Example: lessons detect --diff origin/main...HEAD

    PATHS          Files and folders; default: the project.
    --history      Count what each commit up to HEAD added, by month.
    --test         Try each pattern on its own `bad` and `good` examples.
    --export TOOL  Write the patterns as rules of ast-grep, semgrep or opengrep, with their
                   tests, to the folder that PATHS names.
    --exit-zero    Exit 0 even if a mistake was found.
    """
    form = "json" if options().json else form
    if sum((diff is not None, history, test, bool(paths))) > 1:
        raise InputError("use one of PATHS, --diff, --history and --test")
    if test or export:
        cards = (card for card in open_brain().cards.all(notes=True) if card.status == "active")
        detecting = [card for card in cards if card.detect]
        if export:
            _export_rules(detecting, export, paths or [])
        elif _test_patterns(detecting) and not exit_zero:
            raise typer.Exit(1)
        return
    if history and form not in ("text", "json"):
        raise InputError("--history is printed as text or json; choose one of them")
    brains = open_brain()
    brains.refresh()
    for line in tell_unused(brains):
        say(line)
    if history:
        _print_history(brains, detect_history(brains), form)
        return
    if diff is not None:
        change = read_change(brains, diff)
        if change.truncated:
            say("the change is too long; only its first part was looked at")
        found = detect_diff(brains, change.text)
    else:
        starts = []
        for path in paths or ():
            if not os.path.exists(path):
                raise InputError(f"no file or folder {path}; give one that exists")
            starts.append(relative(brains.directory, os.path.realpath(path)))
        found = list(detect_files(brains, list_tree(brains.directory, starts, tell=say)))
    data, lines, annotations = list[dict[str, Any]](), list[str](), list[Finding]()
    for card, match in found:
        path = relative_path(os.path.normpath(os.path.join(brains.directory, match.path)))
        told = f"`{match.text}` — “{card.title}” ({card.id})"
        place: dict[str, Any] = {
            "path": path,
            "line": match.line,
            "level": _SEVERITY_LEVELS[card.severity],
        }
        facts = {**pick(card, "title", "severity"), "path": path}
        facts |= {**pick(match, "line", "column", "text"), "pattern": as_data(match.rule.pattern)}
        data.append({"card": card.id, **facts})
        lines.append(visible(f"{path}:{match.line}:{match.column}: {told}"))
        annotations.append(Finding(**place, rule=card.id, message=told, fix=""))
    _print_found(form, data, lines, annotations)
    if form == "text":
        of = counted(len({card.id for card, _match in found}), "card")
        say(f"{counted(len(found), 'match', 'matches')} of {of}" if found else "no matches")
    if not exit_zero and any(one.level in FAIL_ON[fail_on] for one in annotations):
        raise typer.Exit(1)


def _test_patterns(cards: Sequence[Card]) -> int:
    """Print which examples of patterns fail; return how many do."""
    tried = failed = 0
    for card in cards:
        for pattern in card.detect:
            tried += len(pattern.bad) + len(pattern.good)
            for name, text in find_failing_examples(pattern):
                failed += 1
                what = "good, and found" if name == "good" else "bad, and not found"
                which = f"{card.id}: {pattern.kind} {pattern.text}"
                print(visible(f"{which}: {what}: {text.strip()}"))
    say(f"{counted(tried, 'example')}, {failed} failed")
    return failed


def _export_rules(cards: Sequence[Card], tool: str, paths: Sequence[str]) -> None:
    check_choice("--export", tool, TOOLS)
    if len(paths) != 1:
        raise InputError(f"name one folder to write to; `lessons detect --export {tool} DIR`")
    files, left = format_rules(tool, cards)
    for line in left:
        say(visible(line))
    for name, text in files.items():
        write_export(os.path.join(paths[0], name), text.splitlines())
    say(f"{counted(len(files), 'file')} written to {visible(paths[0])}")


def _print_history(brains: Library, history: Mapping[tuple[str, str], Months], form: str) -> None:
    cards = {
        (brain.alias, card.id): card
        for brain in brains.members
        for card in brain.read(lambda one: one.catalogue.all_cards())
    }
    columns = ("month", "before", "since")
    data, rows, before, since = list[dict[str, Any]](), list[tuple[str, ...]](), 0, 0
    for key, months in history.items():
        card = cards[key]
        sums = {"before": sum(one[1] for one in months), "since": sum(one[2] for one in months)}
        listed = [dict(zip(columns, month, strict=True)) for month in months]
        data.append({"card": card.id, **pick(card, "title", "created"), **sums, "months": listed})
        rows += [(card.id, card.created or "", *map(str, month)) for month in months]
        before, since = before + sums["before"], since + sums["since"]
    if form == "json":
        print_json(data)
    elif not rows:
        say("no commit added any of these mistakes")
    else:
        print_table(("id", "created", *columns), rows, right="before since")
        say(f"added {before}× before the cards were created, {since}× since")
