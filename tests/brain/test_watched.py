"""A brain that this process watches: an edit is seen at once, and committed beside the searches."""

import os
import shutil
import subprocess
import sys
import time

import pytest

from lessons_kb import Brain
from lessons_kb.brain.brain import REFRESHED_FILES
from lessons_kb.brain.changes import Changes, drop_lease, is_leased
from lessons_kb.brain.watching import Watching
from lessons_kb.store.locks import hold_writer
from lessons_kb.store.scan import RESCAN
from tests import kit

MANY = 4 * REFRESHED_FILES
CARD = """---
type: lesson
title: {title}
{more}---
## Situation
{text}

## Prevention Checklist
- Check the {text}
"""


class Watched:
    """A brain of three cards, open and watched."""

    def __init__(self, root):
        self.root = root
        for name in ("one", "two", "three"):
            self.write(name, title=f"Lesson {name}", text=f"the plain text of {name}")
        self.brain = Brain.open(root, directory=root)
        self.layer = self.brain.members[0]
        self.brain.refresh()
        self.brain.watch()
        # From the first full look on, the watcher knows all that changes.
        self.until(self.is_known)

    def is_known(self):
        self.write("three", title="Lesson three", text=f"turtles {time.monotonic_ns()}")
        time.sleep(0.05)
        return self.layer.show_edits() is not None

    def write(self, name, *, title, text, more=""):
        path = self.root / "lessons" / f"{name}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(CARD.format(title=title, text=text, more=more), "utf-8")

    def titles(self, text):
        """Return what a hook finds now: it refreshes what it can, then searches."""
        self.layer.refresh_in_hook()
        return [hit.card.title for hit in self.brain.search(text, fresh=False)]

    def until(self, test):
        end = time.monotonic() + 20
        while not test():
            assert time.monotonic() < end
            time.sleep(0.02)


@pytest.fixture
def watched(root):
    watch = Watched(root)
    yield watch
    watch.brain.close()


def test_a_brain_that_is_gone_ends_its_watch_with_a_line(root):
    (root / "lessons").mkdir()
    with Brain.open(root, directory=root) as brain:
        shutil.rmtree(root)
        lines = []
        Watching(brain.members, say=lines.append).wait()
    assert len(lines) == 1
    assert str(root) in lines[0]


def test_an_edit_is_seen_while_nothing_can_be_committed(watched):
    with hold_writer(os.path.join(watched.layer.cache, "writer.lock"), patience=9) as refused:
        assert not refused
        watched.write("one", title="Zanzibar ferries", text="the zanzibar ferry is late")
        assert watched.layer.refresh(leased=False, patience=0.01).stale
        watched.until(lambda: watched.titles("zanzibar ferry") == ["Zanzibar ferries"])
        watched.write("one", title="Ushuaia ferries", text="the ushuaia ferry is late")
        watched.until(lambda: watched.titles("ushuaia") == ["Ushuaia ferries"])
        assert watched.titles("zanzibar") == []
        assert "Lesson two" in watched.titles("plain text of two")

    with Brain.open(watched.root, directory=watched.root) as other:
        watched.until(lambda: [h.card.title for h in other.search("ushuaia")] != [])
    assert watched.titles("ushuaia") == ["Ushuaia ferries"]


def test_an_edit_guards_its_new_files_and_not_its_old_ones(watched):
    def guarding(path):
        watched.layer.refresh_in_hook()
        return len(watched.layer.read(lambda brain: brain.guarding([path])))

    with hold_writer(os.path.join(watched.layer.cache, "writer.lock"), patience=9):
        watched.write("two", title="Lesson two", text="x", more="paths: ['src/*.py']\n")
        watched.until(lambda: guarding("src/a.py") == 1)
        watched.write("two", title="Lesson two", text="x", more="paths: ['lib/*.py']\n")
        watched.until(lambda: guarding("lib/a.py") == 1)
        assert guarding("src/a.py") == 0


@pytest.mark.slow
def test_a_new_card_and_a_removed_one_are_seen(watched):
    watched.write("four", title="Madagascar", text="the lemurs of madagascar")
    watched.until(lambda: watched.titles("madagascar") == ["Madagascar"])
    (watched.root / "lessons/four.md").unlink()
    watched.until(lambda: watched.titles("madagascar") == [])


@pytest.mark.slow
def test_a_watch_removes_what_was_deleted_once_the_folder_is_quiet(root):
    """Each refresh of a watch is limited, and such a one never compacts."""
    (root / "lessons").mkdir()
    card = root / "lessons" / "one.md"
    with Brain.open(root, directory=root) as brain:
        (watched,) = brain.members
        for number in range(40):
            text = CARD.format(title="Lesson one", text=f"turtle {number}", more="")
            card.write_text(text, "utf-8")
            other = root / "lessons" / f"{number}.md"
            other.write_text(CARD.format(title=f"Lesson {number}", text="newt", more=""), "utf-8")
            watched.refresh(limit=REFRESHED_FILES)
        for number in range(20):
            (root / "lessons" / f"{number}.md").unlink()
        watched.refresh(limit=REFRESHED_FILES)
        assert watched.engine.needs_compaction()
        watching = Watching([watched], tick=0.1)
        card.write_text(CARD.format(title="Lesson one", text="tortoise", more=""), "utf-8")
        end = time.monotonic() + 20
        while watched.engine.needs_compaction() and time.monotonic() < end:
            time.sleep(0.05)
        compacted = not watched.engine.needs_compaction()
        watching.stop(wait=True)
        assert compacted
        assert [hit.card.title for hit in brain.search("tortoise")] == ["Lesson one"]


