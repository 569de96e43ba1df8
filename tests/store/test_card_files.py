import contextlib
import os
import socket
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from lessons_kb.errors import BrainNotFound, DuplicateCard, InputError, StorageError
from lessons_kb.store import card_files, trash
from tests.store.one_card import CARD, bump, read, refused, write


def test_a_file_is_read_whole_up_to_the_limit(root, card, tmp_path):
    os.symlink(root, tmp_path / "link")
    for brain in (root, str(tmp_path / "link")):
        assert card_files.read_bytes(brain, "lessons/card.md", limit=len(CARD)) == CARD
    with pytest.raises(StorageError, match=r"lessons/card\.md: more than 5 bytes") as error:
        card_files.read_bytes(root, "lessons/card.md", limit=5)
    refused(error)


@pytest.mark.parametrize("path", ["../x.md", "/etc/passwd", "", "a/../../x.md", "x\0.md", "."])
def test_a_path_that_leaves_the_brain_by_its_form_is_an_input_error(root, path):
    for act in (
        lambda: card_files.read_bytes(root, path, limit=10),
        lambda: card_files.rewrite(root, path, bump),
        lambda: card_files.create(root, path, b""),
        lambda: card_files.move(root, "lessons/card.md", path),
        lambda: trash.put(root, path),
    ):
        with pytest.raises((InputError, StorageError)):
            act()


def test_no_link_is_followed_wherever_it_leads(root, card, tmp_path):
    write(tmp_path / "outside.md", b"secret")
    (tmp_path / "folder").mkdir()
    write(tmp_path / "folder" / "x.md", b"secret")
    os.symlink("card.md", f"{root}/lessons/inside.md")
    os.symlink("../../outside.md", f"{root}/lessons/outside.md")
    os.symlink(tmp_path / "folder", f"{root}/lessons/folder")
    os.symlink("loop.md", f"{root}/lessons/loop.md")
    os.symlink("nowhere", f"{root}/lessons/dangling.md")
    for path in ("inside.md", "outside.md", "folder/x.md", "loop.md", "dangling.md"):
        with pytest.raises(StorageError) as error:
            card_files.read_bytes(root, f"lessons/{path}", limit=100)
        refused(error)
        with pytest.raises(StorageError):
            card_files.rewrite(root, f"lessons/{path}", lambda _: b"changed")
    assert read(tmp_path / "outside.md") == read(tmp_path / "folder" / "x.md") == b"secret"
    assert read(card) == CARD


def test_folders_fifos_and_sockets_are_refused_and_never_waited_for(root):
    os.mkdir(f"{root}/folder.md")
    os.mkfifo(f"{root}/fifo.md")
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(root)  # a socket's path is short
        server.bind("socket.md")
        os.chdir(here)
        started = time.monotonic()
        for name in ("folder", "fifo", "socket"):
            with pytest.raises(StorageError) as error:
                card_files.read_bytes(root, f"{name}.md", limit=100)
            assert f"{name}.md" in refused(error)
            with pytest.raises(StorageError):
                card_files.rewrite(root, f"{name}.md", lambda data: data + b"x")
    assert time.monotonic() - started < 60


def test_names_that_cannot_be_printed_stay_on_one_line(root):
    for name in (b"new\nline.md", b"\xff.md", "\u202e.md".encode()):
        with pytest.raises(StorageError) as error:
            card_files.read_bytes(root, os.fsdecode(name), limit=1)
        text = refused(error)
        assert text.isprintable()
        text.encode()


def test_a_new_card_has_its_folders_and_never_overwrites(root, tmp_path, system):
    assert card_files.create(root, "qa-findings/deep/x.md", b"one") == "qa-findings/deep/x.md"
    with pytest.raises(DuplicateCard) as error:
        card_files.create(root, "qa-findings/deep/x.md", b"two")
    assert error.value.existing == "qa-findings/deep/x.md"
    assert read(f"{root}/qa-findings/deep/x.md") == b"one"
    assert os.listdir(f"{root}/qa-findings/deep") == ["x.md"]
    os.symlink(tmp_path / "outside.md", f"{root}/lessons/x.md")
    with pytest.raises(DuplicateCard):
        card_files.create(root, "lessons/x.md", b"one")
    assert not (tmp_path / "outside.md").exists()


def test_a_linked_folder_does_not_lead_out(root, tmp_path):
    os.symlink(tmp_path, f"{root}/away")
    with pytest.raises(StorageError):
        card_files.create(root, "away/x.md", b"one")
    assert not (tmp_path / "x.md").exists()


def test_new_files_have_the_users_ordinary_mode(root):
    old = os.umask(0o027)
    try:
        card_files.create(root, "x.md", b"")
    finally:
        os.umask(old)
    assert stat.S_IMODE(os.stat(f"{root}/x.md").st_mode) == 0o640


def test_of_many_who_create_one_name_one_wins(root):
    def work(number):
        with contextlib.suppress(DuplicateCard):
            return card_files.create(root, "x.md", b"%d" % number)

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(work, range(8)), key=str) == [None] * 7 + ["x.md"]
    assert sorted(os.listdir(root)) == ["lessons", "x.md"]


def test_a_move_never_overwrites(root, card, system):
    assert card_files.move(root, "lessons/card.md", "archive/card.md") == "archive/card.md"
    assert read(f"{root}/archive/card.md") == CARD
    write(card, b"another")
    with pytest.raises(DuplicateCard):
        card_files.move(root, "lessons/card.md", "archive/card.md")
    assert read(card) == b"another"
    with pytest.raises(StorageError, match="no such file"):
        card_files.move(root, "lessons/none.md", "archive/none.md")


def test_a_brain_that_is_not_there(tmp_path):
    with pytest.raises(BrainNotFound):
        card_files.create(str(tmp_path / "none"), "x.md", b"")
    assert not (tmp_path / "none").exists()


def test_a_file_that_is_saved_all_the_time_is_read(tmp_path):
    card, stop = tmp_path / "a.md", threading.Event()
    card.write_text("saved")

    def save():
        while not stop.is_set():
            (tmp_path / "swap").write_text("saved")
            (tmp_path / "swap").replace(card)

    editor = threading.Thread(target=save)
    editor.start()
    try:
        for _ in range(2_000):
            assert card_files.read_bytes(str(tmp_path), "a.md", limit=100) == b"saved"
    finally:
        stop.set()
        editor.join()
