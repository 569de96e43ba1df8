"""Editing keeps the human's file: exactly the lines of the changed keys differ (SPEC §1)."""

import pytest

from lessons_kb.cards.edit import edit_header
from lessons_kb.errors import EditRefused, InputError
from lessons_kb.text.sanitize import clean_line
from tests.cards.reading import parse

BUMP = {"occurrences": 6, "last-seen": "2026-11-21"}
ARCHIVE = {"status": "archived"}
PLAIN, LENIENT = "T", "`T`: no YAML"


def header(text):
    return f"---\n{text}\n---\n# T\n"


@pytest.mark.parametrize("first", ["", "no-yaml: `x`: y\n"])
@pytest.mark.parametrize(("before", "changes", "after"), [
    ("severity: low  # why  ", {"severity": "high"}, "severity: high  # why  "),
    ("severity : low", {"severity": "high"}, "severity : high"),
    ('"severity": "low" # q', {"severity": "high"}, '"severity": "high" # q'),
    ("title: 'a'", {"title": "a\\b \"c\" 'd' e"}, "title: 'a\\b \"c\" ''d'' e'"),
    ("title: 'a'", {"title": "a\u2028b"}, 'title: "a\\u2028b"'),
    ("severity:", {"severity": "high"}, "severity: high"),
    ("severity: # later", {"severity": "high"}, "severity: high # later"),
    ("Last Seen: x", {"last-seen": "2026-11-21"}, "Last Seen: 2026-11-21"),
    ("severity: ''", {"severity": "high"}, "severity: 'high'"),
    ("severity:\n  low\nx: 1", {"severity": "high"}, "severity:\n  high\nx: 1"),
    ("severity: # c\n  # d\n  low # e\nx: 1", {"severity": "high"},
     "severity: # c\n  # d\n  high # e\nx: 1"),
    ("title: >-\n  two\n  lines\n\nx: 1", {"title": "one"}, "title: one\n\nx: 1"),
    ("title: two\n  lines # c\nx: 1", {"title": "one"}, "title: one # c\nx: 1"),
    ("stage: [] # c", {"stage": "DEV"}, "stage: DEV # c"),
    ("occurrences: '5'", {"occurrences": 6}, "occurrences: '6'"),
    ('last_seen: "2026-01-01"', {"last-seen": "2026-11-21"}, 'last_seen: "2026-11-21"'),
    # missing keys are added at the end, in the header's own indentation
    ("title: T", BUMP, "title: T\noccurrences: 6\nlast-seen: 2026-11-21"),
    ("title: T\n# end", {"status": "ignored"}, "title: T\n# end\nstatus: ignored"),
    ("  title: T", {"status": "ignored"}, "  title: T\n  status: ignored"),
    ("title: T", {"examples": ("a", "b: c")}, 'title: T\nexamples:\n  - a\n  - "b: c"'),
    ("title: T", {"examples": ("2026-01-01", "3", "no")},
     'title: T\nexamples:\n  - "2026-01-01"\n  - "3"\n  - "no"'),
    ("title: T", {"mine": "2026-01-01", "count": 3}, 'title: T\nmine: "2026-01-01"\ncount: 3'),
    ("title: T", {"last_seen": "2026-01-01", "Occurrences": "3"},
     "title: T\nlast-seen: 2026-01-01\noccurrences: 3"),
    # removing
    ("a: 1\nexamples:\n  - x\n  - y\n# c\nb: 2", {"examples": None}, "a: 1\n# c\nb: 2"),
    # of duplicates the last wins and is edited, all are removed
    ("severity: low\nx: 1\nseverity: low # 2", {"severity": "high"},
     "severity: low\nx: 1\nseverity: high # 2"),
    ("severity: low\nx: 1\nseverity: low", {"severity": None}, "x: 1"),
    # nothing to do
    ("severity:   'high'", {"severity": "high"}, "severity:   'high'"),
    ("examples: [a,  b]", {"examples": ("a", "b")}, "examples: [a,  b]"),
    ("title: two\n  lines # c", {"title": "two lines"}, "title: two\n  lines # c"),
    ("title: @x", {"title": "x"}, "title: x"),  # a value that YAML refuses
    ("Foo_Bar: 1", {"fooBaz": "x"}, "Foo_Bar: 1\nfooBaz: x"),
])  # fmt: skip
def test_only_the_changed_keys_lines_change(first, before, changes, after):
    if first and before.startswith(("title: two\n  lines # c", "  title: T")):
        return  # what the reader of plain pairs reads otherwise
    before, after = header(first + before), header(first + after)
    assert edit_header(before, changes) == after


