"""Build the HTML pages: describe the figures in words, and render a template that escapes them."""

from __future__ import annotations

import base64
import hashlib
import math
import os
import pathlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from lessons_kb.ledger.lesson_effect import (
    Effect,
    Overview,
    Rate,
    never_used,
    noisy,
    tell_added,
    tell_difference,
    tell_outcomes,
    tell_pooled,
)
from lessons_kb.text.redact import redact
from lessons_kb.text.sanitize import clean_line, counted, shorten
from lessons_kb.values import frozen

if TYPE_CHECKING:
    from jinja2 import Environment, Template

HEIGHT = 120
ROWS = 20
"""The maximum number of cards in each list, since a page of 12,000 rows is not useful."""
_WEEKS_OF_A_CHART = 2
"""The minimum number of weeks in a chart. A chart of fewer weeks would be a single bar."""
PERCENT = "\u00a0%"
_SMALLEST = 2.0
"""The minimum height of a bar in pixels, so that 1 is visible beside 1,000."""
_FILLED = 0.7
"""The share of a week's width that its bar fills."""
_TOTAL_LINES = 8
_LONGEST = 160
"""The maximum length of a title in characters."""
_UNGROUPED = ("", "never used")
"""The proposals and verdicts without a group on the page."""
_EXTREMES = {0: "<1", 100: ">99"}


class Shape(NamedTuple):
    """A bar for an amount, or a dot of no size for a share.

    ``x`` and ``width`` are shares of the chart's width; ``y`` and ``height`` are in pixels.
    """

    x: float
    y: float
    label: str
    width: float = 0.0
    height: float = 0.0


@frozen
class Chart:
    """One measure over time."""

    name: str
    """A plain ASCII name that is unique on the page."""
    title: str
    summary: str
    description: str
    """A description of the chart for readers who cannot see it."""
    tone: str = ""
    scale: Sequence[str]
    """The labels of the vertical axis, evenly spaced, from top to bottom."""
    weeks: Sequence[str]
    """The labels of the first, the middle and the last week, evenly spaced."""
    bars: Sequence[Shape] = ()
    dots: Sequence[Shape] = ()
    lines: Sequence[tuple[Shape, Shape]] = ()


def draw_amounts(weeks: Sequence[str], amounts: Sequence[int], **words: Any) -> Chart:
    """Return a chart with a bar for each week's amount.

    ``weeks`` are the ISO dates of their first days, one for each of ``amounts``. ``words`` are the
    other fields of ``Chart``.
    """
    top = round_up(max(amounts, default=0))
    bars = []
    for number, (week, amount) in enumerate(zip(weeks, amounts, strict=True)):
        if amount > 0:
            height = max(HEIGHT * amount / top, _SMALLEST)
            x = (number + (1 - _FILLED) / 2) / len(weeks)
            width = _FILLED / len(weeks)
            label = f"week from {week}: {amount:,}"
            bars.append(Shape(x, HEIGHT - height, label, width, height))
    scale = (f"{top:,}", f"{top / 2:,g}" if top > 1 else "", "0")
    description = "None in any week."
    if any(amounts):
        peak = max(amounts)
        description = (
            f"{sum(amounts):,} in {counted(len(weeks), 'week')}; the peak, {peak:,}, in the week "
            f"from {weeks[list(amounts).index(peak)]}; {amounts[-1]:,} in the last week, from "
            f"{weeks[-1]}."
        )
    return Chart(description=description, scale=scale, weeks=_label(weeks), bars=bars, **words)


def draw_shares(weeks: Sequence[str], shares: Sequence[float | None], **words: Any) -> Chart:
    """Return a chart with a dot for each week's share, from 0 to 1 (None if it is unknown).

    Lines join the dots of consecutive weeks. ``words`` are the other fields of ``Chart``.
    """
    dots: list[Shape | None] = [None] * len(weeks)
    measured = []
    for number, (week, share) in enumerate(zip(weeks, shares, strict=True)):
        if share is not None:
            measured.append((share, week))
            x = (number + 0.5) / len(weeks)
            y = HEIGHT * (1 - _bound(share))
            dots[number] = Shape(x, y, f"week from {week}: {percent(share)}")
    description = "Unknown in every week."
    if measured:
        (lowest, lowest_week), (highest, highest_week) = min(measured), max(measured)
        description = (
            f"Known in {len(measured)} of {counted(len(weeks), 'week')}: between "
            f"{percent(lowest)} (week from {lowest_week}) and {percent(highest)} "
            f"(week from {highest_week}), lately {percent(measured[-1][0])}."
        )
    return Chart(
        description=description,
        scale=[*map(percent, (1.0, 0.5, 0.0))],
        weeks=_label(weeks),
        dots=[dot for dot in dots if dot],
        lines=[(start, end) for start, end in pairwise(dots) if start and end],
        **words,
    )


