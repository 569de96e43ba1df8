"""`lessons index --watch`: a process of its own on a real folder."""

import os
import select
import signal
import subprocess
import sys

import pytest

from lessons_kb import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.cli import watch_files
from tests.kit import write

PATIENCE = 60.0


@pytest.mark.slow
@pytest.mark.parametrize("command", [("index", "--watch"), ("watch",)])  # and its former name
def test_a_saved_card_is_in_the_index_before_anyone_asks(brain, command):
    script = os.path.join(os.path.dirname(sys.executable), "lessons")
    command = [script, "--brain", str(brain), *command]
    out = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "bufsize": 0}
    with subprocess.Popen(command, **out) as process:
        poll = select.poll()
        poll.register(process.stdout, select.POLLIN)

        def wait_for(words):
            line = b""
            while words not in line:
                assert poll.poll(1000 * PATIENCE), f"the watcher never said {words!r}"
                line = process.stdout.readline()
                assert line

        wait_for(b"up to date")
        running = Brain.open(brain)  # a process that was already there
        running.refresh()
        layer = Brain.open(brain).members[0]
        for words in ("zebra crossing", "giraffe neck"):
            title = f"Mind the {words}"
            write(brain, "lessons/new.tmp", f"# {title}\n\n## Fix\n\n- Look at the {words}\n")
            os.replace(brain / "lessons/new.tmp", brain / "lessons/animal.md")
            wait_for(b"changed lessons/animal.md")
            titles = {card.title for card in layer.read(lambda one: one.catalogue.all_cards())}
            assert title in titles
            assert "lessons/animal.md" in running.preflight(f"Please mind the {words}").text
        # Another process, such as the daemon, may index a change first.
        write(brain, "lessons/plant.md", "# Mind the fern\n\n## Fix\n\n- Look at the fern\n")
        running.refresh()
        wait_for(b"changed lessons/plant.md")
        (brain / "lessons/plant.md").unlink()
        running.refresh()
        wait_for(b"removed lessons/plant.md")
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130


def test_lines_of_several_threads_are_whole(monkeypatch):
    """A text stream may switch threads between two writes; each line is a single one."""
    pieces = []

    class Stream:
        def write(self, text):
            pieces.append(text)

        def flush(self):
            pass

    class Watched:
        def __init__(self, _brains, *, say, **_options):
            say("shop: 3 files, up to date")

        def wait(self):
            pass

        def stop(self, *, wait):
            pass

    monkeypatch.setattr(sys, "stdout", Stream())
    monkeypatch.setattr(watch_files, "Watching", Watched)
    watch_files.watch_files(Brains([], directory="", project=None))
    assert [piece for piece in pieces if piece] == ["shop: 3 files, up to date\n"]
