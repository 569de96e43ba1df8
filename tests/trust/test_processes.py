"""Races and kills with real processes: a lock and an atomic replace are promises of a system."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest

from lessons_kb.store import card_files, trash
from lessons_kb.store import files as replace_file

pytestmark = pytest.mark.slow

BEFORE = b"\xef\xbb\xbf---\r\n# kept  \r\noccurrences: "
AFTER = b" # seen\r\nx:   'y'\r\n---\r\n# Card\r\n" + bytes(range(128, 256)) * 20

BUMP = """
import sys
from lessons_kb.store import card_files

def bump(data):
    head, _, rest = data.partition(b"occurrences: ")
    number, space, rest = rest.partition(b" ")
    return head + b"occurrences: " + str(int(number) + 1).encode() + space + rest

root, times = sys.argv[1], int(sys.argv[2])
for _ in range(times):
    card_files.rewrite(root, "lessons/card.md", bump)
    print("bumped", flush=True)
"""

PLAIN_EDITOR = """
import os, sys, time
card, how, number = sys.argv[1], sys.argv[2], 0
while not os.path.exists(card + ".stop"):
    try:
        with open(card, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        continue
    line = b"line %d\\n" % number
    if how == "in place":
        with open(card, "r+b") as file:
            file.write(data + line)
    else:
        with open(card + "~", "wb") as file:
            file.write(data + line)
        os.replace(card + "~", card)
    number += 1
    print("saved", flush=True)
    time.sleep(0.003)
"""


def start(code, *arguments):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, bufsize=0, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(processes):
    """Wait for all; a traceback in any of them fails the test."""
    output = [process.communicate(timeout=120) for process in processes]
    assert [error.decode() for _, error in output] == [""] * len(processes)
    return [out.count(b"\n") for out, _ in output]


@pytest.fixture
def counter(root):
    path = root / "lessons/card.md"
    path.write_bytes(BEFORE + b"0" + AFTER)
    return path


def kept(root, seconds, monkeypatch):
    """Return what the trash holds, as it shows it some seconds later."""
    now = time.time
    monkeypatch.setattr(trash.time, "time", lambda: now() + seconds)
    folder = pathlib.Path(trash.trash_dir(str(root)))
    return [(folder / one.name / "card").read_bytes() for one in trash.entries(str(root))]


def test_eight_processes_lose_no_update_and_no_byte(root, counter, figure):
    processes = [start(BUMP, root, "25") for _ in range(8)]
    assert finish(processes) == [25] * 8
    assert counter.read_bytes() == BEFORE + b"200" + AFTER
    figure("8 processes × 25 bumps of one card", "200 of 200, the other bytes unchanged")
    assert os.listdir(f"{root}/lessons") == ["card.md"]
    assert trash.entries(str(root)) == []


@pytest.mark.parametrize("how", ["in place", "by renaming"])
def test_with_an_editor_in_between_every_line_it_saved_is_in_the_card_or_the_trash(
    root, counter, monkeypatch, figure, how
):
    editor = start(PLAIN_EDITOR, counter, how)
    processes = [start(BUMP, root, "25") for _ in range(8)]
    bumped = finish(processes)
    counter.with_suffix(".md.stop").touch()
    (saved,) = finish([editor])
    assert bumped == [25] * 8
    assert saved > 20
    held = b"".join([counter.read_bytes(), *kept(root, 60, monkeypatch)])
    found = set(map(int, re.findall(rb"line (\d+)\n", held)))
    assert found == set(range(saved))
    assert counter.read_bytes().startswith(BEFORE)
    assert AFTER in counter.read_bytes()
    figure(
        "the same with an editor that saves in between",
        f"{how}: 200 bumps answered, {len(found)} of {saved} saves in the card or the trash",
    )
    assert set(os.listdir(f"{root}/lessons")) == {"card.md", "card.md.stop"}


def test_a_kill_between_exchange_and_check_keeps_what_was_displaced(root, counter, monkeypatch):
    """The worst moment: the only copy of another program's save has a temporary name."""
    pid = os.fork()
    if pid == 0:
        exchange = replace_file.exchange

        def die(temp, target):
            pathlib.Path(target).write_bytes(b"someone's save")
            exchange(temp, target)
            os.kill(os.getpid(), signal.SIGKILL)

        replace_file.exchange = die
        card_files.rewrite(str(root), "lessons/card.md", lambda data: data + b"x")
        os._exit(1)
    os.waitpid(pid, 0)
    assert counter.read_bytes() == BEFORE + b"0" + AFTER + b"x"
    now = time.time
    monkeypatch.setattr(trash.time, "time", lambda: now() + 90_000)
    card_files.rewrite(str(root), "lessons/card.md", lambda data: data + b"y")
    assert os.listdir(f"{root}/lessons") == ["card.md"]
    assert kept(root, 0, monkeypatch) == [b"someone's save"]
