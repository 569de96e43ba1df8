"""The page in a real browser: its console is silent, axe finds nothing, no screen is too narrow."""

import pytest

from tests.browser import IN_BROWSER, find_faults, open_chromium

pytestmark = IN_BROWSER
WIDTHS = (320, 390, 735, 737, 800, 1000, 1055, 1057, 1280)


@pytest.fixture(scope="module")
def chromium():
    with open_chromium() as browser:
        yield browser


@pytest.mark.parametrize("what", ["used", "unused", "empty", "many projects"])
def test_the_page_is_silent_accessible_and_fits(
    chromium, page, small, overview, effect, tmp_path, what
):
    overviews = {"used": small, "unused": overview(effect(1), effect(2)), "empty": overview()}
    projects = tuple((f"project-{number}", 20 - number) for number in range(20))
    overviews["many projects"] = overview(effect(1), by_project=projects, by_stage=(("DEV", 1),))
    file = tmp_path / "page.html"
    file.write_text(page(overviews[what]), "utf-8")
    for scheme in ("light", "dark"):
        tab = chromium.new_page(color_scheme=scheme)
        said = []
        tab.on("console", lambda message, said=said: said.append(message.text))
        tab.goto(file.as_uri())
        assert "Lessons of shop" in tab.content()
        tab.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
        for width in WIDTHS:
            tab.set_viewport_size({"width": width, "height": 2_000})
            assert find_faults(tab, width) == [], (scheme, width)
        assert said == []
        tab.evaluate("document.body.setAttribute('style', 'color: red')")
        assert said, "the policy forbids it, and the console is heard"
        tab.close()
