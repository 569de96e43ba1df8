"""The page: what the figures mean in words, then one template that escapes everything."""

from __future__ import annotations

import base64
import hashlib
import math
import os
import pathlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from lessons_kb.learn.lesson_effect import (
    Effect,
    Overview,
    Period,
    Rate,
    never_used,
    noisy,
    tell_added,
)
from lessons_kb.text.redact import redact
from lessons_kb.text.sanitize import clean_line, counted

if TYPE_CHECKING:
    from jinja2 import Template

HEIGHT = 120
PERCENT = "\u00a0%"
_SMALLEST = 2.0
"""Pixels: a bar for one is seen beside a bar for a thousand."""
_FILLED = 0.7
"""Share of a bar's place that it fills."""


class Bar(NamedTuple):
    """One amount."""

    x: str
    y: str
    width: str
    height: str
    label: str


class Dot(NamedTuple):
    """One share."""

    x: str
    y: str
    label: str


class Line(NamedTuple):
    """What joins two dots."""

    x1: str
    y1: str
    x2: str
    y2: str


class Whisker(NamedTuple):
    """A share and the interval it lies in, as places across."""

    low: str
    mean: str
    high: str


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
        if amount > 0:
            height = max(HEIGHT * amount / top, _SMALLEST)
            bars.append(
                Bar(
                    x=_across((number + (1 - _FILLED) / 2) / len(weeks)),
                    y=_pixels(HEIGHT - height),
                    width=_across(_FILLED / len(weeks)),
                    height=_pixels(height),
                    label=f"week from {week}: {amount:,}",
                )
            )
    return Chart(
        name=name,
        title=title,
        summary=summary,
        description=describe_amounts(weeks, amounts),
        tone=tone,
        scale=(f"{top:,}", f"{top / 2:,g}" if top > 1 else "", "0"),
        weeks=_label(weeks),
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
    places: list[Dot | None] = []
    for number, (week, share) in enumerate(zip(weeks, shares, strict=True)):
        x = _across((number + 0.5) / len(weeks))
        places.append(
            None
            if share is None
            else Dot(
                x, _pixels(HEIGHT * (1 - _bound(share))), f"week from {week}: {percent(share)}"
            )
        )
    return Chart(
        name=name,
        title=title,
        summary=summary,
        description=describe_shares(weeks, shares),
        scale=tuple(map(percent, (1.0, 0.5, 0.0))),
        weeks=_label(weeks),
        dots=tuple(dot for dot in places if dot),
        lines=tuple(Line(a.x, a.y, b.x, b.y) for a, b in pairwise(places) if a and b),
    )


def place_whisker(rate: Rate, *, top: float) -> Whisker | None:
    """Return where a rate stands on an axis from 0 to ``top``; None where nothing was counted."""
    if rate.of <= 0 or top <= 0:
        return None
    return Whisker(*(_across(_bound(v / top)) for v in (rate.low, rate.mean, rate.high)))


def share_width(times: int, most: int) -> str:
    """Return the width of a bar for ``times`` where the longest stands for ``most``."""
    return _across(_bound(times / most)) if most > 0 else _across(0)


def percent(share: float) -> str:
    """Return a share as people read it."""
    return f"{100 * share:.0f}{PERCENT}"


def round_up(most: int) -> int:
    """Return the end of an axis that holds ``most``: 1, 2 or 5 times a power of ten."""
    power = 1
    while power * 10 < most:
        power *= 10
    return next(power * step for step in (1, 2, 5, 10) if power * step >= most)


def describe_amounts(weeks: Sequence[str], amounts: Sequence[int]) -> str:
    """Return a bar chart in words."""
    if not any(amounts):
        return "None in any week."
    most = max(amounts)
    when = weeks[list(amounts).index(most)]
    total = f"{sum(amounts):,} in {counted(len(weeks), 'week')}"
    return (
        f"{total}; the peak, {most:,}, in the week from {when}; "
        f"{amounts[-1]:,} in the last week, from {weeks[-1]}."
    )


def describe_shares(weeks: Sequence[str], shares: Sequence[float | None]) -> str:
    """Return a chart of shares in words."""
    known = [(share, week) for share, week in zip(shares, weeks, strict=True) if share is not None]
    if not known:
        return "Unknown in every week."
    lowest, highest = min(known), max(known)
    return (
        f"Known in {len(known)} of {counted(len(weeks), 'week')}: between {percent(lowest[0])} "
        f"(week from {lowest[1]}) and {percent(highest[0])} (week from {highest[1]}), "
        f"lately {percent(known[-1][0])}."
    )


def _label(weeks: Sequence[str]) -> tuple[str, ...]:
    """Return the first week, the last, and the middle one where there is one: evenly apart."""
    places = sorted({0, *([len(weeks) // 2] if len(weeks) % 2 else ()), len(weeks) - 1})
    return tuple(weeks[place] for place in places) if weeks else ()


def _bound(share: float) -> float:
    return min(max(share, 0.0), 1.0)


def _across(share: float) -> str:
    return f"{100 * share:.2f}%"


def _pixels(value: float) -> str:
    return f"{value:.1f}"


def file_link(path: str, *, page_folder: str | None = None) -> str:
    """Return a URL for an absolute path, with everything quoted that is not plain.

    It is relative where the file lies in or below ``page_folder``, so that both may move together,
    else a ``file://`` URL.
    """
    if page_folder is not None:
        folder = page_folder.rstrip(os.sep) + os.sep
        if path.startswith(folder):
            inside = path[len(folder) :].replace(os.sep, "/")
            return quote(os.fsencode(inside), safe="/")
    return pathlib.Path(path).as_uri()


ROWS = 20
"""Cards shown of each kind: a page of 12,000 rows helps nobody."""
_TOTAL_LINES = 8
_LONGEST = 160
"""Characters of a title that are shown."""
_EXTREMES = {0: "<1", 100: ">99"}
_VERDICTS = {
    "harms": (
        *("bad", "✗"),
        "The mistake is more frequent with the card, or people marked it as harmful.",
    ),
    "helps": ("good", "✓", "The mistake is less frequent with the card than before it."),
    "no effect": (
        *("warn", "="),
        "Injected often enough to tell, but the mistake keeps coming back.",
    ),
    "too early": ("", "…", "Too few sessions with the card to tell, or none before it."),
}
"""Verdict → tone, mark, meaning; in the order in which they ask for a look."""
_PROPOSALS = {
    "archive": ("bad", "harmful or outdated cards", "lessons archive ID"),
    "edit": ("warn", "injected but not followed", ""),
    "promote": ("good", "mistakes that keep coming back", ""),
}
"""Proposal → tone, meaning, command."""
_METHOD = (
    "Each card is compared with itself. The upper, grey bar covers the sessions before its first "
    "day in which it would have been injected: the share in which its mistake was seen. The lower "
    "bar: the same for the sessions in which it was injected. A dot is the best estimate; its bar "
    "holds the true share with 90\u00a0% probability (a Beta posterior). With few sessions the "
    "bar is long."
)
_PARTS = {
    "time": "Over time",
    "todo": "Proposals",
    "effect": "Cards by effect",
    "noisy": "Noisy cards",
    "never": "Never used",
    "what": "Contents of the brain",
}
_TOTALS = ("kind", "severity", "stage", "project", "source", "status")


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

    def group(effects: Sequence[Effect], **words: str) -> dict[str, object]:
        return {**_group(effects, link, max(rows, 1)), **words}

    never = never_used(overview)
    none = "None. No card asks to be edited, archived or promoted."
    if not overview.injections:
        none = "None yet. Proposals need some weeks of use."
    verdicts = []
    for name, (tone, mark, what) in _VERDICTS.items():
        if found := [effect for effect in overview.effects if effect.verdict == name]:
            words = {"tone": tone, "mark": mark, "what": what, "count": counted(len(found), "card")}
            bars = name.replace(" ", "-")
            verdicts.append(group(found, name=name, tone_of_bars=bars, **words))
    proposals = []
    for name, (tone, what, command) in _PROPOSALS.items():
        if found := [effect for effect in overview.effects if effect.proposal == name]:
            proposals.append(group(found, name=name, tone=tone, what=what, command=command))
    page = _compile(template).render(
        style_hash=style_hash(template),
        home=home,
        brain=clean_line(brain),
        made=made,
        scope=clean_line(scope),
        overview=overview,
        lead=describe(overview, scope=scope),
        parts=_PARTS.items(),
        tiles=_tiles(overview),
        charts=_charts(overview.periods) if overview.injections or overview.recurrences else (),
        weeks=[_week(period) for period in reversed(overview.periods)],
        proposals={"groups": proposals, "none": none},
        method=_METHOD,
        verdicts=verdicts,
        noisy=group(noisy(overview)),
        never=group(never, count="1 card has" if len(never) == 1 else f"{len(never):,} cards have"),
        totals=_totals(overview),
    )
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
        return f"{said} A mistake came back {_times(overview.recurrences)}."
    # Outside of a session nobody looks whether a mistake comes back.
    return f"{said} No mistake came back." if overview.sessions else said


def _group(
    effects: Sequence[Effect], link: Callable[[Effect], str], limit: int
) -> dict[str, object]:
    """Return the rows under one heading, all of them on the same axis, and how many are left."""
    shown = effects[:limit]
    highs = [rate.high for one in shown for rate in (one.before, one.after) if rate.of]
    top = min(math.ceil(10 * max(highs, default=1.0)) / 10, 1.0)
    return {
        "rows": [_row(effect, link(effect), top) for effect in shown],
        "axis": f"0 to {percent(top)}",
        "more": len(effects) - len(shown),
    }


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
    title = clean_line(card.title) or clean_line(card.id)
    if len(title) > _LONGEST:
        title = f"{title[: _LONGEST - 1].rstrip()}…"
    rates = {"before": effect.before, "after": effect.after}
    change = []
    for when, rate in rates.items() if any(rate.of for rate in rates.values()) else ():
        low, high = round(100 * rate.low), round(100 * rate.high)
        known = f"{rate.times:,} of {rate.of:,} ({low}–{high}{PERCENT})"
        change.append(f"{when} {known if rate.of else 'not known'}")
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
        **{when: place_whisker(rate, top=top) for when, rate in rates.items()},
        "prevents": prevents if all(rate.of for rate in rates.values()) else "",
        "marks": ", ".join(f"{times:,}\u00a0{word}" for times, word in marks if times),
        "reason": f"{reason[0].upper()}{reason[1:]}." if reason else "",
    }


@lru_cache(maxsize=1)
def _compile(template: str) -> Template:
    from jinja2 import Environment, StrictUndefined

    return Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    ).from_string(template)


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
        ("Came back", f"{overview.recurrences:,}", "mistakes seen despite their card"),
    )
    return [{"name": name, "value": value, "note": note} for name, value, note in tiles]


def _charts(periods: Sequence[Period]) -> tuple[Chart, ...]:
    weeks = [period.start for period in periods]
    if not weeks:
        return ()
    return (
        draw_amounts(
            weeks,
            [period.recurrences for period in periods],
            name="recurrences",
            title="Mistakes that came back",
            summary="per week, after their card was injected",
            tone="bad",
        ),
        draw_amounts(
            weeks,
            [period.injections for period in periods],
            name="injections",
            title="Lessons injected",
            summary="per week, in all agents",
        ),
        draw_shares(
            weeks,
            [period.addressed / period.checked if period.checked else None for period in periods],
            name="addressed",
            title="Checklist items addressed",
            summary="share of those checked",
        ),
    )


def _week(period: Period) -> dict[str, str]:
    return {
        "start": period.start,
        "injections": f"{period.injections:,}",
        "checked": f"{period.checked:,}",
        "share": _share(period.addressed, period.checked) or "–",
        "recurrences": f"{period.recurrences:,}",
    }


def _totals(overview: Overview) -> list[dict[str, object]]:
    totals: list[dict[str, object]] = []
    for name in _TOTALS:
        counts: Sequence[tuple[str, int]] = getattr(overview, f"by_{name}")
        lines = [(clean_line(what) or "none", times) for what, times in counts[:_TOTAL_LINES]]
        if rest := sum(times for _what, times in counts[_TOTAL_LINES:]):
            lines.append((f"{len(counts) - _TOTAL_LINES:,} others", rest))
        most = max((times for _what, times in lines), default=0)
        if lines:
            shown = [
                {"name": what, "times": f"{times:,}", "width": share_width(times, most)}
                for what, times in lines
            ]
            totals.append({"name": f"By {name}", "lines": shown})
    return totals


def _share(part: int, whole: int) -> str:
    return percent(part / whole) if whole else ""


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"
