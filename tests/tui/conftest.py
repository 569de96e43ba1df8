"""A source over a copy of the example brain, and a hand that presses keys."""

import asyncio
import datetime as dt
import io
import os
import pathlib
import shutil
import sys

import pytest
from rich.console import Console
from textual.widgets import Input, Static

from lessons_kb import Brain
from lessons_kb.tui import app as app_module
from lessons_kb.tui.app import ManageApp
from lessons_kb.tui.rows import RowSource

ROOT = pathlib.Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "manage"
TODAY = dt.date(2026, 11, 1)


class Hand:
    """Presses keys and looks at the screen."""

    def __init__(self, app, pilot):
        self.app = app
        self.pilot = pilot

    async def press(self, *keys):
        """Press keys one after the other, each when the one before has had its effect."""
        for key in keys:
            await self.pilot.press(key)
            await self.settle()

    async def type(self, text):
        await self.pilot.press(*("space" if c == " " else c for c in text))
        await self.settle()

    async def settle(self):
        for _ in range(3):
            await self.pilot.pause()
            while any(w.is_running for w in self.app.workers):  # noqa: ASYNC110 no event tells
                await asyncio.sleep(0.001)
            await asyncio.sleep(0.002)  # the cursor has come to rest
        await self.pilot.pause()

    async def find(self, text):
        """Put the cursor on the first row that holds ``text``."""
        field = self.app.query_one("#filter", Input)
        field.value = text
        self.app.focus_on(self.app.listing)
        await self.settle()
        assert self.app.listing.current is not None, text

    @property
    def screen(self):
        """What the terminal shows, without colours."""
        width, height = self.app.size
        console = Console(
            width=width, height=height, file=io.StringIO(), record=True, legacy_windows=False
        )
        app = self.app
        background = [one for one in app.screen_stack if one is not app.screen]
        console.print(app.screen._compositor.render_update(full=True, screen_stack=background))
        lines = console.export_text().split("\n")[:height]
        return "\n".join(line.rstrip() for line in lines) + "\n"

    @property
    def row(self):
        row = self.app.listing.current
        return row.name if row else ""

    @property
    def said(self):
        status = self.app.screen_stack[0].query_one("#status", Static)
        return " ".join(str(status.content).split())


@pytest.fixture(autouse=True)
def _no_rest(monkeypatch):
    monkeypatch.setattr(app_module, "_SETTLE_SECONDS", 0.001)
    monkeypatch.delenv("NO_COLOR", raising=False)

    # Textual's own tests wait 20 ms at a time until nothing moves; ``Hand.settle`` knows better.
    async def at_once(*_):
        await asyncio.sleep(0)

    for module in ("textual.app", "textual.pilot"):
        monkeypatch.setattr(f"{module}.wait_for_idle", at_once, raising=False)


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "brain"
    shutil.copytree(
        ROOT / "brain-example", folder, ignore=shutil.ignore_patterns(".lessons", "notes")
    )
    return folder


@pytest.fixture
def brain(root):
    with Brain.open(root, directory=root) as opened:
        yield opened


@pytest.fixture
def drive(brain):
    """Run the app on the brain and let ``play`` act in it; fails as the app fails."""

    def run(play, *, size=(80, 24), on=brain):
        async def main():
            app = ManageApp(RowSource(on, day=TODAY), today=TODAY)
            async with app.run_test(size=size) as pilot:
                hand = Hand(app, pilot)
                await hand.settle()
                await play(hand)

        asyncio.run(main())

    return run


@pytest.fixture
def golden(request):
    """Compare a screen with its golden file; ``--update`` writes it anew."""

    def compare(name, text):
        path = GOLDEN / f"{name}.txt"
        if request.config.getoption("--update"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return compare


@pytest.fixture
def editor(tmp_path, monkeypatch):
    """Set an $EDITOR that runs Python code with the file's text as ``text``."""

    def set_editor(code):
        script = tmp_path / "editor.py"
        script.write_text(
            "import pathlib, sys\n"
            "path = pathlib.Path(sys.argv[1])\n"
            "text = path.read_text('utf-8')\n"
            f"{code}\n"
            "path.write_text(text, 'utf-8')\n",
            encoding="utf-8",
        )
        monkeypatch.setenv("EDITOR", f"{_quoted(sys.executable)} {_quoted(str(script))}")

    return set_editor


def _quoted(path):
    return f'"{path}"' if os.name == "nt" else path
