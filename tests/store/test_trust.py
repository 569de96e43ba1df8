import os
import pathlib
import shutil
import stat

import pytest

from lessons_kb.errors import ConfigError, StorageError
from lessons_kb.store import identity
from lessons_kb.store import locations as locate
from lessons_kb.store import trust as records
from lessons_kb.store.trust import cache_dir, is_trusted, read_record, revoke, trust
from tests.kit import git, write

SETTINGS = "lessons.toml"


def put(root, name, text):
    write(pathlib.Path(root), name, text)


@pytest.mark.parametrize(
    "change", ["appears", "vanishes", "grows", "becomes a folder", "keeps its times", "no UTF-8"]
)
def test_every_change_of_the_settings_asks_again(root, change):
    path = pathlib.Path(root, SETTINGS)
    if change != "appears":
        path.write_bytes(b"\xff\xfe")
    trust(root)
    assert is_trusted(root)
    before = os.stat(path if path.exists() else root)
    path.unlink(missing_ok=True)
    match change:
        case "appears":
            path.touch()
        case "grows":
            path.write_text("#" * 2_000_000)
        case "becomes a folder":
            path.mkdir()
        case "keeps its times" | "no UTF-8":
            path.write_bytes(b"##" if change == "keeps its times" else b"\xff\xfd")
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not is_trusted(root)


def test_a_brain_its_user_made_may_change_its_settings(root):
    trust(root, made=True)
    put(root, SETTINGS, "language = 'ko'\n")
    assert is_trusted(root)
    trust(root)
    assert read_record(root)["made"] is True
    revoke(root)
    assert not is_trusted(root)


def test_a_lessons_toml_that_cannot_be_compared_cannot_be_trusted(root):
    os.mkfifo(os.path.join(root, SETTINGS))
    with pytest.raises(ConfigError):
        trust(root)
    assert not is_trusted(root)


def test_the_record_is_private_and_a_damaged_one_is_no_trust(root, home):
    trust(root)
    (folder,) = (home / "state" / "brains").iterdir()
    record = folder / "brain.json"
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    assert os.listdir(folder) == ["brain.json"]
    for damage in (b"", b"[]", b"{", b'{"root": "/other"}', b"\xff"):
        record.write_bytes(damage)
        assert read_record(root) is None
        assert not is_trusted(root)
    trust(root)
    assert is_trusted(root)


def test_the_cache_of_a_trusted_brain_lies_inside_and_git_ignores_it(root, home):
    own = locate.user_brain()  # is always trusted
    os.makedirs(own)
    assert is_trusted(own)
    assert cache_dir(own).startswith(os.path.join(own, ".lessons"))
    folder = cache_dir(root)
    assert folder.startswith(f"{home}/.cache/lessons-kb/")
    assert os.listdir(root) == ["lessons"]
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    trust(root)
    folder = cache_dir(root)
    outer = pathlib.Path(root, ".lessons")
    assert os.path.dirname(folder) == str(outer)
    assert (outer / ".gitignore").read_bytes() == b"*\n"
    assert stat.S_IMODE(outer.stat().st_mode) == 0o755
    revoke(root)
    trust(root)
    assert cache_dir(root) == folder


@pytest.mark.parametrize("where", ["inside", "with the user"])
def test_a_version_with_another_format_has_another_cache(root, monkeypatch, where):
    """It may run still, and its next commit is not to be taken for ours, nor ours for its own."""
    if where == "inside":
        trust(root)
    ours = cache_dir(root)
    monkeypatch.setattr(records, "FORMAT", records.FORMAT - 1)
    assert cache_dir(root) not in (ours, os.path.dirname(ours))


def test_a_strange_cache_is_never_read_and_never_deleted(root):
    names = ("catalogue.db", "index-1/meta.json", "cache-0123/catalogue.db", "token", "mine.md")
    strange = {f".lessons/{name}": "planted" for name in names} | {".lessons/.gitignore": "!*\n"}
    for name, text in strange.items():
        put(root, name, text)
    trust(root)
    folder = pathlib.Path(cache_dir(root))
    assert os.listdir(folder) == [".gitignore"]
    assert (folder / ".gitignore").read_bytes() == b"*\n"
    assert {name: pathlib.Path(root, name).read_text() for name in strange} == strange


@pytest.fixture
def elsewhere(tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    yield folder
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("what", ["link", "file", "link inside", "nothing"])
def test_a_cache_folder_that_is_a_link_is_not_followed(root, home, elsewhere, what):
    git(root, "init", "-q")  # where .lessons holds nothing that could not be made anew
    trust(root)
    before = cache_dir(root)
    outer = pathlib.Path(root, ".lessons")
    shutil.rmtree(outer)
    if what == "link":
        outer.symlink_to(elsewhere)
    elif what == "file":
        outer.touch()
    elif what == "link inside":
        outer.mkdir()
        pathlib.Path(before).symlink_to(elsewhere)
    found = cache_dir(root)
    assert os.path.isdir(found)
    expected = before if what == "nothing" else f"{home}/.cache/lessons-kb/"
    assert found.startswith(expected)


@pytest.mark.parametrize("what", ["link", "file"])
def test_a_mark_is_not_written_through_a_link(root, elsewhere, what):
    mark = pathlib.Path(root, ".lessons")
    mark.symlink_to(elsewhere) if what == "link" else mark.touch()
    with pytest.raises(StorageError, match="in its place; remove it"):
        trust(root)
    assert not is_trusted(root)


@pytest.mark.slow
@pytest.mark.parametrize("in_git", [True, False])
def test_two_homes_on_one_folder_take_no_trust_from_each_other(root, tmp_path, monkeypatch, in_git):
    if in_git:
        put(root, ".git/HEAD", "ref: refs/heads/main\n")
    homes = [str(tmp_path / name) for name in ("host", "container")]

    def at(home):
        monkeypatch.setenv("LESSONS_STATE_HOME", home)

    for home in homes:
        at(home)
        assert not is_trusted(root)
        trust(root)
    for home in homes:
        at(home)
        assert is_trusted(root)
    revoke(root)
    assert not is_trusted(root)
    at(homes[0])
    assert is_trusted(root)
    for number in range(20):  # states that are made anew each time
        at(str(tmp_path / f"new{number}"))
        trust(root)
        assert is_trusted(root)


def test_a_copy_that_is_trusted_stays_another_when_the_first_is_gone(root, tmp_path):
    trust(root)
    copy = str(tmp_path / "copy")
    shutil.copytree(root, copy)
    assert not is_trusted(copy)
    trust(copy)
    key = identity.identify(copy).key
    assert key != identity.identify(root).key
    shutil.rmtree(root)
    assert identity.identify(copy).key == key
