import os
import stat
import sys
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.errors import StorageError
from lessons_kb.store import locations as locate
from lessons_kb.store import repositories
from lessons_kb.store.identity import brain_key
from lessons_kb.store.private_files import write_private
from lessons_kb.store.state_folder import state_dir
from tests.kit import write


def test_brains_are_the_marked_folders_around_a_directory_nearest_first(tmp_path):
    real = os.path.realpath(tmp_path)
    write(tmp_path, "a/.lessons/x", "")
    write(tmp_path, "a/b/lessons.toml/x", "")  # a folder of that name is no mark
    write(tmp_path, "a/b/.lessons", "")  # nor is a file of this
    write(tmp_path, "a/b/c/lessons.toml", "")
    (tmp_path / "link").symlink_to("a/b/c")
    for inside in ("a/b/c", "a/b/c/gone/too", "link"):
        assert repositories.find_brains(f"{real}/{inside}")[:2] == [f"{real}/a/b/c", f"{real}/a"]


def test_git_top_takes_a_repository_a_worktree_and_nothing_else(tmp_path):
    real = os.path.realpath(tmp_path)
    write(tmp_path, "repo/.git/HEAD", "ref: refs/heads/main\n")
    (tmp_path / "repo/sub/.git").mkdir(parents=True)  # empty: no repository
    write(tmp_path, "tree/.git", "gitdir: /elsewhere\n")
    assert repositories.git_top(f"{real}/repo/sub") == f"{real}/repo"
    assert repositories.git_top(f"{real}/tree/deep") == f"{real}/tree"
    assert repositories.git_top(real) is None


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere platformdirs decides")
@pytest.mark.parametrize("home_value", ["/home/somebody", "", "relative", None])
@pytest.mark.parametrize("base", ["/xdg", "", "relative", None])
def test_the_folders_are_those_of_the_xdg_specification(monkeypatch, home_value, base):
    import pwd

    monkeypatch.delenv("LESSONS_STATE_HOME")
    values = {f"XDG_{what}_HOME": base and base + what for what in ("STATE", "CACHE", "DATA")}
    for name, value in {"HOME": home_value, **values}.items():
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    home = home_value if home_value == "/home/somebody" else pwd.getpwuid(os.getuid()).pw_dir
    for found, what, default in (
        (locate.user_brain(), "DATA", ".local/share"),
        (locate.state_home(), "STATE", ".local/state"),
        (locate.cache_home(), "CACHE", ".cache"),
    ):
        expected = f"/xdg{what}" if base == "/xdg" else f"{home}/{default}"
        assert found == f"{expected}/lessons-kb"


def test_other_systems_ask_platformdirs(monkeypatch):
    import platformdirs

    monkeypatch.delenv("LESSONS_STATE_HOME")
    monkeypatch.setattr(sys, "platform", "darwin")
    for what in ("data", "state"):
        monkeypatch.setattr(platformdirs, f"user_{what}_dir", lambda name, **_: f"/Lib/{name}")
    assert locate.user_brain() == "/Lib/lessons-kb"
    # Drafts must not lie in the open in the user's own brain.
    assert locate.state_home() == "/Lib/lessons-kb/.state"


def test_no_home_at_all_is_one_line(monkeypatch):
    monkeypatch.delenv("LESSONS_STATE_HOME")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", lambda uid: {}[uid])
    with pytest.raises(StorageError, match="set HOME to a folder"):
        locate.state_home()


def test_a_key_is_the_path_with_what_is_unsafe_as_hexadecimal_and_bounded():
    assert brain_key("/none/my-repo_1.0") == "+none+my-repo_1.0"
    assert brain_key("/none/a b+c=d") == "+none+a=20=b=2b=c=3d=d"
    assert brain_key("/none/교훈") == "+none+=eab590ed9b88="
    one, other = brain_key("/n/" + "a" * 240 + "1"), brain_key("/n/" + "a" * 240 + "2")
    assert one != other
    assert one[:150] == other[:150]
    assert len(one) <= 200


_PARTS = st.lists(
    st.text(
        alphabet=st.sampled_from("ab+=/ 0123456789éf.é교") | st.characters(codec="utf-8"),
        min_size=1,
        max_size=90,
    ).filter(lambda s: "\0" not in s),
    min_size=1,
    max_size=4,
)


@pytest.mark.slow
@given(_PARTS, _PARTS)
def test_keys_are_file_names_and_never_collide(first, second):
    paths = [os.path.realpath("/nonexistent/" + "/".join(parts)) for parts in (first, second)]
    keys = [brain_key(path) for path in paths]
    assert (keys[0] == keys[1]) == (paths[0] == paths[1])
    for key in keys:
        assert key.isascii()
        assert "/" not in key
        assert len(key) <= 200


@pytest.fixture
def loose():
    """A umask that hides nothing."""
    old = os.umask(0)
    yield
    os.umask(old)


def test_the_folder_is_private_all_the_way(root, home, loose):
    assert not os.path.exists(state_dir(root, create=False))
    folder = state_dir(root)
    assert os.path.dirname(folder) == f"{home}/state/brains"
    for path in (folder, os.path.dirname(folder), f"{home}/state"):
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o700
    assert state_dir(root) == folder


def test_a_state_home_that_cannot_be_made_is_one_line(root, home):
    (home / "state").write_text("a file is in the way")
    with pytest.raises(StorageError, match="state") as caught:
        state_dir(root)
    assert "\n" not in str(caught.value)


def test_private_files_are_private_and_whole_or_as_they_were(tmp_path, loose, monkeypatch):
    path = tmp_path / "file"
    for data in (b"one", b"two"):
        write_private(str(path), data)
    monkeypatch.setattr(os, "fsync", mock.Mock(side_effect=OSError(28, "No space left on device")))
    with pytest.raises(StorageError, match="disk is full"):
        write_private(str(path), b"three")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize(
    "path",
    [
        "folder",
        "folder/file",
        "link/file",
        "link/..",
        "loop",
        "absent/file",
        "absent/folder/file",
        "absent/../file",
        "absent/",
        "link/absent",
        "dangling",
        "dangling/file",
        ".",
        "",
        "gone (deleted)",
    ],
)
def test_a_real_path_is_that_of_the_standard_library(tmp_path, monkeypatch, path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "file").write_text("")
    (tmp_path / "gone (deleted)").mkdir()
    (tmp_path / "link").symlink_to("folder")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "dangling").symlink_to("folder/absent")
    monkeypatch.chdir(tmp_path)
    assert locate.real_path(path) == os.path.realpath(path)
    assert locate.real_path(str(tmp_path / path)) == os.path.realpath(tmp_path / path)