def percent(share: float) -> str:
    """Return a share (0 to 1) as a percentage."""
    return f"{100 * share:.0f}{PERCENT}"


def round_up(most: int) -> int:
    """Return the end of an axis that includes ``most``: 1, 2 or 5 times a power of ten."""
    power = 1
    while power * 10 < most:
        power *= 10
    return next(power * step for step in (1, 2, 5, 10) if power * step >= most)


def _label(weeks: Sequence[str]) -> tuple[str, ...]:
    """Return the first and the last week, and the middle week of an odd number of weeks."""
    if not weeks:
        return ()
    places = {0, len(weeks) - 1}
    if len(weeks) % 2:
        places.add(len(weeks) // 2)
    return tuple(weeks[place] for place in sorted(places))


def _bound(share: float) -> float:
    return min(max(share, 0.0), 1.0)


def file_link(path: str, *, page_folder: str | None = None) -> str:
    """Return a quoted URL for an absolute path.

    It is relative if the file is in or below ``page_folder``, so that the folder can be moved.
    Otherwise it is a ``file://`` URL.
    """
    folder = (page_folder or "").rstrip(os.sep) + os.sep
    if page_folder is not None and path.startswith(folder):
        return quote(os.fsencode(path[len(folder) :].replace(os.sep, "/")), safe="/")
    return pathlib.Path(path).as_uri()


def build_page(
    overview: Overview,
    *,
    template: str,
    brain: str,
    made: str,
    link: Callable[[Effect], str],
    scope: str = "",
    rows: int = ROWS,
    home: str = "",
) -> str:
    """Return the page for an overview, in which every text is escaped.

    ``template`` is the text of ``templates/report.html``, ``brain`` the name of the brain, and
    ``made`` the date of the page. ``link`` returns the URL of a card. ``scope`` names the filter of
    the overview, ``rows`` limits each list, and ``home`` is the address of the page to return to.
    """

    def group(effects: Sequence[Effect]) -> dict[str, Any]:
        """Return the rows under one heading, with one axis, and the number of omitted rows."""
        shown = effects[: max(rows, 1)]
        top = _axis_end(shown)
        return {
            "rows": [_row(effect, link(effect), top) for effect in shown],
            "axis": f"0 to {percent(top)}",
            "count": len(effects),
            "more": len(effects) - len(shown),
        }

    def groups(field: str) -> dict[str, dict[str, Any]]:
        """Return the groups of effects with an equal field."""
        effects_by_value: dict[str, list[Effect]] = {}
        for effect in overview.effects:
            effects_by_value.setdefault(getattr(effect, field), []).append(effect)
        for value in _UNGROUPED:
            effects_by_value.pop(value, None)
        return {value: group(effects) for value, effects in effects_by_value.items()}

    page = _compile(template).render(
        style_hash=style_hash(template),
        home=home,
        brain=clean_line(brain),
        made=made,
        scope=clean_line(scope),
        overview=overview,
        lead=describe(overview, scope=scope),
        tiles=_tiles(overview),
        charts=_charts(overview),
        first_week=_describe_first_week(overview),
        height=HEIGHT,
        proposals=groups("proposal"),
        verdicts=groups("verdict"),
        noisy=group(noisy(overview)),
        never=group(never_used(overview)),
        totals=_totals(overview),
    )
    return redact(page)


def build_trial_page(figures: Mapping[str, Any], *, template: str) -> str:
    """Return the page of a trial; ``figures`` are the result of ``trial.summary.summarize``."""
    page = _compile(template).render(style_hash=style_hash(template), data=figures)
    return redact(page)


def describe(overview: Overview, *, scope: str = "") -> str:
    """Return a summary of an overview in a few sentences; ``scope`` names its filter."""
    if not overview.cards:
        return "No cards match." if scope else "This brain is empty."
    cards = counted(overview.cards, "card")
    if not overview.injections:
        none = "not injected yet" if overview.cards == 1 else "none of them injected yet"
        return f"{cards}, {none}."
    sessions = counted(overview.sessions, "session")
    times = _times(overview.injections)
    summary = f"{cards}. In {sessions}, lessons were injected {times}."
    if overview.checked:
        share = _share(overview.addressed, overview.checked)
        items = counted(overview.checked, "checklist item")
        summary += f" Agents showed that they did {share} of {items}."
    if overview.recurrences:
        summary += f" A mistake was left in spite of its lesson {_times(overview.recurrences)}."
    elif any(effect.told.of for effect in overview.effects):
        summary += " No mistake was left in spite of its lesson."
    elif overview.sessions:  # outside of sessions no outcome is recorded
        summary += " No fact has shown yet whether a mistake was made again."
    pooled = tell_pooled(overview.pooled)
    return f"{summary} The effect of the lessons: {pooled}." if pooled else summary


def _axis_end(effects: Sequence[Effect]) -> float:
    """Return the end of the axis for the rates of some effects: a tenth, at most 1."""
    highest = 0.0
    for effect in effects:
        for rate in (effect.untold, effect.told):
            if rate.of:
                highest = max(highest, rate.high)
    return min(math.ceil(10 * (highest or 1.0)) / 10, 1.0)


def _describe_card(effect: Effect) -> str:
    """Return a line with a card's name and the properties that differ from a usual card."""
    card = effect.card
    facts = [effect.name]
    if card.severity != "medium":
        facts.append(card.severity)
    if card.occurrences > 1:
        facts.append(f"seen {card.occurrences:,}×")
    if card.status != "active":
        facts.append(card.status)
    added = tell_added([effect])
    if added:
        facts.append(f"{added}, by its patterns in git")
    if effect.opened or effect.told.of:
        facts.append(tell_outcomes(effect))
    return clean_line(" · ".join(facts))


def _describe_rate(rate: Rate) -> str:
    """Return a rate with its interval, or "not known"."""
    if not rate.of:
        return "not known"
    return f"{rate.times:,} of {rate.of:,} ({100 * rate.low:.0f}–{100 * rate.high:.0f}{PERCENT})"


def _place_rate(rate: Rate, top: float) -> list[float]:
    """Return the low end, the share and the high end of a rate on an axis.

    Return [] if the rate is unknown.
    """
    if not rate.of:
        return []
    return [_bound(value / top) for value in (rate.low, rate.times / rate.of, rate.high)]


def _row(effect: Effect, href: str, top: float) -> dict[str, object]:
    """Return the row of a card; ``top`` is the end of its axis."""
    card, before, after = effect.card, effect.untold, effect.told
    title = shorten(clean_line(card.title) or clean_line(card.id), _LONGEST)
    change = []
    if before.of or after.of:
        change += [f"withheld {_describe_rate(before)}", f"with it {_describe_rate(after)}"]
    change += filter(None, [tell_difference(effect)])
    chance = round(100 * effect.prevents)
    prevents = f"{_EXTREMES.get(chance, str(chance))}{PERCENT}"
    marks = ((effect.helpful, "helpful"), (effect.harmful, "harmful"))
    reason = clean_line(effect.reason)
    return {
        "title": title,
        "about": _describe_card(effect),
        "href": href,
        "given": f"{effect.injections:,}×" if effect.injections else "",
        "sessions": f"in {counted(effect.sessions, 'session')}",
        "addressed": _share(effect.addressed, effect.checked),
        "checked": f"of {effect.checked:,}",
        "tokens": f"{effect.tokens:,}",
        "change": change,
        "before": _place_rate(before, top),
        "after": _place_rate(after, top),
        "prevents": prevents if before.of and after.of else "",
        "marks": ", ".join(f"{times:,}\u00a0{word}" for times, word in marks if times),
        "reason": f"{reason[0].upper()}{reason[1:]}." if reason else "",
    }


def make_environment(**how: Any) -> Environment:
    """Return a template engine that escapes every value and refuses undefined names.

    ``how`` are further arguments of ``jinja2.Environment``.
    """
    from jinja2 import Environment, StrictUndefined

    return Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, **how
    )


