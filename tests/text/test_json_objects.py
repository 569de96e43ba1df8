"""Objects in a text that is something else are found in linear time."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.text.json_objects import find_objects

CARD = {"title": 'Retried "twice" {or} more', "checklist": [{"text": "a\nb"}]}


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        f'He said "hi {json.dumps(CARD)}',
        f"```json\n{json.dumps(CARD, indent=2)}\n```\n",
        f"Use {{x}} and {{ y }}: {json.dumps(CARD)}",
        f"{{'no': 'json'}} {json.dumps(CARD)}",
        f'{{"cut off": "in a string\n{json.dumps(CARD)}',
        f'{{"cut off": [1, {json.dumps(CARD)}, ',
        f'{{"broken": oops, "inner": {json.dumps(CARD)}}}',
        json.dumps({"result": f"Here: {json.dumps({'answer': json.dumps(CARD)})}"}),
        f'f"{{"x"}}" {json.dumps(CARD)}',
    ],
)  # fmt: skip
def test_an_object_is_found_in_any_wrapping(text):
    found = list(find_objects(text))
    assert found == [{}] or CARD in found


def test_outer_objects_come_first():
    assert [sorted(found) for found in find_objects('{"a": {"b": [{"c": "{\\"d\\": {}}"}]}} {"e": 1}')] == [
        ["a"], ["b"], ["c"], ["d"], [], ["e"],
    ]  # fmt: skip


@given(
    st.recursive(
        st.text() | st.integers() | st.none(), lambda inner: st.dictionaries(st.text(), inner)
    )
)
def test_every_object_of_python_is_found_as_it_is(value):
    if isinstance(value, dict):
        assert next(find_objects(f'a " b {json.dumps(value)}')) == value


HOSTILE = {
    "braces": "{",
    "keys": '{"a":',
    "lists": '{"a":[',
    "strings": '{"a": "',
    "escaped quotes": '{"\\"',
    "unclosed lists": '{"a":[' + "1," * 50,
    "closed": '{"a":x}',
    "empty": "{}",
    "quotes": '"{',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_the_work_is_linear(name):
    """A text of twice the length is read twice as often at most; what is decoded counts."""
    sizes = []
    for length in (20_000, 40_000):
        text = (HOSTILE[name] * length)[:length]
        decoded = 0
        for text_part in _decoded(text):
            decoded += len(text_part)
        sizes.append(decoded)
    assert sizes[1] <= 2.1 * sizes[0] + 1_000
    assert sizes[1] <= 101 * 40_000


def _decoded(text):
    """Yield each text that is decoded while objects are looked for."""
    parts = []

    def decode(part, **options):
        parts.append(part)
        return loads(part, **options)

    loads = json.loads
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json, "loads", decode)
        for _found in find_objects(text):
            pass
    return parts


def test_objects_within_objects_are_decoded_a_bounded_number_of_times():
    deep = '{"a":' * 3_000 + "x" + "}" * 3_000
    assert sum(map(len, _decoded(deep))) <= 101 * len(deep)
    assert len(list(find_objects('{"a":' * 3_000 + "1" + "}" * 3_000))) == 100


def test_the_search_ends_when_it_is_late():
    asked = iter([False, False, True])
    with pytest.raises(TimeoutError):
        list(find_objects('{"a":1}' * 9, is_late=lambda: next(asked)))


def test_any_text_can_be_searched():
    order = random.Random(7)
    for _ in range(300):
        text = "".join(order.choices('{}[]":,\\\n1a ', k=200))
        for found in find_objects(text):
            assert isinstance(found, dict)
