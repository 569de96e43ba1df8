"""What the system refuses is said in one line, and nothing is lost."""

import contextlib
import errno
import os
import sqlite3
import subprocess
import sys

import pytest

from lessons_kb.errors import StorageError
from lessons_kb.store import card_files, trash
from lessons_kb.store import database as mounts
from lessons_kb.store import files as disk
from lessons_kb.store.catalogue import Catalogue
from lessons_kb.store.journal import Journal
from tests.kit import run_python
from tests.store.one_card import BUMPED, CARD, bump, only_the_card, read, refused


@pytest.mark.parametrize(("code", "words"), [
    (errno.ENOSPC, "disk is full"),
    (errno.EDQUOT, "quota"),
    (errno.EROFS, "read-only"),
    (errno.EACCES, "no permission"),
    (errno.EIO, "check the disk")
])  # fmt: skip
@pytest.mark.parametrize("call", ["open", "write", "fsync"])
def test_what_the_system_refuses_is_one_line_and_nothing_is_lost(
    root, card, monkeypatch, call, code, words
):
    real = getattr(os, call)

    def fail(*args, **kwargs):
        what = args[0]
        is_temp = call == "open" and disk.TEMP_PREFIX in str(what) and args[1] & os.O_CREAT
        if is_temp or call != "open":
            raise OSError(code, os.strerror(code))
        return real(*args, **kwargs)

    monkeypatch.setattr(disk.os, call, fail)
    with pytest.raises(StorageError, match=words) as error:
        card_files.rewrite(root, "lessons/card.md", bump)
    with pytest.raises(StorageError, match=words):
        card_files.create(root, "lessons/new.md", b"x" * 10)
    monkeypatch.undo()
    assert "lessons/card.md" in refused(error)
    assert read(card) == CARD
    assert only_the_card(root)


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
from lessons_kb.errors import StorageError
from lessons_kb.store import card_files
for act in (
    lambda: card_files.rewrite(sys.argv[1], "lessons/card.md", lambda data: data + b"x" * 5000),
    lambda: card_files.create(sys.argv[1], "lessons/new.md", b"x" * 5000),
):
    try:
        act()
    except StorageError as error:
        print(error)
