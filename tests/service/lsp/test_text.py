"""Edits and positions in UTF-16 code units, beside a text that is kept in UTF-16."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol.types import Position, Range

from lessons_kb.service.lsp.documents import Text

PIECES = [*"a é 한글 日本 😀 👩‍👩‍👧 e\u0301 \n \r\n \r \x0b \u2028 \x85".split(" "), ""]


class Units:
    """The oracle: a text as a list of code units, looked through from the start each time."""

    def __init__(self, text):
        data = text.encode("utf-16-le")
        self.units = [data[i : i + 2] for i in range(0, len(data), 2)]

    @property
    def text(self):
        return b"".join(self.units).decode("utf-16-le")

    def starts(self):
        found, at = [0], 0
        while at < len(self.units):
            if self.units[at] == b"\r\0" and self.units[at + 1 : at + 2] == [b"\n\0"]:
                at += 1
            elif self.units[at] not in (b"\r\0", b"\n\0"):
                at += 1
                continue
            at += 1
            found.append(at)
        return found

    def place(self, line, character):
        starts = self.starts()
        if line >= len(starts):
            return len(self.units)
        end = starts[line + 1] if line + 1 < len(starts) else len(self.units)
        while end > starts[line] and self.units[end - 1] in (b"\r\0", b"\n\0"):
            end -= 1
        at = min(starts[line] + character, end)
        inside = starts[line] < at < len(self.units) and 0xDC <= self.units[at][1] <= 0xDF
        return at - 1 if inside else at

    def replace(self, start, end, text):
        first, last = sorted((self.place(*start), self.place(*end)))
        self.units[first:last] = Units(text).units


def check_same(text, units):
    assert text.whole == units.text
    assert len(text.lines) == len(units.starts())


words = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
places = st.tuples(st.integers(0, 6), st.integers(0, 12))


@pytest.mark.slow
@given(text=words, edits=st.lists(st.tuples(places, places, words), max_size=5))
def test_any_edit_leaves_what_a_client_that_counts_units_has(text, edits):
    ours, units = Text(text), Units(text)
    for start, end, new in edits:
        ours = ours.replace(Range(start=Position(*start), end=Position(*end)), new)
        units.replace(start, end, new)
    check_same(ours, units)


@pytest.mark.slow
@given(text=words, at=places)
def test_a_position_is_where_its_offset_is(text, at):
    ours, units = Text(text), Units(text)
    place, offset = units.place(*at), ours.offset(Position(*at))
    assert ours.whole[:offset] == b"".join(units.units[:place]).decode("utf-16-le")
    back = ours.position_at(offset)
    assert units.place(back.line, back.character) == place


def test_the_column_of_an_emoji_counts_twice():
    text = Text("x😀y\n한글\n")
    assert text.position(0, 2) == Position(0, 3)
    assert text.column(Position(0, 3)) == 2
    assert text.column(Position(0, 2)) == 1  # inside of the emoji
    assert text.position(1, 2) == Position(1, 2)
    assert text.position_at(len(text.whole)) == Position(2, 0)
