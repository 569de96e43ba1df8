"""Calls of tools that a model wrote as text, and its prose without their markup."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

Parse = Callable[[str, str], "list[TextCall]"]


_MAX_CALLS = 200
_MAX_RAW = 4_000

_NAMED = (
    *("execute_command", "read_file", "write_to_file", "replace_in_file", "apply_diff"),
    *("search_files", "list_files", "list_code_definition_names", "use_mcp_tool"),
    *("insert_content", "search_and_replace", "attempt_completion", "ask_followup_question"),
)
"""Tools that some agents let a model call by an element of the tool's own name."""

_INVOKE = re.compile(
    r"<(?:\w{1,20}:)?invoke\s{1,9}name\s{0,9}=\s{0,9}[\"']?([^\"'>\s]{0,100})[\"']?[^>]{0,200}>",
    re.IGNORECASE,
)
_PARAMETER = re.compile(
    r"<(?:\w{1,20}:)?parameter\s{1,9}name\s{0,9}=\s{0,9}[\"']?([^\"'>\s]{1,100})[\"']?[^>]{0,200}>"
    r"((?:(?!</?(?:\w{1,20}:)?parameter\b).)*)(?:</(?:\w{1,20}:)?parameter>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_FUNCTION = re.compile(r"<function=([^>\s]{1,100})>((?:(?!</function>).)*)", re.DOTALL)
_FUNCTION_PARAMETER = re.compile(
    r"<parameter=([^>\s]{1,100})>((?:(?!</?parameter\b).)*)(?:</parameter>|\Z)", re.DOTALL
)
_CHILD = re.compile(r"<(\w{1,60})>")
_MAX_CHILDREN = 50
_NAMES = ("name", "tool", "tool_name", "function", "function_name")
_ARGUMENTS = ("arguments", "parameters", "input", "args", "params", "tool_input")
_CODE = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})", re.MULTILINE)
_TICKS = re.compile(r"`[^`\n]*`")


@dataclass(frozen=True, kw_only=True, slots=True)
class TextCall:
    """One call that was written instead of made."""

    name: str
    """"" where none could be read."""
    arguments: Mapping[str, Any]
    raw: str
    """The markup as it stood, its first characters."""
    malformed: str = ""
    """What is wrong with it, "" for one that could have been made."""


def strip_tool_markup(text: str) -> tuple[str, tuple[TextCall, ...]]:
    """Return a text without calls written in it, and those calls, in order.

    Code blocks and code in ticks stay as they are: there such markup is spoken about. So does an
    opening mark within a line that nothing closes. Linear in the length of the text.
    """
    if "<" not in text and "[TOOL_CALLS]" not in text:
        return text, ()
    calls: list[TextCall] = []
    kept: list[str] = []
    place = 0
    for start, end, found in _find(text):
        kept.append(text[place:start])
        calls += found
        place = end
    if not calls:
        return text, ()
    kept.append(text[place:])
    prose = re.sub(r"[ \t]+\n", "\n", "".join(kept))
    return re.sub(r"\n{3,}", "\n\n", prose).strip("\n"), tuple(calls[:_MAX_CALLS])


def _find(text: str) -> Iterator[tuple[int, int, list[TextCall]]]:
    """Yield (begin, end, calls) of each stretch of markup."""
    quoted = list(_quoted(text))
    unclosed: set[str] = set()
    place = 0
    for found in _OPENING.finditer(text):
        start = found.start()
        while quoted and quoted[0][1] <= start:
            quoted.pop(0)
        if start < place or (quoted and quoted[0][0] <= start):
            continue
        form = next(form for form in _FORMS if re.fullmatch(form[0], found[0], re.IGNORECASE))
        closing = form[1].replace("NAME", re.escape(found[0].strip("<>")))
        end = (
            None
            if closing in unclosed
            else re.compile(closing, re.IGNORECASE).search(text, found.end())
        )
        if end is None and form[1]:
            unclosed.add(closing)
            if text[text.rfind("\n", 0, start) + 1 : start].strip():
                continue
        stop = end.end() if end and form[1] else len(text)
        inner = text[found.end() : end.start() if end and form[1] else stop]
        calls = form[2](inner, found[0])
        if form[1] and end is None:
            calls = [replace(call, malformed=call.malformed or "it never ends") for call in calls]
        raw = text[start:stop][:_MAX_RAW]
        yield start, stop, [replace(call, raw=raw) for call in calls]
        place = stop


def _quoted(text: str) -> Iterator[tuple[int, int]]:
    """Yield where code is: blocks between fences, and what stands in ticks outside of them."""
    place, fence, begun = 0, "", 0
    for mark in _CODE.finditer(text):
        if not fence:
            yield from (m.span() for m in _TICKS.finditer(text, place, mark.start()))
            fence, begun = mark[1], mark.start()
        elif mark[1][0] == fence[0] and len(mark[1]) >= len(fence):
            yield begun, mark.end()
            fence, place = "", mark.end()
    if fence:
        yield begun, len(text)
    else:
        yield from (m.span() for m in _TICKS.finditer(text, place))


