"""Overviews made by hand, and a page of one."""

import pathlib
from dataclasses import replace

import pytest

from lessons_kb.ledger.lesson_effect import Overview, Period, weigh
from lessons_kb.model import Card
from lessons_kb.report.page import build_page
from tests.kit import occasions

TEMPLATE = (pathlib.Path(__file__).parents[2] / "templates" / "report.html").read_text("utf-8")


def an_effect(number=1, *, title="", status="active", **counts):
    card = Card(
        id=f"lessons/card-{number}.md", kind="lesson", title=title or f"Mistake {number}",
        status=status, occurrences=number,
    )  # fmt: skip
    arms = {name: counts.pop(name) for name in ("block", "withheld") if name in counts}
    found = weigh(card, counts, occasions(**arms))
    return replace(found, reason="its reason; what to do")  # the wording is tested where it is made


HELPS = {
    "injected": 34, "sessions": 30, "tokens": 2_720, "addressed": 81, "unaddressed": 21,
    "block": (1, 30), "withheld": (12, 20), "helpful": 3,
}  # fmt: skip
HARMS = {
    "injected": 20, "sessions": 20, "tokens": 1_600, "addressed": 2, "unaddressed": 58,
    "block": (12, 20), "withheld": (3, 30), "harmful": 4,
}  # fmt: skip
RETURNS = {
    "injected": 25, "sessions": 25, "tokens": 2_000, "addressed": 60, "unaddressed": 15,
    "block": (120, 250), "withheld": (96, 200),
}  # fmt: skip
YOUNG = {"injected": 1, "sessions": 1, "tokens": 80}


def an_overview(*effects, **changes):
    weeks = ("2026-10-26", "2026-11-02", "2026-11-09", "2026-11-16")
    amounts = ((20, 60, 24, 9), (30, 90, 54, 6), (0, 0, 0, 0), (30, 90, 72, 1))
    used = any(effect.injections for effect in effects)
    overview = Overview(
        cards=len(effects),
        notes=4,
        occurrences=sum(effect.card.occurrences for effect in effects),
        drafts=0,
        by_kind=(("lesson", len(effects)),) if effects else (),
        by_stage=(("DEV", 3), ("any", 1)) if effects else (),
        by_project=(),
        by_severity=(("medium", len(effects)),) if effects else (),
        by_source=(("curated", len(effects)),) if effects else (),
        by_status=(("active", len(effects)),) if effects else (),
        sessions=60 if used else 0,
        injections=sum(effect.injections for effect in effects),
        tokens=sum(effect.tokens for effect in effects),
        checked=sum(effect.checked for effect in effects),
        addressed=sum(effect.addressed for effect in effects),
        recurrences=sum(effect.told.times for effect in effects),
        periods=tuple(
            Period(start=week, injections=given, checked=checked, addressed=seen, recurrences=came)
            for week, (given, checked, seen, came) in zip(weeks, amounts, strict=True)
            if used
        ),
        effects=effects,
    )
    return replace(overview, **changes)


def a_page(overview, **changes):
    given = {
        "template": TEMPLATE, "brain": "shop", "made": "2026-11-22",
        "link": lambda effect: f"brain/{effect.card.id}",
    }  # fmt: skip
    return build_page(overview, **{**given, **changes})


@pytest.fixture(scope="session")
def page():
    return a_page


@pytest.fixture(scope="session")
def small():
    """One card of each verdict, and one that harms by its title alone."""
    return an_overview(
        an_effect(1, title="Retry without an idempotency key", **HELPS),
        an_effect(2, title="<script>alert(1)</script>", **RETURNS),
        an_effect(3, title="환불 작업자가 주문의 통화를 무시했다", **HARMS),
        an_effect(4, **YOUNG),
        an_effect(5),
    )


@pytest.fixture(scope="session")
def effect():
    return an_effect


@pytest.fixture(scope="session")
def overview():
    return an_overview
