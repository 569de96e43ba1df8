import contextlib
import errno
import os
import subprocess
import sys

import pytest

from lessons_kb.errors import StorageError
from lessons_kb.store import card_files, trash
from lessons_kb.store import files as disk

CARD = b"---\r\noccurrences: 1 # seen\r\n---\r\n# Card  \r\nbody\n"


def read(path):
    with open(path, "rb") as file:
        return file.read()


def bump(data):
    head, _, rest = data.partition(b"occurrences: ")
    number, space, rest = rest.partition(b" ")
    return head + b"occurrences: " + str(int(number) + 1).encode() + space + rest


def only_the_card(root):
    return os.listdir(os.path.join(root, "lessons")) == ["card.md"]


def refused(error):
    """A message is one line that names the file and what to do."""
    text = str(error.value)
    assert "\n" not in text
    assert ";" in text
    return text


@pytest.mark.parametrize(("code", "words"), [
    (errno.ENOSPC, "disk is full"),
    (errno.EDQUOT, "quota"),
    (errno.EROFS, "read-only"),
    (errno.EACCES, "no permission"),
    (errno.EIO, "check the disk"),
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
    done = subprocess.run([sys.executable, "-c", LIMITED, root], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.count("size limit") == 2
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
    assert card_files.rewrite(root, "card.md", bump) == CARD.replace(b"1", b"2")


def test_a_file_system_that_is_really_read_only(root, card, mount):
    mount(root, "--bind", root)
    subprocess.run(["mount", "-o", "remount,bind,ro", root], check=True)
    for act in (
        lambda: card_files.rewrite(root, "lessons/card.md", bump),
        lambda: card_files.create(root, "lessons/new.md", b"x"),
        lambda: card_files.move(root, "lessons/card.md", "lessons/other.md"),
        lambda: trash.put(root, "lessons/card.md"),
    ):
        with pytest.raises(StorageError, match="read-only") as error:
            act()
        refused(error)
    assert card_files.read_bytes(root, "lessons/card.md", limit=100) == CARD
    assert trash.entries(root) == []


def test_a_folder_that_cannot_be_changed(root, card):
    """The superuser may write anywhere but into what is immutable."""
    folder = os.path.dirname(card)
    if os.geteuid() != 0:
        os.chmod(folder, 0o500)
    elif subprocess.run(["chattr", "+i", folder], capture_output=True).returncode:
        pytest.skip("no immutable folders here")
    try:
        for act in (
            lambda: card_files.rewrite(root, "lessons/card.md", bump),
            lambda: card_files.create(root, "lessons/new.md", b"x"),
            lambda: trash.put(root, "lessons/card.md"),
        ):
            with pytest.raises(StorageError, match=r"permi(ssion|tted)") as error:
                act()
            refused(error)
    finally:
        if os.geteuid() != 0:
            os.chmod(folder, 0o700)
        else:
            subprocess.run(["chattr", "-i", folder], check=True)
    assert read(card) == CARD
    assert only_the_card(root)


def test_a_card_that_its_owner_made_read_only_stays(tmp_path):
    (tmp_path / "a.md").write_text("by hand")
    (tmp_path / "a.md").chmod(0o444)
    with pytest.raises(StorageError, match=r"^a\.md: read-only; run `chmod u\+w /.*/a\.md`$"):
        card_files.rewrite(str(tmp_path), "a.md", lambda data: data + b"!")
    assert (tmp_path / "a.md").read_text() == "by hand"
    assert card_files.rewrite(str(tmp_path), "a.md", lambda data: data) == b"by hand"


def test_a_folder_whose_name_is_taken_is_said_to_be(tmp_path):
    (tmp_path / "lessons").write_text("")
    with pytest.raises(StorageError, match=r"a part of the path is not a folder"):
        card_files.create(str(tmp_path), "lessons/a.md", b"x")
