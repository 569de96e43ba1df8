"""Read the MEMORY.md of Codex, with groups of tasks that have preferences, knowledge and failures.

The prompt that writes it is `memories/write/templates/memories/consolidation.md` of openai/codex.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from lessons_kb.cards import sections as parts
from lessons_kb.importers.incoming import (
    CAUSE,
    MISTAKE,
    PREVENTION,
    SECTIONS,
    SITUATION,
    Imported,
    Incoming,
    PassedOver,
    make_origin,
    shorten,
    split_lead,
    unmarked,
)
from lessons_kb.importers.rules_file import (
    AgentRule,
    RulesFile,
    collect_former,
    find_former_origins,
    find_names,
    is_place,
    read_rules,
)

_GROUP = re.compile(r"(?m)^# Task Group:[ \t]*(.*)$")
_CLUSTER = re.compile(r"(?m)^---\n(rollout_summary_files:\n.*?)\n---$", re.DOTALL)
_FIELD = re.compile(r"(?m)^(scope|applies_to|description|keywords):[ \t]*(.+)$")
_CWD = re.compile(r"\bcwd=([^;\n]+)")
_TASK = re.compile(r"[ \t]*\[Tasks? [^\]]*\]")
_METADATA = ("rollout_summary_files", "keywords")
_FAILURES = re.compile(r"failures?\b|things that did not work", re.IGNORECASE)
_TASK_HEADING = re.compile(r"Task \d+\b")
_LABELLED = re.compile(
    r"Symptom:\s*(?P<symptom>.+?)\s*Cause:\s*(?P<cause>.+?)\s*Fix:\s*(?P<fix>.+)", re.DOTALL
)
_ARROW = re.compile(r"\s+(?:->|→)\s+")
_MARKER = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")


class _Group(NamedTuple):
    """A group of tasks."""

    title: str
    text: str
    line: int
    """The 1-based line of its heading."""


class _Entry(NamedTuple):
    """An item of a group."""

    heading: str
    text: str
    """The Markdown of the item, without its marker and without references to tasks."""
    line: int


def is_codex_memory(text: str) -> bool:
    """Return whether a file is a MEMORY.md of Codex."""
    return bool(_GROUP.search(text) or _CLUSTER.search(text))


def read_codex_memory(text: str, *, name: str, directory: str = "") -> Imported:
    """Return the lessons of a MEMORY.md of Codex.

    Each failure is a lesson. The preferences of a group are one lesson, and its knowledge is
    another. With ``directory``, groups about other folders are skipped.
    """
    file = read_rules(text, name=name)
    lessons: list[Incoming] = []
    passed: list[PassedOver] = []
    for group in _find_groups(text):
        fields = dict(_FIELD.findall(group.text))
        cwd = _CWD.search(fields.get("applies_to", ""))
        if directory and cwd and not _is_same_project(cwd[1].strip(), directory):
            reason = f"about {cwd[1].strip()}"
            passed.append(
                PassedOver(title=group.title, where=f"{name}:{group.line}", reason=reason)
            )
            continue
        lessons += _read_group(group, fields, file)
    return Imported(lessons=tuple(lessons), passed_over=tuple(passed))


def _is_same_project(cwd: str, directory: str) -> bool:
    """Return whether a folder is the project's folder, inside it, or around it."""
    folder = cwd.replace("\\", "/").rstrip("/")
    project = directory.replace("\\", "/").rstrip("/")
    return f"{folder}/".startswith(f"{project}/") or f"{project}/".startswith(f"{folder}/")


def _find_groups(text: str) -> Iterator[_Group]:
    heads = list(_GROUP.finditer(text))
    for place, head in enumerate(heads):
        end = heads[place + 1].start() if place + 1 < len(heads) else len(text)
        title = unmarked(head[1]).strip() or "Codex"
        yield _Group(title, text[head.end() : end], 1 + text.count("\n", 0, head.start()))
    if heads:
        return
    clusters = list(_CLUSTER.finditer(text))
    for place, head in enumerate(clusters):
        end = clusters[place + 1].start() if place + 1 < len(clusters) else len(text)
        title = dict(_FIELD.findall(head[1])).get("description", "Codex")
        line = 1 + text.count("\n", 0, head.start())
        yield _Group(title, head[1] + "\n\n## \n" + text[head.end() : end], line)


