"""Read documents that contain at most one lesson each, such as solutions, lessons of gptme, rules
for some files and decision records. A changelog contains none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from lessons_kb.cards.file_kinds import in_mapped_folder
from lessons_kb.cards.keys import Split, canonical, split_header
from lessons_kb.cards.parse import parse_card
from lessons_kb.cards.read_header import read_header
from lessons_kb.cards.sections import normal_newlines, read_sections
from lessons_kb.importers.incoming import (
    PREVENTION,
    SITUATION,
    Imported,
    Incoming,
    PassedOver,
    make_origin,
    shorten,
    unmarked,
)
from lessons_kb.importers.labelled_lessons import read_labelled_lessons
from lessons_kb.importers.rules_file import (
    GLOB_KEYS,
    AgentRule,
    RulesFile,
    as_item,
    find_former_origins,
    is_name_of_lessons,
    read_rules,
    title_of,
)
from lessons_kb.model import KINDS, NOTE

_KEYS_OF_ONE_LESSON = frozenset(("match", "problem-type", "root-cause", "symptoms"))
_FOLDER = {"lessons": "lesson"}
_RULE_SUFFIXES = (".mdc", ".instructions.md")
_MANY = 2
_CHANGELOG = re.compile(r"(?:.*[-_. ])?(?:change[-_ ]?logs?|release[-_ ]?notes)", re.IGNORECASE)
_HEADING = re.compile(r"^## +(.+?)[ #]*$", re.MULTILINE)
_RELEASE = re.compile(
    r"\[?(?:v(?:ersion)?\s*)?\d+\.\d+[\w.+-]*\]?(?:\([^)]*\))?(?:\W+\(?\d{4}-\d\d-\d\d\)?.*)?|"
    r"\[?unreleased\]?.*",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\A(?:ADR|RFC)?[-\s#]*\d*\s*[:.\u2013\u2014-]*\s*", re.IGNORECASE)
"""Matches the number before the title of a decision record."""
_DECISION = re.compile(r"(?:\d+[.)]\s+)?(?:the\s+)?decision(?:\s+outcome)?s?", re.IGNORECASE)
_OF_RECORDS = re.compile(
    r"(?:\d+[.)]\s+)?(?:status|consequences|decision\s+drivers|context(?:\s+and\s+problem\s+statement)?)",
    re.IGNORECASE,
)
_STATUS = re.compile(r"^\W*status\W*\s+\W*(\w+)", re.IGNORECASE | re.MULTILINE)
_NOT_IN_FORCE = ("rejected", "superseded", "deprecated", "proposed", "draft")
_LONGEST_DECISION = 1_500
"""The most characters of a decision that a card contains."""


def is_one_lesson(text: str, *, name: str, folders: Mapping[str, str]) -> bool:
    """Return whether a file contains one lesson, judged by its header, or by its folder and
    sections.
    """
    if name.endswith(_RULE_SUFFIXES):
        return False
    keys = read_texts(split_header(text))
    if _KEYS_OF_ONE_LESSON & keys.keys() or keys.get("type") in KINDS:
        return True
    if "docs/solutions/" in name.replace("\\", "/"):
        return True
    if not in_mapped_folder(name, folders):
        return False
    said = read_sections(normal_newlines(split_header(text).body))
    has_sections = any(part.role not in ("lead", "prose") for part in said.parts)
    return has_sections and len(read_labelled_lessons(text, name=name)) < _MANY


def read_document(text: str, *, name: str) -> Imported:
    """Return the lesson of a document, with the document's text word for word.

    A document that cannot be parsed, and a note, are passed over with the reason.
    """
    base = name.replace("\\", "/").rpartition("/")[2]
    # In this folder, a document without a kind is a lesson.
    document = parse_card(text, path=f"lessons/{base}", folders=_FOLDER)
    card = document.card
    if card is None or card.kind == NOTE:
        reason = document.findings[0].message if document.findings else "not a lesson"
        return Imported(
            lessons=(), passed_over=(PassedOver(title=base, where=f"{name}:1", reason=reason),)
        )
    lesson = Incoming(
        title=card.title,
        where=f"{name}:1",
        origin=make_origin("document", base, base, card.title),
        former=find_all_former_origins(read_rules(text, name=name)),
        kind=card.kind,
        text=text,
    )
    return Imported(lessons=(lesson,))


def is_changelog(text: str, *, name: str) -> bool:
    """Return whether a file is a changelog, judged by its name, or by releases as headings."""
    base = name.replace("\\", "/").rpartition("/")[2]
    if is_name_of_lessons(base):
        return False
    if _CHANGELOG.fullmatch(base.rpartition(".")[0] or base):
        return True
    headings = _HEADING.findall(text)
    releases = [heading for heading in headings if _RELEASE.fullmatch(heading)]
    return len(releases) >= _MANY and len(releases) * 2 > len(headings)


def is_decision_record(text: str) -> bool:
    """Return whether a file records one decision, judged by its headings."""
    headings = _HEADING.findall(normal_newlines(text))
    has_decision = any(map(_DECISION.fullmatch, headings))
    return has_decision and any(map(_OF_RECORDS.fullmatch, headings))


def read_decision_record(text: str, *, name: str) -> Imported:
    """Return the decision of a record as one lesson, or none if it is too long or not in force."""
    base = name.replace("\\", "/").rpartition("/")[2]
    file = read_rules(text, name=name)
    title = read_sections(normal_newlines(split_header(text).body)).title
    title = _NUMBER.sub("", title) or title or base
    decision = [rule for rule in file.rules if any(map(_DECISION.fullmatch, rule.headings))]
    reason = _why_record_is_none(text, decision)
    if reason:
        passed_over = PassedOver(title=title, where=f"{name}:1", reason=reason)
        return Imported(lessons=(), passed_over=(passed_over,))
    items = "\n\n".join(as_item(rule.text) for rule in decision)
    lesson = Incoming(
        title=shorten(title),
        where=f"{name}:1",
        origin=make_origin("decision", base, base, title),
        former=find_all_former_origins(file),
        sections=((SITUATION, f"From {base}, a decision record."), (PREVENTION, items)),
    )
    return Imported(lessons=(lesson,))


def _why_record_is_none(text: str, decision: Sequence[AgentRule]) -> str:
    status = _STATUS.search(text)
    if status and status[1].casefold() in _NOT_IN_FORCE:
        return f"a decision that is {status[1].casefold()}"
    if not decision:
        return "a record without a decision"
    if sum(len(rule.text) for rule in decision) > _LONGEST_DECISION:
        return "a decision record that is too long for a card"
    return ""


def is_rule_document(text: str, *, name: str) -> bool:
    """Return whether a file contains one rule of Cursor or Copilot that applies only to some
    tasks.
    """
    if not name.endswith(_RULE_SUFFIXES):
        return False
    keys = read_texts(split_header(text))
    if keys.get("alwaysapply", "").casefold() == "true":
        return False
    has_globs = any(keys.get(key) for key in GLOB_KEYS)
    is_everywhere = has_globs and not read_rules(text, name=name).globs
    return bool(keys.get("description")) or not is_everywhere


def read_rule_document(text: str, *, name: str) -> Imported:
    """Return a rule for some files as one lesson, with its text word for word."""
    base = name.replace("\\", "/").rpartition("/")[2]
    split = split_header(text)
    file = read_rules(text, name=name)
    description = shorten(unmarked(read_texts(split).get("description", "")), 200)
    heading = read_sections(normal_newlines(split.body)).title
    stem = re.sub(r"[-_.]+", " ", base.partition(".")[0])
    only_rule = title_of(file.rules[0]) if len(file.rules) == 1 else ""
    title = heading or description or only_rule or stem
    lesson = Incoming(
        title=title,
        where=f"{name}:1",
        origin=make_origin("rules", base, base, title),
        former=find_all_former_origins(file),
        body=split.body,
        paths=file.globs,
        declared_paths=True,
        symptoms=(description,) if description and description != title else (),
    )
    return Imported(lessons=(lesson,))


def read_texts(split: Split) -> dict[str, str]:
    """Return a mapping from the canonical key of each entry of a header to its first text."""
    texts: dict[str, str] = {}
    for entry in read_header(split).entries if split.header else ():
        values = [text for text in entry.texts if text]
        texts[canonical(entry.key)] = values[0] if values else ""
    return texts


def find_all_former_origins(file: RulesFile) -> tuple[str, ...]:
    """Return the origins of all cards that release 0.1.0 created from a file."""
    return tuple(dict.fromkeys(find_former_origins(file).values()))
