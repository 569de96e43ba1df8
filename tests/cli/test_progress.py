"""Commands that take long show how far they are: on a terminal, from one second on."""

import os
import pty
import subprocess
import sys

import pytest

from lessons_kb import Brain
from lessons_kb.collection.lint import lint
from tests.kit import write

PROGRAM = """
import time
from lessons_kb.cli.output import draw_progress
with draw_progress("checking") as show:
    {work}
"""


def draw(work, *, at_terminal=True):
    """Return what a process of its own draws on standard error while it does some work."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", PROGRAM.format(work=work)]
    environment = {**os.environ, "TERM": "xterm"}
    stderr = theirs if at_terminal else subprocess.PIPE
    with subprocess.Popen(command, stderr=stderr, env=environment) as process:
        os.close(theirs)
        drawn = b""
        while at_terminal:
            try:
                part = os.read(ours, 4096)
            except OSError:
                break
            if not part:
                break
            drawn += part
        if not at_terminal:
            drawn = process.stderr.read()
        assert process.wait(60) == 0
    os.close(ours)
    return drawn.decode()


def test_a_long_work_is_shown_before_it_has_reported_anything():
    assert "checking" in draw("time.sleep(1.6)")


def test_a_long_work_shows_how_much_is_done():
    shown = draw("show(3, 40); time.sleep(1.6)")
    assert "3/40" in shown


@pytest.mark.parametrize("work", ["pass", "show(40, 40)"])
def test_a_short_work_shows_nothing(work):
    assert "checking" not in draw(work)


def test_nothing_is_drawn_without_a_terminal():
    assert draw("time.sleep(1.6)", at_terminal=False) == ""


def test_lint_reports_its_progress(tmp_path):
    write(tmp_path, "lessons.toml", "")
    for number in range(30):
        write(tmp_path, f"lessons/{number}.md", f"# Card {number}\n")
    calls = []
    with Brain.open(tmp_path) as brain:
        lint(brain.members[0], progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (30, 30)
    assert calls == sorted(calls)