@lru_cache(maxsize=1)
def _compile(template: str) -> Template:
    """Return a compiled template with the filters of the pages."""
    environment = make_environment()
    environment.globals["share"] = _share
    environment.filters |= {
        "across": lambda share: f"{100 * share:.2f}%",
        "pixels": lambda value: f"{value:.1f}",
        "number": lambda number: f"{number:,}",
        "counted": counted,
    }
    return environment.from_string(template)


def style_hash(template: str) -> str:
    """Return the digest of a page's style sheet for its content security policy.

    It is the SHA-256 digest in base64.
    """
    match = re.search(r"<style>(.*?)</style>", template, re.DOTALL)
    digest = hashlib.sha256((match[1] if match else "").encode()).digest()
    return base64.b64encode(digest).decode()


def _tiles(overview: Overview) -> list[dict[str, str]]:
    """Return the figures at the top of the page."""
    numbers = ((overview.notes, "note"), (overview.drafts, "draft"))
    others = " and ".join(counted(number, name) for number, name in numbers if number)
    each = round(overview.tokens / overview.injections) if overview.injections else 0
    tokens = f"{overview.tokens:,} tokens, {each:,} each" if each else "into agents"
    checked = f"of {overview.checked:,} checked" if overview.checked else "none checked yet"
    tiles = (
        ("Cards", f"{overview.cards:,}", f"plus {others}" if others else "in total"),
        ("Mistakes", f"{overview.occurrences:,}", "counted by the cards"),
        ("Sessions", f"{overview.sessions:,}", "of agents with hooks"),
        ("Injected", f"{overview.injections:,}", tokens),
        ("Items addressed", _share(overview.addressed, overview.checked) or "–", checked),
        ("Left", f"{overview.recurrences:,}", "mistakes made despite their card"),
    )
    return [{"name": name, "value": value, "note": note} for name, value, note in tiles]


