"""The page in a real browser: its console is silent, axe finds nothing, no screen is too narrow."""

import html
import json
import re
import subprocess

import pytest

from tests.browser import CHROMIUM, IN_BROWSER, TAGS, read_axe

SCHEMES = {"dark": 0, "light": 1}
RUN_AXE = """
addEventListener("load", () => {
  const found = {};
  const say = () => {
    const place = document.createElement("pre");
    place.id = "found";
    place.textContent = JSON.stringify(found);
    document.body.append(place);
  };
  for (const part of document.querySelectorAll("details")) part.open = true;
  axe.run({runOnly: TAGS, resultTypes: ["violations"]}).then((result) => {
    found.rules = result.passes.length;
    found.violations = result.violations.map(
      (one) => `${one.id}: ${one.nodes.map((node) => node.html).slice(0, 3).join(" ")}`);
  }).catch((error) => { found.violations = [String(error)]; }).finally(say);
});
""".replace("TAGS", json.dumps(TAGS))

MEASURE = """
addEventListener("load", () => {
  for (const part of document.querySelectorAll("details")) part.open = true;
  const frames = WIDTHS.map((width) => {
    const frame = document.createElement("iframe");
    frame.style = `border: 0; width: ${width}px`;
    frame.srcdoc = document.documentElement.outerHTML.replace(/<script.*?<.script>/s, "");
    document.body.append(frame);
    return new Promise((ready) => { frame.onload = () => ready(frame); });
  });
  Promise.all(frames).then((loaded) => {
    const needed = loaded.map((frame) => frame.contentDocument.documentElement.scrollWidth);
    document.title = `needed ${JSON.stringify(needed)}`;
  });
});
"""

pytestmark = IN_BROWSER


def browse(page, *options, width, scheme):
    """Return the document after loading, and what the console said."""
    done = subprocess.run(
        [
            str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            "--enable-logging=stderr", f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
            f"--window-size={width},2000", f"--user-data-dir={page.parent / 'profile'}", *options,
            page.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return done.stdout, [line for line in done.stderr.splitlines() if ":CONSOLE" in line]


def with_script(page, *scripts):
    """Return a page without its policy, which would stop these scripts."""
    free = re.sub(r"<meta http-equiv=[^>]*>\n", "", page)
    tags = "".join(f"<script>{script}</script>" for script in scripts)
    return free.replace("</head>", f"{tags}</head>")


@pytest.fixture(params=["used", "unused", "empty"])
def shown(request, page, small, overview, effect):
    return page(
        {"used": small, "unused": overview(effect(1), effect(2)), "empty": overview()}[
            request.param
        ]
    )


def test_the_console_is_silent(shown, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(shown, "utf-8")
    text, said = browse(file, "--dump-dom", width=1280, scheme="light")
    assert "Lessons of shop" in text
    assert not said
    file.write_text(shown.replace("<body>", '<body style="color: red">'), "utf-8")
    assert browse(file, "--dump-dom", width=1280, scheme="light")[1], "the console is heard"


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing(shown, tmp_path, width, scheme):
    file = tmp_path / "page.html"
    file.write_text(with_script(shown, read_axe(), RUN_AXE), "utf-8")
    text, _said = browse(
        file, "--dump-dom", "--virtual-time-budget=20000", width=width, scheme=scheme
    )
    found = re.search(r'<pre id="found">(.*?)</pre>', text, re.DOTALL)
    assert found, "axe did not end"
    told = json.loads(html.unescape(found[1]))
    assert told["violations"] == []
    assert told["rules"] > 0


def test_no_screen_is_too_narrow(shown, tmp_path):
    widths = [320, 390, 735, 737, 800, 1000, 1055, 1057, 1280]
    file = tmp_path / "page.html"
    file.write_text(with_script(shown, MEASURE.replace("WIDTHS", json.dumps(widths))), "utf-8")
    text, _said = browse(
        file, "--dump-dom", "--virtual-time-budget=20000", width=1400, scheme="light"
    )
    found = re.search(r"<title>needed (.*?)</title>", text)
    assert found, "the page was not measured"
    assert json.loads(found[1]) == widths, "a page must not scroll sideways"
