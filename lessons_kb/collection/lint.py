"""What is wrong with the files of a brain."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.copied_cards import report_copy
from lessons_kb.brain.search_index import check_globs, read_document, report_unreadable
from lessons_kb.cards.check_card import check_card
from lessons_kb.cards.copies import CardFile, find_copies
from lessons_kb.cards.keys import find_line_of
from lessons_kb.cards.links import normal_title
from lessons_kb.cards.sections import FOUND_OFTEN, advise
from lessons_kb.detect.matcher import EXTRA as AST_EXTRA
from lessons_kb.detect.matcher import (
    Matcher,
    Rule,
    check_syntax,
    find_language,
    is_available,
    language_of,
)
from lessons_kb.detect.propose import MANY_PLACES
from lessons_kb.errors import ConfigError, InputError, StorageError
from lessons_kb.find.project_detection import find_in_tree, list_tree
from lessons_kb.model import NOTE, Card, Document, Finding
from lessons_kb.process.installation import install_command
from lessons_kb.store.brain_settings import read_ignored, read_settings
from lessons_kb.store.locations import CONFIG_NAME
from lessons_kb.store.repositories import git_top
from lessons_kb.store.scan import scan_brain
from lessons_kb.text.patterns import compile_globs, match_globs

_NO_AST_GREP = "detect: ast patterns are not looked for: ast-grep is not installed"


def lint(
    brain: Brain,
    directory: str = "",
    *,
    progress: Callable[[int, int], object] = lambda _done, _total: None,
) -> list[Finding]:
    """Read every file of a brain anew and return its findings, by path and line.

    With ``directory``, a project's root in git, its files are searched for patterns that find
    too much. ``progress`` receives the number of files read, and of all files.
    """
    try:
        settings, _origins = read_settings(brain.root)
        ignored = read_ignored(brain.root)
    except ConfigError as error:
        name, _, rest = str(error).partition(":")
        number, _, message = rest.partition(":")
        line = int(number) if number.strip().isdigit() else 0
        told = ((message if line else rest).strip(), "correct or remove the line", "error")
        return [_finding(name or CONFIG_NAME, line, "bad-settings", *told)]
    seen = scan_brain(brain.root, settings, ignored)
    findings = list(seen.findings)
    limit = settings.index.max_file_bytes
    detecting: list[tuple[Card, Document]] = []
    documents: list[Document] = []
    card_files: list[CardFile] = []
    for done, path in enumerate(seen.files, 1):
        progress(done, len(seen.files))
        try:
            data, document = read_document(brain.root, path, settings.folders, limit)
        except StorageError as error:
            findings.append(report_unreadable(path, error))
            continue
        findings += check_document(document)
        documents.append(document)
        if document.card is not None and document.card.kind != NOTE:
            title = normal_title(document.card.title)
            card_files.append(CardFile(path=path, content=data, title=title))
        if document.card is not None and document.card.detect:
            detecting.append((document.card, document))
    findings += map(report_copy, find_copies(card_files))
    findings += check_syntax_of(detecting)
    findings += check_places(detecting, brain.root, directory) if directory else []
    findings += check_paths(documents, directory) if directory else []
    return sorted(findings, key=by_place)


def by_place(finding: Finding) -> tuple[str, int, str]:
    """Return the key that sorts findings by path and line."""
    return finding.path, finding.line, finding.rule


def check_document(document: Document) -> list[Finding]:
    """Return what is wrong with a file by its text alone."""
    is_note = document.card is not None and document.card.kind == NOTE
    found = document.findings if is_note else check_card(document)
    return [*found, *check_globs(document)]


def check_paths(documents: Iterable[Document], directory: str) -> list[Finding]:
    """Return which globs are words with blanks that name no file of a project, if it is in git."""
    if not git_top(directory):
        return []
    worded = [
        (document, path)
        for document in documents
        for path in (document.card.paths if document.card else ())
        if " " in path
    ]
    if not worded:
        return []
    files = list_tree(directory)
    findings = []
    for document, path in worded:
        card = document.card
        with contextlib.suppress(InputError):
            globs = compile_globs([path])
            if card and not any(match_globs(globs, file) for file in files):
                line = find_line_of("paths", document.key_lines)
                message = f"paths: {path[:60]!r} matches no file of the project"
                fix = "write globs, separated by commas, such as src/**/*.py"
                findings.append(_finding(card.id, line, "odd-path", message, fix))
    return findings


def check_syntax_of(detecting: Sequence[tuple[Card, Document]]) -> list[Finding]:
    """Return which ``ast`` patterns are no code, or, once, that nothing can tell."""
    found = []
    patterns = [
        (card.id, document.key_lines.get("detect", 0), one)
        for card, document in detecting
        for one in card.detect
        if one.kind == "ast"
    ]
    for path, line, pattern in patterns:
        if not is_available():
            message, fix = _NO_AST_GREP, install_command(AST_EXTRA)
            return [_finding(path, line, "no-ast-grep", message, fix, "info")]
        languages = {find_language(pattern.language), *map(language_of, pattern.files)} - {""}
        for language in sorted(languages):
            if why := check_syntax(pattern, language):
                message = f"detect: ast {pattern.text[:60]} is not {language}: {why}"
                fix = "write it as code, with $X for what varies"
                found.append(_finding(path, line, "bad-pattern", message, fix))
    return found


def _finding(
    path: str, line: int, rule: str, message: str, fix: str, level: str = "warning"
) -> Finding:
    return Finding(path=path, line=line, rule=rule, message=message, fix=fix, level=level)


def check_places(
    detecting: Sequence[tuple[Card, Document]], root: str, directory: str
) -> list[Finding]:
    """Return which patterns find more than a handful of places in a project, if it is in git."""
    if not git_top(directory):
        return []
    rules = {
        Rule(card=f"{card.id} {place}", pattern=one, globs=compile_globs(one.files)): (card, text)
        for card, text in detecting
        if card.status == "active"
        for place, one in enumerate(card.detect)
        if one.kind in ("regex", "ast")
    }
    places: dict[Rule, list[str]] = {rule: [] for rule in rules}
    for match in find_in_tree(directory, Matcher(rules), root=root) if rules else ():
        places[match.rule].append(f"{match.path}:{match.line}")
    message = "finds {:,} places in the project, the first in {}".format
    return [
        advise(*rules[rule], rule.pattern, FOUND_OFTEN, message(len(found), found[0]))
        for rule, found in places.items()
        if len(found) > MANY_PLACES
    ]
