"""The pictures of README and docs: there, small, told in words, and asking nothing of anybody."""

import re
import sys
from xml.etree import ElementTree as ET

import pytest

from tests.kit import ROOT, load_script

PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
SHOWN = [
    (words, page.parent / path)
    for page in PAGES
    for words, path in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
]
FILES = sorted((ROOT / "docs" / "pictures").iterdir())
LARGEST = 200_000


def test_each_picture_is_shown_and_told_in_words():
    assert {path.resolve() for _words, path in SHOWN} == set(FILES)
    assert [path for words, path in SHOWN if len(words.split()) <= 5] == []


@pytest.mark.parametrize("path", FILES, ids=[path.name for path in FILES])
def test_a_picture_is_small_and_complete_in_itself(path):
    assert path.stat().st_size < LARGEST
    if path.suffix == ".svg":
        text = path.read_text("utf-8")
        ET.fromstring(text)
        assert not re.search(r"<(?:script|image|foreignObject)\b|@import|@font-face", text)
        assert re.findall(r"https?://[^\s\"')]+", text) == ["http://www.w3.org/2000/svg"]
    else:
        assert path.read_bytes().startswith(b"\x89PNG\r\n")


def test_the_loop_is_as_its_script_draws_it():
    drawn = load_script("loop").draw_loop()
    assert (ROOT / "docs" / "pictures" / "loop.svg").read_text("utf-8") == drawn


def test_the_recorded_screens_follow_each_other_and_the_last_one_stays_without_motion():
    arrival = load_script("arrival")
    screens = ["\x1b[1m❯\x1b[0m pay <b>", "  ⎿ Stop says: one item"]
    drawn = arrival.draw([arrival.Frame(screen, 1.5) for screen in screens])
    ET.fromstring(drawn)
    assert "pay &lt;b&gt;" in drawn
    assert "#f0{animation:f0 3.0s step-end infinite}" in drawn
    assert "@keyframes f1{0%{opacity:0}50.00%{opacity:1}100.00%{opacity:0}}" in drawn
    assert drawn.split("prefers-reduced-motion")[1].count("opacity:1") == 1
    assert f'fill="{arrival.OURS}">  └ Stop says: one item<' in drawn


@pytest.mark.slow
def test_a_terminal_is_drawn_without_anything_from_elsewhere(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(sys.modules, "loop", load_script("loop"))
    pictures = load_script("pictures")
    drawn = pictures.show_terminal(["--version"])
    assert "lessons&#160;--version" in drawn
    assert "font-face" not in drawn
    assert drawn.count("https://") == 0
    long = "\n".join(["a", "", "b"] * pictures.LINES)
    assert pictures.shorten(long).endswith("b\na\n…")
    assert pictures.shorten("short") == "short"
