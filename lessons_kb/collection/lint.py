"""Lint the files of a brain."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.search_index import check_globs, read_document, report_unreadable
from lessons_kb.cards.check_card import check_card
from lessons_kb.cards.copies import CardFile, Copy, find_copies
from lessons_kb.cards.keys import find_line_of
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
from lessons_kb.model import NOTE, Card, Document, Finding, Pattern
from lessons_kb.process.installation import install_command
from lessons_kb.store.brain_settings import read_ignored, read_settings
from lessons_kb.store.locations import CONFIG_NAME
from lessons_kb.store.repositories import git_top
from lessons_kb.store.scan import scan_brain
from lessons_kb.text.patterns import compile_globs, match_globs

_NO_AST_GREP = "detect: ast patterns are not looked for: ast-grep is not installed"


def lint(brain: Brain, directory: str = "") -> list[Finding]:
    """Read every file of a brain again and return the findings, by path and line.

    With ``directory``, the root of a project in git, patterns that match too many places in its
    files are reported, too.
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
    for path in seen.files:
        try:
            data, document = read_document(brain.root, path, settings.folders, limit)
        except StorageError as error:
            findings.append(report_unreadable(path, error))
            continue
        findings += check_document(document)
        documents.append(document)
        if document.card is not None and document.card.kind != NOTE:
            card_files.append(CardFile(path=path, data=data, title=document.card.title))
        if document.card is not None and document.card.detect:
            detecting.append((document.card, document))
    findings += map(_report_copy, find_copies(card_files))
    findings += check_syntax_of(detecting)
    findings += check_places(detecting, brain.root, directory) if directory else []
    findings += check_paths(documents, directory) if directory else []
    return sorted(findings, key=by_place)


def _report_copy(copy: Copy) -> Finding:
    """Return the finding for a file that is a copy of another card."""
    if copy.is_same:
        message, fix = f"the same as {copy.original}, byte for byte", "remove one of the two"
    else:
        message = f"a copy of {copy.original}, by its name"
        fix = "move what it says beyond that into the original, and remove it"
    return _finding(copy.path, 0, "copied-card", message, fix)


def by_place(finding: Finding) -> tuple[str, int, str]:
    """Return the key that sorts findings by path and line."""
    return finding.path, finding.line, finding.rule


def check_document(document: Document) -> list[Finding]:
    """Return the findings about a file that follow from its text alone."""
    is_note = document.card is not None and document.card.kind == NOTE
    found = document.findings if is_note else check_card(document)
    return [*found, *check_globs(document)]


def check_paths(documents: Iterable[Document], directory: str) -> list[Finding]:
    """Return the globs with spaces that match no file of a project in git.

    They are probably several globs in one value.
    """
    if not git_top(directory):
        return []
    globs_with_spaces: list[tuple[Document, Card, str]] = []
    for document in documents:
        card = document.card
        if card is not None:
            globs_with_spaces += [(document, card, path) for path in card.paths if " " in path]
    if not globs_with_spaces:
        return []
    files = list_tree(directory)
    findings = []
    for document, card, path in globs_with_spaces:
        with contextlib.suppress(InputError):
            globs = compile_globs([path])
            if not any(match_globs(globs, file) for file in files):
                line = find_line_of("paths", document.key_lines)
                message = f"paths: {path[:60]!r} matches no file of the project"
                fix = "write globs, separated by commas, such as src/**/*.py"
                findings.append(_finding(card.id, line, "odd-path", message, fix))
    return findings


def check_syntax_of(detecting: Sequence[tuple[Card, Document]]) -> list[Finding]:
    """Return the ``ast`` patterns with a syntax error; without ast-grep, a single remark."""
    findings: list[Finding] = []
    for card, document in detecting:
        line = document.key_lines.get("detect", 0)
        patterns = [pattern for pattern in card.detect if pattern.kind == "ast"]
        if patterns and not is_available():
            message, fix = _NO_AST_GREP, install_command(AST_EXTRA)
            return [_finding(card.id, line, "no-ast-grep", message, fix, "info")]
        for pattern in patterns:
            findings += _check_languages(pattern, card.id, line)
    return findings


def _check_languages(pattern: Pattern, path: str, line: int) -> Iterator[Finding]:
    """Yield a finding for each of its languages in which an ``ast`` pattern has a syntax error."""
    languages = {find_language(pattern.language), *map(language_of, pattern.files)} - {""}
    for language in sorted(languages):
        fault = check_syntax(pattern, language)
        if fault:
            message = f"detect: ast {pattern.text[:60]} is not {language}: {fault}"
            fix = "write it as code, with $X for what varies"
            yield _finding(path, line, "bad-pattern", message, fix)


def _finding(
    path: str, line: int, rule: str, message: str, fix: str, level: str = "warning"
) -> Finding:
    return Finding(path=path, line=line, rule=rule, message=message, fix=fix, level=level)


def check_places(
    detecting: Sequence[tuple[Card, Document]], root: str, directory: str
) -> list[Finding]:
    """Return the patterns that match more than a handful of places in a project in git."""
    if not git_top(directory):
        return []
    owners: dict[Rule, tuple[Card, Document]] = {}
    for card, document in detecting:
        if card.status != "active":
            continue
        for number, pattern in enumerate(card.detect):
            if pattern.kind in ("regex", "ast"):
                globs = compile_globs(pattern.files)
                rule = Rule(card=f"{card.id} {number}", pattern=pattern, globs=globs)
                owners[rule] = card, document
    if not owners:
        return []
    places: dict[Rule, list[str]] = {rule: [] for rule in owners}
    for match in find_in_tree(directory, Matcher(owners), root=root):
        places[match.rule].append(f"{match.path}:{match.line}")
    findings: list[Finding] = []
    for rule, rule_places in places.items():
        if len(rule_places) > MANY_PLACES:
            count = f"{len(rule_places):,} places in the project"
            message = f"finds {count}, the first in {rule_places[0]}"
            findings.append(advise(*owners[rule], rule.pattern, FOUND_OFTEN, message))
    return findings
