"""Read notes for agents in any supported form, as rules, lessons or memories."""

from __future__ import annotations

from collections.abc import Collection

from lessons_kb.importers.claude_memory import find_memory_type, read_claude_memory
from lessons_kb.importers.codex_memory import is_codex_memory, read_codex_memory
from lessons_kb.importers.incoming import Imported
from lessons_kb.importers.rules_file import holds_lessons, is_name_of_lessons, read_notes
from lessons_kb.importers.whole_documents import (
    is_decision_record,
    is_rule_document,
    read_decision_record,
    read_rule_document,
)


def is_memory(text: str, *, name: str) -> bool:
    """Return whether notes contain a lesson or a rule, and not only prose."""
    return is_codex_memory(text) or bool(find_memory_type(text)) or holds_lessons(text, name=name)


def read_memory(
    text: str, *, name: str, siblings: Collection[str] = (), directory: str = ""
) -> Imported:
    """Return the lessons in notes for agents, and the parts that are not lessons.

    ``siblings`` are the names of the files in the same folder. Lines of an index that only name
    such a file are skipped. With ``directory``, memories about other projects are also skipped.
    """
    if is_codex_memory(text):
        return read_codex_memory(text, name=name, directory=directory)
    if find_memory_type(text):
        return read_claude_memory(text, name=name)
    if is_rule_document(text, name=name):
        return read_rule_document(text, name=name)
    if is_decision_record(text) and not is_name_of_lessons(name):
        return read_decision_record(text, name=name)
    return read_notes(text, name=name, siblings=siblings)
