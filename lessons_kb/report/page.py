"""The page: what the figures mean in words, then one template that escapes everything."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from jinja2 import Template

from lessons_kb.learn.lesson_effect import Effect, Overview, Period, never_used, noisy, tell_added
from lessons_kb.model import as_data
from lessons_kb.report.charts import (
    PERCENT,
    Chart,
    Whisker,
    draw_amounts,
    draw_shares,
    percent,
    place_whisker,
    share_width,
)
from lessons_kb.text.redact import redact
from lessons_kb.text.sanitize import clean_line

ROWS = 20
"""Cards shown of each kind: a page of 12,000 rows helps nobody."""
_TOTAL_LINES = 8
_LONGEST = 160
"""Characters of a title that are shown."""

_VERDICTS = (
    (
        "harms",
        "bad",
        "✗",
        "The mistake is more frequent with the card, or people marked it as harmful.",
    ),
    ("helps", "good", "✓", "The mistake is less frequent with the card than before it."),
    ("no effect", "warn", "=", "Injected often enough to tell, but the mistake keeps coming back."),
    (
        "too early",
        "",
        "…",
        "Too few sessions with the card to tell, or none before it.",
    ),
)
"""Verdict, tone, mark, meaning; in the order in which they ask for a look."""

_PROPOSALS = (
    ("archive", "bad", "harmful or outdated cards", "lessons archive ID"),
    ("edit", "warn", "injected but not followed", ""),
    ("promote", "good", "mistakes that keep coming back", ""),
)
"""Proposal, tone, meaning, command."""

_METHOD = (
    "Each card is compared with itself. The upper, grey bar covers the sessions before its first "
    "day in which it would have been injected: the share in which its mistake was seen. The lower "
    "bar: the same for the sessions in which it was injected. A dot is the best estimate; its bar "
    "holds the true share with 90\u00a0% probability (a Beta posterior). With few sessions the "
    "bar is long."
)

_PARTS = (
    ("time", "Over time"),
    ("todo", "Proposals"),
    ("effect", "Cards by effect"),
    ("noisy", "Noisy cards"),
    ("never", "Never used"),
    ("what", "Contents of the brain"),
)

_TOTALS = (
    ("by_kind", "By kind"),
    ("by_severity", "By severity"),
    ("by_stage", "By stage"),
    ("by_project", "By project"),
    ("by_source", "By source"),
    ("by_status", "By status"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One card, in words."""

    title: str
    about: str
    href: str
    given: str
    sessions: str
    addressed: str
    checked: str
    tokens: str
    change: tuple[str, ...]
    """How often the mistake came before and after; none where that is not known."""
    before: Whisker | None
    after: Whisker | None
    prevents: str
    marks: str
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Rows under one heading."""

    name: str = ""
    tone: str = ""
    mark: str = ""
    what: str = ""
    command: str = ""
    count: str = ""
    tone_of_bars: str = ""
    rows: tuple[Row, ...] = ()
    axis: str = ""
    """What the bars of these rows reach from and to."""
    more: int = 0
    """Rows left out."""


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
    make = _Rows(overview, link, rows)
    page = _compile(template).render(
        style_hash=style_hash(template),
        home=home,
        brain=clean_line(brain),
        made=made,
        scope=clean_line(scope),
        overview=overview,
        lead=describe(overview, scope=scope),
        parts=_PARTS,
        tiles=_tiles(overview),
        charts=_charts(overview.periods) if overview.injections or overview.recurrences else (),
        weeks=[_week(period) for period in reversed(overview.periods)],
        proposals={"groups": make.proposals(), "none": _no_proposal(overview)},
        method=_METHOD,
        verdicts=make.verdicts(),
        noisy=make.group(noisy(overview)),
        never={
            **as_data(make.group(never := never_used(overview))),
            "count": "1 card has" if len(never) == 1 else f"{len(never):,} cards have",
        },
        totals=_totals(overview),
    )
    return redact(page)


def describe(overview: Overview, *, scope: str = "") -> str:
    """Return what an overview, limited to ``scope``, says in a few sentences."""
    if not overview.cards:
        return "No cards match." if scope else "This brain is empty."
    cards = _count(overview.cards, "card")
    if not overview.injections:
        if overview.cards == 1:
            return "1 card, not injected yet."
        return f"{cards}, none of them injected yet."
    given = "once" if overview.injections == 1 else f"{overview.injections:,} times"
    said = f"{cards}. In {_count(overview.sessions, 'session')}, lessons were injected {given}."
    if overview.checked:
        said += (
            f" Of {_count(overview.checked, 'checklist item')} checked, "
            f"{_share(overview.addressed, overview.checked)} were addressed."
        )
    if overview.recurrences:
        again = "once" if overview.recurrences == 1 else f"{overview.recurrences:,} times"
        return f"{said} A mistake came back {again}."
    # Outside of a session nobody looks whether a mistake comes back.
    return f"{said} No mistake came back." if overview.sessions else said


class _Rows:
    """Makes rows of effects, all of them on the same axis."""

    def __init__(self, overview: Overview, link: Callable[[Effect], str], limit: int) -> None:
        self._effects = overview.effects
        self._link = link
        self._limit = max(limit, 1)

    def group(self, effects: Sequence[Effect], **words: str) -> Group:
        shown = effects[: self._limit]
        highs = [r.high for e in shown for r in (e.before, e.after) if r.of]
        top = min(math.ceil(10 * max(highs, default=1.0)) / 10, 1.0)
        return Group(
            rows=tuple(self._row(effect, top) for effect in shown),
            axis=f"0 to {percent(top)}",
            more=len(effects) - len(shown),
            **words,
        )

    def verdicts(self) -> list[Group]:
        groups = []
        for name, tone, mark, what in _VERDICTS:
            found = [effect for effect in self._effects if effect.verdict == name]
            if found:
                words = {"name": name, "tone": tone, "mark": mark, "what": what}
                count = _count(len(found), "card")
                bars = name.replace(" ", "-")
                groups.append(self.group(found, count=count, tone_of_bars=bars, **words))
        return groups

    def proposals(self) -> list[Group]:
        groups = []
        for name, tone, what, command in _PROPOSALS:
            found = [effect for effect in self._effects if effect.proposal == name]
            if found:
                groups.append(self.group(found, name=name, tone=tone, what=what, command=command))
        return groups

    def _row(self, effect: Effect, top: float) -> Row:
        card = effect.card
        before, after = effect.before.of > 0, effect.after.of > 0
        return Row(
            title=_cut(clean_line(card.title) or clean_line(card.id)),
            about=clean_line(" · ".join(_about(effect))),
            href=self._link(effect),
            given=f"{effect.injections:,}×" if effect.injections else "",
            sessions=f"in {_count(effect.sessions, 'session')}",
            addressed=_share(effect.addressed, effect.checked),
            checked=f"of {effect.checked:,}",
            tokens=f"{effect.tokens:,}",
            change=tuple(_change(effect)) if before or after else (),
            before=place_whisker(effect.before, top=top),
            after=place_whisker(effect.after, top=top),
            prevents=_chance(effect.prevents) if before and after else "",
            marks=_marks(effect),
            reason=_sentence(clean_line(effect.reason)),
        )


def _about(effect: Effect) -> Iterator[str]:
    card = effect.card
    yield effect.name
    if card.severity != "medium":
        yield card.severity
    if card.occurrences > 1:
        yield f"seen {card.occurrences:,}×"
    if card.status != "active":
        yield card.status
    if added := tell_added([effect]):
        yield f"{added}, by its patterns in git"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1].rstrip()}…"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}." if text else ""


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
    beside = [
        _count(number, what)
        for number, what in ((overview.notes, "note"), (overview.drafts, "draft"))
        if number
    ]
    each = round(overview.tokens / overview.injections) if overview.injections else 0
    tiles = [
        ("Cards", f"{overview.cards:,}", f"plus {' and '.join(beside)}" if beside else "in total"),
        ("Mistakes recorded", f"{overview.occurrences:,}", "sum of occurrences"),
        ("Sessions", f"{overview.sessions:,}", "with hooks"),
        (
            "Injected",
            f"{overview.injections:,}",
            f"{overview.tokens:,} tokens, {each:,} each" if each else "into agents",
        ),
        (
            "Items addressed",
            _share(overview.addressed, overview.checked) or "–",
            f"of {overview.checked:,} checked" if overview.checked else "none checked yet",
        ),
        ("Came back", f"{overview.recurrences:,}", "mistakes seen despite their card"),
    ]
    return [{"name": name, "value": value, "note": note} for name, value, note in tiles]


def _charts(periods: Sequence[Period]) -> tuple[Chart, ...]:
    weeks = [period.start for period in periods]
    if not weeks:
        return ()
    shares = [period.addressed / period.checked if period.checked else None for period in periods]
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
            shares,
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
    for field, name in _TOTALS:
        counts: Sequence[tuple[str, int]] = getattr(overview, field)
        lines = [(clean_line(what) or "none", times) for what, times in counts[:_TOTAL_LINES]]
        if rest := sum(times for _what, times in counts[_TOTAL_LINES:]):
            lines.append((f"{len(counts) - _TOTAL_LINES:,} others", rest))
        most = max((times for _what, times in lines), default=0)
        if lines:
            shown = [
                {"name": what, "times": f"{times:,}", "width": share_width(times, most)}
                for what, times in lines
            ]
            totals.append({"name": name, "lines": shown})
    return totals


def _no_proposal(overview: Overview) -> str:
    if not overview.injections:
        return "None yet. Proposals need some weeks of use."
    return "None. No card asks to be edited, archived or promoted."


def _change(effect: Effect) -> Iterator[str]:
    for when, rate in (("before", effect.before), ("after", effect.after)):
        low, high = round(100 * rate.low), round(100 * rate.high)
        known = f"{rate.times:,} of {rate.of:,} ({low}–{high}{PERCENT})"
        yield f"{when} {known if rate.of else 'not known'}"


def _chance(share: float) -> str:
    rounded = round(100 * share)
    bounds = {0: "<1", 100: ">99"}
    return f"{bounds.get(rounded, rounded)}{PERCENT}"


def _marks(effect: Effect) -> str:
    signs = ((effect.helpful, "helpful"), (effect.harmful, "harmful"))
    return ", ".join(f"{times:,}\u00a0{word}" for times, word in signs if times)


def _share(part: int, whole: int) -> str:
    return percent(part / whole) if whole else ""


def _count(number: int, what: str) -> str:
    return f"1 {what}" if number == 1 else f"{number:,} {what}s"
