"""One key changed on both sides: what each rule makes of it, byte for byte."""

from dataclasses import replace

import pytest

from lessons_kb.cards.merge import Merged, merge_cards

CONFLICT = "<<<<<<<\n{0}=======\n{1}>>>>>>>\n"


def by_lines(base, ours, theirs):
    return CONFLICT.format(ours, theirs), True


def merge(base, ours, theirs):
    return merge_cards(base, ours, theirs, merge_text=by_lines)


def card(lines, body="Body\n"):
    inside = f"{lines}\n" if lines else ""
    return f"---\ntitle: T\n{inside}x: 1\n---\n{body}"


@pytest.mark.parametrize(("base", "ours", "theirs", "merged"), [
    # counts: what either side added; a side without the key says 1
    ("occurrences: 4", "occurrences: 6 # ours", "occurrences: 9", "occurrences: 11 # ours"),
    ("occurrences: 4", "occurrences: 6", "occurrences: 2 # theirs", "occurrences: 4 # theirs"),
    ("occurrences: 4", "occurrences: 7", "occurrences: 4 # seen", "occurrences: 7 # seen"),
    ("occurrences: 9", "occurrences: 2", "occurrences: 3", "occurrences: 1"),
    ("", "occurrences: 3", "occurrences: 3 # t", "occurrences: 5 # t"),
    ("occurrences: 4", "", "occurrences: 6", "occurrences: 3"),
    ("occurrences: 1", "occurrences: 999999", "occurrences: 999999", "occurrences: 1000000"),
    # dates: the later sighting, the earlier beginning, as that side wrote it
    ("last-seen: 2026-01-01", "last-seen: 2026-03-01", "last-seen: '2026-02-01' # t",
     "last-seen: 2026-03-01 # t"),
    ("last-seen: 2026-01-01", "last-seen: 2026-01-31", "last-seen: '2026-02-01' # t",
     "last-seen: '2026-02-01' # t"),
    ("last-seen: 2026-01-01", "last-seen: 2026-02-01", "last-seen: 2026-02-01T00:00:01",
     "last-seen: 2026-02-01T00:00:01"),
    ("last-seen: 2026-01-01", "last-seen: 2026-02-01T23:00:00-02:00",
     "last-seen: 2026-02-02T00:30:00Z", "last-seen: 2026-02-01T23:00:00-02:00"),
    ("last-seen: 2026-01-01", "last-seen: 2026-02-01T12:00", "last-seen: 2026-02-01T11:00+00:00",
     "last-seen: 2026-02-01T12:00"),
    ("last-seen: 2026-01-01", "last-seen: 2026-02-01 and more", "last-seen: 2026-01-31T23:59",
     "last-seen: 2026-02-01 and more"),
    ("last-seen: 2026-01-01", "", "last-seen: 2025-01-01", "last-seen: 2025-01-01"),
    ("last-seen: 2026-01-01", "last-seen: 2026-02-01 # o", "last-seen: '2026-02-01'",
     "last-seen: 2026-02-01 # o"),
    ("created: 2026-03-03", "created: 2026-03-01 # o", "created: '2026-03-01'",
     "created: 2026-03-01 # o"),
    ("created: 2026-03-03", "created: 2026-03-01", "created: 2026-03-02", "created: 2026-03-01"),
    ("date: 2026-03-03", "date: 2026-03-01", "date: 2026-03-02", "date: 2026-03-01"),
    # sets: what both kept and what either added, in the manner of our side
    ("tags: [a, b]", "tags: [a, b, c] # ours", "tags: [b, d]", "tags: [b, c, d] # ours"),
    ("tags: [a, b]", "tags: [b, c]", "tags:\n- b\n- c\n- d", "tags:\n- b\n- c\n- d"),
    ("tags: [a]", "tags: [a, b]", "tags: [b, a]", "tags: [a, b]"),
    ("paths: [a]", "paths: [a, '*.py']", "paths: [a, b/**]", "paths: [a, '*.py', b/**]"),
    ("symptoms: [a]", "symptoms: it hangs", "symptoms: [a, b]", "symptoms: [it hangs, b]"),
    ("supported-by:\n  - a # 1", "supported-by:\n  - a # 1\n  - b", "supported-by:\n  - a\n  - c",
     "supported-by:\n  - a # 1\n  - b\n  - c"),
    ("applies-when: [a]", "applies-when: [a, b]", "applies-when: a, c",
     'applies-when: [b, "a, c"]'),
    ("stage: [PM]", "stage: [PM, DEV]", "stage: [PM, TEST]", "stage: [PM, DEV, TEST]"),
    # other values: the same thing said in another way is no conflict
    ("severity: low", "severity: high", "severity: 'high' # t", "severity: high # t"),
    ("mine: a", "mine: b\n  c", "mine: b c # t", "mine: b\n  c # t"),
    ("mine: [a]", "mine: [b, 'c']", "mine:\n  - b\n  - c", "mine: [b, 'c']"),
])  # fmt: skip
def test_a_rule_decides(base, ours, theirs, merged):
    found = merge(card(base), card(ours), card(theirs))
    assert found == Merged(text=card(merged), conflict=False)


