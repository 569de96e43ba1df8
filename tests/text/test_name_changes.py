"""Tests for the parser of git's list of changed names."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.text.name_changes import NameChange, parse_name_changes

OLD, NEW, NONE = "1" * 40, "2" * 40, "0" * 40
OUTPUT = (
    f"\x01aaa 2026-01-01 \0:000000 100644 {NONE} {NEW} A\0new.py\0"
    f"\x01bbb 2026-01-02 aaa\0\n:100644 000000 {OLD} {NONE} D\0gone.py\0"
    f":100644 100644 {OLD} {NEW} R087\0from.py\0to.py\0"
    "\x01ccc 2026-01-03 bbb aaa\0"
).encode()


@given(st.sets(st.integers(0, len(OUTPUT)), max_size=12))
def test_the_output_may_be_split_anywhere(places: set[int]) -> None:
    bounds = [0, *sorted(places), len(OUTPUT)]
    parts = [OUTPUT[begin:end] for begin, end in pairwise(bounds)]
    first, second, merge = parse_name_changes(parts)
    assert (first.id, first.day, first.parents) == ("aaa", "2026-01-01", ())
    assert first.changes == (NameChange("A", "new.py", "", NEW),)
    assert second.parents == ("aaa",)
    assert second.changes == (
        NameChange("D", "gone.py", "", OLD),
        NameChange("R", "from.py", "to.py", NEW),
    )
    assert (merge.parents, merge.changes) == (("bbb", "aaa"), ())
