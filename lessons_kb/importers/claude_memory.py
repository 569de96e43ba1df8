"""Read Claude Code's automatic memory, which has one file for each memory and an index,
MEMORY.md.
"""

from __future__ import annotations

import re

from lessons_kb.cards import sections as parts
from lessons_kb.cards.keys import split_header
from lessons_kb.importers.incoming import (
    PREVENTION,
    SECTIONS,
    SITUATION,
    Imported,
    Incoming,
    PassedOver,
    add_to_situation,
    make_origin,
    shorten,
    unmarked,
)
from lessons_kb.importers.labelled_lessons import SECTION_OF_ROLE, as_item
from lessons_kb.importers.rules_file import find_names, is_place, read_rules
from lessons_kb.importers.whole_documents import find_all_former_origins

FEEDBACK, PROJECT = "feedback", "project"
_TYPE = re.compile(r"\s*type:\s*[\"']?(user|feedback|project|reference)[\"']?\s*")
_FIELD = re.compile(r"(name|description):\s*[\"']?(.+?)[\"']?\s*")
_ERROR = re.compile(
    r"\b\w+(?:Error|Exception)\b|\b(?:error|fatal|panic|exception|traceback)\b[^\n]{0,3}[:(]"
    r"|\bE[A-Z]{4,}\b|\bexit (?:code|status) [1-9]",
    re.IGNORECASE,
)
"""An error message in the form that tools print."""
_QUOTE = re.compile(r"`([^`\n]+)`|\"([^\"\n]+)\"|^(?: {4}|\t|>)(.+)$", re.MULTILINE)
_FENCE = re.compile(r"```.*?```", re.DOTALL)


def find_memory_type(text: str) -> str:
    """Return the type of a memory, or "" if the file is not a memory."""
    header = split_header(text).header
    for line in header.lines if header else ():
        match = _TYPE.fullmatch(line)
        if match:
            return match[1]
    return ""


def read_claude_memory(text: str, *, name: str) -> Imported:
    """Return the lesson in a memory, or the reason why the memory contains no lesson.

    A memory about the project is a lesson if it quotes an error message.
    """
    base = name.replace("\\", "/").rpartition("/")[2]
    split = split_header(text)
    fields: dict[str, str] = {}
    for line in split.header.lines if split.header else ():
        match = _FIELD.fullmatch(line)
        if match:
            fields.setdefault(match[1], unmarked(match[2]))
    description = fields.get("description", "").rstrip(".")
    body = parts.normal_newlines(split.body).strip()
    kind = find_memory_type(text)
    if kind != FEEDBACK and not (kind == PROJECT and _quotes_error(body)):
        reason = f"a memory about the {kind}, not a lesson"
        passed = PassedOver(title=description or base, where=f"{name}:1", reason=reason)
        return Imported(lessons=(), passed_over=(passed,))
    label = fields.get("name", "")
    heading = parts.read_sections(body).title
    title = label if " " in label else description or heading or label or base
    symptom = shorten(description, 200)
    file = read_rules(text, name=name)
    has_headings = bool(parts.find_headings(body, deepest=3))
    lesson = Incoming(
        title=shorten(title),
        where=f"{name}:1",
        origin=make_origin("rules", base, base, title),
        former=find_all_former_origins(file),
        body=body if has_headings else "",
        sections=() if has_headings else _read_sections(body, base),
        paths=tuple(dict.fromkeys(filter(is_place, find_names(body)))),
        symptoms=(symptom,) if symptom and symptom != title else (),
    )
    return Imported(lessons=(lesson,))


def _quotes_error(text: str) -> bool:
    quotes = _FENCE.findall(text)
    for groups in _QUOTE.findall(text):
        quotes += groups
    return any(map(_ERROR.search, quotes))


def _read_sections(body: str, base: str) -> tuple[tuple[str, str], ...]:
    """Return the sections of a memory. It begins with the rule, and labels mark the other parts."""
    said = parts.read_sections(body)
    labelled = [part for part in said.parts if part.is_lead_in]
    lines = body.split("\n")
    lead = "\n".join(lines[: labelled[0].head] if labelled else lines).strip()
    texts: dict[str, list[str]] = {}
    if lead:
        texts[PREVENTION] = [as_item(lead)]
    for part in labelled:
        text = part.text.strip()
        section = SECTION_OF_ROLE.get(part.role, SITUATION)
        if text:
            whole = as_item(text) if section == PREVENTION else text
            texts.setdefault(section, []).append(whole)
    found = tuple((name, "\n\n".join(texts[name])) for name in SECTIONS if name in texts)
    return add_to_situation(found, f"From {base}.")
