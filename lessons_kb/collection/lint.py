"""Lint the files of a brain."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.copied_cards import report_copy
from lessons_kb.brain.write_index import (
    check_globs,
    is_left_out,
    read_document,
    report_unreadable,
)
from lessons_kb.cards.anchors import format_claims, parse_claims
from lessons_kb.cards.check_card import check_card
from lessons_kb.cards.check_examples import FOUND_OFTEN, advise
from lessons_kb.cards.conflicts import choose
from lessons_kb.cards.copies import CardFile, find_copies
from lessons_kb.cards.edit import replace_paths
from lessons_kb.cards.keys import find_line_of
from lessons_kb.cards.links import normal_title
from lessons_kb.cards.standings import check_standing
from lessons_kb.collection.contradictions import find_all
from lessons_kb.detect.matcher import EXTRA as AST_EXTRA
from lessons_kb.detect.matcher import (
    Matcher,
    Rule,
    check_syntax,
    find_language,
    is_available,
    language_of,
)
from lessons_kb.errors import ConfigError, InputError, StorageError
from lessons_kb.find.broad_paths import explain_broad_paths, explain_wide_gate
from lessons_kb.find.project_detection import find_in_tree, list_tree
from lessons_kb.freshness.refresh import find_unmatched_paths, judge_documents
from lessons_kb.model import CURRENT, NOTE, Card, Document, Finding, Pattern
from lessons_kb.process.clock import today
from lessons_kb.process.installation import install_command
from lessons_kb.store import card_files
from lessons_kb.store.brain_settings import read_ignored, read_settings
from lessons_kb.store.locations import CONFIG_NAME
from lessons_kb.store.repositories import git_top
from lessons_kb.store.scan import scan_brain
from lessons_kb.text.patterns import compile_globs, match_globs
from lessons_kb.text.sanitize import shell_word, shorten
from lessons_kb.values import replace

_MANY_PLACES = 5
"""A pattern with more matches in today's code describes something ordinary."""
_NO_AST_GREP = "detect: ast patterns are not looked for: ast-grep is not installed"


def lint(
    brain: Brain,
    directory: str = "",
    *,
    progress: Callable[[int, int], object] = lambda _done, _total: None,
) -> list[Finding]:
    """Read every file of a brain again, and return the findings by path and line.

    With ``directory``, the root of a project in git, patterns with too many matches in its files
    are reported as well. ``progress`` receives the number of files read and the number of all
    files.
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
        if is_left_out(path, data, document, settings):
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
    findings += check_broad_paths(documents, directory) if directory else []
    findings += check_freshness(brain, documents)
    findings += check_unmatched_paths(brain, documents)
    findings += check_conflicts(brain.root, (document.card for document in documents))
    findings += check_successions(documents)
    return sorted(findings, key=by_place)


def by_place(finding: Finding) -> tuple[str, int, str]:
    """Return the key that sorts findings by path and line."""
    return finding.path, finding.line, finding.rule


def check_document(document: Document) -> list[Finding]:
    """Return the findings about a file that depend only on its text."""
    is_note = document.card is not None and document.card.kind == NOTE
    found = document.findings if is_note else check_card(document)
    return [*found, *check_globs(document)]


def check_paths(documents: Iterable[Document], directory: str) -> list[Finding]:
    """Return findings about globs with spaces that match no file of a project in git.

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


def check_broad_paths(documents: Iterable[Document], directory: str) -> list[Finding]:
    """Return findings about active cards with ``paths`` that match too many files."""
    if not git_top(directory):
        return []
    guarding: list[tuple[Document, Card]] = []
    for document in documents:
        card = document.card
        if card is not None and card.paths and card.kind != NOTE and card.status == "active":
            guarding.append((document, card))
    if not guarding:
        return []
    files = list_tree(directory)
    findings = []
    for document, card in guarding:
        line = find_line_of("paths", document.key_lines)
        message, _, fix = explain_broad_paths(card, directory, files).partition("; ")
        if message:
            findings.append(_finding(card.id, line, "broad-path", message, fix))
        message, _, fix = explain_wide_gate(card, directory, files).partition("; ")
        if message:
            findings.append(_finding(card.id, line, "wide-gate", message, fix, "info"))
    return findings


def check_freshness(brain: Brain, documents: Iterable[Document]) -> list[Finding]:
    """Return findings about cards whose code was moved or is gone, or that need confirmation."""
    documents = list(documents)
    standings = judge_documents(brain, documents)
    findings = []
    for document in documents:
        if document.card is not None and document.card.kind != NOTE:
            standing = standings.get(document.card.id, CURRENT)
            findings += check_standing_of(replace(document.card, standing=standing), document)
    return findings


def check_unmatched_paths(brain: Brain, documents: Iterable[Document]) -> list[Finding]:
    """Return a remark on each entry of an active card's ``paths`` that never matched a file."""
    by_id = {
        document.card.id: document
        for document in documents
        if document.card is not None and document.card.status == "active"
    }
    texts = [format_claims(document) for document in by_id.values()]
    claims = [parse_claims(text) for text in texts if text]
    findings = []
    for card_id, names in find_unmatched_paths(brain, claims).items():
        line = find_line_of("paths", by_id[card_id].key_lines)
        for name in names:
            if " " not in name:  # `check_paths` warns about it
                message = (
                    f"paths: {name[:60]!r} matches no file of the project, now or in its history"
                )
                fix = "correct it, unless the file is still to be written"
                findings.append(_finding(card_id, line, UNMATCHED_PATH, message, fix, "info"))
    return findings


