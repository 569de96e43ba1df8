"""Read a clause of a rule, which is a condition such as "when you change `src/pay.ts`"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from lessons_kb.diet.condition import (
    COMMAND_START,
    GONE,
    Condition,
    join_conditions,
    make_command_condition,
    make_path_condition,
    sample_files,
)
from lessons_kb.diet.edited_places import find_edited_places, is_negated
from lessons_kb.diet.project_files import Project
from lessons_kb.diet.situations import (
    Situation,
    find_by_command,
    find_in_clause,
    get_situation,
)
from lessons_kb.importers.incoming import unmarked as unmark_prose
from lessons_kb.importers.rules_file import is_command, is_place
from lessons_kb.text.paths import find_paths

CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
SENTENCE_END = re.compile(r"(?<!e\.g\.)(?<!i\.e\.)(?<!etc\.)(?<=[.!?])[\"')*]*\s+(?=[A-Z`*\"(])")
_RUN = re.compile(
    r"(?:run(?:ning)?|execut\w*|invok\w*|call(?:ing)?|us(?:e|ing)|before|after|via|with)\s+"
    r"(?:the\s+)?`([^`\n]+)`",
    re.IGNORECASE,
)
"""Matches a command that is run, as opposed to a command that is missing or only mentioned."""
_ANY_TASK = re.compile(
    r"\b(?:any|each|every|all|making|make|made)\s+(?:code\s+)?(?:changes?|edits?|tasks?|work)\b|"
    r"\b(?:in doubt|unsure|possible|needed|necessary|applicable|relevant)\b",
    re.IGNORECASE,
)
_STATE = re.compile(
    r"\b(?:fail(?:s|ed|ing|ure|ures)?|missing|breaks?|broken|errors?|not found|unavailable|absent|"
    r"hangs?|crash(?:es)?|complains?|grows?|exceeds?|becomes?|reviewing)\b",
    re.IGNORECASE,
)
"""Matches a failure, a growth or a reading, which no edit and no command shows."""
_PROPERTY = re.compile(
    r"\b(?:has|have)(?!\s+(?:\w+\s+)?(?:been|\w+ed|written|built|made|run|set|put|done)\b)|"
    r"\b(?:contains?|supports|exists)\b|"
    r"(?<!you\s)\b(?:is|are)\s+(?!(?:not\s+)?(?:being|\w+ed|written|built|made|run|set|put|done)\b)"
    r"(?!(?:in|inside|under|within|on)\b)[\w-]+",
    re.IGNORECASE,
)
"""Matches a property ("it is public", "it has tests"), not an activity ("it is changed")."""
_AFTERWARDS = re.compile(
    r"\A(?:right\s+|immediately\s+)?(?:after|once|as\s+soon\s+as)\b", re.IGNORECASE
)
"""Matches the time after an activity."""
_BEFOREHAND = re.compile(r"\Abefore\b", re.IGNORECASE)
"""Matches the time before an activity."""
_ELSEWHERE = re.compile(
    r"\b(?:outside(?:\s+of)?|not\s+(?:in|under|inside|within)|except(?:\s+(?:in|for|under))?|"
    r"other\s+than|without|besides|excluding|beyond)\s+(?:the\s+)?`",
    re.IGNORECASE,
)
"""Matches a phrase for everywhere except in a place."""
_RULES_FILES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md", "README.md")
"""Names that, without a folder, mean the rules file itself or any such file."""
_ALTERNATIVES = re.compile(r",\s*(?:or|and)\s+|\s+(?:and/or|or|and)\s+|,\s+", re.IGNORECASE)
_DESCRIBES = re.compile(
    r"\s+(?:propert|keys?\b|fields?\b|scripts?\b|entr|settings?\b|options?\b|sections?\b|exports?\b)",
    re.IGNORECASE,
)
"""Matches a word that a name only describes, as in "package.json properties"."""
_DOING = re.compile(
    r"\A(?:when(?:ever)?|if|before|after|while|for|in|to|once|any ?time)\s+(?:you(?:'re)?\s+)?"
    r"(?:are\s+)?(?:\w+(?:ing|ed)\s+|(?:add|change|edit|modify|touch|update|create|write)\s+)?",
    re.IGNORECASE,
)
_SMALL = frozenset(
    (
        *("a", "an", "the", "any", "new", "existing", "on", "in", "to", "with"),
        *("add", "change", "edit", "update"),
    )
)
_START = re.compile(r"(?<!\[)\^")
"""Matches the start of a command line in a pattern, but not a negated set of characters."""
UNCONDITIONAL = "states no condition that a file or command shows"
IS_OTHER_COMMAND = "is about the command of a program other than git"
IS_LATE = "matters at other times than the edit or command that shows it"
ANY_TASK = "applies to any task"


class Reading(NamedTuple):
    """The result of reading a clause: a condition, or the reason why there is none."""

    condition: Condition | None = None
    why: str = ""


def unmarked(text: str) -> str:
    """Return a text on one line without links, bold and italics. Code keeps all its characters.

    A glob in a span of code contains asterisks, which are no bold or italics.
    """
    spans = [span[0] for span in CODE.finditer(text)]
    numbers = iter(range(len(spans)))
    plain = unmark_prose(CODE.sub(lambda _span: f"`{next(numbers)}`", text))
    return CODE.sub(lambda span: spans[int(span[1])] if span[1].isdigit() else span[0], plain)


def holds_for_any_task(said: str) -> bool:
    """Return whether the words of a condition fit any task."""
    return bool(_ANY_TASK.search(said))


def is_elsewhere(text: str) -> bool:
    """Return whether a text contains a phrase for everywhere except in a place."""
    return bool(_ELSEWHERE.search(text))


def read_clause(said: str, project: Project) -> Reading:
    """Read a condition. An event must be able to show each of its alternatives ("or …").

    The time after a command is no such condition, because the command may have run in an earlier
    session or in another way. Nor is the time before a pull request, because the work that a rule
    demands then begins long before the command that opens it.
    """
    if holds_for_any_task(said):
        return Reading(why=ANY_TASK)
    prose = CODE.sub(" ", said)
    has_remark = "(" in prose
    if has_remark or is_negated(said) or _STATE.search(prose) or _PROPERTY.search(prose):
        return Reading(why=UNCONDITIONAL)
    if _BEFOREHAND.match(said) and find_in_clause(said) is get_situation("pull requests"):
        return Reading(why=UNCONDITIONAL)
    reading = _read_alternatives(said, project)
    if reading.condition is not None and _AFTERWARDS.match(said) and not reading.condition.globs:
        return Reading(why=UNCONDITIONAL)
    return reading


def _read_alternatives(said: str, project: Project) -> Reading:
    first, *others = _ALTERNATIVES.split(said)
    whole = _read_part(said, project)
    if not others or whole.condition is None:
        return whole
    conditions = [whole.condition]
    doing = _DOING.match(first)
    beginning = _read_part(first, project).condition
    if beginning is not None:
        conditions.append(beginning)
    for part in others:
        alone = _read_part(part, project)
        behind = _read_part(f"{doing[0] if doing else ''}{part}", project)
        condition = alone.condition or behind.condition
        if condition is not None:
            conditions.append(condition)
        elif not _is_verb(part):
            return Reading(why=UNCONDITIONAL)
    if beginning is None and not _is_verb(_DOING.sub("", first)):
        return Reading(why=UNCONDITIONAL)
    return Reading(join_conditions(conditions))


def _is_verb(part: str) -> bool:
    """Return whether an alternative is only another verb for the same things."""
    return all(word.endswith(("ing", "ed")) or word in _SMALL for word in part.casefold().split())


def _read_part(said: str, project: Project) -> Reading:
    commands = [span.strip() for span in _RUN.findall(said) if is_command(span.strip())]
    if commands:
        return read_commands(said, commands, project)
    situation = find_in_clause(said)
    if situation is not None and situation.is_late:
        return Reading(why=IS_LATE)
    shows_command = situation is not None and bool(situation.pattern)
    reading = Reading(why=UNCONDITIONAL) if shows_command else _read_places(said, project)
    if reading.why != UNCONDITIONAL or situation is None:
        return reading
    return read_situation(said, situation, project)


def read_commands(said: str, commands: Sequence[str], project: Project) -> Reading:
    """Read the commands that a condition or a prohibition names.

    Each of them has to show a situation.
    Who runs another command, and when, is often left open ("When users run `npm create`").
    """
    situations = list(map(find_by_command, commands))
    if not all(situations):
        return Reading(why=IS_OTHER_COMMAND)
    readings = [read_situation(said, one, project) for one in situations if one is not None]
    conditions = [reading.condition for reading in readings if reading.condition is not None]
    named = make_command_condition(said, commands)
    return Reading(join_conditions([named, *conditions])) if conditions else readings[0]


def _read_places(said: str, project: Project) -> Reading:
    """Read the files and folders that a clause says are edited.

    Each must exist, or the result is GONE.
    """
    spans = [span.strip() for span in CODE.findall(said)]
    prose = CODE.sub(" ", said)
    plain = [path for path in find_paths(prose) if not _DESCRIBES.match(prose.split(path, 1)[-1])]
    named = dict.fromkeys((*spans, *plain))
    places = find_edited_places(said, [name for name in named if is_named_place(name, project)])
    if not places:
        return Reading(why=UNCONDITIONAL)
    return make_path(said, [project.find_glob(place) for place in places], project)


def is_named_place(span: str, project: Project) -> bool:
    """Return whether a span of code names files of the project."""
    if span in _RULES_FILES:
        return False
    is_ending = bool(re.fullmatch(r"\.\w+", span)) and bool(project.find_glob(span))
    return is_ending or is_place(span) or span.endswith("/") or project.holds(span)


def read_situation(said: str, situation: Situation, project: Project) -> Reading:
    """Return the condition that the files or commands of a situation show."""
    if situation.is_late:
        return Reading(why=IS_LATE)
    globs = [glob for glob in situation.globs if project.match(glob)]
    if _count(situation.beside, project) > _count(globs, project):
        return Reading(why=UNCONDITIONAL)
    if not (globs or situation.pattern):
        return Reading(why=GONE)
    condition = Condition(
        said=said,
        globs=tuple(globs),
        pattern=_START.sub(lambda _start: COMMAND_START, situation.pattern),
        drafts=situation.drafts,
        files=(*sample_files(globs, project), *situation.draft_samples),
        commands=situation.samples,
        is_final=situation.is_final,
        is_by_word=bool(globs),
    )
    return Reading(condition)


def _count(globs: Sequence[str], project: Project) -> int:
    return len({path for glob in globs for path in project.match(glob)})


def make_path(said: str, globs: Sequence[str], project: Project) -> Reading:
    """Return the condition that files match ``globs``. Each must match, or the result is GONE."""
    chosen = tuple(dict.fromkeys(filter(None, globs)))
    if not chosen or not all(globs):
        return Reading(why=GONE)
    return Reading(make_path_condition(said, chosen, project))
