"""The source in a real terminal: what the other tests press without one is pressed here in tmux."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is absent: apt-get install tmux"),
]
TELEGRAM = "lessons/telegram-allowlist.md"
PATIENCE = 30.0
REVERSED = "\x1b[7m"
COLOUR = re.compile(r"\x1b\[[0-9;:]*\b(?:3[0-7]|4[0-7]|38|48|9[0-7]|10[0-7])[;:m]")


class Terminal:
    """A terminal of 80 columns and 24 lines."""

    def __init__(self, folder, environment):
        self._tmux = ["tmux", "-S", os.path.join(folder, "socket"), "-f", os.devnull]
        self._environment = environment

    def call(self, *arguments):
        done = subprocess.run(
            [*self._tmux, *arguments],
            env=self._environment,
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE,
            check=False,
        )
        return done.stdout

    def press(self, *keys):
        self.call("send-keys", *keys)

    def screen(self, *, colours=False):
        return self.call("capture-pane", "-p", *(["-e"] if colours else []))

    def wait(self, *words, gone="\0", colours=False):
        """Return the screen as soon as it shows all words, and not ``gone``."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            screen = self.screen(colours=colours)
            if all(word in screen for word in words) and gone not in screen:
                return screen
            time.sleep(0.03)
        raise AssertionError(f"no {words}, or still {gone!r}, in:\n{screen}")


@pytest.fixture
def start(root):
    folder = tempfile.mkdtemp(prefix="tmux-")  # a socket's path has 107 bytes
    environment = {
        **os.environ,
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "PYTHONPATH": str(pathlib.Path(__file__).parents[2]),
    }
    for name in ("TMUX", "NO_COLOR"):
        environment.pop(name, None)
    opened = []

    def begin(**more):
        terminal = Terminal(folder, {**environment, **more})
        command = [sys.executable, "-m", "lessons_kb.cli.main", "manage", "--brain", str(root)]
        line = f"{shlex.join(command)}; echo left with $?; sleep 60"
        terminal.call("new-session", "-d", "-x", "80", "-y", "24", line)
        opened.append(terminal)
        return terminal

    yield begin
    for terminal in opened:
        terminal.call("kill-server")
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def editor_line(tmp_path):
    """An editor that waits for enter on the terminal before it changes the file."""
    script = tmp_path / "editor"
    script.write_text(
        '#!/bin/sh\nprintf "in the editor "; read line\n'
        'sed "s/severity: high/severity: low/" "$1" > "$1.new" && cat "$1.new" > "$1"\n'
        'rm "$1.new"\n'
    )
    script.chmod(0o755)
    return str(script)


STEPS = (
    # Typed at once: a key for the list does not overtake the keys for the filter.
    (["/", "telegram"], ["telegram", "1 of 20"], ""),
    (["Enter", "+"], ["seen 6×"], ""),
    (["d"], ["to the trash?"], ""),
    (["y"], ["moved to the trash"], ""),
    (["u", "u"], ["undone: bump"], ""),
    (["Escape"], ["by last"], ""),
    (["/", "remote", "BSpace", "Enter", "+", "+"], ["\n remot\n", "1 of 20", "seen 7×"], ""),
    (["u", "u"], [" 5× high", "undone: bump"], ""),
    (["Escape"], ["by last"], ""),
    (["e"], ["in the editor"], "[Cards"),
    (["Enter"], ["edited", "low "], ""),
    (["u"], ["undone: edit"], ""),
    (["?"], ["Help", "open in $EDITOR"], ""),
    (["Escape"], ["by last"], ""),
    (["Tab"], ["[Drafts 0]", "No drafts to review"], ""),
    (["Tab", "s"], ["by seen"], ""),
)
"""Keys, the words that the screen then shows, and what is gone from it."""


def test_every_kind_of_key(start, root, editor_line):
    before = (root / TELEGRAM).read_bytes()
    terminal = start(EDITOR=editor_line)
    terminal.wait("[Cards 20]", "by last", "Situation")
    for keys, words, gone in STEPS:
        terminal.press(*keys)
        screen = terminal.wait(*words, gone=gone or "\0")
        assert (root / TELEGRAM).exists() == ("moved to the trash" not in words)
    assert (root / TELEGRAM).read_bytes() == before
    assert COLOUR.search(terminal.screen(colours=True))
    assert max(map(len, screen.splitlines())) <= 80
    terminal.press("q")
    terminal.wait("left with 0", gone="[Cards")


def test_without_colour_the_cursor_is_seen_and_a_missing_editor_is_named(start):
    """The screen stayed away, and nothing was said."""
    terminal = start(NO_COLOR="1", EDITOR="nowhere")
    terminal.wait("[Cards 20]", "by last")
    terminal.press("Down")
    terminal.wait("e open")
    cursor = f"{REVERSED}    3× medium"
    screen = terminal.wait(cursor, colours=True)
    assert not COLOUR.search(screen)
    (line,) = (line for line in screen.splitlines() if cursor in line)
    assert "A lazy relation read" in line
    terminal.press("e")
    terminal.wait("[Cards 20]", "cannot start the editor 'nowhere'")
    terminal.press("C-c")
    terminal.wait("left with 0", gone="[Cards")
