"""Locks between processes, ours and those of versions that take them through filelock."""

import os
import signal
import subprocess
import sys
import threading

import pytest
from filelock import FileLock, Timeout

from lessons_kb.errors import StorageError
from lessons_kb.store.locks import BUSY, hold_writer, take_lock

HOLD = """
import sys, time
from lessons_kb.store.locks import take_lock
with take_lock(sys.argv[1], "card", seconds=5):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "locks" / "07.lock")


def start_holder(path):
    holder = subprocess.Popen([sys.executable, "-c", HOLD, path], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    return holder


def test_a_lock_of_another_process_is_waited_for_and_then_refused(path):
    holder = start_holder(path)
    try:
        with pytest.raises(StorageError, match="card: locked by another lessons process"):
            take_lock(path, "card", seconds=0.02)
        with hold_writer(path, patience=0.02) as refused:
            assert refused == BUSY
    finally:
        holder.kill()
        holder.communicate()


def test_a_killed_process_releases_its_lock(path):
    holder = start_holder(path)
    os.kill(holder.pid, signal.SIGKILL)
    holder.communicate()
    with take_lock(path, "card", seconds=5):
        pass


def test_a_lock_is_free_once_it_is_released(path):
    for _ in range(3):
        with take_lock(path, "card", seconds=0), pytest.raises(StorageError):
            take_lock(path, "card", seconds=0)


def test_threads_wait_for_each_other(path):
    inside, most = [], []

    def work():
        with take_lock(path, "card", seconds=30):
            inside.append(1)
            most.append(len(inside))
            inside.pop()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 8


def test_a_version_with_filelock_takes_the_same_lock(path):
    with take_lock(path, "card", seconds=0), pytest.raises(Timeout):
        FileLock(path).acquire(timeout=0)
    with FileLock(path), pytest.raises(StorageError, match="locked by another"):
        take_lock(path, "card", seconds=0)


def test_a_lock_file_that_its_owner_has_removed_does_not_count(path):
    with take_lock(path, "run", seconds=0):
        os.unlink(path)
        with take_lock(path, "run", seconds=0):
            assert os.path.exists(path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_does_not_keep_the_lock(path):
    lock = take_lock(path, "card", seconds=0)
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(writer)
        os.read(reader, 1)  # until the parent has taken the lock again
        os._exit(0)
    with lock:
        pass
    try:
        with take_lock(path, "card", seconds=0):
            pass
    finally:
        os.close(writer)
        os.waitpid(child, 0)


def test_a_lock_is_private_and_refuses_a_folder_in_its_place(path):
    with take_lock(path, "card", seconds=0):
        assert os.stat(path).st_mode & 0o777 == 0o600
    os.unlink(path)
    os.mkdir(path)
    with pytest.raises(StorageError):
        take_lock(path, "card", seconds=0)
    with hold_writer(path, patience=0) as refused:
        assert refused
