import os

import pytest

from lessons_kb.store.file_watcher import Lease, drop_lease, is_leased


@pytest.fixture
def root(tmp_path):
    (tmp_path / "brain").mkdir()
    return str(tmp_path / "brain")


@pytest.fixture
def cache(tmp_path):
    return str(tmp_path)


@pytest.fixture
def lease(cache, root):
    made = Lease(cache, root)
    made.settle()
    made.renew()
    yield made
    made.end()


def test_it_is_believed_until_it_is_dropped(cache, lease):
    assert is_leased(cache)
    assert not is_leased(f"{cache}/other")
    assert lease.holds()
    drop_lease(cache)
    assert not is_leased(cache)
    assert not lease.holds()
    assert lease.is_taken()


def test_what_was_dropped_comes_back_after_a_refresh_only(cache, lease):
    drop_lease(cache)
    lease.renew()
    assert not is_leased(cache)
    lease.settle()
    lease.renew()
    assert is_leased(cache)


def test_each_watch_has_its_own(cache, root, lease):
    other = Lease(cache, root)
    other.settle()
    other.renew()
    lease.drop()
    assert is_leased(cache)  # the other watch has seen for itself what this one saw
    other.end()
    assert not is_leased(cache)


def test_a_sign_on_the_way_counts(cache, lease):
    lease.settle()
    lease.drop()
    lease.renew()
    assert not is_leased(cache)


def test_it_vouches_for_no_other_folder_of_that_name(cache, root, lease):
    os.rename(root, f"{root} before")
    assert not is_leased(cache)
    os.mkdir(root)
    assert not is_leased(cache)
    assert not lease.holds()
    assert lease.is_taken()


def test_one_given_while_the_folder_was_gone_counts_for_nothing(cache, root, lease):
    os.rmdir(root)
    lease.settle()
    lease.renew()
    assert not is_leased(cache)
    os.mkdir(root)
    assert not is_leased(cache)
