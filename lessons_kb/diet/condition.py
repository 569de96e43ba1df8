"""The files and commands that show that a rule applies."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lessons_kb.diet.project_files import Project
from lessons_kb.values import frozen

MAX_SHARE = 0.5
"""The maximum share of the project's files that a condition covers. A broader condition applies to
almost any task.
"""
_MOST_GLOBS = 12
_BETWEEN = r"\s+(?:-\S+\s+)*(?:run\s+)?"
COMMAND_START = r"^(?:do )?(?:\w+=\S*\s+)*"
"""The start of a command line, also in a loop, and the variables that are set for the command."""
_NO_ARGUMENT = re.compile(r"[<>{}\[\]|&;$*\"']|\.\.\.")
GONE = "no file of the project matches it"
BROAD = "its files are a large part of the project"


@frozen
class Condition:
    """A condition of a rule that session events can show, by files, by commands, or by both."""

    said: str
    """The condition in the words of the rule."""
    globs: tuple[str, ...] = ()
    pattern: str = ""
    drafts: tuple[str, ...] = ()
    """Globs of files in which the text for a command is written before the command runs."""
    files: tuple[str, ...] = ()
    """Sample files that meet it."""
    commands: tuple[str, ...] = ()
    """Sample command lines that meet it."""
    is_final: bool = False
    """Whether a command that meets it may be hard to undo, so that the rule must come before it."""
    is_by_word: bool = False
    """Whether its files follow from a word of the rule ("proto"), not from a path in the rule."""

    @property
    def has_to_come_first(self) -> bool:
        """Whether the first call that meets this condition is refused, so that the rule is first.

        An edit can be corrected, so a condition that includes files other than drafts refuses no
        call.
        """
        return self.is_final and not self.globs


def is_broad(globs: Sequence[str], project: Project) -> bool:
    """Return whether globs match a large part of a project, or are too many for one card."""
    files = {path for glob in globs for path in project.match(glob)}
    return len(files) > max(len(project.files) * MAX_SHARE, 1) or len(globs) > _MOST_GLOBS


def make_path_condition(said: str, globs: Sequence[str], project: Project) -> Condition:
    """Return the condition that an edit of a file that matches ``globs`` meets."""
    return Condition(said=said, globs=tuple(globs), files=sample_files(globs, project))


def sample_files(globs: Sequence[str], project: Project) -> tuple[str, ...]:
    """Return sample files, which are the first, a middle and the last match, and a new file in a
    folder.
    """
    files = sorted({path for glob in globs for path in project.match(glob)})
    if not files:
        return ()
    chosen = [files[0], files[len(files) // 2], files[-1]]
    folders = [glob.removesuffix("/**") for glob in globs if glob.endswith("/**")]
    plain = next((folder for folder in folders if "*" not in folder), "")
    if plain:
        stem, dot, ending = files[0].rpartition("/")[2].rpartition(".")
        chosen.insert(2, f"{plain}/added/newcomer{dot if stem else ''}{ending if stem else ''}")
    return tuple(dict.fromkeys(chosen))


def make_command_condition(said: str, commands: Sequence[str]) -> Condition:
    """Return the condition that a run of one of ``commands``, with any options, meets."""
    patterns = []
    samples = []
    for line in commands:
        words = _NO_ARGUMENT.split(line)[0].split()
        patterns.append(_BETWEEN.join(re.escape(word) for word in words))
        samples.append(" ".join(words))
    joined = "|".join(dict.fromkeys(patterns))
    lines = (samples[0], f"cd . && {samples[0]}", f"CI=1 {samples[0]}", *samples[1:])
    pattern = rf"{COMMAND_START}(?:{joined})(?:\s|$)"
    return Condition(said=said, pattern=pattern, commands=lines, is_final=True)


def join_conditions(conditions: Sequence[Condition]) -> Condition:
    """Return the condition that is met if any of ``conditions`` is met."""
    globs = dict.fromkeys(glob for one in conditions for glob in one.globs)
    patterns = dict.fromkeys(one.pattern for one in conditions if one.pattern)
    files = dict.fromkeys(path for one in conditions for path in one.files)
    commands = dict.fromkeys(line for one in conditions for line in one.commands)
    return Condition(
        said=conditions[0].said,
        globs=tuple(globs),
        pattern="|".join(patterns),
        drafts=tuple(dict.fromkeys(glob for one in conditions for glob in one.drafts)),
        files=tuple(files),
        commands=tuple(commands),
        is_final=any(one.is_final for one in conditions),
        is_by_word=any(one.is_by_word for one in conditions),
    )