@pytest.mark.parametrize(("base", "ours", "theirs"), [
    ("severity: low", "severity: high", "severity: medium"),
    ("occurrences: 1", "occurrences: many", "occurrences: 2"),
    ("last-seen: 2026-01-01", "last-seen: soon", "last-seen: 2026-01-02"),
    ("last-seen: 2026-01-01", "last-seen:", "last-seen: 2026-01-02"),
    ("stage: [PM]", "stage: [PM, DEV]", "stage: TEST"),
    ("tags: [a]", "tags: [a, {b: c}]", "tags: [a, d]"),
    ("examples: [a]", "examples: {b: c}", "examples: [a, d]"),
    ("mine: [a]", "mine: [a, b]", "mine: [a, c]"),
    ("mine: a", "mine: b", "mine: [b]"),
    ("mine: [a]", "mine: [[b]]", "mine: [ [b] ]"),
    ("mine: a", "mine: ''", "mine: ~"),
])  # fmt: skip
def test_no_rule_decides(base, ours, theirs):
    found = merge(card(base), card(ours), card(theirs))
    both = CONFLICT.format(f"{ours}\n", f"{theirs}\n").removesuffix("\n")
    assert found == Merged(text=card(both), conflict=True)


def examples(day, *texts):
    return f"last-seen: {day}\nexamples: [{', '.join(texts)}]"


@pytest.mark.parametrize(("ours", "theirs", "merged"), [
    (examples("2026-02-02", "a", "b"), examples("2026-02-03", "a", "c"), examples("2026-02-03",
     "a", "b", "c")),
    (examples("2026-02-03", "a", "b"), examples("2026-02-02", "a", "c"), examples("2026-02-03",
     "a", "c", "b")),
    (examples("2026-02-02", "a", "b"), examples("2026-02-02", "a", "c"), examples("2026-02-02",
     "a", "b", "c")),
    (examples("2026-02-02", "b"), examples("2026-02-03", "a", "c"), examples("2026-02-03", "b",
     "c")),
    (examples("2026-02-02", "a", "1", "2", "3"), examples("2026-02-03", "a", "4", "5", "6"),
     examples("2026-02-03", "2", "3", "4", "5", "6")),
])  # fmt: skip
def test_examples_end_with_those_of_the_side_that_saw_it_last(ours, theirs, merged):
    base = card(examples("2026-01-01", "a"))
    found = merge(base, card(ours), card(theirs))
    assert not found.conflict
    assert "".join(found.text.split('"')) == card(merged)


@pytest.mark.parametrize(("base", "ours", "theirs", "merged"), [
    # keys that one side added stand where it put them
    ("a: 1\nb: 2\n", "a: 1\nb: 2\nc: 3\n", "new: 0\na: 1\nb: 2\n", "new: 0\na: 1\nb: 2\nc: 3\n"),
    ("a: 1\nb: 2\n", "a: 1\nb: 3\n", "a: 1\nmid: 0\nmore: 0\nb: 2\n",
     "a: 1\nmid: 0\nmore: 0\nb: 3\n"),
    ("a: 1\nb: 2\n", "a: 1\nb: 2\no: 1\n", "a: 1\nb: 2\nt: 1\n", "a: 1\nb: 2\nt: 1\no: 1\n"),
    # comments above a key go with it, also with one that is new or gone
    ("a: 1\n", "a: 1\n# why\nb: 2\n", "# first\na: 1\n", "# first\na: 1\n# why\nb: 2\n"),
    ("a: 1\n# old\nb: 2\n", "a: 1\n", "a: 2\n# old\nb: 2\n", "a: 2\n"),
    ("a: 1\n# old\nb: 2\n", "a: 1\n# new\nb: 3\n", "a: 2\n# old\nb: 2\n", "a: 2\n# new\nb: 3\n"),
    # so do comments and empty lines at the end
    ("a: 1\n# end\n", "a: 1\n# end\n\n# more\n", "a: 2\n# end\n", "a: 2\n# end\n\n# more\n"),
    ("a: 1\n# end\n", "a: 3\n# end\n", "a: 1\n", "a: 3\n"),
])  # fmt: skip
def test_keys_and_comments_find_their_places(base, ours, theirs, merged):
    found = merge(*(f"---\n{lines}---\nBody\n" for lines in (base, ours, theirs)))
    assert found == Merged(text=f"---\n{merged}---\nBody\n", conflict=False)


def test_either_side_may_convert_every_line_end_beside_all_other_changes():
    def crlf(text):
        return text.replace("\n", "\r\n")

    base, ours, theirs = card("s: 1"), card("s: 2"), card("s: 1", "New\n")
    merged = Merged(text=card("s: 2", "New\n"), conflict=False)
    windows = replace(merged, text=crlf(merged.text))
    assert merge(crlf(base), crlf(ours), theirs) == merge(crlf(base), ours, crlf(theirs)) == merged
    assert merge(base, crlf(ours), theirs) == merge(base, ours, crlf(theirs)) == windows
    # Without a common beginning there is no telling which, but it is one of both throughout.
    text = merge("", crlf(ours), theirs).text
    assert text.count("\r\n") in (0, text.count("\n"))


@pytest.mark.parametrize(("base", "ours", "theirs"), [
    # what theirs took away, ours came to need
    ("a: &x 1\nb: 2\n", "a: &x 1\nb: *x\n", "a: 1\nb: 2\n"),
    # each fits, both together do not
    ("a: 1\n", f"a: 1\no: {'x' * 40_000}\n", f"t: {'x' * 40_000}\na: 1\n"),
])  # fmt: skip
def test_a_merged_header_that_would_not_read_back_is_left_to_the_lines(base, ours, theirs):
    versions = [f"---\n{lines}---\nBody\n" for lines in (base, ours, theirs)]
    assert merge(*versions) == Merged(text=CONFLICT.format(*versions[1:]), conflict=True)
