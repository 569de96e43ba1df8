"""Where WAL must not be used: read from the table of mounts."""

import sqlite3
import sys

import pytest

from lessons_kb.store import catalogue as mounts
from lessons_kb.store.catalogue import Catalogue
from lessons_kb.store.journal import Journal

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

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@linux_only
@pytest.mark.parametrize(("path", "network"), CASES.items())
def test_the_innermost_mount_decides(path, network, tmp_path, monkeypatch):
    table = tmp_path / "mountinfo"
    table.write_text(TABLE)
    monkeypatch.setattr(mounts, "_MOUNTS", str(table))
    assert mounts.is_network(path) is network


@linux_only
def test_no_table_means_no_network(tmp_path, monkeypatch):
    monkeypatch.setattr(mounts, "_MOUNTS", str(tmp_path / "missing"))
    assert mounts.is_network("/home/x") is False


def _journal_mode(path):
    db = sqlite3.connect(path)
    (mode,) = db.execute("PRAGMA journal_mode").fetchone()
    db.close()
    return str(mode)


@linux_only
@pytest.mark.parametrize(("kind", "mode"), [("nfs4", "delete"), ("ext4", "wal")])
def test_catalogue_and_journal_keep_no_wal_on_a_network(kind, mode, tmp_path, monkeypatch):
    table = tmp_path / "mountinfo"
    table.write_text(f"1 0 0:1 / / rw - {kind} somewhere rw\n")
    monkeypatch.setattr(mounts, "_MOUNTS", str(table))
    Journal(str(tmp_path / "journal.db")).close()
    Catalogue.open(str(tmp_path / "catalogue.db")).close()
    assert _journal_mode(str(tmp_path / "journal.db")) == mode
    assert _journal_mode(str(tmp_path / "catalogue.db")) == mode
