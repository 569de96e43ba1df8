"""The browser that pages are looked at with, and the rules of accessibility that they are held to.

Tests that need it are skipped where no Chromium is installed (Debian: ``chromium`` or
``chromium-headless-shell``). LESSONS_AXE names another axe.min.js than the one that comes with
the development extra.
"""

import contextlib
import importlib.util
import os
import pathlib
import shutil

import pytest

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
IN_BROWSER = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium"),
]


def read_axe():
    """Return the script of axe; skips the test where there is none."""
    if named := os.environ.get("LESSONS_AXE"):
        return pathlib.Path(named).read_text("utf-8")
    spec = importlib.util.find_spec("axe_core_python")
    if spec is None or spec.origin is None:
        pytest.skip("axe is absent: pip install 'lessons-kb[dev]' brings it")
    return (pathlib.Path(spec.origin).parent / "axe.min.js").read_text("utf-8")


TALLEST_EMPTY = 200
"""Pixels that may be empty, one below the other, between two parts of a page."""
FIND_EMPTY = """() => {
  const find = top => {
    const boxes = [];
    const walker = document.createTreeWalker(top, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      if (!walker.currentNode.textContent.trim()) continue;
      const range = document.createRange();
      range.selectNodeContents(walker.currentNode);
      boxes.push(...range.getClientRects());
    }
    for (const part of top.querySelectorAll('svg, input, select, textarea, button')) {
      boxes.push(part.getBoundingClientRect());
    }
    return boxes.filter(box => box.width > 1 && box.height > 1);
  };
  const spans = find(document.body)
    .map(box => [box.top, box.bottom]).sort((a, b) => a[0] - b[0]);
  const gaps = [];
  let bottom = spans[0][1];
  for (const span of spans) {
    gaps.push(span[0] - bottom);
    bottom = Math.max(bottom, span[1]);
  }
  for (const grid of document.querySelectorAll('main *')) {
    if (getComputedStyle(grid).display !== 'grid') continue;
    const ends = {};
    const parts = [...grid.children];
    const lefts = parts.map(part => part.getBoundingClientRect().left);
    for (const part of parts) {
      const place = part.getBoundingClientRect();
      for (const left of lefts.filter(x => place.left <= x && x < place.right)) {
        for (const box of find(part)) ends[left] = Math.max(ends[left] || 0, box.bottom);
      }
    }
    gaps.push(Math.max(...Object.values(ends)) - Math.min(...Object.values(ends)));
  }
  return Math.max(...gaps.filter(Number.isFinite), 0);
}"""
"""The height of the tallest band without text or picture, and of the emptiest column of a grid."""


def find_faults(page, width):
    """Return what axe finds in a page, whether it scrolls sideways, and a tall empty area."""
    page.evaluate(read_axe())
    told = page.evaluate("tags => axe.run({runOnly: tags, resultTypes: ['violations']})", TAGS)
    assert told["passes"]
    wrong = [f"{one['id']}: {one['nodes'][0]['html']}" for one in told["violations"]]
    needed = page.evaluate("document.documentElement.scrollWidth")
    empty = round(page.evaluate(FIND_EMPTY))
    if needed > width:
        wrong.append(f"{needed} px wide")
    if empty > TALLEST_EMPTY:
        wrong.append(f"{empty} px empty")
    return wrong


@contextlib.contextmanager
def open_chromium():
    """Start a Chromium; skips the test without Playwright."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright comes with [dev]")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()
