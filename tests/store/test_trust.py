import os
import shutil
import stat

import pytest

from lessons_kb.errors import ConfigError, StorageError
from lessons_kb.store import scan
from lessons_kb.store import user_state as locate
from lessons_kb.store.scan import cache_dir, is_trusted, read_record, revoke, trust


def write(root, name, text):
    path = os.path.join(root, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def test_a_brain_is_not_trusted_until_its_user_says_so(root):
    assert not is_trusted(root)
    assert read_record(root) is None
    trust(root)
    assert is_trusted(root)
    revoke(root)
    assert not is_trusted(root)


def test_a_changed_lessons_toml_asks_again_whatever_its_times_say(root):
    path = write(root, "lessons.toml", "language = 'en'\n")
    trust(root)
    before = os.stat(path)
    write(root, "lessons.toml", "language = 'ko'\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not is_trusted(root)
    trust(root)
    assert is_trusted(root)


@pytest.mark.parametrize("change", ["appears", "vanishes", "grows", "becomes a folder"])
def test_every_kind_of_change_is_seen(root, change):
    if change != "appears":
        write(root, "lessons.toml", "")
    trust(root)
    path = os.path.join(root, "lessons.toml")
    match change:
        case "appears":
            write(root, "lessons.toml", "")
        case "vanishes":
            os.unlink(path)
        case "grows":
            write(root, "lessons.toml", "#" * 2_000_000)
        case "becomes a folder":
            os.unlink(path)
            os.mkdir(path)
    assert not is_trusted(root)


def test_bytes_that_are_no_utf8_are_compared_too(root):
    path = os.path.join(root, "lessons.toml")
    for data in (b"\xff\xfe", b"\xff\xfd"):
        with open(path, "wb") as file:
            file.write(data)
        assert not is_trusted(root)
        trust(root)
        assert is_trusted(root)


def test_a_brain_its_user_made_may_change_its_settings(root):
    trust(root, made=True)
    write(root, "lessons.toml", "language = 'ko'\n")
    assert is_trusted(root)
    trust(root)
    assert read_record(root)["made"] is True
    revoke(root)
    assert not is_trusted(root)


def test_a_lessons_toml_that_cannot_be_compared_cannot_be_trusted(root):
    os.mkfifo(os.path.join(root, "lessons.toml"))
    with pytest.raises(ConfigError):
        trust(root)
    assert not is_trusted(root)


def test_the_users_own_brain_is_trusted(home):
    own = locate.user_brain()
    os.makedirs(own)
    assert is_trusted(own)
    assert cache_dir(own).startswith(os.path.join(own, ".lessons"))


def test_a_damaged_record_is_no_trust_and_can_be_fixed(root, home):
    trust(root)
    (folder,) = (home / "state" / "brains").iterdir()
    for damage in (b"", b"[]", b"{", b'{"root": "/other"}', b"\xff"):
        (folder / "brain.json").write_bytes(damage)
        assert read_record(root) is None
        assert not is_trusted(root)
    trust(root)
    assert is_trusted(root)


def test_the_record_is_private(root, home):
    trust(root)
    (folder,) = (home / "state" / "brains").iterdir()
    assert stat.S_IMODE(os.stat(folder / "brain.json").st_mode) == 0o600
    assert os.listdir(folder) == ["brain.json"]


def test_the_cache_of_a_trusted_brain_lies_inside_and_git_ignores_it(root):
    trust(root)
    folder = cache_dir(root)
    assert os.path.dirname(folder) == os.path.join(root, ".lessons")
    with open(os.path.join(root, ".lessons", ".gitignore"), "rb") as file:
        assert file.read() == b"*\n"
    assert stat.S_IMODE(os.stat(os.path.join(root, ".lessons")).st_mode) == 0o755
    assert cache_dir(root) == folder
    trust(root)
    assert cache_dir(root) == folder


def test_the_cache_of_a_brain_not_trusted_lies_with_the_user(root, home):
    folder = cache_dir(root)
    assert folder.startswith(f"{home}/.cache/lessons-kb/")
    assert os.listdir(root) == ["lessons"]
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700


@pytest.mark.parametrize("where", ["inside", "with the user"])
def test_a_version_with_another_format_has_another_cache(root, monkeypatch, where):
    """It may run still, and its next commit is not to be taken for ours, nor ours for its own."""
    if where == "inside":
        trust(root)
    ours = cache_dir(root)
    monkeypatch.setattr(scan, "FORMAT", scan.FORMAT - 1)
    assert cache_dir(root) not in (ours, os.path.dirname(ours))


def test_a_strange_cache_is_never_read_and_never_deleted(root):
    strange = {
        ".lessons/catalogue.db": "planted",
        ".lessons/index-1/meta.json": "planted",
        ".lessons/cache-0123/catalogue.db": "planted",
        ".lessons/token": "planted",
        ".lessons/.gitignore": "!*\n",
        ".lessons/mine.md": "someone's",
    }
    for name, text in strange.items():
        write(root, name, text)
    trust(root)
    folder = cache_dir(root)
    assert os.listdir(folder) == [".gitignore"]
    with open(os.path.join(folder, ".gitignore"), "rb") as file:
        assert file.read() == b"*\n"
    for name, text in strange.items():
        with open(os.path.join(root, name), encoding="utf-8") as file:
            assert file.read() == text


@pytest.fixture
def repository(root):
    """A brain in git, where ``.lessons`` holds nothing that could not be made anew."""
    import subprocess

    subprocess.run(["git", "init", "-q", root], check=True)
    return root


@pytest.mark.parametrize("what", ["link", "file", "link inside"])
def test_a_cache_folder_that_is_a_link_is_not_followed(repository, home, tmp_path, what):
    trust(repository)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    outer = os.path.join(repository, ".lessons")
    if what == "link":
        os.symlink(elsewhere, outer)
    elif what == "file":
        write(repository, ".lessons", "")
    else:
        os.mkdir(outer)
        name = f"cache-{read_record(repository)['cache_token']}-{scan.FORMAT}"
        os.symlink(elsewhere, os.path.join(outer, name))
    folder = cache_dir(repository)
    assert folder.startswith(f"{home}/.cache/lessons-kb/")
    assert list(elsewhere.iterdir()) == []


def test_deleting_the_cache_at_any_time_is_allowed(repository):
    import shutil

    trust(repository)
    folder = cache_dir(repository)
    shutil.rmtree(os.path.join(repository, ".lessons"))
    assert cache_dir(repository) == folder
    assert os.path.isdir(folder)


@pytest.mark.parametrize("what", ["link", "file"])
def test_a_mark_is_not_written_through_a_link(root, tmp_path, what):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    if what == "link":
        os.symlink(elsewhere, os.path.join(root, ".lessons"))
    else:
        write(root, ".lessons", "")
    with pytest.raises(StorageError, match="in its place; remove it"):
        trust(root)
    assert not is_trusted(root)
    assert list(elsewhere.iterdir()) == []


def test_the_token_survives_trust_given_again_and_is_unlike_any_other(root, tmp_path):
    trust(root)
    first = read_record(root)["cache_token"]
    revoke(root)
    trust(root)
    assert read_record(root)["cache_token"] == first
    other = tmp_path / "other"
    other.mkdir()
    trust(str(other))
    assert read_record(str(other))["cache_token"] != first


@pytest.mark.parametrize("in_git", [True, False])
def test_two_homes_on_one_folder_take_no_trust_from_each_other(root, tmp_path, monkeypatch, in_git):
    if in_git:
        write(root, ".git/HEAD", "ref: refs/heads/main\n")
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
    key = locate.identify(copy).key
    assert key != locate.identify(root).key
    shutil.rmtree(root)
    assert locate.identify(copy).key == key
