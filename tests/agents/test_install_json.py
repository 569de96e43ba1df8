"""The editor of JSON with comments: one value changes, every other character stays."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.agents.install.edit_json import get, put_json, read_data, take_json
from lessons_kb.errors import InputError

COMMENT = re.compile(r'"(?:[^"\\\r\n]|\\.)*"|(//[^\r\n]*|/\*(?:[^*]|\*(?!/))*\*/)')

VALUE = {"type": "command", "args": ["x"], "n": 3}


def comments_of(text):
    return [match[1] for match in COMMENT.finditer(text) if match[1]]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('{\n    "a": 1\n}\n', '{\n    "a": 1,\n    "k": true\n}\n'),
        ('{\n\t"a": 1,\n}', '{\n\t"a": 1,\n\t"k": true,\n}'),
        ('{\r\n  "a": 1 // one\r\n}\r\n', '{\r\n  "a": 1, // one\r\n  "k": true\r\n}\r\n'),
        ('{"a":1}', '{"a":1, "k": true}'),
        ('{"a": 1}', '{"a": 1, "k": true}'),
        ('{"a": 1,}', '{"a": 1, "k": true,}'),
        ('{"a": 1 /* x */ , }', '{"a": 1 /* x */ , "k": true, }'),
        ("{}", '{\n  "k": true\n}'),
        ("{ /* none */ }", '{ /* none */\n  "k": true\n}'),
        ("{\n  // none\n}", '{\n  // none\n  "k": true\n}'),
        ('// top\n{\n  "a": 1,\n  // last\n}', '// top\n{\n  "a": 1,\n  // last\n  "k": true,\n}'),
        ('{\n  "k": false, // why\n}', '{\n  "k": true, // why\n}'),
    ],
)
def test_a_value_is_put_in_the_manner_of_the_file(old, new):
    assert put_json(old, ("k",), True) == new


@pytest.mark.parametrize(
    ("old", "path", "value", "new"),
    [
        # What is there already stays as it is written; but true is not 1.
        ('{"k" : {"b":2, "a" : 1 }}', ("k",), {"a": 1, "b": 2}, '{"k" : {"b":2, "a" : 1 }}'),
        ('{"k": 1}', ("k",), True, '{"k": true}'),
        # Comments within what is replaced go with it; of a key that stands twice the last counts.
        ('{ /* a */ "k": [1 /* b */], // c\n}', ("k",), 2, '{ /* a */ "k": 2, // c\n}'),
        ('{"k": 1, "k": 2}', ("k",), 3, '{"k": 1, "k": 3}'),
    ],
)
def test_a_new_value_replaces_the_old_one(old, path, value, new):
    assert put_json(old, path, value) == new


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', "line 3, column 3"),
        ('{\n  "a": tru\n}', "line 2, column 8"),
        ('{\r\n  "a": [1, 2\r\n', "line 3, column 1"),
        ("{} {}", "line 1, column 4"),
        ('{"a": "x\ny"}', "line 1"),
        ("{\n/* open", "line 2, column 1"),
        ("[" * 100_000, "nested"),
        ('{"a": NaN}', "line 1, column 7"),
        ('{"a": 01}', "line 1"),
        ("[Infinity]", "line 1, column 2"),
        ("", "line 1"),
        ('{"a": 1} x', "line 1"),
        ("[,]", "line 1"),
        ("[1,,]", "line 1"),
        (",", "line 1, column 1"),
    ],
)
def test_a_broken_file_is_named_by_line(text, where):
    with pytest.raises(InputError, match=where):
        read_data(text)


SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
DATA = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(max_size=4), DATA, max_size=4)
COMMENTS = st.sampled_from(["", " ", "/* c, } */", "// d ]\n", "\n", "\r\n\t", "/**/ "])


@st.composite
def texts(draw):
    """An object as people write it: comments anywhere, trailing commas, odd spacing."""

    def write(value):
        gap = lambda: draw(COMMENTS)  # noqa: E731
        if isinstance(value, dict):
            parts = [
                f"{gap()}{json.dumps(k)}{gap()}:{gap()}{write(v)}{gap()}" for k, v in value.items()
            ]
        elif isinstance(value, list):
            parts = [f"{gap()}{write(one)}{gap()}" for one in value]
        else:
            return json.dumps(value)
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        last = draw(st.sampled_from(["", ","])) if parts else ""
        return opening + ",".join(parts) + last + gap() + closing

    return draw(COMMENTS) + write(draw(OBJECTS)) + draw(COMMENTS)


@pytest.mark.slow
@given(texts(), st.text(max_size=4), DATA)
def test_any_file_can_take_any_value_and_keeps_its_comments(text, key, value):
    before = read_data(text)
    new = put_json(text, (key,), value)
    assert read_data(new) == {**before, key: value}
    if key not in before:
        assert comments_of(new) == comments_of(text)


@pytest.mark.slow
@given(texts(), DATA)
def test_an_added_value_can_be_removed(text, value):
    before = read_data(text)
    key = "a key that is in no file"
    after = take_json(put_json(text, (key, "Stop", 0), value), (key,))
    assert read_data(after) == before
    assert comments_of(after) == comments_of(text)


@pytest.mark.parametrize("line", ["\n", "\r\n"])
@pytest.mark.parametrize("comma", ["", ","])
@pytest.mark.parametrize("indent", ["  ", "    ", "\t"])
def test_a_file_as_editors_write_it_comes_back_byte_for_byte(line, comma, indent):
    text = line.join(
        ["// head", "{", f'{indent}"a": {{', f'{indent}{indent}"b": [1, 2]{comma}', f"{indent}}},",
         f"{indent}// why", f'{indent}"c": "x"{comma} // tail', f"{indent}/* end */", "}", ""]
    )  # fmt: skip
    for path in (("hooks", "Stop", 0), ("a", "k"), ("a", "b", 2)):
        new = put_json(text, path, VALUE)
        assert get(read_data(new), path) == VALUE
        gone = path if path[0] == "a" else ("hooks",)
        assert take_json(new, gone) == text


@pytest.mark.slow
@given(texts())
def test_taking_any_member_leaves_the_others(text):
    before = read_data(text)
    for key in before:
        left = read_data(take_json(text, (key,)))
        assert left == {name: value for name, value in before.items() if name != key}
