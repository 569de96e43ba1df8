"""Calls that a model wrote as text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.importers.markup import strip_tool_markup

_PIECES = (
    *("<tool_call>", "</tool_call>", "<invoke name=a>", "</invoke>", "<function_calls>"),
    *("</function_calls>", "<parameter name='b'>", "</parameter>", "```", "{", '"', "`", "\n", "x"),
)
INVOKE = (
    '<function_calls>\n<invoke name="Bash">\n<parameter name="command">ls -l</parameter>\n'
    '<parameter name="limits">[1, 2]</parameter>\n</invoke>\n<invoke name="Stop">\n</invoke>\n'
    "</function_calls>"
)


@pytest.mark.parametrize(
    ("text", "prose", "calls"),
    [
        (
            f"Look.\n\n{INVOKE}\n\nDone.",
            "Look.\n\nDone.",
            [("Bash", {"command": "ls -l", "limits": [1, 2]}), ("Stop", {})],
        ),
        (
            'So: <invoke name="Read"><parameter name="path">a</parameter></invoke> Done.',
            "So:  Done.",
            [("Read", {"path": "a"})],
        ),
        (
            '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>\nDone.',
            "Done.",
            [("f", {"a": 1})],
        ),
        (
            '<tool_call>{"function": {"name": "f", "arguments": "{\\"a\\": 1}"}}</tool_call>',
            "",
            [("f", {"a": 1})],
        ),
        (
            "<tool_call>\n<function=f>\n<parameter=a>\nx\n</parameter>\n</function>\n</tool_call>",
            "",
            [("f", {"a": "x"})],
        ),
        ('<function=f>{"a": true}</function>', "", [("f", {"a": True})]),
        ('Hi [TOOL_CALLS][{"name": "f", "arguments": {}}]', "Hi ", [("f", {})]),
        (
            "<read_file>\n<path>a/b.py</path>\n</read_file>\nDone.",
            "Done.",
            [("read_file", {"path": "a/b.py"})],
        ),
        (
            '<tool_use>{"name": "a", "input": {}}\n{"name": "b", "input": {}}</tool_use>',
            "",
            [("a", {}), ("b", {})],
        ),
    ],
)
def test_a_written_call_is_recognised_and_taken_out(
    text: str, prose: str, calls: list[tuple[str, object]]
) -> None:
    left, found = strip_tool_markup(text)
    assert left == prose
    assert [(call.name, call.arguments) for call in found] == calls
    assert not any(call.malformed for call in found)


@pytest.mark.parametrize(
    ("text", "prose", "name", "wrong"),
    [
        ('On.\n<tool_call>{"name": "f", "argu', "On.", "", "it is no JSON object"),
        ('<tool_call>{"arguments": {}}</tool_call> Done', " Done", "", "it names no tool"),
        (
            '<tool_call>{"name": "f", "arguments": "x"}</tool_call>',
            "",
            "f",
            "its arguments are no JSON object",
        ),
        ('<invoke name="f">\n<parameter name="a">x', "", "f", "it never ends"),
        ('<invoke name="f">nothing</invoke>', "", "f", "its parameters cannot be read"),
        ("<function=f>{oops</function>", "", "f", "its arguments are no JSON object"),
    ],
)
def test_a_malformed_call_is_returned_as_such(text: str, prose: str, name: str, wrong: str) -> None:
    left, (call,) = strip_tool_markup(text)
    assert left == prose
    assert (call.name, call.malformed) == (name, wrong)
    assert call.raw in text


@pytest.mark.parametrize(
    "text",
    [
        "Plain prose with a < b.",
        "The mark `<tool_call>` opens one.",
        "A model may write <tool_call> in a sentence.",
        f"```xml\n{INVOKE}\n```",
        "~~~\n<tool_call>{}</tool_call>\n",
        "<path>is no tool</path>",
    ],
)
def test_what_only_speaks_of_calls_stays(text: str) -> None:
    assert strip_tool_markup(text) == (text, ())


@given(
    st.lists(
        st.sampled_from(_PIECES),
        max_size=30,
    )
)
def test_any_text_can_be_stripped_and_nothing_is_left_to_strip(parts: list[str]) -> None:
    text = "".join(parts)
    prose, calls = strip_tool_markup(text)
    assert bool(calls) == (prose != text)


@pytest.mark.parametrize(
    "piece",
    [
        "<tool_call>",
        '<invoke name="a">\n',
        '<invoke name="',
        "<function=a>",
        "`",
        '\n<tool_call>{"a"',
        "<read_file><a>",
    ],
)
def test_hostile_text_costs_linear_time(piece: str) -> None:
    begun = time.process_time()
    strip_tool_markup(piece * 20_000)
    strip_tool_markup(f"<function_calls>{piece * 20_000}</function_calls>")
    assert time.process_time() - begun < 3
