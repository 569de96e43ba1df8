import os
import stat
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.errors import StorageError
from lessons_kb.store import user_state as locate
from lessons_kb.store.user_state import brain_key, make_private, state_dir, write_private


def test_every_ancestor_with_a_mark_is_a_brain_nearest_first(tmp_path):
    (tmp_path / "a" / ".lessons").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c" / "d").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c" / "lessons.toml").write_text("")
    real = os.path.realpath(tmp_path)
    found = locate.find_brains(str(tmp_path / "a" / "b" / "c" / "d"))
    assert found[:2] == [f"{real}/a/b/c", f"{real}/a"]


def test_the_working_directory_itself_counts_and_links_are_resolved(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "lessons.toml").write_text("")
    (tmp_path / "link").symlink_to("real")
    assert locate.find_brains(str(tmp_path / "link"))[0] == os.path.realpath(tmp_path / "real")


def test_a_folder_named_like_the_file_is_no_mark(tmp_path):
    (tmp_path / "lessons.toml").mkdir()
    (tmp_path / ".lessons").write_text("")
    assert os.path.realpath(tmp_path) not in locate.find_brains(str(tmp_path))


def test_a_directory_that_is_gone_has_the_brains_of_its_ancestors(tmp_path):
    (tmp_path / ".lessons").mkdir()
    assert locate.find_brains(str(tmp_path / "gone" / "too"))[0] == os.path.realpath(tmp_path)


def test_git_top_takes_a_repository_a_worktree_and_nothing_else(tmp_path):
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "repo" / "sub" / ".git").mkdir(parents=True)  # empty: no repository
    (tmp_path / "tree" / "deep").mkdir(parents=True)
    (tmp_path / "tree" / ".git").write_text("gitdir: /elsewhere\n")
    real = os.path.realpath(tmp_path)
    assert locate.git_top(f"{real}/repo/sub") == f"{real}/repo"
    assert locate.git_top(f"{real}/tree/deep") == f"{real}/tree"
    assert locate.git_top(real) is None


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


def test_one_folder_for_state_and_data_keeps_drafts_out_of_the_users_brain(monkeypatch):
    monkeypatch.delenv("LESSONS_STATE_HOME")
    monkeypatch.setenv("XDG_STATE_HOME", "/xdg")
    monkeypatch.setenv("XDG_DATA_HOME", "/xdg")
    assert locate.state_home() == locate.user_brain() + "/.state"


def test_a_relative_xdg_path_is_ignored(monkeypatch, home):
    monkeypatch.delenv("LESSONS_STATE_HOME")
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    assert locate.state_home() == f"{home}/.local/state/lessons-kb"


def test_one_variable_moves_the_state_home(monkeypatch, tmp_path):
    monkeypatch.setenv("LESSONS_STATE_HOME", str(tmp_path / "s"))
    assert locate.state_home() == str(tmp_path / "s")


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
    import pwd

    def nobody(uid):
        raise KeyError(uid)

    monkeypatch.delenv("LESSONS_STATE_HOME")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    with pytest.raises(StorageError, match="set HOME to a folder"):
        locate.state_home()


def test_a_plain_path_stays_readable():
    assert brain_key("/nonexistent/my-repo_1.0") == "+nonexistent+my-repo_1.0"


def test_what_is_unsafe_in_a_name_becomes_hexadecimal():
    assert brain_key("/nonexistent/a b+c=d") == "+nonexistent+a=20=b=2b=c=3d=d"
    assert brain_key("/nonexistent/교훈") == "+nonexistent+=eab590ed9b88="


def test_a_long_path_is_cut_and_still_has_its_own_key():
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


def test_a_link_and_its_target_are_one_brain(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert brain_key(str(tmp_path / "link")) == brain_key(str(tmp_path / "real"))


def test_the_folder_is_private_all_the_way(root, home):
    old = os.umask(0)
    try:
        folder = state_dir(root)
    finally:
        os.umask(old)
    assert os.path.dirname(folder) == f"{home}/state/brains"
    for path in (folder, os.path.dirname(folder), f"{home}/state"):
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o700
    assert state_dir(root) == folder


def test_asking_without_making(root):
    assert not os.path.exists(state_dir(root, create=False))


def test_a_state_home_that_cannot_be_made_is_one_line(root, home):
    (home / "state").write_text("a file is in the way")
    with pytest.raises(StorageError, match="state") as caught:
        state_dir(root)
    assert "\n" not in str(caught.value)


def test_private_files_are_private_and_whole(tmp_path):
    path = str(tmp_path / "file")
    old = os.umask(0)
    try:
        write_private(path, b"one")
        write_private(path, b"two")
    finally:
        os.umask(old)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert (tmp_path / "file").read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["file"]


def test_a_folder_made_twice_is_no_error(tmp_path):
    make_private(str(tmp_path / "a" / "b"))
    make_private(str(tmp_path / "a" / "b"))
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError):
        make_private(str(tmp_path / "file" / "b"))


def test_a_private_file_that_cannot_be_written_stays_as_it_was(tmp_path, monkeypatch):
    path = str(tmp_path / "file")
    write_private(path, b"one")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StorageError, match="disk is full"):
        write_private(path, b"two")
    assert (tmp_path / "file").read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["file"]
