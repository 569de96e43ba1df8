"""The page: what the figures mean in words, then one template that escapes everything."""

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
    Period,
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
"""Cards shown of each kind: a page of 12,000 rows helps nobody."""
PERCENT = "\u00a0%"
_SMALLEST = 2.0
"""Pixels: a bar for one is seen beside a bar for a thousand."""
_FILLED = 0.7
"""Share of a bar's place that it fills."""
_TOTAL_LINES = 8
_LONGEST = 160
"""Characters of a title that are shown."""
_UNTOLD = ("", "never used")
"""Proposals and verdicts that make no group."""
_EXTREMES = {0: "<1", 100: ">99"}


class Shape(NamedTuple):
    """A bar for an amount, or a dot for a share, which has no size.

    ``x`` and ``width`` are shares of the chart's width, the others pixels.
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
    """Plain ASCII, unique on the page."""
    title: str
    summary: str
    description: str
    """The chart in words, for those who do not see it."""
    tone: str = ""
    scale: Sequence[str]
    """Labels from the top down, evenly apart."""
    weeks: Sequence[str]
    """Labels of the first, the middle and the last week, as far as there are so many."""
    bars: Sequence[Shape] = ()
    dots: Sequence[Shape] = ()
    lines: Sequence[tuple[Shape, Shape]] = ()


def draw_amounts(weeks: Sequence[str], amounts: Sequence[int], **words: Any) -> Chart:
    """Return a bar for each week's amount; ``weeks`` are ISO dates, as many as ``amounts``."""
    top = round_up(max(amounts, default=0))
    bars = []
    for number, (week, amount) in enumerate(zip(weeks, amounts, strict=True)):
        if amount > 0:
            height = max(HEIGHT * amount / top, _SMALLEST)
            x, width = (number + (1 - _FILLED) / 2) / len(weeks), _FILLED / len(weeks)
            label = f"week from {week}: {amount:,}"
            bars.append(Shape(x, HEIGHT - height, label, width, height))
    scale = (f"{top:,}", f"{top / 2:,g}" if top > 1 else "", "0")
    described = "None in any week."
    if any(amounts):
        peak = max(amounts)
        described = (
            f"{sum(amounts):,} in {counted(len(weeks), 'week')}; the peak, {peak:,}, in the week "
            f"from {weeks[list(amounts).index(peak)]}; {amounts[-1]:,} in the last week, from "
            f"{weeks[-1]}."
        )
    return Chart(description=described, scale=scale, weeks=_label(weeks), bars=bars, **words)


def draw_shares(weeks: Sequence[str], shares: Sequence[float | None], **words: Any) -> Chart:
    """Return a dot for each week's share (0 to 1), joined where no week between is unknown."""
    places: list[Shape | None] = [None] * len(weeks)
    known = []
    for number, (week, share) in enumerate(zip(weeks, shares, strict=True)):
        if share is not None:
            known.append((share, week))
            x, y = (number + 0.5) / len(weeks), HEIGHT * (1 - _bound(share))
            places[number] = Shape(x, y, f"week from {week}: {percent(share)}")
    described = "Unknown in every week."
    if known:
        (least, low), (most, high) = min(known), max(known)
        described = (
            f"Known in {len(known)} of {counted(len(weeks), 'week')}: between {percent(least)} "
            f"(week from {low}) and {percent(most)} (week from {high}), "
            f"lately {percent(known[-1][0])}."
        )
    return Chart(
        description=described,
        scale=[*map(percent, (1.0, 0.5, 0.0))],
        weeks=_label(weeks),
        dots=[dot for dot in places if dot],
        lines=[(a, b) for a, b in pairwise(places) if a and b],
        **words,
    )


def percent(share: float) -> str:
    """Return a share as people read it."""
    return f"{100 * share:.0f}{PERCENT}"


def round_up(most: int) -> int:
    """Return the end of an axis that holds ``most``: 1, 2 or 5 times a power of ten."""
    power = 1
    while power * 10 < most:
        power *= 10
    return next(power * step for step in (1, 2, 5, 10) if power * step >= most)