UNMATCHED_PATH = "unmatched-path"
"""The lint rule for entries of ``paths`` that never matched a file."""


def check_conflicts(root: str, cards: Iterable[Card | None]) -> list[Finding]:
    """Return the findings about cards that demand the opposite of another card."""
    findings = []
    for conflict in find_all(root, (card for card in cards if card is not None)):
        given, other = choose(conflict.first, conflict.second)
        message = (
            f"contradicts {given.id}: \u201c{shorten(conflict.demand, MAX_DEMAND)}\u201d against "
            f"\u201c{shorten(conflict.opposed, MAX_DEMAND)}\u201d"
        )
        fix = (
            f"rewrite one of the two, or archive this one: `lessons archive {shell_word(other.id)}`"
        )
        if conflict.is_judged:
            message += ", as an agent judges"
            fix = f"run `lessons lint --fix` and say whether it is so, or {fix}"
        else:
            message += "; a block has the other one"
        findings.append(_finding(other.id, 0, CONFLICT, message, fix))
    return findings


CONFLICT = "conflict"
"""The lint rule for two cards that make opposite demands."""
MAX_DEMAND = 80
"""The maximum number of characters of a demand in a message."""


def check_successions(documents: Iterable[Document]) -> list[Finding]:
    """Return the findings about names of other cards in headers that fit no card."""
    documents = [document for document in documents if document.card is not None]
    names: set[str] = set()
    for document in documents:
        path = document.card.id if document.card else ""
        stem = os.path.splitext(path)[0]
        names.update((path, stem, os.path.basename(path), os.path.basename(stem)))
    findings = []
    for document in documents:
        card = document.card
        if card is None:
            continue
        named = [("supersedes", name) for name in card.supersedes]
        named += [("contradicts", name) for name in card.contradicts]
        named += [("superseded-by", card.superseded_by)] if card.superseded_by else []
        for key, name in named:
            if name not in names:
                message = f"{key}: no card is named {name}, so it has no effect"
                line = document.key_lines.get(key, 0)
                fix = "write the path or the file name of a card of this brain"
                findings.append(_finding(card.id, line, "unknown-card", message, fix))
    return findings


def check_standing_of(card: Card, document: Document) -> list[Finding]:
    """Return the findings about the standing of a card, with their lines in its file."""
    lines = document.key_lines
    return check_standing(
        card,
        today(),
        paths_line=find_line_of("paths", lines),
        stale_line=find_line_of("stale_after", lines),
    )


def fix_moved_paths(brain: Brain) -> list[str]:
    """Rewrite the entries of ``paths`` whose files were moved, and return the ids of their cards.

    All other bytes of a file stay the same. Entries in a text below a label stay as well.
    """
    settings, _origins = read_settings(brain.root)
    limit = settings.index.max_file_bytes
    documents = []
    for path in scan_brain(brain.root, settings, read_ignored(brain.root)).files:
        with contextlib.suppress(StorageError):
            documents.append(read_document(brain.root, path, settings.folders, limit)[1])
    fixed = []
    for card_id, standing in judge_documents(brain, documents).items():
        moves: dict[str, list[str]] = {}
        for old, new in standing.moved:
            moves.setdefault(old, []).append(new)
        if moves:
            card_files.rewrite(brain.root, card_id, partial(_replace_paths, moves=moves))
            brain.touch()
            fixed.append(card_id)
    return fixed


def _replace_paths(data: bytes, *, moves: Mapping[str, Sequence[str]]) -> bytes:
    return replace_paths(data.decode("utf-8"), moves).encode("utf-8")


def check_syntax_of(detecting: Sequence[tuple[Card, Document]]) -> list[Finding]:
    """Return the ``ast`` patterns with a syntax error, or a single remark without ast-grep."""
    findings: list[Finding] = []
    for card, document in detecting:
        line = document.key_lines.get("detect", 0)
        patterns = [pattern for pattern in card.detect if pattern.kind == "ast"]
        if patterns and not is_available():
            message = _NO_AST_GREP
            fix = install_command(AST_EXTRA)
            return [_finding(card.id, line, "no-ast-grep", message, fix, "info")]
        for pattern in patterns:
            findings += _check_languages(pattern, card.id, line)
    return findings


def _check_languages(pattern: Pattern, path: str, line: int) -> Iterator[Finding]:
    """Yield a finding for each language in which an ``ast`` pattern has a syntax error."""
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
    """Return findings about patterns with more than a handful of matches in a project in git."""
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
        if len(rule_places) > _MANY_PLACES:
            count = f"{len(rule_places):,} places in the project"
            message = f"finds {count}, the first in {rule_places[0]}"
            findings.append(advise(*owners[rule], rule.pattern, FOUND_OFTEN, message))
    return findings