def _calls(inner: str, _opening: str) -> list[TextCall]:
    """Read what stands in a block of calls: elements, functions or JSON."""
    found = [_invoked(name, body) for name, body in _split(_INVOKE, inner)] or [
        _function(match[1], match[2]) for match in _FUNCTION.finditer(inner)
    ]
    return found or _json(inner, "")


def _split(pattern: re.Pattern[str], text: str) -> Iterator[tuple[str, str]]:
    marks = list(pattern.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    for mark, end in zip(marks, ends, strict=False):
        yield mark[1], text[mark.end() : end]


def _invoke(inner: str, opening: str) -> list[TextCall]:
    match = _INVOKE.fullmatch(opening)
    return [_invoked(match[1] if match else "", inner)]


def _invoked(name: str, body: str) -> TextCall:
    body = re.sub(r"</(?:\w{1,20}:)?invoke>\s*\Z", "", body, flags=re.IGNORECASE)
    arguments = {m[1]: _value(m[2]) for m in _PARAMETER.finditer(body)}
    wrong = "" if name else "it names no tool"
    if not arguments and body.strip():
        wrong = wrong or "its parameters cannot be read"
    return TextCall(name=name, arguments=arguments, raw="", malformed=wrong)


def _named_function(inner: str, opening: str) -> list[TextCall]:
    return [_function(opening[len("<function=") : -1], inner)]


def _function(name: str, body: str) -> TextCall:
    arguments: Mapping[str, Any] = {m[1]: _value(m[2]) for m in _FUNCTION_PARAMETER.finditer(body)}
    wrong = ""
    if not arguments and body.strip():
        data = _parsed(body)
        arguments = data if isinstance(data, dict) else {}
        wrong = "" if isinstance(data, dict) else "its arguments are no JSON object"
    return TextCall(name=name, arguments=arguments, raw="", malformed=wrong)


def _element(inner: str, opening: str) -> list[TextCall]:
    arguments: dict[str, Any] = {}
    place = 0
    for _ in range(_MAX_CHILDREN):
        child = _CHILD.search(inner, place)
        if child is None:
            break
        end = inner.find(f"</{child[1]}>", child.end())
        place = child.end() if end < 0 else end
        if end >= 0:
            arguments[child[1]] = _value(inner[child.end() : end])
    return [TextCall(name=opening.strip("<>"), arguments=arguments, raw="")]


def _json(inner: str, _opening: str) -> list[TextCall]:
    data = _parsed(inner)
    if data is None:  # one object a line, as some models write several
        lines = [_parsed(line) for line in inner.strip().splitlines() if line.strip()]
        data = lines if lines and all(isinstance(line, dict) for line in lines) else None
    items = data if isinstance(data, list) else [data]
    return [_of_json(item) for item in items[:_MAX_CALLS]] or [_of_json(None)]


def _of_json(data: object) -> TextCall:
    if not isinstance(data, dict):
        return TextCall(name="", arguments={}, raw="", malformed="it is no JSON object")
    inner = data.get("function")
    if isinstance(inner, dict):
        data = {**data, **inner, "function": inner.get("name")}
    name = next((data[k] for k in _NAMES if isinstance(data.get(k), str) and data[k]), "")
    given: object = next((data[key] for key in _ARGUMENTS if key in data), {})
    arguments = _parsed(given) if isinstance(given, str) else given
    wrong = "" if name else "it names no tool"
    if not isinstance(arguments, dict):
        arguments, wrong = {}, wrong or "its arguments are no JSON object"
    return TextCall(name=name, arguments=arguments, raw="", malformed=wrong)


def _parsed(text: str) -> object:
    try:
        data: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return data


def _value(text: str) -> object:
    """Return an argument: JSON where it is a list, an object, a number or a truth, else text."""
    stripped = text.strip()
    if stripped[:1] in ("[", "{") or stripped in ("true", "false", "null"):
        data = _parsed(stripped)
        return stripped if data is None and stripped != "null" else data
    return text.removeprefix("\n").removesuffix("\n")


_FORMS: tuple[tuple[str, str, Parse], ...] = (
    (r"<(?:antml:)?function_calls>", r"</(?:antml:)?function_calls>", _calls),
    (r"<(?:antml:)?invoke\s{1,9}name\s{0,9}=[^>\n]{0,300}>", r"</(?:antml:)?invoke>", _invoke),
    (r"<(?:tool_calls?|function_call|tool_use|tool_code)>", "</NAME>", _calls),
    (r"<function=[^>\s]{1,100}>", "</function>", _named_function),
    (r"<\|tool_calls?_begin\|>|<\|tool_calls?\|>", "", _json),
    (r"\[TOOL_CALLS\]", "", _json),
    (r"<\|python_tag\|>", "", _json),
    (f"<(?:{'|'.join(_NAMED)})>", "</NAME>", _element),
)
"""Opening mark, what closes it (NAME = the element's own name, "" = the end of the text), how it
is read. The first that fits counts."""

_OPENING = re.compile("|".join(f"(?:{form[0]})" for form in _FORMS), re.IGNORECASE)
