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


def find_faults(page, width):
    """Return what axe finds in a page of Playwright's, and whether it scrolls sideways."""
    page.evaluate(read_axe())
    told = page.evaluate("tags => axe.run({runOnly: tags, resultTypes: ['violations']})", TAGS)
    assert told["passes"]
    wrong = [f"{one['id']}: {one['nodes'][0]['html']}" for one in told["violations"]]
    needed = page.evaluate("document.documentElement.scrollWidth")
    return [*wrong, *([f"{needed} px wide"] if needed > width else [])]


@contextlib.contextmanager
def open_chromium():
    """Start a Chromium; skips the test without Playwright."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright comes with [dev]")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()
