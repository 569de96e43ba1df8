"""`lessons watch`: a real watcher on a real folder, and editors as they really save."""

import os
import queue
import signal
import subprocess
import sys
import threading
import time

import pytest

from lessons_kb import Brain

pytestmark = pytest.mark.slow  # a process of its own

CARD = "# Mind the {0}\n\n## Prevention Checklist\n\n- Look at the {0}\n"
WORDS = ("zebra crossing", "giraffe neck", "walrus tooth", "hamster wheel")


class Watched:
    """A running ``lessons watch`` and what it says."""

    def __init__(self, root):
        script = os.path.join(os.path.dirname(sys.executable), "lessons")
        self.process = subprocess.Popen(
            [script, "--brain", str(root), "watch"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)

    def wait_for(self, words):
        end = time.monotonic() + 20
        while time.monotonic() < end:
            line = self.lines.get(timeout=20)
            if words in line:
                return line
        raise AssertionError(f"the watcher never said {words!r}")


@pytest.fixture
def watched(brain):
    watcher = Watched(brain)
    watcher.wait_for("up to date")
    yield watcher
    watcher.process.kill()
    watcher.process.wait()
    if watcher.process.stdout:
        watcher.process.stdout.close()


def save_in_place(path, text):
    path.write_text(text)


def save_by_rename(path, text):
    temp = path.with_name(f".{path.name}.swp")
    temp.write_text(text)
    os.replace(temp, path)


def save_like_vim(path, text):
    if path.exists():
        os.rename(path, path.with_name(path.name + "~"))
    path.write_text(text)


@pytest.mark.parametrize("save", [save_in_place, save_by_rename, save_like_vim])
def test_a_saved_card_is_in_the_index_before_anyone_asks(watched, brain, save):
    running = Brain.open(brain)  # a process that was already there
    running.refresh()
    layer = Brain.open(brain).layers[0]
    for words in WORDS[:2]:
        save(brain / "lessons/animal.md", CARD.format(words))  # type: ignore[operator]
        watched.wait_for("changed")
        titles = {card.title for card in layer.read(lambda one: one.catalogue.all_cards())}
        assert f"Mind the {words}" in titles
        assert "lessons/animal.md" in running.preflight(f"Please mind the {words}").text


def test_a_folder_that_moves_in_or_out_is_seen(watched, brain, tmp_path):
    outside = tmp_path / "more"
    outside.mkdir()
    (outside / "walrus.md").write_text(CARD.format("walrus tooth"))
    os.rename(outside, brain / "lessons/more")
    watched.wait_for("1 changed")
    os.rename(brain / "lessons/more", outside)
    watched.wait_for("1 removed")


def test_ctrl_c_ends_it_without_a_word_too_many(watched):
    watched.process.send_signal(signal.SIGINT)
    assert watched.process.wait(timeout=60) == 130