@pytest.mark.parametrize("title", [PLAIN, LENIENT])
@pytest.mark.parametrize(("before", "values", "after"), [
    ("examples: [a, 'b'] # c", ("a", "b", "c, d"), "examples: [a, 'b', \"c, d\"] # c"),
    ("examples: [ a , b ]", ("b", "c"), "examples: [ b, c ]"),
    ("examples: [a, b]", ("c",), "examples: [c]"),
    ("examples: [] # none", ("a",), "examples: [a] # none"),
    ("examples: [\n  a, # first\n  b, # second\n]", ("a", "b", "c"),
     "examples: [\n  a, # first\n  b, c, # second\n]"),
    ("examples:\n  - a # 1\n  - 'b' # 2", ("a", "b", "c"),
     "examples:\n  - a # 1\n  - 'b' # 2\n  - c"),
    ("examples:\n-   a\n-   b\nx: 1", ("b", "c"), "examples:\n-   b\n-   c\nx: 1"),
    ("examples:\n  - a\n  # about b\n  - b\n\nx: 1", ("a", "b", "c"),
     "examples:\n  - a\n  # about b\n  - b\n  - c\n\nx: 1"),
    ("examples: # c\nx: 1", ("a", "b"), "examples: # c\n  - a\n  - b\nx: 1"),
    ("examples: # c\n  - a\n", (), "examples: [] # c\n"),
    ("examples: a", ("a", "b"), "examples: [a, b]"),
    ("examples:\n  - a\n    more\n  - |\n    b\n    b\nx: 1", ("a more", "b b", "c"),
     "examples:\n  - a\n    more\n  - |\n    b\n    b\n  - c\nx: 1"),
    ("examples:\n  - Error: x\n", ("Error: x", "b"), "examples:\n  - Error: x\n  - b\n"),
    ("examples:\n# first\n- one # 1\n# second\n- two", ("two", "three"),
     "examples:\n# first\n# 1\n# second\n- two\n- three"),
    ('examples:\n  - "zero\\u200bwidth"\n  # about b\n  - b', ("zerowidth", "b", "c"),
     'examples:\n  - "zero\\u200bwidth"\n  # about b\n  - b\n  - c'),
])  # fmt: skip
def test_lists_keep_their_style_and_the_items_that_stay(title, before, values, after):
    if title == LENIENT and "|" in before:
        return  # the reader of plain pairs knows no blocks of text in a list
    before, after = header(f"title: {title}\n{before}"), header(f"title: {title}\n{after}")
    assert edit_header(before, {"examples": values}) == after


TEXT = (
    "---\n# about\ntitle: T   \nseverity: low\t\n\noccurrences: 5 # five\n---\nBody  \n\n---\nx\ty"
)


@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff", "\n\n"])
def test_line_ends_mark_and_spaces_stay(eol, mark):
    mixed = f"---{eol}title: T\nseverity: low{eol}x: 1\n---\nBody{eol}"
    assert edit_header(mixed, {"severity": "high"}) == mixed.replace("low", "high")
    before = (mark + TEXT).replace("\n", eol)
    expected = (mark + TEXT.replace("5 # five\n", "6 # five\nlast-seen: 2026-11-21\n")).replace(
        "\n", eol
    )
    assert edit_header(before, BUMP) == expected


