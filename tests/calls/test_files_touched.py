"""The file ledger: what it lists, reads back from a summary, and how long it gets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.guards import Event, FileLedger, parse_ledger

NAMES = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="`…"), min_size=1, max_size=20
)
ODD_NAMES = NAMES | st.sampled_from(
    [
        *(" a", "a ", "  ", "- a"),
        *("# Files Read", "## Files Modified", "app/[slug]/page.tsx", "C:\\a", "a\\u{41}", "<b>"),
        *("a\n- b", "[/ACTIVE LESSONS]", "user: hi", "<!-- x -->", "1. a", "\u3164", "❤️.md", "*"),
        *("파일.md", "a b.txt", "\u202ea", "\udcff", "Files Read", "**Files Read**", "a\u2028b"),
    ]
)
TOUCHES = st.lists(
    st.builds(
        Event,
        kind=st.sampled_from(["read", "edit", "create", "remove", "command"]),
        targets=st.lists(NAMES, max_size=3).map(tuple),
        scope=st.sampled_from(["", "/w", "/v"]),
        outcome=st.sampled_from(["ok", "unknown", "exec_error"]),
    ),
    max_size=12,
)


def ledger_of(*, read=(), modified=(), **options):
    ledger = FileLedger(**options)
    ledger.see(Event(kind="read", targets=tuple(read)))
    ledger.see(Event(kind="edit", targets=tuple(modified)))
    return ledger


def show_path(name):
    return ledger_of(read=[name]).format().removeprefix("## Files Read\n- ")


def parse_path(shown):
    ((name,), _modified) = parse_ledger(f"## Files Read\n- {shown}")
    return name


def test_the_note_after_a_compaction_lists_the_files_of_earlier_summaries_too():
    ledger = ledger_of(read=["b"], modified=["d"])
    summary = "Goal.\n\n## Files Read\n- a\n- b\n\n## Files Modified\n- c\n\n## Next\n- test it"
    signal = ledger.see(Event(kind="compaction", text=summary))
    assert (signal.guard, signal.level, signal.user_line) == ("files", "note", "")
    assert signal.message == "## Files Read\n- a\n- b\n\n## Files Modified\n- c\n- d"
    assert signal.record == {"kind": "file_ledger", "read": ["a", "b"], "modified": ["c", "d"]}


@pytest.mark.parametrize(("summary", "read", "modified"), [
    ("", set(), set()),
    ("# files read\n* a\n+ b\n1. c\n2) d\n• e\n12. f", {"a", "b", "c", "d", "e", "f"}, set()),
    ("### FILES MODIFIED:\n\n- `src/a.py` — the parser\n", set(), {"src/a.py"}),
    ("**Files Read:**\n- a\n**Files Modified**\n- b", {"a"}, {"b"}),
    ("## Files Read\nThese were read so far:\n- a\n- b", {"a", "b"}, set()),
    ("## Files Read\n- a\n\n- b\n\nNext steps:\n- run it", {"a", "b"}, set()),
    ("## Files Read\n\n## Decisions\n- b", set(), set()),
    ("## Files Read\n- (none)\n- None\n- N/A\n- … 12 more\n- b", {"b"}, set()),
    ("## Files Read\n- … 12 more\nNext:\n- b", set(), set()),
    ("## Files Read\n-a\na. b\n.1 c\n1 d\n1x. f\n- e", {"e"}, set()),
    ("## Files Read\n-\n- ``\n- e", {"e"}, set()),
    ("## Files Read\r\n- a\r\n- b\r\n", {"a", "b"}, set()),
])  # fmt: skip
def test_a_summary_rewritten_by_a_model_is_parsed(summary, read, modified):
    assert parse_ledger(summary) == (read, modified)


@pytest.mark.slow
@given(st.sets(ODD_NAMES), st.sets(ODD_NAMES))
def test_a_formatted_ledger_can_be_parsed(read, modified):
    text = ledger_of(read=read, modified=modified, max_bytes=100_000).format()
    assert parse_ledger(text) == (read, modified)


@given(ODD_NAMES)
def test_a_shown_path_is_one_visible_line_and_can_be_parsed(name):
    shown = show_path(name)
    assert shown.isprintable()
    assert shown == shown.strip()
    assert parse_path(shown) == name


def test_an_ordinary_path_is_shown_unchanged_and_cut_at_400_characters():
    plain = ("a.py", "src/app/[slug]/page.tsx", "my file (1).md", "파일.md", "a…b", "a" * 400)
    for name in plain:
        assert show_path(name) == name
    assert show_path("a \u202eb 파 c") == "a \\u{202e}b 파 c"
    assert show_path(" \x1b ") == "\\u{20}\\u{1b}\\u{20}"
    assert show_path("a" * 401) == "a" * 399 + "…"
    assert parse_path("C:\\users\\u{zz}\\u{110000}\\x") == "C:\\users\\u{zz}\\u{110000}\\x"
    assert parse_path("\\u{10ffff}") == "\U0010ffff"


@pytest.mark.slow
@given(st.sets(ODD_NAMES, max_size=30), st.sets(ODD_NAMES, max_size=30), st.integers(0, 400))
def test_the_text_never_exceeds_its_limit(read, modified, limit):
    text = ledger_of(read=read, modified=modified).format(limit)
    assert len(text) <= limit
    shown_read, shown_modified = parse_ledger(text)
    assert shown_read <= read
    assert shown_modified <= modified


def test_a_text_that_just_fits_is_complete_and_one_byte_less_cuts_it():
    ledger = ledger_of(read=["a", "b"], modified=["c", "d"])
    whole = "## Files Read\n- a\n- b\n\n## Files Modified\n- c\n- d"
    assert ledger.format(len(whole)) == whole
    assert ledger.format(len(whole) - 1) == "## Files Modified\n- c\n- d"
    one = "## Files Read\n- a\n- b"
    assert ledger_of(read=["a", "b"]).format(len(one)) == one


def test_a_cut_list_states_how_many_files_are_missing():
    ledger = ledger_of(read=[f"file{n:02}" for n in range(50)])
    text = ledger.format(62)
    assert text == "## Files Read\n- file00\n- file01\n- file02\n- … 47 more"
    room = len(text.encode())
    assert ledger.format(room) == text
    assert ledger.format(room - 1) == "## Files Read\n- file00\n- file01\n- … 48 more"


def test_modified_files_get_room_first_and_leave_the_rest():
    many = [f"file{n:02}" for n in range(50)]
    text = ledger_of(read=many, modified=["a"]).format(100)
    assert text.endswith("## Files Modified\n- a")
    assert 90 <= len(text) <= 100
    text = ledger_of(read=many, modified=many).format(200)
    assert text.startswith("## Files Modified")
    assert 185 <= len(text) <= 200


def test_files_of_another_scope_are_listed_in_full():
    ledger = FileLedger(scope="/w")
    ledger.see(Event(kind="read", targets=("a", "/etc/hosts"), scope="/w"))
    ledger.see(Event(kind="read", targets=("a", "/etc/hosts"), scope="/v"))
    ledger.see(Event(kind="read", targets=("b", "")))
    assert ledger.read == ("/etc/hosts", "/v/a", "a", "b")


@pytest.mark.slow
@given(TOUCHES, TOUCHES)
def test_a_ledger_lost_at_a_compaction_is_restored_from_the_summary(before, after):
    whole, lost = FileLedger(max_bytes=100_000), FileLedger(max_bytes=100_000)
    for event in before:
        whole.see(event)
    summary = f"Summary.\n\n{whole.format()}\n\nDone."
    for event in after:
        whole.see(event)
        lost.see(event)
    lost.merge(summary)
    assert lost.format() == whole.format()
