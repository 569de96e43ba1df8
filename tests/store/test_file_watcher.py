import errno
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time
from unittest import mock

import pytest

from lessons_kb.errors import BrainNotFound
from lessons_kb.store import card_files, file_watcher, trash
from lessons_kb.store.scan import RESCAN
from tests.kit import wait_until

PATIENCE = 10


class Watcher:
    """A watch in a thread, and what it has reported."""

    def __init__(self, root, **options):
        self.calls = []
        self.error = None
        options = {"debounce": 0.03, "poll": 0.03, "tick": 0.1, **options}
        self.watch = file_watcher.FolderWatch(root, self.calls.append, **options)

        def run():
            try:
                self.watch.run()
            except Exception as error:
                self.error = error

        self.thread = threading.Thread(target=run)

    def __enter__(self):
        self.thread.start()
        wait_until(lambda: self.calls or self.error)
        return self

    def __exit__(self, *_):
        self.watch.stop()
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()

    @property
    def seen(self):
        return set().union(*self.calls[1:])

    def sees(self, *paths):
        wait_until(lambda: self.seen >= set(paths))


def write(path, text="text"):
    pathlib.Path(path).write_text(text, encoding="utf-8")


@pytest.fixture
def watcher(root):
    write(f"{root}/lessons/old.md")
    with Watcher(root) as watcher:
        yield watcher


def by_backup(old):
    os.rename(old, f"{old}~")
    write(old, "longer text")
    os.unlink(f"{old}~")


def by_renaming(old):
    write(f"{old}.swp", "x")
    os.replace(f"{old}.swp", old)


@pytest.mark.parametrize("save", [lambda old: write(old, "longer text"), by_renaming, by_backup])
def test_a_save_is_seen_as_one_of_its_file(root, watcher, save):
    save(f"{root}/lessons/old.md")
    watcher.sees("lessons/old.md")
    assert watcher.seen == {"lessons/old.md"} or save is by_backup


def test_new_deleted_and_renamed_files_and_settings_are_seen(root, watcher):
    write(f"{root}/lessons/new.markdown")
    os.rename(f"{root}/lessons/old.md", f"{root}/moved.md")
    watcher.sees("lessons/new.markdown", "lessons/old.md", "moved.md")
    os.unlink(f"{root}/moved.md")
    write(f"{root}/lessons.toml")
    write(f"{root}/.lessonsignore")
    watcher.sees("lessons.toml", ".lessonsignore")


def test_new_folders_are_watched_from_their_first_file_on(root, watcher, tmp_path):
    os.makedirs(f"{root}/a/b/c")
    for name in ("first.md", "second.md"):
        write(f"{root}/a/b/c/{name}")
        wait_until(lambda name=name: watcher.seen & {RESCAN, f"a/b/c/{name}"})
    (tmp_path / "outside/deep").mkdir(parents=True)
    write(tmp_path / "outside/deep/card.md")
    os.rename(tmp_path / "outside", f"{root}/inside")
    watcher.sees("inside/deep/card.md")


def test_a_folder_that_was_moved_in_is_watched(root, watcher, tmp_path):
    (tmp_path / "outside/deep").mkdir(parents=True)
    write(tmp_path / "outside/deep/card.md")
    os.rename(tmp_path / "outside", f"{root}/inside")
    watcher.sees("inside/deep/card.md", RESCAN)
    watcher.calls[1:] = []
    write(f"{root}/inside/deep/card.md", "longer text")
    watcher.sees("inside/deep/card.md")
    watcher.calls[1:] = []
    write(f"{root}/inside/deep/other.md")
    watcher.sees("inside/deep/other.md")


@pytest.mark.slow
def test_a_folder_renamed_moved_out_or_deleted_asks_for_a_scan(root, watcher, tmp_path):
    for change, then in (
        (lambda: os.rename(f"{root}/lessons", f"{root}/renamed"), "renamed/new.md"),
        (lambda: os.rename(f"{root}/renamed", tmp_path / "out"), "new.md"),
        (lambda: shutil.rmtree(f"{root}/more"), "other.md"),
    ):
        os.makedirs(f"{root}/more", exist_ok=True)
        change()
        watcher.sees(RESCAN)
        watcher.calls[1:] = []
        write(f"{root}/{then}")
        wait_until(lambda then=then: watcher.seen & {RESCAN, then})
        watcher.calls[1:] = []


def test_what_is_no_card_and_what_is_ours_is_left_out(root, watcher):
    for folder in (".git", ".lessons", "node_modules/x"):
        os.makedirs(f"{root}/{folder}")
        write(f"{root}/{folder}/x.md")
    write(f"{root}/main.py")
    shutil.rmtree(f"{root}/.lessons")
    write(f"{root}/lessons/old.md", "longer text")
    watcher.sees("lessons/old.md")
    assert watcher.seen <= {"lessons/old.md", RESCAN}
    assert RESCAN not in watcher.seen


@pytest.mark.slow
def test_our_own_changes_are_seen_without_their_temporary_files(root, watcher):
    card_files.rewrite(root, "lessons/old.md", lambda data: data + b"more")
    card_files.create(root, "lessons/new.md", b"")
    watcher.sees("lessons/old.md", "lessons/new.md")
    trash.put(root, "lessons/new.md")
    time.sleep(0.15)
    assert watcher.seen == {"lessons/old.md", "lessons/new.md"}


