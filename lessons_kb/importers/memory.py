"""Read notes for agents in any supported form, as rules, lessons or memories."""

from __future__ import annotations

import os
from collections.abc import Collection

from lessons_kb.cards.file_kinds import is_note_name
from lessons_kb.cards.keys import split_header
from lessons_kb.importers.claude_memory import find_memory_type, read_claude_memory
from lessons_kb.importers.codex_memory import is_codex_memory, read_codex_memory
from lessons_kb.importers.exported_rules import BEGINS, read_exported_rules
from lessons_kb.importers.incoming import Imported
from lessons_kb.importers.rules_file import (
    has_heading_of_lessons,
    holds_lessons,
    is_name_of_lessons,
    read_notes,
    read_rules,
)
from lessons_kb.importers.whole_documents import (
    is_decision_record,
    is_rule_document,
    read_decision_record,
    read_rule_document,
)
from lessons_kb.values import replace


def is_memory(text: str, *, name: str) -> bool:
    """Return whether notes contain a lesson or a rule, and not only prose."""
    exported = read_exported_rules(text, name=name)
    if exported.imported.lessons:
        return True
    text = exported.rest
    return is_codex_memory(text) or bool(find_memory_type(text)) or holds_lessons(text, name=name)


def is_documentation(text: str, *, name: str) -> bool:
    """Return whether the headings of a text name topics as documentation does, and no lessons.

    A README needs fewer such headings than a file with another name.
    """
    if is_name_of_lessons(name) or is_codex_memory(text) or find_memory_type(text):
        return False
    if has_heading_of_lessons(text, name=name) or BEGINS in text:
        return False
    notes = read_memory(text, name=name)
    is_readme = is_note_name(os.path.basename(name))
    fewest, share = (1, _SHARE_IN_README) if is_readme else (_FEWEST_TOPICS, _SHARE)
    return notes.topics >= max(fewest, share * len(notes.lessons))


_FEWEST_TOPICS, _SHARE, _SHARE_IN_README = 5, 2 / 3, 1 / 4
"""The minimum number of lessons that are titled by a topic, and their share of all lessons."""


def read_memory(
    text: str, *, name: str, siblings: Collection[str] = (), directory: str = ""
) -> Imported:
    """Return the lessons in notes for agents, and the parts that are not lessons.

    ``siblings`` are the names of the files in the same folder. Lines of an index that only name
    such a file are skipped. With ``directory``, memories about other projects are also skipped.
    A rule that `lessons export rules` wrote is one lesson.
    """
    if BEGINS in text:
        globs = read_rules(text, name=name).globs
        exported = read_exported_rules(text, name=name, globs=globs)
        rest = exported.rest
        others = Imported(lessons=())
        if split_header(rest).body.strip():
            others = read_memory(rest, name=name, siblings=siblings, directory=directory)
        return replace(
            others,
            lessons=(*exported.imported.lessons, *others.lessons),
            passed_over=(*exported.imported.passed_over, *others.passed_over),
        )
    if is_codex_memory(text):
        return read_codex_memory(text, name=name, directory=directory)
    if find_memory_type(text):
        return read_claude_memory(text, name=name)
    if is_rule_document(text, name=name):
        return read_rule_document(text, name=name)
    if is_decision_record(text) and not is_name_of_lessons(name):
        return read_decision_record(text, name=name)
    return read_notes(text, name=name, siblings=siblings)