@pytest.mark.parametrize(("before", "after"), [
    ("# T\n\nText", "---\nstatus: ignored\n---\n# T\n\nText"),
    ("\ufeff# T\r\n", "\ufeff---\r\nstatus: ignored\r\n---\r\n# T\r\n"),
    ("", "---\nstatus: ignored\n---\n"),
    ("---\n\n# T\n", "---\nstatus: ignored\n---\n---\n\n# T\n"),
    ("\n---\nSome words.\n\n---\nMore.\n", "---\nstatus: ignored\n---\n\n---\nSome words.\n\n---\nMore.\n"),
    ("---\ntitle: T\n---", "---\ntitle: T\nstatus: ignored\n---"),
])  # fmt: skip
def test_a_file_without_keys_gets_a_header(before, after):
    assert edit_header(before, {"status": "ignored"}) == after


@pytest.mark.parametrize(
    "title",
    [
        "plain words", "it's", 'say "x"', "a: b", "a #b", "- a", "`x`", "*x", "%x", "{{x}}", "yes", "~",
        "3", "2026-01-01", "a:", "? a", "| a", "back\\slash", "a\tb", "한국어 제목: 예 🔥", "---",
        "\u200bzero", "a\u2028b", "\x1b[31mred", "\ufeffbom", "<<", "", "a'b\"c", "x" * 500,
    ],
)  # fmt: skip
@pytest.mark.parametrize("before", ["old", "'old'", '"old"', "@old"])
def test_any_title_is_written_safely(title, before):
    import yaml

    text = edit_header(header(f"title: {before}\nx: 1"), {"title": title})
    assert yaml.safe_load(text.split("---\n")[1].replace("@old", "old")) == {"title": title, "x": 1}
    assert len(text.split("\n")) == 6
    assert parse(text).card.title == (clean_line(title) or "T")


@pytest.mark.parametrize(("text", "message"), [
    ("---\ntitle: T\n", ("the header that starts with --- is not closed; "
     "close it with a line that contains only ---, then try again")),
    ("---\ntitle: &a T\nproject: *a\n---\n",
     "the header cannot be changed safely; edit the file by hand"),
    ("---\n{title: T,\nmine: x}\n---\n",
     "the header cannot be changed safely; edit the file by hand"),
    ("---\n: : :\n\t- [\n---\n", None),
])  # fmt: skip
def test_a_refusal_says_what_to_do(text, message):
    with pytest.raises(EditRefused) as caught:
        edit_header(text, {"title": None})
    assert message in (None, str(caught.value))


@pytest.mark.parametrize("name", ["", "a b", "a: b", "ä", "-x", "x\n"])
def test_names_that_are_no_keys(name):
    with pytest.raises(InputError) as caught:
        edit_header("# T\n", {name: "x"})
    assert str(caught.value) == f"{name!r} cannot be a key; use letters, digits and hyphens"


@pytest.mark.parametrize("value", ["x", None, ("a", "b")])
@pytest.mark.parametrize("header", ["? title\n: v\n", "? title\n", "  ? title\n  : v\n"])
def test_a_key_behind_a_question_mark_is_left_to_its_author(header, value):
    with pytest.raises(EditRefused, match="title is written as"):
        edit_header(f"---\n{header}---\nB\n", {"title": value})


TASK = {**BUMP, "examples": ("one", "two")}


