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

from lessons_kb.ledger.lesson_effect import Period
from lessons_kb.ledger.statistics import Pooled
from lessons_kb.report.page import HEIGHT, describe, draw_amounts, draw_shares, file_link, round_up
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

    def text(self):
        return " ".join(self.texts)

    def shape(self):
        return [(tag, tuple(attrs)) for tag, attrs in self.elements]


def test_golden(page, small, request):
    shown = re.sub(r"<style>.*?</style>", "<style>…</style>", page(small), flags=re.DOTALL)
    shown = re.sub(r"sha256-[^']+", "sha256-…", shown) + "\n"
    if request.config.getoption("--update"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(shown, "utf-8")
    assert shown == GOLDEN.read_text("utf-8")


def test_every_name_and_chart_on_the_page_is_unique(page, small):
    read = Reader(page(small))
    ids = read.values("id")
    assert len(set(ids)) == len(ids)
    targets = [name for value in read.values("aria-labelledby") for name in value.split()]
    targets += [value[1:] for value in read.values("href") if value.startswith("#")]
    assert targets
    assert set(targets) <= set(ids)
    charts = [attrs for tag, attrs in read.elements if tag == "svg" and "aria-hidden" not in attrs]
    assert [chart["role"] for chart in charts] == ["img"] * 3
    assert [tag for tag, _attrs in read.elements].count("desc") == 3
    assert "16 in 4 weeks; the peak, 9, in the week from 2026-10-26; 1 in the last" in read.text()
    for attrs in [attrs for tag, attrs in read.elements if "whisker" in (attrs.get("class") or "")]:
        low, high = (float(attrs[end].rstrip("%")) for end in ("x1", "x2"))
        assert 0 <= low <= high <= 100
    assert {e.proposal for e in small.effects} - {""} == {"archive", "promote"}
    proposed = read.texts[read.texts.index("archive") : read.texts.index("promote")]
    assert "환불 작업자가 주문의 통화를 무시했다" in proposed


def test_the_page_asks_nothing_of_anybody(page, small):
    text = page(small)
    read = Reader(text)
    for address in (*read.values("href"), *read.values("src")):
        assert re.match(r"#\w|data:,$|brain/lessons/[\w-]+\.md$", address), address
    assert not re.search(r"://|url\(|@import|<script", text)
    tags = {tag for tag, _attrs in read.elements}
    assert not tags & {"script", "iframe", "img", "object", "embed", "form", "base"}
    assert not [name for _tag, attrs in read.elements for name in attrs if name.startswith("on")]
    assert "<script>alert(1)</script>" in read.texts, "a title is text"
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in text
    assert not read.values("style")


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


@pytest.mark.parametrize(
    ("effects", "scope", "told", "absent"),
    [
        ([], "", ["This brain is empty.", "No cards yet."], "Over time"),
        ([], "stage NONE", ["No cards match. Only stage NONE.", "to see every card"], "empty"),
        (
            [{}, {}],
            "",
            [
                "2 cards, none of them injected yet.",
                "so there is no chart",
                "2 cards have never been given",
                "None yet. Proposals need some weeks of use.",
                "None. Nothing has been injected yet.",
            ],
            r"(?i)nan",
        ),
        (
            [{"injected": 1, "sessions": 1, "tokens": 80, "addressed": 1}],
            "",
            [
                "1 card. In 1 session, lessons were injected once.",
                "Agents showed that they did 100 % of 1 checklist item.",
            ],
            r"1 card has|\b1 (?:cards|sessions|times|items)\b",
        ),
    ],
)
def test_the_summaries_of_no_card_and_of_one_card(
    page, overview, effect, effects, scope, told, absent
):
    made = [effect(number, **counts) for number, counts in enumerate(effects, 1)]
    seen = {"sessions": 1} if len(made) == 1 else {"notes": 0}
    text = Reader(page(overview(*made, **seen), scope=scope)).text()
    for words in told:
        assert words in text
    assert not re.search(absent, text)


def test_the_summary_counts_recurrences(overview, effect):
    assert describe(overview(effect(1))) == "1 card, not injected yet."
    once = effect(1, injected=2, sessions=2, block=(1, 2))
    none = effect(1, injected=2, sessions=2)
    pooled = Pooled(lessons=3, value=0.4, low=0.2, high=0.61)
    by = "+40 points over 3 cards (95 % interval +20 to +61)"
    for seen, said in (
        (overview(once), "A mistake was left in spite of its lesson once."),
        (overview(none), "No fact has shown yet whether a mistake was made again."),
        (overview(once, pooled=pooled), f"The effect of the lessons: {by}."),
    ):
        assert describe(seen).endswith(said)


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
    told = Reader(text).text()
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


@pytest.mark.parametrize(
    ("path", "folder", "link"),
    [
        ("/home/a/brain/lessons/x y.md", "/home/a/brain", "lessons/x%20y.md"),
        ("/x.md", "/", "x.md"),
        ("/b/javascript:alert(1).md", "/b", "javascript%3Aalert%281%29.md"),
        (os.fsdecode(b"/b/caf\xe9.md"), "/b", "caf%E9.md"),
        (os.fsdecode(b"/b/caf\xe9.md"), None, "file:///b/caf%E9.md"),
        *(
            ("/home/a/brain/lessons/x#1?.md", one, "file:///home/a/brain/lessons/x%231%3F.md")
            for one in (None, "/home/b", "/home/a/bra")
        ),
    ],
)
def test_a_card_is_named_from_the_page_or_in_full(path, folder, link):
    assert file_link(path, page_folder=folder) == link


@pytest.mark.slow
@given(paths)
def test_a_link_leads_to_its_file(parts):
    card = "/brain/" + "/".join(parts)
    for folder in (None, "/brain"):
        base = pathlib.Path("/brain/page.html").as_uri()
        target = urlsplit(urljoin(base, file_link(card, page_folder=folder)))
        assert (target.scheme, target.netloc, target.query, target.fragment) == ("file", "", "", "")
        assert unquote_to_bytes(target.path) == os.fsencode(card)


ROOT = pathlib.Path(__file__).parents[2]


@pytest.mark.slow
def test_the_page_groups_cards_that_help_and_cards_that_harm(tmp_path, monkeypatch, page):
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.judgement.history import judge, play

    truth = play(tmp_path / "brain", seed=1)
    table, overview = judge(tmp_path / "brain", truth)
    text = page(overview, rows=99)
    heading = r'<h3><span class="tag \w*">\S ([a-z ]+)</span> \d+ cards?</h3>(.*?)</table>'
    groups = dict(re.findall(heading, text, re.DOTALL))
    said = {
        card: verdict
        for verdict, shown in groups.items()
        for card in re.findall(r'href="brain/([^"]+)"', shown)
    }
    judged = {one.card.id: one.verdict for one in overview.effects}
    assert {card: said.get(card) for card in truth} == {card: judged[card] for card in truth}
    sure = {(nature, verdict) for nature, verdict in table if verdict in ("helps", "harms")}
    assert sure >= {("prevents", "helps"), ("harms", "harms")}, "both groups are on the page"


WEEKS = [f"2026-{month:02}-{day:02}" for month in (3, 4, 5) for day in range(1, 27)]
amounts = st.lists(st.integers(0, 10**7), max_size=26)


@pytest.mark.parametrize(
    ("most", "end"), [(0, 1), (1, 1), (2, 2), (3, 5), (9, 10), (10, 10), (11, 20), (501, 1000)]
)
def test_an_axis_ends_at_a_round_number(most, end):
    assert round_up(most) == end


@given(amounts)
def test_bars_stay_in_their_chart_and_their_height_shows_the_amount(seen):
    chart = draw_amounts(WEEKS[: len(seen)], seen, name="n", title="t", summary="s")
    top = int(chart.scale[0].replace(",", ""))
    shown = [max(HEIGHT * amount / top, 2.0) for amount in seen if amount]
    assert [bar.height for bar in chart.bars] == pytest.approx(shown)
    for bar in chart.bars:
        assert 0 <= bar.x <= bar.x + bar.width <= 1.001
        assert 0 <= bar.y <= bar.y + bar.height <= HEIGHT + 0.01


def test_week_labels_are_evenly_spaced_and_an_unknown_week_is_a_gap():
    named = [
        draw_amounts(WEEKS[:n], [1] * n, name="n", title="t", summary="s").weeks for n in range(5)
    ]
    assert [len(labels) for labels in named] == [0, 1, 2, 3, 2]
    assert named[3] == tuple(WEEKS[:3])
    shares = [0.5, 1.0, None, 0.25, 0.0]
    chart = draw_shares(WEEKS[:5], shares, name="n", title="t", summary="s")
    assert [dot.y for dot in chart.dots] == [60, 0, 90, 120]
    joined = [(round(a.x, 2), round(b.x, 2)) for a, b in chart.lines]
    assert joined == [(0.1, 0.3), (0.7, 0.9)]


@pytest.mark.parametrize(
    ("draw", "seen", "told"),
    [
        (
            draw_amounts,
            [4, 9, 2],
            (
                "15 in 3 weeks; the peak, 9, in the week from 2026-03-02; "
                "2 in the last week, from 2026-03-03."
            ),
        ),
        (draw_amounts, [0, 0, 0], "None in any week."),
        (
            draw_shares,
            [0.4, None, 0.8],
            (
                "Known in 2 of 3 weeks: between 40\u00a0% (week from 2026-03-01) and 80\u00a0% "
                "(week from 2026-03-03), lately 80\u00a0%."
            ),
        ),
        (draw_shares, [None], "Unknown in every week."),
    ],
)
def test_a_chart_has_a_description_in_words(draw, seen, told):
    assert draw(WEEKS[: len(seen)], seen, name="n", title="t", summary="s").description == told


def test_a_single_week_is_a_sentence_and_no_chart(page, overview, effect):
    week = Period(start="2026-11-23", injections=3, checked=4, addressed=0, recurrences=0)
    young = effect(injected=3, sessions=1, tokens=80)
    shown = page(overview(young, periods=(week,)))
    assert "In the week from 2026-11-23, lessons were injected 3 times." in shown
    assert "A chart needs two weeks." in shown
    assert "<figure>" not in shown


def test_nothing_is_called_followed_beside_a_checklist_that_was_not(page, overview, effect):
    counts = {"injected": 1, "sessions": 1, "tokens": 80, "unaddressed": 3}
    shown = page(overview(effect(**counts)))
    assert "they did 0\u00a0% of 3 checklist items" in shown
    assert "followed" not in shown
    assert "no checklist is certainly ignored" in shown
