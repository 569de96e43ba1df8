"""Where the marks stand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.learn.lesson_effect import rate
from lessons_kb.report.page import (
    HEIGHT,
    describe_amounts,
    describe_shares,
    draw_amounts,
    draw_shares,
    place_whisker,
    round_up,
    share_width,
)

WEEKS = [f"2026-{month:02}-{day:02}" for month in (3, 4, 5) for day in range(1, 27)]
amounts = st.lists(st.integers(0, 10**7), max_size=26)


def number(text):
    return float(text.rstrip("%"))


@pytest.mark.parametrize(
    ("most", "end"), [(0, 1), (1, 1), (2, 2), (3, 5), (9, 10), (10, 10), (11, 20), (501, 1000)]
)
def test_an_axis_ends_at_a_round_number(most, end):
    assert round_up(most) == end


@given(amounts)
def test_no_bar_leaves_its_chart(seen):
    chart = draw_amounts(WEEKS[: len(seen)], seen, name="n", title="t")
    assert len(chart.bars) == sum(amount > 0 for amount in seen)
    for bar in chart.bars:
        assert 0 <= number(bar.x) <= number(bar.x) + number(bar.width) <= 100.01
        assert number(bar.height) >= 2
        assert 0 <= number(bar.y) <= number(bar.y) + number(bar.height) <= HEIGHT + 0.11


@given(amounts.filter(any))
def test_bars_are_as_high_as_what_they_stand_for(seen):
    chart = draw_amounts(WEEKS[: len(seen)], seen, name="n", title="t")
    top = int(chart.scale[0].replace(",", ""))
    shown = [number(bar.height) for bar in chart.bars]
    meant = [max(HEIGHT * amount / top, 2.0) for amount in seen if amount]
    assert shown == pytest.approx(meant, abs=0.06)


def test_an_unknown_week_is_a_gap_in_the_line():
    chart = draw_shares(WEEKS[:5], [0.5, 1.0, None, 0.25, 0.0], name="n", title="t")
    assert [dot.y for dot in chart.dots] == ["60.0", "0.0", "90.0", "120.0"]
    assert [(line.x1, line.x2) for line in chart.lines] == [
        ("10.00%", "30.00%"),
        ("70.00%", "90.00%"),
    ]


def test_weeks_are_named_evenly_apart():
    named = [draw_amounts(WEEKS[:n], [1] * n, name="n", title="t").weeks for n in range(5)]
    assert [len(labels) for labels in named] == [0, 1, 2, 3, 2]
    assert named[3] == tuple(WEEKS[:3])


def test_a_chart_is_told_in_words():
    assert describe_amounts(WEEKS[:3], [4, 9, 2]) == (
        "15 in 3 weeks; the peak, 9, in the week from 2026-03-02; "
        "2 in the last week, from 2026-03-03."
    )
    assert describe_amounts(WEEKS[:3], [0, 0, 0]) == "None in any week."
    assert describe_shares(WEEKS[:3], [0.4, None, 0.8]) == (
        "Known in 2 of 3 weeks: between 40\u00a0% (week from 2026-03-01) and 80\u00a0% (week from "
        "2026-03-03), lately 80\u00a0%."
    )
    assert describe_shares(WEEKS[:1], [None]) == "Unknown in every week."


@given(st.integers(0, 50), st.integers(1, 50))
def test_a_whisker_holds_its_dot(times, of):
    whisker = place_whisker(rate(times, of), top=1.0)
    assert whisker is not None
    assert 0 <= number(whisker.low) <= number(whisker.mean) <= number(whisker.high) <= 100


def test_nothing_counted_is_no_whisker():
    assert place_whisker(rate(0, 0), top=1.0) is None
    assert share_width(3, 0) == "0.00%"
