"""Three versions of a card made one: what the rules promise, without git."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessons_kb.cards.edit import edit_header
from lessons_kb.cards.merge import Merged, merge_cards
from tests.cards.reading import parse

CARD = """\
---
type: lesson
title: Money in floats  # the ledger
applies-to: [money, billing]
severity: medium
# counted by hand until March
occurrences: 3
last-seen: 2026-03-01
created: 2026-01-10
examples:
  - Pay out refunds
symptoms:
  - "cents are missing"
my-own: kept
---
# Money in floats

## Situation

Totals were off by a cent.

## Prevention Checklist

- Use Decimal
"""


def by_lines(base, ours, theirs):
    """The simplest text merge that can be trusted: one side, or everything in conflict."""
    if ours in (base, theirs):
        return theirs, False
    if theirs == base:
        return ours, False
    ends = ["\n" * (side[-1:] not in "\r\n") for side in (ours, theirs)]
    return f"<<<<<<<\n{ours}{ends[0]}=======\n{theirs}{ends[1]}>>>>>>>\n", True


def merge(base, ours, theirs):
    return merge_cards(base, ours, theirs, merge_text=by_lines)


def card_of(text):
    return parse(text).card


def bumped(text, times=1):
    count = card_of(text).occurrences + times
    return edit_header(text, {"occurrences": count, "last-seen": "2026-04-01"})


LENIENT = """\
---
title: `money`: in floats
stray text that no reader knows
status: active
occurrences: 2   #seen
severity: low
---
# T
"""


@pytest.mark.parametrize(("mine", "yours"), [
    ({"status": "archived"}, {"severity": "high"}),
    ({"severity": "high"}, {"created": "2026-02-02"}),
    ({"status": None}, {"title": "Money"}),
    ({"title": "Money"}, {"status": None, "severity": None}),
])  # fmt: skip
def test_a_line_without_a_key_makes_no_conflict_of_what_each_side_changed(mine, yours):
    for ours, theirs in ((mine, yours), (yours, mine)):
        merged = merge(LENIENT, edit_header(LENIENT, ours), edit_header(LENIENT, theirs))
        assert not merged.conflict
        assert card_of(merged.text) == card_of(edit_header(LENIENT, {**mine, **yours}))
        assert merged.text.count("stray text that no reader knows\n") == 1


ENDED = CARD.replace("my-own: kept\n", "my-own: kept\n# no more keys, please\n\n")


@pytest.mark.parametrize("changed", [
    ENDED.replace("# no more keys, please\n", ""),
    ENDED.replace("please", "thanks"),
    ENDED.replace("\n\n---", "\n\n# indeed\n---"),
    edit_header(ENDED, {"gate": "ask"}),
    edit_header(ENDED, {"gate": "ask"}).replace("ask\n", "ask\n# at last\n"),
], ids=["removed", "changed", "added", "key", "key and comment"])  # fmt: skip
def test_comments_below_the_last_key_stay_once_where_they_stand(changed):
    archived = edit_header(ENDED, {"status": "archived"})
    for ours, theirs in ((archived, changed), (changed, archived)):
        merged = merge(ENDED, ours, theirs)
        assert not merged.conflict
        assert card_of(merged.text) == card_of(edit_header(changed, {"status": "archived"}))
        lines = sorted(merged.text.splitlines())
        assert lines == sorted([*changed.splitlines(), "status: archived"])


def test_a_removed_key_is_gone_and_one_removed_and_changed_conflicts():
    removed = CARD.replace("severity: medium\n", "")
    assert merge(CARD, removed, bumped(CARD)).text == bumped(removed)
    assert merge(CARD, removed, CARD.replace("medium", "high")).conflict


def test_keys_moved_on_one_side_stay_moved():
    moved = CARD.replace("type: lesson\n", "").replace(
        "my-own: kept\n", "my-own: kept\ntype: lesson\n"
    )
    assert merge(CARD, bumped(CARD), moved).text == bumped(moved)
    assert merge(CARD, moved, bumped(CARD)).text == bumped(moved)


def test_comments_change_like_everything_else():
    ours = CARD.replace("# counted by hand until March\n", "# counted\n")
    assert merge(CARD, ours, bumped(CARD)).text == bumped(ours)
    theirs = CARD.replace("# counted by hand until March\n", "# by hand\n")
    assert merge(CARD, ours, theirs).conflict


def test_two_cards_of_one_name_without_a_common_beginning():
    other = CARD.replace("created: 2026-01-10", "created: 2026-01-02").replace("kept", "other")
    merged = merge("", CARD, other)
    assert card_of(merge("", CARD, CARD.replace("01-10", "01-02")).text).occurrences == 6
    assert merged.conflict
    assert "created: 2026-01-02\n" in merged.text


UNREADABLE = [
    CARD.replace("---\n# Money", "# Money"),
    CARD.replace("severity: medium", "severity: low\nseverity: high"),
    "---\n{type: lesson, title: a}\n---\nBody\n",
    "---\n- a list\n---\nBody\n",
]


@pytest.mark.parametrize("bad", UNREADABLE)
@pytest.mark.parametrize("side", [0, 1, 2])
def test_what_cannot_be_read_is_merged_by_lines_alone(bad, side):
    versions = [CARD, bumped(CARD), bumped(CARD, 2)]
    versions[side] = bad
    base, ours, theirs = versions
    expected, conflict = by_lines(base, ours, theirs)
    assert merge(base, ours, theirs) == Merged(text=expected, conflict=conflict)


lines = st.sampled_from(["a: 1\n", "# c\n", "severity: high\n", "tags: [x, y]\n", "---\n", "- b\n"])
drawn = st.builds(lambda rows: "---\n" + "".join(rows), st.lists(lines, max_size=8))
cards = st.builds(
    lambda count, day, more: edit_header(
        CARD, {"occurrences": count, "last-seen": f"2026-02-{day:02d}", "examples": tuple(more)}
    ),
    st.integers(1, 40),
    st.integers(1, 28),
    st.lists(st.sampled_from(["one", "two: b", "three", "네 번째"]), max_size=5, unique=True),
)
texts = st.one_of(drawn, cards, st.text(max_size=60), st.just(CARD.replace("\n", "\r\n")))


@settings(max_examples=50)
@given(texts, texts)
def test_what_one_side_alone_changed_is_taken_as_it_stands(base, changed):
    assert merge(base, base, changed).text == changed
    assert merge(base, changed, base).text == changed


@settings(max_examples=50)
@given(texts, texts, texts)
def test_any_three_texts_merge_and_nothing_is_invented(base, ours, theirs):
    merged = merge(base, ours, theirs)
    known = set(f"{base} {ours} {theirs}".split()) | {"<<<<<<<", "=======", ">>>>>>>"}
    digits = {word for word in merged.text.split() if word not in known}
    assert all(word.strip("[],'\"").isdigit() or set(word) & set("[],'\"") for word in digits)


@pytest.mark.slow
@settings(max_examples=50)
@given(cards, cards, cards)
def test_counts_dates_and_examples_do_not_depend_on_the_side(base, ours, theirs):
    one, other = merge(base, ours, theirs), merge(base, theirs, ours)
    assert one.conflict == other.conflict is False
    first, second = card_of(one.text), card_of(other.text)
    assert (first.occurrences, first.last_seen) == (second.occurrences, second.last_seen)
    assert set(first.examples) == set(second.examples) or len(first.examples) == 5


@pytest.mark.parametrize(("ours", "theirs"), [
    (("  - Pay out refunds\n", "  - Pay out refunds\n  - Again\n"), ("  - Pay out refunds\n",
     "  # from the audit\n  - Pay out refunds\n")),
    (("occurrences: 3", "occurrences: 4"), ("occurrences: 3", "occurrences: 4 # from the audit")),
    (("last-seen: 2026-03-01", "last-seen: 2026-04-01"), ("last-seen: 2026-03-01",
     "last-seen: 2026-03-02 # from the audit")),
    (("[money, billing]", "[money, billing, tax]"), ("[money, billing]",
     "[money, billing] # from the audit")),
    (("severity: medium", "severity: medium # seen by both"), ("severity: medium",
     "severity: 'medium' # from the audit")),
])  # fmt: skip
def test_a_comment_that_one_side_wrote_is_never_dropped(ours, theirs):
    for one, other in ((ours, theirs), (theirs, ours)):
        merged = merge(CARD, CARD.replace(*one), CARD.replace(*other))
        assert "# from the audit" in merged.text
        assert "# seen by both" in merged.text or "# seen by both" not in ours[1]