def _read_group(group: _Group, fields: dict[str, str], file: RulesFile) -> Iterator[Incoming]:
    entries, keywords = _read_entries(group)
    if "keywords" in fields:
        keywords = [fields["keywords"]]
    situation = [f"From {file.name.rpartition('/')[2]}, “{group.title}”.", fields.get("scope", "")]
    if keywords:
        situation.append(f"Keywords: {', '.join(keywords)}")
    about = "\n\n".join(filter(None, situation))
    former = find_former_origins(file)
    last = group.line + group.text.count("\n")
    rules = [rule for rule in file.rules if group.line <= rule.line <= last]
    for heading in dict.fromkeys(entry.heading for entry in entries):
        own = [entry for entry in entries if entry.heading == heading]
        is_failure = _FAILURES.match(heading) is not None
        for batch in [[entry] for entry in own] if is_failure else [own]:
            names = [name for entry in batch for name in find_names(entry.text)]
            if is_failure:
                title = _title_of_failure(batch[0])
                texts = _sort_failure(batch[0])
            else:
                title = _title_of_section(group, heading)
                texts = _list_items(batch)
            texts[SITUATION] = about
            yield Incoming(
                title=shorten(title),
                where=f"{file.name}:{batch[0].line}",
                origin=make_origin("codex", "MEMORY.md", *(entry.text for entry in batch)),
                former=collect_former(former, _lines_of(batch, rules)),
                sections=tuple((key, texts[key]) for key in SECTIONS if texts.get(key)),
                paths=tuple(dict.fromkeys(filter(is_place, names))),
            )


def _title_of_section(group: _Group, heading: str) -> str:
    if not heading:
        return group.title
    return f"{group.title}: {heading[0].lower()}{heading[1:]}"


def _lines_of(batch: list[_Entry], rules: list[AgentRule]) -> list[int]:
    texts = [" ".join(entry.text.split()) for entry in batch]
    lines = []
    for rule in rules:
        words = " ".join(_TASK.sub("", _MARKER.sub("", rule.text, count=1)).split())
        if words in texts:
            lines.append(rule.line)
    return lines


def _read_entries(group: _Group) -> tuple[list[_Entry], list[str]]:
    """Return the entries of a group, and the keywords of its tasks."""
    body = parts.normal_newlines(group.text)
    lines = body.split("\n")
    entries: list[_Entry] = []
    keywords: list[str] = []
    heading = ""
    is_listing = False
    for block in parts.read_blocks(body):
        text = "\n".join(lines[block.first : block.end])
        if block.kind == "heading":
            label = text.strip("# ").strip()
            if label in _METADATA or not _TASK_HEADING.match(label):
                heading = label
            is_listing = True
            continue
        if not is_listing:
            continue  # the fields below the group's heading
        if heading == "keywords":
            keywords.append(_MARKER.sub("", text, count=1).strip())
        elif heading not in _METADATA and block.kind != "hr":
            clean = _TASK.sub("", _MARKER.sub("", text, count=1)).strip()
            entries.append(_Entry(heading, clean, group.line + block.first))
    return entries, keywords


def _list_items(entries: list[_Entry]) -> dict[str, str]:
    return {PREVENTION: "\n".join(f"- {entry.text}" for entry in entries)}


def _sort_failure(entry: _Entry) -> dict[str, str]:
    """Return the sections of an entry ``symptom -> cause -> fix``, or of a text without these
    parts.
    """
    labelled = _LABELLED.match(entry.text)
    if labelled:
        symptom, cause, fix = labelled["symptom"], labelled["cause"], labelled["fix"]
        return {MISTAKE: symptom, CAUSE: cause, PREVENTION: f"- {fix}"}
    steps = _ARROW.split(entry.text)
    if len(steps) == 1:
        return {PREVENTION: f"- {entry.text}"}
    texts = {MISTAKE: steps[0], PREVENTION: f"- {steps[-1]}"}
    if len(steps) > 2:  # noqa: PLR2004 - symptom, cause and fix
        texts[CAUSE] = " -> ".join(steps[1:-1])
    return texts


def _title_of_failure(entry: _Entry) -> str:
    labelled = _LABELLED.match(entry.text)
    symptom = labelled["symptom"] if labelled else _ARROW.split(entry.text)[0]
    return split_lead(symptom)[0]
