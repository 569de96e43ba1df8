"""A session that SpecStory exported as Markdown, as entries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from lessons_kb.text.sanitize import without
from lessons_kb.text.times import read_time
from lessons_kb.transcripts.session_records import (
    ANSWER,
    CALL,
    CANCELLED,
    FAILED,
    MAX_OUTPUT,
    OK,
    PROMPT,
    UNKNOWN,
    Entry,
    is_from_client,
)

_SPEAKER = re.compile(
    r"^_\*\*(User|Assistant|Agent)[^(\n*]*(?:\(([^)\n]*)\))?[^\n]*\*\*_[ \t]*$", re.MULTILINE
)
_RULE = re.compile(r"^---[ \t]*$", re.MULTILINE)
_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_SHELLS = ("bash", "sh", "shell", "zsh", "powershell", "console")
_TOOL = re.compile(
    r'data-tool-name="([^"]+)"|\*Called tool\*: ([\w.-]+)|Tool use: \*\*([\w.-]+)\*\*'
)
_TAG = re.compile(r'^<tool-use data-tool-type="([\w-]+)" data-tool-name="([^"\n]+)">', re.MULTILINE)
_END_TAG = "</tool-use>\n"
_FILE = re.compile(
    r"(?:[Rr]ead|[Ee]dit(?:ed)?|[Ww]rite|[Cc]reated?) file:? `?([\w./-]+\.\w+)"
    r"|^The file (\S+) has been updated|\b(?:Path|path|Add|Update|Delete):? `([^`\n]+)`",
    re.MULTILINE,
)
_HEAD = 500
"""Characters of a call in which its file is named."""
_FAILED = re.compile(
    r"(?:Exit code [1-9]|<tool_use_error>|Error:|(?:.*\n){0,4}Process exited with code [1-9])"
)
_REFUSED = (
    "The user doesn't want to proceed with this tool use.",
    "<tool_use_error>Sibling tool call errored",
    "<tool_use_error>Cancelled",
)
_CLAUDE = "<!-- Claude Code Session "
"""In the first lines: of its commands, those that fail say so."""
_WHEN = re.compile(r"(\d{4}-\d\d-\d\d)[ _](\d\d)[:-](\d\d)(?:[:-](\d\d))?Z?")
_DETAILS = ("<details", "<tool-use")


def read_export(text: str, *, session: str = "") -> Iterator[Entry]:
    """Yield what an export tells; ``session`` names it."""
    found = list(_SPEAKER.finditer(text))
    head = text[:400]
    quiet = OK if _CLAUDE in head else UNKNOWN
    begin, at, by_client = _when(head), 0.0, -1.0
    for number, speaker in enumerate(found):
        at = _when(speaker[2] or "") or at or begin
        end = found[number + 1].start() if number + 1 < len(found) else len(text)
        base = Entry(kind=PROMPT, at=at, session=session)
        said = text[speaker.end() : end]
        if speaker[1] == "User":
            asked = _RULE.sub("", said).strip()
            if is_from_client(asked):
                by_client = at
            elif asked and at != by_client:  # else a command's own text, which nobody typed
                yield replace(base, id=f"{session}:{number}", text=asked)
        else:
            by_client = -1.0
            # Older exports lost the first character.
            said = without(without(said, "<think>", "</think>"), "think>", "</think>")
            yield from _read_answer(said, base, quiet)


def _read_answer(said: str, base: Entry, quiet: str) -> Iterator[Entry]:
    """Yield calls and what is said between them; a call with tags may hold rules and fences."""
    place = 0
    for tag in _TAG.finditer(said):
        if tag.start() < place:
            continue  # what a tool printed
        end = said.find(_END_TAG, tag.end())
        end = end if end >= 0 else len(said)
        yield from _read_prose(said[place : tag.start()], base)
        yield _read_call(tag[1], tag[2], said[tag.end() : end], base, quiet)
        place = end + len(_END_TAG)
    yield from _read_prose(said[place:], base)


def _read_call(kind: str, tool: str, body: str, base: Entry, quiet: str) -> Entry:
    """Return a call between its tags: a summary, the command in backticks, the output fenced."""
    body = body.partition("</summary>")[2].strip().removesuffix("</details>").strip()
    top, language, inside, rest = _split_fence(body)
    command, output, ended = "", inside, OK
    if kind == "shell" and language in _SHELLS:
        command, output = inside, _split_fence(rest)[2]
    elif kind == "shell" and top.count("`") > 1:
        command = top[top.index("`") : top.rindex("`")].strip("`")
    if output.startswith(_REFUSED):
        ended = CANCELLED
    elif _FAILED.match(output):
        ended = FAILED
    elif kind == "shell":
        ended = quiet
    file = _FILE.search(body[:_HEAD]) if kind == "write" else None
    output = output.strip().removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
    return _call(base, command, tool, file, ended, output)


def _split_fence(text: str) -> tuple[str, str, str, str]:
    """Return what stands before the first fence, its language, what it holds, and the rest.

    The last fence ends with the text: what a tool printed may hold fences of its own.
    """
    before, _, fenced = f"\n{text}".partition("\n```")
    language, _, body = fenced.partition("\n")
    if language in _SHELLS:
        inside, _, rest = body.partition("\n```")
        return before, language, inside, rest
    return before, language, body.rstrip().removesuffix("```"), ""


def _read_prose(text: str, base: Entry) -> Iterator[Entry]:
    for section in filter(None, map(str.strip, _RULE.split(text))):
        tool = _TOOL.search(section)
        fenced = _FENCE.finditer(section) if tool or section.startswith("```") else ()
        fences = [(match[1].lower(), match[2]) for match in fenced]
        shell = next((body for language, body in fences if language in _SHELLS), None)
        if shell is not None:
            # Without the lines in which the shell repeats the command.
            first = shell.strip().splitlines()[0] if shell.strip() else "$"
            printed = "\n".join(body for _language, body in fences if body is not shell)
            output = "\n".join(line for line in printed.splitlines() if first not in line)
            yield _call(base, shell, "", None, UNKNOWN, output)
        elif tool or section.startswith(_DETAILS):
            name = next(filter(None, tool.groups()), "") if tool else "tool"
            output = section.partition("*Result*:")[2]
            yield _call(base, "", name, _FILE.search(section), UNKNOWN, output)
        else:
            yield replace(base, kind=ANSWER, text=section)


def _call(
    base: Entry, command: str, tool: str, file: re.Match[str] | None, ended: str, output: str
) -> Entry:
    arguments = {"path": next(filter(None, file.groups()))} if file else {}
    if command:
        tool, arguments = "run_terminal_cmd", {"command": command.strip()}
    output = output[-MAX_OUTPUT:]
    return replace(base, kind=CALL, tool=tool, arguments=arguments, ended=ended, output=output)


def _when(text: str) -> float:
    match = _WHEN.search(text)
    return read_time(f"{match[1]}T{match[2]}:{match[3]}:{match[4] or '00'}Z") if match else 0.0
