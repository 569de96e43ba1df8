import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.errors import StorageError
from lessons_kb.store.user_state import brain_key, make_private, state_dir, write_private


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
