"""A history whose truth is known: the page must say of each lesson what it truly does."""

import pathlib
import re

import pytest

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