"""


def test_a_file_that_the_system_cuts_short_never_becomes_the_card(root, card):
    done = run_python(LIMITED, root, PYTHONDONTWRITEBYTECODE="1")
    assert done.err == ""
    assert done.out.count("size limit") == 2
    assert read(card) == CARD
    assert only_the_card(root)


def test_a_disk_that_is_really_full(tmp_path, mount):
    root = mount(tmp_path / "small", "-t", "tmpfs", "-o", "size=64k", "tmpfs")
    card_files.create(root, "card.md", CARD)
    with open(f"{root}/ballast", "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    for act in (
        lambda: card_files.rewrite(root, "card.md", lambda data: data + b"x" * 9000),
        lambda: card_files.create(root, "new.md", b"x" * 9000),
    ):
        with pytest.raises(StorageError, match="disk is full"):
            act()
    assert read(f"{root}/card.md") == CARD
    assert sorted(os.listdir(root)) == ["ballast", "card.md"]
    os.unlink(f"{root}/ballast")
    assert card_files.rewrite(root, "card.md", bump) == BUMPED


WRITING = (
    lambda root: card_files.rewrite(root, "lessons/card.md", bump),
    lambda root: card_files.create(root, "lessons/new.md", b"x"),
    lambda root: card_files.move(root, "lessons/card.md", "lessons/other.md"),
    lambda root: trash.put(root, "lessons/card.md"),
)


@pytest.fixture(params=["file system", "folder"])
def unwritable(request, root, card):
    """Take away the right to write, from the superuser too; yield what is said of it."""
    folder = os.path.dirname(card)
    if request.param == "file system":
        request.getfixturevalue("mount")(root, "--bind", root)
        subprocess.run(["mount", "-o", "remount,bind,ro", root], check=True)
        yield "read-only"
        return
    lock, unlock = ["chattr", "+i"], ["chattr", "-i"]
    if os.geteuid() != 0:
        lock, unlock = ["chmod", "500"], ["chmod", "700"]
    if subprocess.run([*lock, folder], capture_output=True).returncode:
        pytest.skip("no immutable folders here")
    yield r"permi(ssion|tted)"
    subprocess.run([*unlock, folder], check=True)


def test_where_nothing_can_be_written_it_is_said_and_the_card_stays(root, card, unwritable):
    for act in WRITING:
        with pytest.raises(StorageError, match=unwritable) as error:
            act(root)
        refused(error)
    assert card_files.read_bytes(root, "lessons/card.md", limit=100) == CARD
    assert trash.entries(root) == []
    assert only_the_card(root)


def test_a_read_only_card_stays_and_a_taken_folder_name_is_said_to_be(tmp_path):
    (tmp_path / "a.md").write_text("by hand")
    (tmp_path / "a.md").chmod(0o444)
    with pytest.raises(StorageError, match=r"^a\.md: read-only; run `chmod u\+w /.*/a\.md`$"):
        card_files.rewrite(str(tmp_path), "a.md", lambda data: data + b"!")
    assert (tmp_path / "a.md").read_text() == "by hand"
    assert card_files.rewrite(str(tmp_path), "a.md", lambda data: data) == b"by hand"
    (tmp_path / "lessons").write_text("")
    with pytest.raises(StorageError, match=r"a part of the path is not a folder"):
        card_files.create(str(tmp_path), "lessons/a.md", b"x")


TABLE = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
23 22 0:40 / /home rw shared:1 - nfs4 server:/home rw
24 23 0:41 / /home/me/My\\040Disk rw - ext4 /dev/sdb rw
25 22 0:42 / /mnt/ssh rw - fuse.sshfs me@host: rw
26 22 0:43 / /mnt/zip rw - fuse.archivemount zip rw
27 22 0:44 / /twice rw - cifs //a/b rw
28 22 0:45 / /twice rw - tmpfs tmpfs rw
a broken line
"""
CASES = {
    "/": False,
    "/var/x": False,
    "/home": True,
    "/home/me/brain/journal.db": True,
    "/home/me/My Disk/journal.db": False,
    "/homework": False,
    "/mnt/ssh/x": True,
    "/mnt/zip/x": False,
    "/twice/x": False,
}


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Stands for the system's table of mounts; not there yet."""
    if sys.platform != "linux":
        pytest.skip("reads /proc")
    monkeypatch.setattr(mounts, "_MOUNTS", str(tmp_path / "mountinfo"))
    return tmp_path / "mountinfo"


def test_the_innermost_mount_decides(table):
    assert mounts.is_network("/home/x") is False
    table.write_text(TABLE)
    assert {path: mounts.is_network(path) for path in CASES} == CASES


@pytest.mark.parametrize(("kind", "mode"), [("nfs4", "delete"), ("ext4", "wal")])
def test_catalogue_and_journal_keep_no_wal_on_a_network(kind, mode, tmp_path, table):
    table.write_text(f"1 0 0:1 / / rw - {kind} somewhere rw\n")
    Journal(str(tmp_path / "journal.db")).close()
    Catalogue.open(str(tmp_path / "catalogue.db")).close()
    for name in ("journal.db", "catalogue.db"):
        with contextlib.closing(sqlite3.connect(tmp_path / name)) as db:
            assert db.execute("PRAGMA journal_mode").fetchone() == (mode,)


def test_damage_that_moving_aside_does_not_cure_is_said_once(tmp_path, monkeypatch):
    path = tmp_path / "journal.db"
    path.write_bytes(b"no database " * 1_000)
    monkeypatch.setattr(mounts, "_is_damaged", lambda _path: False)
    with pytest.raises(StorageError):
        mounts.Database(str(path), [], patience=0)
