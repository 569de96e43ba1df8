"""What stands at a position of a card, half written or not. ``|`` is the position."""

import pytest

from lessons_kb.service.lsp.documents import Cursor, Text, find_cursor


def at(text):
    before, _, after = text.partition("|")
    whole = Text(before + after)
    return find_cursor(whole, whole.position_at(len(before)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\nsev|", Cursor(kind="key", typed="sev", start=0)),
        ("---\n|\n---\n", Cursor(kind="key", typed="", start=0)),
        ("\n---\ntitle: x\n|", Cursor(kind="key", typed="", start=0)),
        ("---\nseverity: hi|\n---\n", Cursor(kind="value", key="severity", typed="hi", start=10)),
        ("---\nseverity:|", Cursor(kind="value", key="severity", typed="", start=9)),
        ("---\ntags: [a, 'b|", Cursor(kind="value", key="tags", typed="b", start=11)),
        (
            "---\nApplies_To:\n  - x\n  - 텔|\n",
            Cursor(kind="value", key="applies-to", typed="텔", start=4),
        ),
        ("---\npaths:\n  - src/|\n---\n", Cursor(kind="value", key="paths", typed="src/", start=4)),
        ("---\ndetect:\n  - re|\n---\n", Cursor(kind="key", parent="detect", typed="re", start=4)),
        (
            "---\ndetect:\n  - regex: x\n    fi|",
            Cursor(kind="key", parent="detect", typed="fi", start=4),
        ),
        (
            "---\ndetect:\n  - ast: x\n    files: ['src/|",
            Cursor(kind="value", key="files", parent="detect", typed="src/", start=13),
        ),
        ("---\na: b\n---\nsee [x](les|", Cursor(kind="link", typed="les", start=8)),
        ("😀 [[tele|", Cursor(kind="wiki", typed="tele", start=4)),
        ("---\na: b\n---\n## Pre|", Cursor(kind="heading", typed="Pre", start=3)),
        ("---\na: b\n---\nwords|", Cursor(kind="text")),
        ("no header: |", Cursor(kind="text")),
    ],
)
@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_a_place_is_told_by_what_stands_before_it(text, expected, eol):
    assert at(text.replace("\n", eol)) == expected