def _charts(overview: Overview) -> tuple[Chart, ...]:
    """Return the charts over time, or () if there are fewer weeks than a chart needs."""
    periods = overview.periods
    has_events = overview.injections > 0 or overview.recurrences > 0
    if not has_events or len(periods) < _WEEKS_OF_A_CHART:
        return ()
    weeks = [period.start for period in periods]
    left = draw_amounts(
        weeks,
        [period.recurrences for period in periods],
        name="recurrences",
        title="Mistakes left",
        summary="per week, in sessions that had their card",
        tone="bad",
    )
    injected = draw_amounts(
        weeks,
        [period.injections for period in periods],
        name="injections",
        title="Lessons injected",
        summary="per week, in all agents",
    )
    addressed = draw_shares(
        weeks,
        [period.addressed / period.checked if period.checked else None for period in periods],
        name="addressed",
        title="Checklist items addressed",
        summary="share of those checked",
    )
    return left, injected, addressed


def _describe_first_week(overview: Overview) -> str:
    """Return a sentence with the figures of the only week with events; "" if there are none."""
    if not (overview.injections or overview.recurrences) or not overview.periods:
        return ""
    week = overview.periods[-1]
    sentence = f"In the week from {week.start}, lessons were injected {_times(week.injections)}"
    if week.recurrences:
        left = f"a mistake was left in spite of its lesson {_times(week.recurrences)}"
        return f"{sentence}, and {left}."
    return f"{sentence}."


def _totals(overview: Overview) -> list[tuple[str, list[tuple[str, int]]]]:
    """Return each field with its values and the number of cards for each value."""
    totals = []
    for name in ("kind", "severity", "stage", "project", "source", "status"):
        counts: Sequence[tuple[str, int]] = getattr(overview, f"by_{name}")
        lines = [(clean_line(value) or "none", times) for value, times in counts[:_TOTAL_LINES]]
        rest = sum(times for _value, times in counts[_TOTAL_LINES:])
        if rest:
            lines.append((f"{len(counts) - _TOTAL_LINES:,} others", rest))
        if lines:
            totals.append((name, lines))
    return totals


def _share(part: int, whole: int) -> str:
    return percent(part / whole) if whole else ""


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"
