"""Where the marks of a chart stand; the template draws them.

Across, a mark's place is a share of the width, so that a chart fills a phone as it fills a desk
while its words keep their size; upright it is in pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lessons_kb.learn.lesson_effect import Rate

HEIGHT = 120
PERCENT = "\u00a0%"
_SMALLEST = 2.0
"""Pixels: a bar for one is seen beside a bar for a thousand."""
_FILLED = 0.7
"""Share of a bar's place that it fills."""
_STEPS = (1, 2, 5, 10)


@dataclass(frozen=True, kw_only=True, slots=True)
class Bar:
    """One amount."""

    x: str
    y: str
    width: str
    height: str
    label: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Dot:
    """One share."""

    x: str
    y: str
    label: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """What joins two dots."""

    x1: str
    y1: str
    x2: str
    y2: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Chart:
    """One measure over time."""

    name: str
    """Plain ASCII, unique on the page."""
    title: str
    summary: str
    description: str
    """The chart in words, for those who do not see it."""
    tone: str = ""
    scale: tuple[str, ...]
    """Labels from the top down, evenly apart."""
    weeks: tuple[str, ...]
    """Labels of the first, the middle and the last week, as far as there are so many."""
    height: int = HEIGHT
    grid: tuple[int, ...] = (0, HEIGHT // 2, HEIGHT)
    bars: tuple[Bar, ...] = ()
    dots: tuple[Dot, ...] = ()
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Whisker:
    """A share and the interval it lies in, as places across."""

    low: str
    mean: str
    high: str


def draw_amounts(
    weeks: Sequence[str],
    amounts: Sequence[int],
    *,
    name: str,
    title: str,
    summary: str = "",
    tone: str = "",
) -> Chart:
    """Return a bar for each week's amount; ``weeks`` are ISO dates, as many as ``amounts``."""
    top = round_up(max(amounts, default=0))
    bars = []
    for number, (week, amount) in enumerate(zip(weeks, amounts, strict=True)):
        if amount <= 0:
            continue
        height = max(HEIGHT * amount / top, _SMALLEST)
        left = (number + (1 - _FILLED) / 2) / len(weeks)
        bars.append(
            Bar(
                x=_across(left),
                y=_pixels(HEIGHT - height),
                width=_across(_FILLED / len(weeks)),
                height=_pixels(height),
                label=f"week from {week}: {amount:,}",
            )
        )
    half = f"{top / 2:,g}" if top > 1 else ""
    return Chart(
        name=name,
        title=title,
        summary=summary,
        description=describe_amounts(weeks, amounts),
        tone=tone,
        scale=(f"{top:,}", half, "0"),
        weeks=_labels(weeks),
        bars=tuple(bars),
    )


def draw_shares(
    weeks: Sequence[str],
    shares: Sequence[float | None],
    *,
    name: str,
    title: str,
    summary: str = "",
) -> Chart:
    """Return a dot for each week's share (0 to 1), joined where no week between is unknown."""
    dots: list[Dot] = []
    lines: list[Line] = []
    before: Dot | None = None
    for number, (week, share) in enumerate(zip(weeks, shares, strict=True)):
        if share is None:
            before = None
            continue
        dot = Dot(
            x=_across((number + 0.5) / len(weeks)),
            y=_pixels(HEIGHT * (1 - _bounded(share))),
            label=f"week from {week}: {percent(share)}",
        )
        if before is not None:
            lines.append(Line(x1=before.x, y1=before.y, x2=dot.x, y2=dot.y))
        dots.append(dot)
        before = dot
    return Chart(
        name=name,
        title=title,
        summary=summary,
        description=describe_shares(weeks, shares),
        scale=tuple(map(percent, (1.0, 0.5, 0.0))),
        weeks=_labels(weeks),
        dots=tuple(dots),
        lines=tuple(lines),
    )


def place_whisker(rate: Rate, *, top: float) -> Whisker | None:
    """Return where a rate stands on an axis from 0 to ``top``; None where nothing was counted."""
    if rate.of <= 0 or top <= 0:
        return None
    low, mean, high = (_across(_bounded(v / top)) for v in (rate.low, rate.mean, rate.high))
    return Whisker(low=low, mean=mean, high=high)


def share_width(times: int, most: int) -> str:
    """Return the width of a bar for ``times`` where the longest stands for ``most``."""
    return _across(_bounded(times / most)) if most > 0 else _across(0)


def percent(share: float) -> str:
    """Return a share as people read it."""
    return f"{100 * share:.0f}{PERCENT}"


def round_up(most: int) -> int:
    """Return the end of an axis that holds ``most``: 1, 2 or 5 times a power of ten."""
    power = 1
    while power * 10 < most:
        power *= 10
    return next(power * step for step in _STEPS if power * step >= most)


def describe_amounts(weeks: Sequence[str], amounts: Sequence[int]) -> str:
    """Return a bar chart in words."""
    if not any(amounts):
        return "None in any week."
    most = max(amounts)
    when = weeks[list(amounts).index(most)]
    return (
        f"{sum(amounts):,} in {_weeks(len(weeks))}; the peak, {most:,}, in the week from {when}; "
        f"{amounts[-1]:,} in the last week, from {weeks[-1]}."
    )


def describe_shares(weeks: Sequence[str], shares: Sequence[float | None]) -> str:
    """Return a chart of shares in words."""
    known = [(share, week) for share, week in zip(shares, weeks, strict=True) if share is not None]
    if not known:
        return "Unknown in every week."
    lowest, highest = min(known), max(known)
    return (
        f"Known in {len(known)} of {_weeks(len(weeks))}: between {percent(lowest[0])} (week from "
        f"{lowest[1]}) and {percent(highest[0])} (week from {highest[1]}), "
        f"lately {percent(known[-1][0])}."
    )


def _weeks(count: int) -> str:
    return "1 week" if count == 1 else f"{count} weeks"


def _labels(weeks: Sequence[str]) -> tuple[str, ...]:
    """Return the first week, the last, and the middle one where there is one: evenly apart."""
    places = sorted({0, *([len(weeks) // 2] if len(weeks) % 2 else ()), len(weeks) - 1})
    return tuple(weeks[place] for place in places) if weeks else ()


def _bounded(share: float) -> float:
    return min(max(share, 0.0), 1.0)


def _across(share: float) -> str:
    return f"{100 * share:.2f}%"


def _pixels(value: float) -> str:
    return f"{value:.1f}"
