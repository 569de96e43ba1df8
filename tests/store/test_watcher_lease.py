from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest

from lessons_kb.store.file_watcher import (
    Lease,
    drop_lease,
    find_leases,
    is_abandoned,
    is_leased,
)


@pytest.fixture
def root(tmp_path: pathlib.Path) -> str:
    (tmp_path / "brain").mkdir()
    return str(tmp_path / "brain")


@pytest.fixture
def cache(tmp_path: pathlib.Path) -> str:
    return str(tmp_path)


@pytest.fixture
def lease(cache: str, root: str) -> Lease:
    made = Lease(cache, root)
    made.settle()
    made.renew()
    return made


def grow_old(cache: str) -> None:
    for path in find_leases(cache):
        os.utime(path, (1_000_000, 1_000_000))


def as_another(cache: str, process: int | None = None) -> pathlib.Path:
    """Make the lease that of another process, one that still runs; return its file."""
    process = process or os.getppid()
    path = pathlib.Path(*find_leases(cache))
    giver, folder = path.read_bytes().split(b"\n")
    _number, boot, began = giver.split(b" ")
    path.write_bytes(b"%d %s %s\n%s" % (process, boot, began, folder))
    return path.rename(path.with_stem(f"watch.{process}-1"))


def test_its_own_process_believes_it_until_it_is_dropped(
    cache: str, root: str, lease: Lease
) -> None:
    grow_old(cache)
    assert is_leased(cache, root)
    assert lease.holds()
    drop_lease(cache)
    assert not is_leased(cache, root)
    assert not lease.holds()


@pytest.mark.skipif(sys.platform != "linux", reason="nothing tells one boot from another")
def test_other_processes_believe_it_while_it_is_renewed(
    cache: str, root: str, lease: Lease
) -> None:
    path = as_another(cache)
    assert is_leased(cache, root)
    grow_old(cache)
    assert not is_leased(cache, root)
    assert not is_abandoned(str(path))
    os.utime(path)
    assert is_leased(cache, root)


@pytest.mark.skipif(sys.platform != "linux", reason="nothing tells one boot from another")
def test_each_process_that_watches_has_its_own(cache: str, root: str, lease: Lease) -> None:
    another = as_another(cache)
    lease.settle()
    lease.renew()
    lease.drop()
    assert is_leased(cache, root)  # the other watcher has seen for itself what this one saw
    lease.settle()
    lease.renew()
    another.unlink()
    assert lease.holds()
    drop_lease(cache)
    assert find_leases(cache) == []


def test_a_sign_on_the_way_counts(cache: str, root: str) -> None:
    lease = Lease(cache, root)
    lease.settle()
    lease.drop()
    lease.renew()
    assert not is_leased(cache, root)


def test_one_of_a_process_that_is_gone_is_abandoned(cache: str, root: str) -> None:
    left = pathlib.Path(cache, "watch.99999999-1.lease")
    assert not is_abandoned(str(left))
    left.write_bytes(b"99999999 not-this-boot 1")
    assert is_abandoned(str(left))
    assert not is_leased(cache, root)
    lease = Lease(cache, root)
    lease.settle()
    lease.renew()
    assert not left.exists()
    left.write_bytes(b"99999999 not-this-boot 1")  # of one that still ran when this one began
    lease.end()
    assert find_leases(cache) == []


@pytest.mark.skipif(sys.platform != "linux", reason="nothing tells what a process does")
def test_a_process_that_was_killed_vouches_for_nothing(cache: str, root: str, lease: Lease) -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        left = as_another(cache, child.pid)
        assert is_leased(cache, root)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it stays a zombie
        assert not is_leased(cache, root)
        assert is_abandoned(str(left))


@pytest.mark.parametrize("whose", ["its own", "another"])
def test_it_vouches_for_no_other_folder_of_that_name(
    cache: str, root: str, lease: Lease, whose: str
) -> None:
    if whose == "another":
        as_another(cache)
    os.rename(root, f"{root} before")
    assert not is_leased(cache, root)
    os.mkdir(root)
    assert not is_leased(cache, root)
    assert not lease.holds()
    assert lease.is_taken()


def test_one_given_while_the_folder_was_gone_counts_for_nothing(cache: str, root: str) -> None:
    os.rmdir(root)
    lease = Lease(cache, root)
    lease.settle()
    lease.renew()
    assert not is_leased(cache, root)
    os.mkdir(root)
    assert not is_leased(cache, root)