@pytest.mark.slow
def test_what_a_checkout_changes_is_read_by_another_process(watched):
    lock = os.path.join(watched.layer.cache, "writer.lock")
    with kit.watched() as seen:
        with hold_writer(lock, patience=9) as refused:
            assert not refused
            for number in range(MANY):
                text = f"the zebra{number} is out"
                watched.write(f"new{number}", title=f"Zebra {number}", text=text)
            seen.clear()
            watched.until(lambda: "being indexed" in watched.layer.refresh_in_hook().stale)
            # Whoever asks meanwhile looks at no file, and gets what was committed.
            assert watched.layer.refresh_in_hook().changed == 0
            assert "Lesson two" in watched.titles("plain text of two")
            assert watched.titles("zebra7") == []
        watched.until(lambda: watched.titles(f"zebra{MANY - 1}")[:1] == [f"Zebra {MANY - 1}"])
        watched.until(lambda: watched.layer.refresh_in_hook().stale == "")
    read = {os.path.basename(path) for event, path in seen if event == "open"}
    assert len([name for name in read if name.startswith("new")]) < MANY
    watched.write("one", title="Zanzibar ferries", text="the zanzibar ferry is late")
    watched.until(lambda: watched.titles("zanzibar ferry") == ["Zanzibar ferries"])


@pytest.mark.slow
def test_a_hook_reads_the_folder_that_replaced_a_half_deleted_one(watched):
    for number in range(20):
        watched.write(f"new{number}", title=f"Zebra {number}", text=f"the zebra{number} is out")
    watched.until(lambda: watched.titles("zebra19")[:1] == ["Zebra 19"])
    copy = shutil.copytree(watched.root, watched.root.with_name("copy"))
    with hold_writer(os.path.join(watched.layer.cache, "writer.lock"), patience=9) as refused:
        assert not refused
        for number in range(20):
            (watched.root / "lessons" / f"new{number}.md").unlink()
        watched.until(lambda: "being indexed" in watched.layer.refresh_in_hook().stale)
        watched.root.rename(watched.root.with_name("deleted"))
        copy.rename(watched.root)
        assert "being indexed" not in watched.layer.refresh_in_hook().stale
    assert watched.titles("zebra7")[:1] == ["Zebra 7"]


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["it fails", "none starts"])
def test_without_another_process_all_is_indexed_here(watched, monkeypatch, fault):
    def begin(_root):
        if fault == "none starts":
            raise BlockingIOError(11, "Resource temporarily unavailable")
        return subprocess.Popen([sys.executable, "-c", "raise SystemExit(1)"])

    monkeypatch.setattr("lessons_kb.process.programs.begin_index", begin)
    for number in range(MANY):
        watched.write(f"new{number}", title=f"Zebra {number}", text=f"the zebra{number} is out")
    watched.until(lambda: watched.titles(f"zebra{MANY - 1}")[:1] == [f"Zebra {MANY - 1}"])


def test_a_link_in_the_place_of_a_card_is_not_followed(watched):
    secret = watched.root.parent / "secret.md"
    secret.write_text(CARD.format(title="Secret", text="the treasure", more=""), "utf-8")
    card = watched.root / "lessons/one.md"
    card.unlink()
    card.symlink_to(secret)
    time.sleep(0.1)
    assert watched.titles("treasure") == []
    watched.until(lambda: watched.titles("plain text of one")[:1] != ["Lesson one"])
    assert watched.titles("treasure") == []


@pytest.fixture
def vouching(tmp_path):
    """Return what begins a watch of a folder, and what tells of the folder whether it is sure."""
    folder, cache = tmp_path / "brain", str(tmp_path)
    folder.mkdir()
    watches = []

    def watch():
        watches.append(Changes(cache, str(folder)))
        commit(watches[-1])
        return watches[-1]

    yield folder, watch, lambda: is_leased(cache)
    for changes in watches:
        changes.end()


def commit(changes):
    changes.finish(changes.begin())


def test_an_index_is_vouched_for_until_something_changes(vouching):
    folder, watch, leased = vouching
    changes = watch()
    assert leased()
    assert not is_leased(str(folder))
    changes.note({"a.md"})
    assert not leased()
    assert changes.files == {"a.md"}
    other = watch()
    assert leased()  # the other watch has seen for itself what this one saw
    other.end()
    assert not leased()
    commit(changes)
    assert leased()
    drop_lease(changes.cache)  # what this process writes is known after a full look only
    assert (changes.files, leased()) == (None, False)
    for sign, files in (("a.md", {"a.md"}), (RESCAN, None)):  # on the way
        commit(changes)
        assert leased()
        begun = changes.begin()
        changes.note({sign})
        changes.finish(begun)
        assert (changes.files, leased()) == (files, False)


def test_a_new_folder_of_the_same_name_is_not_vouched_for(vouching):
    folder, watch, leased = vouching
    changes = watch()
    folder.rename(f"{folder} before")
    assert not leased()
    folder.mkdir()
    assert (changes.is_replaced, changes.files, leased()) == (True, None, False)
    folder.rmdir()
    commit(changes)  # a look while the folder was gone counts for nothing
    assert not leased()
    folder.mkdir()
    assert not leased()
