import os

import pytest

from lessons_kb.errors import CardNotFound, DuplicateCard, StorageError
from lessons_kb.store import trash
from tests.store.one_card import CARD, read, write


def test_what_was_deleted_comes_back_as_it_was(root, card, home):
    os.chmod(card, 0o640)
    before = os.stat(card)
    name = trash.put(root, "lessons/card.md")
    assert not os.path.exists(card)
    assert all(os.stat(one[0]).st_mode & 0o077 == 0 for one in os.walk(home / "state"))
    (entry,) = trash.entries(root)
    assert (entry.name, entry.path, entry.why) == (name, "lessons/card.md", "deleted")
    assert entry.size == len(CARD)
    assert entry.when.endswith("Z")
    os.rmdir(f"{root}/lessons")  # and its folder, if need be
    assert trash.restore(root, "lessons/card.md") == "lessons/card.md"
    after = os.stat(card)
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)
    assert read(card) == CARD
    assert trash.entries(root) == []


def test_across_file_systems_too(tmp_path, mount):
    root = mount(tmp_path / "other", "-t", "tmpfs", "tmpfs")
    os.mkdir(f"{root}/lessons")
    write(f"{root}/lessons/card.md", CARD)
    os.chmod(f"{root}/lessons/card.md", 0o640)
    trash.put(root, "lessons/card.md")
    assert os.listdir(f"{root}/lessons") == []
    assert trash.restore(root, "lessons/card.md") == "lessons/card.md"
    assert read(f"{root}/lessons/card.md") == CARD
    assert os.listdir(f"{root}/lessons") == ["card.md"]


def test_across_file_systems_a_save_during_the_copy_is_kept(tmp_path, mount, monkeypatch):
    root = mount(tmp_path / "other", "-t", "tmpfs", "tmpfs")
    write(f"{root}/card.md", CARD)
    real = trash.write_private

    def save_meanwhile(path, data):
        real(path, data)
        if path.endswith("card") and data == CARD:
            write(f"{root}/card.md", b"saved meanwhile")

    monkeypatch.setattr(trash, "write_private", save_meanwhile)
    trash.put(root, "card.md")
    trash.restore(root, "card.md")
    assert read(f"{root}/card.md") == b"saved meanwhile"


def test_the_newest_version_of_a_path_comes_back_first(root, card):
    for text in (b"one", b"two", b"three"):
        write(card, text)
        trash.put(root, "lessons/card.md")
    assert len({entry.name for entry in trash.entries(root)}) == 3
    oldest = trash.entries(root)[-1]
    trash.restore(root, "lessons/card.md")
    assert read(card) == b"three"
    os.unlink(card)
    trash.restore(root, oldest.name)
    assert read(card) == b"one"


def test_restoring_never_overwrites_and_suggests_the_nearest_name(root, card):
    with pytest.raises(CardNotFound):
        trash.restore(root, "lessons/cart.md")
    trash.put(root, "lessons/card.md")
    with pytest.raises(CardNotFound, match=r"did you mean lessons/card\.md"):
        trash.restore(root, "lessons/cart.md")
    write(card, b"new")
    with pytest.raises(DuplicateCard, match=r"exists; first run `lessons rename lessons/card\.md"):
        trash.restore(root, "lessons/card.md")
    assert read(card) == b"new"
    assert len(trash.entries(root)) == 1


def test_a_link_goes_and_comes_back_as_a_link(root, card):
    os.symlink("card.md", f"{root}/lessons/link.md")
    trash.put(root, "lessons/link.md")
    assert read(card) == CARD
    assert os.listdir(f"{root}/lessons") == ["card.md"]
    trash.restore(root, "lessons/link.md")
    assert os.readlink(f"{root}/lessons/link.md") == "card.md"


@pytest.mark.parametrize("what", ["nothing", "folder", "fifo"])
def test_only_files_are_deleted(root, what):
    path = f"{root}/x.md"
    if what == "folder":
        os.mkdir(path)
        write(f"{path}/y.md", b"")
    elif what == "fifo":
        os.mkfifo(path)
    with pytest.raises(StorageError) as error:
        trash.put(root, "x.md")
    assert "\n" not in str(error.value)
    assert os.path.lexists(path) == (what != "nothing")
    assert trash.entries(root) == []


def test_a_card_stays_when_the_trash_cannot_be_written(root, card, home):
    (home / "state").write_text("in the way")
    with pytest.raises(StorageError):
        trash.put(root, "lessons/card.md")
    assert read(card) == CARD


def test_bytes_can_be_kept_as_a_version(root):
    trash.put_bytes(root, "lessons/x.md", b"displaced", "a race")
    assert [(e.path, e.why) for e in trash.entries(root)] == [("lessons/x.md", "a race")]
    trash.restore(root, "lessons/x.md")
    assert read(f"{root}/lessons/x.md") == b"displaced"


def test_an_entry_with_a_damaged_note_is_still_listed_and_comes_back(root, card):
    name = trash.put(root, "lessons/card.md")
    entry = os.path.join(trash.trash_dir(root), name)
    write(os.path.join(entry, "meta.json"), b"{")
    (found,) = trash.entries(root)
    assert found.path == f"recovered-{name}.md"
    assert read(f"{root}/{trash.restore(root, name)}") == CARD


DAY_NS = 86_400 * 10**9


def age(root, name, days):
    """Let an entry be as old as if it had been put away days ago."""
    folder = os.path.join(trash.trash_dir(root), name)
    began, _, rest = name.partition("-")
    older = f"{int(began) - days * DAY_NS:020d}-{rest}"
    os.rename(folder, os.path.join(trash.trash_dir(root), older))


def test_what_is_older_than_the_retention_goes_with_the_next_deletion(root, card):
    write(os.path.join(root, "lessons.toml"), b"[trash]\nretention_days = 30\n")
    for days in (29, 31, 400):
        age(root, trash.put_bytes(root, f"lessons/{days}.md", CARD, "deleted"), days)
    trash.put(root, "lessons/card.md")
    assert [entry.path for entry in trash.entries(root)] == ["lessons/card.md", "lessons/29.md"]


def test_beyond_its_size_the_oldest_go_and_the_latest_stays(root):
    write(os.path.join(root, "lessons.toml"), b"[trash]\nmax_bytes = 1000000\n")
    for number in range(4):
        trash.put_bytes(root, f"lessons/{number}.md", b"x" * 400_000, "deleted")
    assert [entry.path for entry in trash.entries(root)] == ["lessons/3.md", "lessons/2.md"]
    trash.put_bytes(root, "lessons/huge.md", b"x" * 2_000_000, "deleted")
    assert [entry.path for entry in trash.entries(root)] == ["lessons/huge.md"]


def test_settings_that_cannot_be_read_remove_nothing(root):
    age(root, trash.put_bytes(root, "lessons/a.md", CARD, "deleted"), 9_999)
    write(os.path.join(root, "lessons.toml"), b"[trash\n")
    trash.put_bytes(root, "lessons/b.md", CARD, "deleted")
    assert len(trash.entries(root)) == 2
