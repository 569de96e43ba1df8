"""Races and kills with real processes: a lock and an atomic replace are promises of a system."""

import os
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


def read(path):
    with open(path, "rb") as file:
        return file.read()


def start(code, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        bufsize=0,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finish(processes):
    """Wait for all; a traceback in any of them fails the test."""
    output = [process.communicate(timeout=120) for process in processes]
    assert [error.decode() for _, error in output] == [""] * len(processes)
    return [out.count(b"\n") for out, _ in output]


@pytest.fixture
def counter(root):
    path = os.path.join(root, "lessons", "card.md")
    with open(path, "wb") as file:
        file.write(BEFORE + b"0" + AFTER)
    return path


@pytest.mark.slow
def test_eight_processes_lose_no_update_and_no_byte(root, counter, figure):
    processes = [start(BUMP, root, "25") for _ in range(8)]
    assert finish(processes) == [25] * 8
    assert read(counter) == BEFORE + b"200" + AFTER
    figure("8 processes × 25 bumps of one card", "200 of 200, the other bytes unchanged")
    assert os.listdir(f"{root}/lessons") == ["card.md"]
    assert trash.entries(root) == []


@pytest.mark.slow
@pytest.mark.parametrize("how", ["in place", "by renaming"])
def test_with_an_editor_in_between_every_line_it_saved_is_in_the_card_or_the_trash(
    root, counter, monkeypatch, figure, how
):
    editor = start(PLAIN_EDITOR, counter, how)
    processes = [start(BUMP, root, "25") for _ in range(8)]
    bumped = finish(processes)
    with open(counter + ".stop", "wb"):
        pass
    (saved,) = finish([editor])
    assert bumped == [25] * 8
    assert saved > 20
    now = time.time
    monkeypatch.setattr(trash.time, "time", lambda: now() + 60)
    kept = [read(os.path.join(trash.trash_dir(root), e.name, "card")) for e in trash.entries(root)]
    found = {int(n) for data in (read(counter), *kept) for n in re.findall(rb"line (\d+)\n", data)}
    assert found == set(range(saved))
    assert read(counter).startswith(BEFORE)
    assert AFTER in read(counter)
    figure(
        "the same with an editor that saves in between",
        f"{how}: 200 bumps answered, {len(found)} of {saved} saves in the card or the trash",
    )
    names = set(os.listdir(f"{root}/lessons")) - {"card.md", "card.md.stop"}
    assert names == set()


def test_a_kill_between_exchange_and_check_keeps_what_was_displaced(root, counter, monkeypatch):
    """The worst moment: the only copy of another program's save has a temporary name."""
    pid = os.fork()
    if pid == 0:
        exchange = replace_file.exchange

        def die(temp, target):
            with open(target, "wb") as file:
                file.write(b"someone's save")
            exchange(temp, target)
            os.kill(os.getpid(), signal.SIGKILL)

        replace_file.exchange = die
        card_files.rewrite(root, "lessons/card.md", lambda data: data + b"x")
        os._exit(1)
    os.waitpid(pid, 0)
    assert read(counter) == BEFORE + b"0" + AFTER + b"x"
    now = time.time
    monkeypatch.setattr(trash.time, "time", lambda: now() + 90_000)
    card_files.rewrite(root, "lessons/card.md", lambda data: data + b"y")
    assert os.listdir(f"{root}/lessons") == ["card.md"]
    (kept,) = trash.entries(root)
    assert read(os.path.join(trash.trash_dir(root), kept.name, "card")) == b"someone's save"
