"""The page: what it says, what it lets in, what it holds back."""

from __future__ import annotations

import base64
import hashlib
import os
import pathlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from urllib.parse import unquote_to_bytes, urljoin, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessons_kb.learn.lesson_effect import rate
from lessons_kb.report.page import (
    HEIGHT,
    describe,
    describe_amounts,
    describe_shares,
    draw_amounts,
    draw_shares,
    file_link,
    place_whisker,
    round_up,
    share_width,
)
from lessons_kb.text.sanitize import clean_line

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "report" / "small.html"
VOID = {"meta", "link"}
Attributes = dict[str, str | None]


class Reader(HTMLParser):
    """Reads a page as a browser does, and insists that every element is closed in its turn."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, Attributes]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert not self._open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs), f"{tag} names an attribute twice"
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open and self._open[-1] != "style" and data.strip():
            self.texts.append(" ".join(data.split()))

    def values(self, name):
        return [attrs[name] or "" for _tag, attrs in self.elements if name in attrs]

    def shape(self):
        return [(tag, tuple(attrs)) for tag, attrs in self.elements]


def test_golden(page, small, request):
    shown = re.sub(r"<style>.*?</style>", "<style>…</style>", page(small), flags=re.DOTALL)
    shown = re.sub(r"sha256-[^']+", "sha256-…", shown) + "\n"
    if request.config.getoption("--update"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(shown, "utf-8")
    assert shown == GOLDEN.read_text("utf-8")


def test_every_name_on_the_page_is_there_once(page, small):
    read = Reader(page(small))
    ids = read.values("id")
    assert len(set(ids)) == len(ids)
    targets = [name for value in read.values("aria-labelledby") for name in value.split()]
    targets += [value[1:] for value in read.values("href") if value.startswith("#")]
    assert targets
    assert set(targets) <= set(ids)


def test_each_chart_has_a_title_and_is_told_in_words(page, small):
    read = Reader(page(small))
    charts = [attrs for tag, attrs in read.elements if tag == "svg" and "aria-hidden" not in attrs]
    assert len(charts) == 3
    assert all(chart["role"] == "img" and chart["aria-labelledby"] for chart in charts)
    tags = [tag for tag, _attrs in read.elements]
    assert tags.count("desc") == 3
    assert "16 in 4 weeks; the peak, 9, in the week from 2026-10-26; 1 in the last" in " ".join(
        read.texts
    )


def test_the_page_asks_nothing_of_anybody(page, small):
    text = page(small)
    read = Reader(text)
    for address in (*read.values("href"), *read.values("src")):
        assert re.match(r"#\w|data:,$|brain/lessons/[\w-]+\.md$", address), address
    assert "://" not in text
    assert not re.search(r"url\(|@import", text)
    tags = {tag for tag, _attrs in read.elements}
    assert not tags & {"script", "iframe", "img", "object", "embed", "form", "base"}
    assert not [name for _tag, attrs in read.elements for name in attrs if name.startswith("on")]


def test_the_policy_lets_in_the_style_sheet_and_nothing_else(page, small):
    text = page(small)
    style = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert len(style) == 1
    digest = base64.b64encode(hashlib.sha256(style[0].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in text
    assert not Reader(text).values("style")


def test_a_title_that_is_a_script_is_shown_as_text(page, small):
    text = page(small)
    assert "<script" not in text
    assert "<script>alert(1)</script>" in Reader(text).texts


words = st.text(max_size=60) | st.sampled_from(
    ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }}{% raw %}", "&lt;",
     "</title></style></svg>", "-->", "a\n\tb", "'", "\u202e", "=1+1"]
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=60)
@given(title=words, name=words, brain=words, scope=words, href=words)
def test_whatever_a_text_holds_the_page_keeps_its_shape(
    page, effect, overview, title, name, brain, scope, href
):
    plain = effect(1, title="plain", injected=3, sessions=3)
    odd = replace(plain, card=replace(plain.card, title=title or "x", project=name, id=name or "x"))
    made = [
        Reader(
            page(
                overview(one, by_project=((project, 1),)), brain=brain_name, scope=limits,
                link=lambda _card, url=url: url,
            )
        )
        for one, project, brain_name, limits, url in (
            (plain, "p", "shop", "s" if clean_line(scope) else "", "l"),
            (odd, name, brain, scope, href),
        )
    ]  # fmt: skip
    assert made[1].shape() == made[0].shape()
    if shown := clean_line(title):
        assert shown in made[1].texts
    assert made[1].values("href").count(href) >= made[0].values("href").count("l")


def test_an_empty_brain_is_told_how_to_begin(page, overview):
    text = " ".join(Reader(page(overview(notes=0))).texts)
    assert "This brain is empty." in text
    assert "No cards yet." in text
    assert "Over time" not in text


def test_a_scope_that_no_card_fits_is_no_empty_brain(page, overview):
    text = " ".join(Reader(page(overview(), scope="stage NONE")).texts)
    assert "No cards match. Only stage NONE." in text
    assert "to see every card" in text
    assert "empty" not in text


def test_an_empty_journal_draws_nothing(page, overview, effect):
    read = Reader(page(overview(effect(1), effect(2))))
    text = " ".join(read.texts)
    assert "2 cards, none of them injected yet." in text
    assert "there is nothing to draw" in text
    assert "2 cards have never been given" in text
    assert "None yet. Proposals need some weeks of use." in text
    assert "None. Nothing has been injected yet." in text
    assert "nan" not in text.lower()


def test_one_card_is_one_card(page, overview, effect):
    one = effect(1, injected=1, sessions=1, tokens=80, addressed=1)
    text = " ".join(Reader(page(overview(one, sessions=1))).texts)
    assert "1 card. In 1 session, lessons were injected once. Of 1 checklist item checked" in text
    assert "1 card has" not in text
    assert not re.search(r"\b1 (?:cards|sessions|times|items)\b", text)


def test_the_lead_says_what_came_back(overview, effect):
    assert describe(overview(effect(1))) == "1 card, not injected yet."
    once = effect(1, injected=2, sessions=2, recurred=1)
    assert describe(overview(once)).endswith("A mistake came back once.")
    assert describe(overview(effect(1, injected=2, sessions=2))).endswith("No mistake came back.")


def test_proposals_stand_under_what_to_do(page, small):
    texts = Reader(page(small)).texts
    proposed = {e.proposal for e in small.effects} - {""}
    assert proposed == {"archive", "promote"}
    at = texts.index("archive")
    assert "환불 작업자가 주문의 통화를 무시했다" in texts[at : texts.index("promote")]


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 20])
def test_of_many_cards_the_first_are_shown_and_the_rest_are_counted(page, overview, effect, rows):
    def many(first, count):
        return [
            replace(first, card=replace(first.card, id=f"{first.card.id}-{n}"))
            for n in range(count)
        ]

    used, idle = effect(1, injected=4, sessions=4), effect(2)
    text = page(overview(*many(used, 4_000), *many(idle, 8_000)), rows=rows)
    assert len(text) < 100_000
    told = " ".join(Reader(text).texts)
    assert f"… and {4_000 - rows:,} more of this kind" in told
    assert f"… and {8_000 - rows:,} more never given" in told
    assert "12,000 cards." in told


def test_a_title_holds_no_secret(page, overview, effect):
    secret = "nfp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3hJ6"
    shown = page(overview(effect(title=f"Deployed with {secret}")), brain=secret)
    assert secret not in shown
    assert "Deployed with [redacted api token]" in shown


names = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1)
paths = st.lists(names.filter(lambda name: name not in (".", "..")), min_size=1, max_size=4)


def test_a_card_beside_the_page_is_named_from_it():
    assert file_link("/home/a/brain/lessons/x y.md", page_folder="/home/a/brain") == (
        "lessons/x%20y.md"
    )
    assert file_link("/x.md", page_folder="/") == "x.md"


@pytest.mark.parametrize("folder", [None, "/home/b", "/home/a/bra"])
def test_a_card_elsewhere_is_named_in_full(folder):
    card = "/home/a/brain/lessons/x#1?.md"
    assert file_link(card, page_folder=folder) == "file:///home/a/brain/lessons/x%231%3F.md"


@pytest.mark.slow
@given(paths)
def test_a_link_leads_to_its_file(parts):
    card = "/brain/" + "/".join(parts)
    for folder in (None, "/brain"):
        base = pathlib.Path("/brain/page.html").as_uri()
        target = urlsplit(urljoin(base, file_link(card, page_folder=folder)))
        assert (target.scheme, target.netloc, target.query, target.fragment) == ("file", "", "", "")
        assert unquote_to_bytes(target.path) == os.fsencode(card)


def test_a_name_that_poses_as_a_script_stays_a_file():
    assert (
        file_link("/b/javascript:alert(1).md", page_folder="/b") == "javascript%3Aalert%281%29.md"
    )


def test_bytes_that_are_no_text_are_named_too():
    name = os.fsdecode(b"/b/caf\xe9.md")
    assert file_link(name, page_folder="/b") == "caf%E9.md"
    assert file_link(name).endswith("/caf%E9.md")


ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.slow
def test_the_page_tells_who_helps_and_who_harms(tmp_path, monkeypatch, page):
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.history import NATURES, judge, play

    truth = play(tmp_path / "brain", seed=1)
    _table, overview = judge(tmp_path / "brain", truth)
    text = page(overview, rows=99)
    heading = r'<h3><span class="tag \w*">\S ([a-z ]+)</span> \d+ cards?</h3>(.*?)</table>'
    groups = dict(re.findall(heading, text, re.DOTALL))
    said = {
        card: verdict
        for verdict, shown in groups.items()
        for card in re.findall(r'href="brain/([^"]+)"', shown)
    }
    meant = {card: NATURES[nature].verdict for card, nature in truth.items()}
    assert {card: said.get(card) for card in truth} == meant
    assert {said[card] for card in truth} == {"helps", "harms", "no effect"}


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
