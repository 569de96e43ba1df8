from __future__ import annotations

import os
import pathlib
import sys

import pytest

from lessons_kb.store.watcher_lease import LEASE_NAME, Lease, drop_lease, is_abandoned, is_leased


@pytest.fixture
def cache(tmp_path: pathlib.Path) -> str:
    return str(tmp_path)


@pytest.fixture
def lease(cache: str) -> Lease:
    made = Lease(cache)
    made.settle()
    made.renew()
    return made


def grow_old(cache: str) -> None:
    os.utime(f"{cache}/{LEASE_NAME}", (1_000_000, 1_000_000))


def as_another(cache: str) -> None:
    path = pathlib.Path(cache, LEASE_NAME)
    pid, boot, began = path.read_bytes().split(b" ")
    path.write_bytes(b" ".join((pid, boot, began + b"1")))


def test_its_own_process_believes_it_until_it_is_dropped(cache: str, lease: Lease) -> None:
    grow_old(cache)
    assert is_leased(cache)
    assert lease.holds()
    drop_lease(cache)
    assert not is_leased(cache)
    assert not lease.holds()


@pytest.mark.skipif(sys.platform != "linux", reason="nothing tells one boot from another")
def test_other_processes_believe_it_while_it_is_renewed(cache: str, lease: Lease) -> None:
    as_another(cache)
    assert is_leased(cache)
    grow_old(cache)
    assert not is_leased(cache)
    assert not is_abandoned(cache)
    lease.renew()
    assert is_leased(cache)


def test_a_sign_on_the_way_counts(cache: str) -> None:
    lease = Lease(cache)
    lease.settle()
    lease.drop()
    lease.renew()
    assert not is_leased(cache)


def test_one_of_a_process_that_is_gone_is_abandoned(cache: str) -> None:
    assert not is_abandoned(cache)
    pathlib.Path(cache, LEASE_NAME).write_bytes(b"99999999 not-this-boot 1")
    assert is_abandoned(cache)
    assert not is_leased(cache)
