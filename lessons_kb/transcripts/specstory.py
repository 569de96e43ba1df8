"""Parse a session that SpecStory exported as Markdown into entries."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
from lessons_kb.values import replace

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
"""The number of characters of a call that are searched for the name of its file."""
_FAILED = re.compile(
    r"(?:Exit code [1-9]|<tool_use_error>|Error:|(?:.*\n){0,4}Process exited with code [1-9])"
)
_REFUSED = (
    "The user doesn't want to proceed with this tool use.",
    "<tool_use_error>Sibling tool call errored",
    "<tool_use_error>Cancelled",
)
_CLAUDE = "<!-- Claude Code Session "
"""A text in the first lines of an export of Claude Code, in which failed commands are marked."""
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[ _](\d\d)[:-](\d\d)(?:[:-](\d\d))?Z?")
_DETAILS = ("<details", "<tool-use")


def read_export(text: str, *, session: str = "") -> Iterator[Entry]:
    """Yield the entries of an export. ``session`` is its session id."""
    speakers = list(_SPEAKER.finditer(text))
    ends = [speaker.start() for speaker in speakers[1:]] + [len(text)]
    head = text[:400]
    quiet = OK if _CLAUDE in head else UNKNOWN
    begin = _parse_time(head)
    at = 0.0
    by_client = -1.0
    for number, (speaker, end) in enumerate(zip(speakers, ends, strict=False)):
        at = _parse_time(speaker[2] or "") or at or begin
        base = Entry(kind=PROMPT, at=at, session=session)
        body = text[speaker.end() : end]
        if speaker[1] == "User":
            prompt = _RULE.sub("", body).strip()
            if is_from_client(prompt):
                by_client = at
            elif prompt and at != by_client:  # otherwise no user typed the text
                yield replace(base, id=f"{session}:{number}", text=prompt)
        else:
            by_client = -1.0
            body = without(body, "<think>", "</think>")
            body = without(body, "think>", "</think>")  # older exports lost the first character
            yield from _read_answer(body, base, quiet)


def _read_answer(answer: str, base: Entry, quiet: str) -> Iterator[Entry]:
    """Yield the calls of an answer and the prose between them.

    The body of a call may contain rules and fences. ``quiet`` is the outcome of a shell command
    whose output reports no failure.
    """
    position = 0
    for tag in _TAG.finditer(answer):
        if tag.start() < position:
            continue  # a tool printed it
        end = answer.find(_END_TAG, tag.end())
        end = end if end >= 0 else len(answer)
        yield from _read_prose(answer[position : tag.start()], base)
        yield _read_call(tag[1], tag[2], answer[tag.end() : end], base, quiet)
        position = end + len(_END_TAG)
    yield from _read_prose(answer[position:], base)


def _read_call(kind: str, tool: str, body: str, base: Entry, quiet: str) -> Entry:
    """Return a call from its body.

    The body has a summary, the command in backticks, and the output in a fence.
    """
    body = body.partition("</summary>")[2].strip().removesuffix("</details>").strip()
    top, language, inside, rest = _split_fence(body)
    command, output, ended = "", inside, OK
    if kind == "shell" and language in _SHELLS:
        command = inside
        output = _split_fence(rest)[2]
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
    """Return the text before the first fence, its language, its content, and the text after it.

    The fence of an output ends at the end of the text, because the output may contain fences.
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
            # Leave out the lines in which the shell repeats the command.
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
        tool = "run_terminal_cmd"
        arguments = {"command": command.strip()}
    output = output[-MAX_OUTPUT:]
    return replace(base, kind=CALL, tool=tool, arguments=arguments, ended=ended, output=output)


def _parse_time(text: str) -> float:
    """Return the first time in a text, in seconds since the epoch; 0 if there is none."""
    match = _TIME.search(text)
    return read_time(f"{match[1]}T{match[2]}:{match[3]}:{match[4] or '00'}Z") if match else 0.0
