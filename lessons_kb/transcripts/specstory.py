"""A session that SpecStory exported as Markdown, as entries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from lessons_kb.transcripts.entries import (
    ANSWER,
    CALL,
    MAX_OUTPUT,
    PROMPT,
    UNKNOWN,
    Entry,
    seconds,
    without,
)

_SPEAKER = re.compile(
    r"^_\*\*(User|Assistant|Agent)(?: \(([^)\n]*)\))?[^\n]*\*\*_[ \t]*$", re.MULTILINE
)
_RULE = re.compile(r"^---[ \t]*$", re.MULTILINE)
_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_SHELLS = ("bash", "sh", "shell", "zsh", "powershell", "console")
_TOOL = re.compile(
    r'data-tool-name="([^"]+)"|\*Called tool\*: ([\w.-]+)|Tool use: \*\*([\w.-]+)\*\*'
)
_FILE = re.compile(r"(?:[Rr]ead|[Ee]dit(?:ed)?|[Ww]rite|[Cc]reated?) file:? `?([\w./-]+\.\w+)")
_WHEN = re.compile(r"(\d{4}-\d\d-\d\d)[ _](\d\d)[:-](\d\d)Z?")
_DETAILS = ("<details", "<tool-use")
_THOUGHTS = (("<think>", "</think>"), ("think>", "</think>"))
"""Older exports lost the first character."""


def read_export(text: str, *, session: str = "") -> Iterator[Entry]:
    """Yield what an export tells; ``session`` names it."""
    found = list(_SPEAKER.finditer(text))
    at = 0.0
    for number, speaker in enumerate(found):
        at = _when(speaker[2] or "") or at or _when(text[:400])
        end = found[number + 1].start() if number + 1 < len(found) else len(text)
        base = Entry(kind=PROMPT, at=at, session=session)
        said = text[speaker.end() : end]
        if speaker[1] == "User":
            asked = _RULE.sub("", said).strip()
            if asked:
                yield replace(base, id=f"{session}:{number}", text=asked)
        else:
            for section in _RULE.split(
                without(without(said, "<think>", "</think>"), "think>", "</think>")
            ):
                yield from _read_section(section.strip(), base)


def _read_section(section: str, base: Entry) -> Iterator[Entry]:
    if not section:
        return
    fences = [(match[1].lower(), match[2]) for match in _FENCE.finditer(section)]
    tool = _TOOL.search(section)
    shell = next((body for language, body in fences if language in _SHELLS), None)
    if shell is not None and (tool or section.startswith("```")):
        output = "\n".join(body for _language, body in fences if body is not shell)
        yield replace(
            base,
            kind=CALL,
            tool="run_terminal_cmd",
            arguments={"command": shell.strip()},
            ended=UNKNOWN,
            output=_without_prompt(output, shell)[-MAX_OUTPUT:],
        )
    elif tool or section.startswith(_DETAILS):
        file = _FILE.search(section)
        name = next(filter(None, tool.groups()), "") if tool else "tool"
        yield replace(
            base,
            kind=CALL,
            tool=name,
            arguments={"path": file[1]} if file else {},
            ended=UNKNOWN,
            output=section.partition("*Result*:")[2][-MAX_OUTPUT:],
        )
    else:
        yield replace(base, kind=ANSWER, text=section)


def _without_prompt(output: str, command: str) -> str:
    """Return an output without the lines in which the shell repeats the command."""
    first = command.strip().splitlines()[0] if command.strip() else "$"
    return "\n".join(line for line in output.splitlines() if first not in line)


def _when(text: str) -> float:
    match = _WHEN.search(text)
    return seconds(f"{match[1]}T{match[2]}:{match[3]}:00Z") if match else 0.0