def _label(weeks: Sequence[str]) -> tuple[str, ...]:
    """Return the first week, the last, and the middle one where there is one: evenly apart."""
    places = sorted({0, *([len(weeks) // 2] if len(weeks) % 2 else ()), len(weeks) - 1})
    return tuple(weeks[place] for place in places) if weeks else ()


def _bound(share: float) -> float:
    return min(max(share, 0.0), 1.0)


def file_link(path: str, *, page_folder: str | None = None) -> str:
    """Return a URL for an absolute path, with everything quoted that is not plain.

    It is relative where the file lies in or below ``page_folder``, so that both may move together,
    else a ``file://`` URL.
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
    """Return the page for an overview.

    ``template`` is the text of ``templates/report.html``, ``brain`` the brain's name, ``made`` a
    date in words, ``link`` gives a card's URL, ``scope`` names what the overview is limited to,
    ``rows`` bounds each list, ``home`` is the address of a page to go back to. Every text is
    shown as text, whatever it holds.
    """

    def group(effects: Sequence[Effect]) -> dict[str, Any]:
        """Return the rows under one heading, all on the same axis, and how many are left out."""
        shown = effects[: max(rows, 1)]
        highs = [rate.high for one in shown for rate in (one.untold, one.told) if rate.of]
        top = min(math.ceil(10 * max(highs, default=1.0)) / 10, 1.0)
        return {
            "rows": [_row(effect, link(effect), top) for effect in shown],
            "axis": f"0 to {percent(top)}",
            "count": len(effects),
            "more": len(effects) - len(shown),
        }

    def groups(field: str) -> dict[str, dict[str, Any]]:
        found: dict[str, list[Effect]] = {}
        for effect in overview.effects:
            found.setdefault(getattr(effect, field), []).append(effect)
        return {name: group(effects) for name, effects in found.items() if name not in _UNTOLD}

    page = _compile(template).render(
        style_hash=style_hash(template),
        home=home,
        brain=clean_line(brain),
        made=made,
        scope=clean_line(scope),
        overview=overview,
        lead=describe(overview, scope=scope),
        tiles=_tiles(overview),
        charts=_charts(overview.periods) if overview.injections or overview.recurrences else (),
        height=HEIGHT,
        proposals=groups("proposal"),
        verdicts=groups("verdict"),
        noisy=group(noisy(overview)),
        never=group(never_used(overview)),
        totals=_totals(overview),
    )
    return redact(page)


def build_trial_page(figures: Mapping[str, Any], *, template: str) -> str:
    """Return the page of a trial from what ``trial.summary.summarize`` returns."""
    page = _compile(template).render(style_hash=style_hash(template), data=figures)
    return redact(page)


def describe(overview: Overview, *, scope: str = "") -> str:
    """Return what an overview, limited to ``scope``, says in a few sentences."""
    if not overview.cards:
        return "No cards match." if scope else "This brain is empty."
    cards = counted(overview.cards, "card")
    if not overview.injections:
        none = "not injected yet" if overview.cards == 1 else "none of them injected yet"
        return f"{cards}, {none}."
    given = _times(overview.injections)
    said = f"{cards}. In {counted(overview.sessions, 'session')}, lessons were injected {given}."
    if overview.checked:
        said += (
            f" Of {counted(overview.checked, 'checklist item')} checked, "
            f"{_share(overview.addressed, overview.checked)} were addressed."
        )
    if overview.recurrences:
        said += f" A mistake was left in spite of its lesson {_times(overview.recurrences)}."
    elif overview.sessions:  # outside of a session nobody looks whether a mistake is made
        said += " No mistake was seen left in spite of its lesson."
    pooled = tell_pooled(overview.pooled)
    return f"{said} Lessons prevent their mistakes by {pooled}." if pooled else said


def _row(effect: Effect, href: str, top: float) -> dict[str, object]:
    """Return one card in words; ``top`` is where the axis of its bars ends."""
    card = effect.card
    about = [effect.name]
    if card.severity != "medium":
        about.append(card.severity)
    if card.occurrences > 1:
        about.append(f"seen {card.occurrences:,}×")
    if card.status != "active":
        about.append(card.status)
    if added := tell_added([effect]):
        about.append(f"{added}, by its patterns in git")
    if effect.opened or effect.told.of:
        about.append(tell_outcomes(effect))
    title = shorten(clean_line(card.title) or clean_line(card.id), _LONGEST)
    rates = {"before": effect.untold, "after": effect.told}
    words = {"before": "withheld", "after": "with it"}
    change = []
    for when, rate in rates.items() if any(rate.of for rate in rates.values()) else ():
        low, high = f"{100 * rate.low:.0f}", f"{100 * rate.high:.0f}"
        known = f"{rate.times:,} of {rate.of:,} ({low}–{high}{PERCENT})"
        change.append(f"{words[when]} {known if rate.of else 'not known'}")
    change += filter(None, [tell_difference(effect)])
    chance = round(100 * effect.prevents)
    prevents = f"{_EXTREMES.get(chance, str(chance))}{PERCENT}"
    marks = ((effect.helpful, "helpful"), (effect.harmful, "harmful"))
    reason = clean_line(effect.reason)
    return {
        "title": title,
        "about": clean_line(" · ".join(about)),
        "href": href,
        "given": f"{effect.injections:,}×" if effect.injections else "",
        "sessions": f"in {counted(effect.sessions, 'session')}",
        "addressed": _share(effect.addressed, effect.checked),
        "checked": f"of {effect.checked:,}",
        "tokens": f"{effect.tokens:,}",
        "change": change,
        **{  # low, share and high on the axis; [] where nothing was counted
            when: [_bound(value / top) for value in (rate.low, rate.times / rate.of, rate.high)]
            if rate.of
            else []
            for when, rate in rates.items()
        },
        "prevents": prevents if all(rate.of for rate in rates.values()) else "",
        "marks": ", ".join(f"{times:,}\u00a0{word}" for times, word in marks if times),
        "reason": f"{reason[0].upper()}{reason[1:]}." if reason else "",
    }


def make_environment(**how: Any) -> Environment:
    """Return a template engine that escapes every value and refuses a name it does not know."""
    from jinja2 import Environment, StrictUndefined

    blocks: dict[str, Any] = {"trim_blocks": True, "lstrip_blocks": True}
    return Environment(autoescape=True, undefined=StrictUndefined, **blocks, **how)


@lru_cache(maxsize=1)
def _compile(template: str) -> Template:
    made = make_environment()
    made.globals["share"] = _share
    made.filters |= {
        "across": lambda share: f"{100 * share:.2f}%",
        "pixels": lambda value: f"{value:.1f}",
        "number": lambda number: f"{number:,}",
        "counted": counted,
    }
    return made.from_string(template)


def style_hash(template: str) -> str:
    """Return the digest (SHA-256, base64) by which a policy knows the page's style sheet."""
    found = re.search(r"<style>(.*?)</style>", template, re.DOTALL)
    digest = hashlib.sha256((found[1] if found else "").encode()).digest()
    return base64.b64encode(digest).decode()


def _tiles(overview: Overview) -> list[dict[str, str]]:
    numbers = ((overview.notes, "note"), (overview.drafts, "draft"))
    beside = " and ".join(counted(number, what) for number, what in numbers if number)
    each = round(overview.tokens / overview.injections) if overview.injections else 0
    tokens = f"{overview.tokens:,} tokens, {each:,} each" if each else "into agents"
    checked = f"of {overview.checked:,} checked" if overview.checked else "none checked yet"
    tiles = (
        ("Cards", f"{overview.cards:,}", f"plus {beside}" if beside else "in total"),
        ("Mistakes recorded", f"{overview.occurrences:,}", "sum of occurrences"),
        ("Sessions", f"{overview.sessions:,}", "with hooks"),
        ("Injected", f"{overview.injections:,}", tokens),
        ("Items addressed", _share(overview.addressed, overview.checked) or "–", checked),
        ("Left", f"{overview.recurrences:,}", "mistakes made despite their card"),
    )
    return [{"name": name, "value": value, "note": note} for name, value, note in tiles]


def _charts(periods: Sequence[Period]) -> tuple[Chart, ...]:
    weeks = [period.start for period in periods]
    if not weeks:
        return ()
    shares = [period.addressed / period.checked if period.checked else None for period in periods]
    left = {"title": "Mistakes left", "summary": "per week, in sessions that had their card"}
    injected = {"title": "Lessons injected", "summary": "per week, in all agents"}
    addressed = {"title": "Checklist items addressed", "summary": "share of those checked"}
    amounts = [(period.recurrences, period.injections) for period in periods]
    return (
        draw_amounts(weeks, [n for n, _ in amounts], name="recurrences", tone="bad", **left),
        draw_amounts(weeks, [n for _, n in amounts], name="injections", **injected),
        draw_shares(weeks, shares, name="addressed", **addressed),
    )


def _totals(overview: Overview) -> list[tuple[str, list[tuple[str, int]]]]:
    totals = []
    for name in ("kind", "severity", "stage", "project", "source", "status"):
        counts: Sequence[tuple[str, int]] = getattr(overview, f"by_{name}")
        lines = [(clean_line(what) or "none", times) for what, times in counts[:_TOTAL_LINES]]
        if rest := sum(times for _what, times in counts[_TOTAL_LINES:]):
            lines.append((f"{len(counts) - _TOTAL_LINES:,} others", rest))
        if lines:
            totals.append((name, lines))
    return totals


def _share(part: int, whole: int) -> str:
    return percent(part / whole) if whole else ""


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"