@pytest.mark.parametrize("title", [PLAIN, LENIENT])
@pytest.mark.parametrize(("below", "changes", "message"), [
    *((f"occurrences: {odd}", BUMP, (f"line 3: occurrences is {odd.strip(chr(34))!r}; "
     "write a whole number from 1 to 1,000,000")) for odd in ("1_0 0", "0x1g", "4.0", "0",
     "12x", '"3 times"', "2000000", "٣")),
    ("occurrences: 5\n  and in May", BUMP,
     "line 3: occurrences is '5 and in May'; write a whole number from 1 to 1,000,000"),
    ("occurrences:\n  - 5\n  - 6", BUMP,
     "line 3: occurrences is a list; write a whole number from 1 to 1,000,000"),
    ("occurrences:\n  ours: 5\n  theirs: 6", BUMP,
     "line 3: occurrences is nested; write a whole number from 1 to 1,000,000"),
    ("occurrences: |\n  5", BUMP,
     "line 3: occurrences continues on the next line; write it on one line"),
    ("x: 1\noccurrences:9", BUMP, ("line 4: 'occurrences:9' is not recognised as a key; "
     "write `occurrences: …` at the beginning of the line")),
    ("x: a\n  occurrences: 9", BUMP, ("line 4: 'occurrences: 9' is not recognised as a key; "
     "write `occurrences: …` at the beginning of the line")),
    ("last-seen: 2026-01-01\n  by Kim", BUMP,
     "line 3: last-seen continues on the next line; write it on one line"),
    ("status: active\n  until May", ARCHIVE,
     "line 3: status continues on the next line; write it on one line"),
    ("status: [active, known]", ARCHIVE,
     "line 3: status is a list; write one of active, ignored, archived, draft"),
    ("status: {now: active}", ARCHIVE,
     "line 3: status is nested; write one of active, ignored, archived, draft"),
    ("examples: one\n  or so", TASK,
     "line 3: examples continues on the next line; write one item a line, each behind a hyphen"),
    ("examples:\n  a: b\n  c: d", TASK, "line 3: examples is nested; write a list of texts"),
    ("examples: [zero, # first\n one]", TASK,
     "the comment '# first' at examples would be lost; move it above the key, then try again"),
    *((f"{odd}", BUMP, f"line 3: last-seen is {said!r}; write a date such as 2026-01-31") for
     odd, said in (
        ("last-seen: 2026-01-01 (after the outage)", "2026-01-01 (after the outage)"),
        ("last-seen: '2026-01-01 by Kim'", "2026-01-01 by Kim"),
        ("last_seen: before the outage", "before the outage"))),
    ("status: active; ask Kim", ARCHIVE,
     "line 3: status is 'active; ask Kim'; write one of active, ignored, archived, draft"),
    ("status: active # for now", {"status": None},
     "the comment '# for now' at status would be lost; move it above the key, then try again"),
])  # fmt: skip
def test_no_line_of_a_human_is_dropped_and_no_count_begins_anew(title, below, changes, message):
    if (title, below) == (LENIENT, "status: {now: active}"):
        return  # to the reader of plain pairs these braces are text, in one line
    with pytest.raises(EditRefused) as caught:
        edit_header(header(f"title: {title}\n{below}"), changes)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "line",
    ["occurrences:9", "occurrences\uff1a 9", "{occurrences: 9}", "{x: 1, occurrences: 9}",
     "? occurrences\n: 9", " occurrences : 9", "Occurrences = 9"],
)  # fmt: skip
def test_a_count_that_no_reader_sees_is_not_begun_anew(line):
    text = header(f"title: {LENIENT}\nseverity: low\n{line}")
    with pytest.raises(
        EditRefused, match=r"^line 4: .* is not recognised as a key; write `occurrences: "
    ):
        edit_header(text, BUMP)
    assert "\nstatus: ignored\n" in edit_header(text, {"status": "ignored"})


def test_a_count_that_may_stand_elsewhere_is_not_begun_anew():
    text = header("base: &b\n  occurrences: 4\n<<: *b")
    with pytest.raises(EditRefused, match="line 4: '<<' may hold occurrences; write"):
        edit_header(text, BUMP)


def test_an_item_that_is_no_text_is_not_dropped_to_make_room():
    before = "examples:\n  - when: May\n    who: Kim\n  - b"
    kept = edit_header(header(before), {"examples": ("b", "c")})
    assert kept == header(f"{before}\n  - c")
    with pytest.raises(EditRefused, match="line 2: examples begins with a nested item; write each"):
        edit_header(header(before), {"examples": ("c",)})


@pytest.mark.parametrize("start", ["\n---\n%YAML 1.1", "\n---\n? a\n: b", "\n\ufeff---"])
def test_a_header_that_is_none_for_what_stands_above_it_is_not_counted_anew(start):
    with pytest.raises(EditRefused, match=r"line 2: .*first line"):
        edit_header(f"{start}\noccurrences: 5\n---\n# T\n", BUMP)
