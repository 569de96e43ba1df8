"""Draws the pictures of README: ``python tools/pictures.py [NAME …]``, from a checkout.

The loop is drawn; the rest shows the real program over a simulated history of 200 sessions
(``benchmarks/judgement/history.py``). The report's pictures need Chromium, and are left as they are without.
"""

from __future__ import annotations

import asyncio
import io
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from struct import pack
from unittest import mock

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT)]

from loop import draw_loop  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"
COLUMNS = 108
LINES = 62
"""Lines of a terminal's output; a longer output ends after its last whole paragraph."""
TERMINALS = {"stats": ["stats"]}
"""Picture → the command it shows."""
PAGES = {
    "report-desk": ("top", 1280, 1100, "light"),
    "report-phone": ("effect", 390, 1100, "dark"),
}
"""Picture → part of the page, width and height in pixels, colour scheme."""
SCHEMES = {"dark": 0, "light": 1}
CHROMIUM = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
MANAGE = (112, 30)
"""Columns and rows."""


def main(asked: list[str]) -> None:
    """Draw the named pictures, or all."""
    names = ["loop", *TERMINALS, "manage", *PAGES]
    if unknown := set(asked) - set(names):
        sys.exit(f"no picture {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        os.environ["LESSONS_STATE_HOME"] = f"{place}/state"
        os.environ["XDG_CONFIG_HOME"] = f"{place}/config"
        brain = Path(place) / "shop-brain"
        chosen = [name for name in names if not asked or name in asked]
        if chosen != ["loop"]:
            from benchmarks.judgement.history import play

            play(brain)
            os.environ["LESSONS_BRAIN"] = str(brain)
        for name in chosen:
            if name == "loop":
                write("loop.svg", draw_loop())
            elif name == "manage":
                write("manage.svg", plain(asyncio.run(show_manage(brain))))
            elif name in TERMINALS:
                write(f"{name}.svg", show_terminal(TERMINALS[name]))
            else:
                show_page(name, brain)


def write(name: str, text: str) -> None:
    (PICTURES / name).write_text(text, "utf-8")
    print(f"{name} {len(text.encode()) / 1000:.0f} kB")


def show_terminal(arguments: list[str]) -> str:
    """Return a terminal after a command."""
    from rich.console import Console
    from rich.text import Text

    shown = " ".join(f'"{word}"' if " " in word else word for word in arguments)
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), color_system="truecolor")
    console.print(Text.assemble(("$ ", "green"), ("lessons " + shown, "bold")))
    said = run_in_terminal([sys.executable, "-m", "lessons_kb.cli.main", *arguments])
    console.print(Text.from_ansi(shorten(said)))
    return plain(console.export_svg(title="lessons"))


def shorten(text: str) -> str:
    """Return as many whole paragraphs as fit into a picture."""
    lines = text.split("\n")
    if len(lines) <= LINES:
        return text
    end = max(n for n, line in enumerate(lines[:LINES]) if not line.strip())
    return "\n".join([*lines[:end], "…"])


def run_in_terminal(command: list[str]) -> str:
    """Return the output of a command in a terminal with COLUMNS columns."""
    import fcntl
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, pack("HHHH", 40, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    for name in ("COLUMNS", "NO_COLOR"):
        environment.pop(name, None)
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL, env=environment
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # Linux: the other end is closed
            break
        if not piece:
            break
        seen += piece
    os.close(ours)
    if process.wait():
        sys.exit(f"{' '.join(command)} failed: {seen.decode('utf-8', 'replace')}")
    return seen.decode().replace("\r\n", "\n").strip("\n")


async def show_manage(brain: Path) -> str:
    """Return the screen of ``lessons manage``."""
    from lessons_kb import Brain
    from lessons_kb.tui.app import ManageApp
    from lessons_kb.tui.rows import RowSource

    with Brain.open(brain) as opened, mock.patch.dict(os.environ):
        os.environ.pop("NO_COLOR", None)
        app = ManageApp(RowSource(opened))
        async with app.run_test(size=MANAGE) as pilot:
            await pilot.pause()
            await app.workers.wait_for_complete()
            await pilot.press("down", "down")
            await pilot.pause(1)
            return app.export_screenshot(title="lessons manage")


def plain(svg: str) -> str:
    """Return a picture made by rich without its web fonts and the note about its origin."""
    return re.sub(r"\s*(?:@font-face\s*\{.*?\}|<!--.*?-->)", "", svg, flags=re.DOTALL)


def show_page(name: str, brain: Path) -> None:
    chromium = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if chromium is None:
        print(f"{name}.png stays as it is: no Chromium (Debian: chromium-headless-shell)")
        return
    page = brain / "report.html"
    made = [sys.executable, "-m", "lessons_kb.cli.main", "report", "-o", str(page)]
    subprocess.run(made, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    part, width, height, scheme = PAGES[name]
    # Chromium takes an empty picture of a page that is scrolled; a page within a page it takes well.
    frame = page.with_name("frame.html")
    style = f"display:block;border:0;width:{width}px;height:{height}px"
    frame.write_text(f"<body style='margin:0'><iframe src='{page.name}#{part}' style='{style}'>")
    picture = PICTURES / f"{name}.png"
    shoot = [
        chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
        f"--user-data-dir={brain.parent / 'profile'}", f"--window-size={width},{height}",
        f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}", f"--screenshot={picture}",
        frame.as_uri(),
    ]  # fmt: skip
    subprocess.run(shoot, check=True, capture_output=True)
    print(f"{picture.name} {picture.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