def test_reading_is_no_change(root, watcher):
    for _ in range(5):
        card_files.read_bytes(root, "lessons/old.md", limit=100)
        os.listdir(f"{root}/lessons")
    time.sleep(0.15)
    assert watcher.calls == [{RESCAN}]  # which says that the watch stands


@pytest.mark.slow
def test_a_flurry_is_one_call_and_an_endless_one_is_still_heard(root):
    with Watcher(root, debounce=0.1) as watcher:
        for number in range(20):
            write(f"{root}/lessons/{number}.md")
        watcher.sees(*(f"lessons/{n}.md" for n in range(20)))
        assert len(watcher.calls) == 2
        until = time.monotonic() + 1.2
        while time.monotonic() < until:
            write(f"{root}/lessons/busy.md", str(time.monotonic()))
            time.sleep(0.02)
        assert "lessons/busy.md" in watcher.seen


def test_a_quiet_watch_sleeps_until_its_next_tick_and_stops_at_once(root):
    ticks = []
    with Watcher(root, tick=30, on_idle=lambda: ticks.append(1)) as watcher:
        spent = time.process_time()
        time.sleep(0.5)
        assert time.process_time() - spent < 0.05
        write(f"{root}/lessons/new.md")
        watcher.sees("lessons/new.md")
        stopped = time.monotonic()
    assert time.monotonic() - stopped < 25
    assert ticks == []


def test_a_flood_asks_for_a_scan(root, monkeypatch):
    monkeypatch.setattr(file_watcher, "_MANY", 50)
    with Watcher(root) as watcher:
        for number in range(60):
            write(f"{root}/lessons/{number}.md")
        watcher.sees(RESCAN)


def test_a_brain_that_vanishes_is_a_sign_and_ends_the_watch_in_one_line(root):
    signs = []
    os.rmdir(f"{root}/lessons")
    with Watcher(root, tick=30, on_sign=signs.append) as watcher:  # the sign alone wakes it
        os.rmdir(root)
        wait_until(lambda: {RESCAN} in signs and watcher.error)
    assert isinstance(watcher.error, BrainNotFound)
    assert "\n" not in str(watcher.error)


def test_another_folder_in_its_place_is_watched_anew(root, watcher):
    os.makedirs(f"{root}.new/lessons")
    os.rename(root, f"{root}.old")
    os.rename(f"{root}.new", root)
    watcher.sees(RESCAN)
    write(f"{root}/lessons/fresh.md")
    watcher.sees("lessons/fresh.md")


def test_a_folder_replaced_while_the_watch_starts_is_watched_all_the_same(root, monkeypatch):
    from watchdog.observers import Observer

    start, replaced = Observer.start, []

    def replace_after_start(observer):
        start(observer)
        if not replaced:
            replaced.append(shutil.rmtree(root))
            os.makedirs(f"{root}/lessons")  # often with the inode of the one before
            for emitter in observer.emitters:
                emitter.join(PATIENCE)

    monkeypatch.setattr(Observer, "start", replace_after_start)
    with Watcher(root) as watcher:
        wait_until(lambda: len(watcher.calls) > 1)
        write(f"{root}/lessons/fresh.md")
        watcher.sees("lessons/fresh.md")


def test_what_the_caller_raises_ends_the_watch_and_leaves_no_thread(root):
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        file_watcher.FolderWatch(root, lambda _: 1 / 0).run()
    assert threading.active_count() == before


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EMFILE])
def test_an_observer_that_cannot_start_is_replaced_by_polling(root, monkeypatch, code):
    refuse = mock.Mock(side_effect=OSError(code, "inotify limit reached"))
    monkeypatch.setattr("watchdog.observers.Observer", refuse)
    with Watcher(root) as watcher:
        wait_until(lambda: len(watcher.calls) > 2)
    assert watcher.seen == {RESCAN}


EXHAUSTED = """
import os, sys, threading
from lessons_kb.store import file_watcher

root, calls = sys.argv[1], []

def note(changed):
    print(sorted(changed), flush=True)
    if not calls:
        with open(root + "/f9/deep/new.md", "w") as file:
            file.write("x")
    calls.append(changed)
    if len(calls) > 2:
        watched.stop()

watched = file_watcher.FolderWatch(root, note, debounce=0.05, poll=0.05)
threading.Timer(8, watched.stop).start()
threading.Timer(9, os._exit, (1,)).start()
watched.run()
os._exit(0)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="inotify")
def test_real_exhaustion_of_watches_is_noticed_though_the_library_is_silent(root):
    for number in range(10):
        os.makedirs(f"{root}/f{number}/deep")
    limit = "echo 6 > /proc/sys/user/max_inotify_watches"
    shell = ["unshare", "-Ur", "sh", "-c", f'{limit} && exec "$@"', "sh"]
    able = shutil.which("unshare") and subprocess.run([*shell, "true"], capture_output=True)
    if not able or able.returncode:
        pytest.skip("needs user namespaces")
    done = subprocess.run(
        [*shell, sys.executable, "-c", EXHAUSTED, root], capture_output=True, text=True, timeout=30
    )
    assert done.stdout.splitlines() == ["['.']"] * 3
    assert done.returncode == 0
