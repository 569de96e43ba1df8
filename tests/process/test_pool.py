"""Work in several processes ends with the process that asked for it."""

import os
import signal
import subprocess
import sys
import time

import pytest

from lessons_kb.process.programs import map_batches


def test_results_come_in_order():
    assert list(map_batches(pow, [(2, 3), (3, 2)], workers=1)) == [8, 9]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
def test_workers_end_when_their_parent_is_killed():
    code = (
        "import os\n"
        "from lessons_kb.process.programs import map_batches\n"
        "if __name__ == '__main__':\n"
        "    import time\n"
        "    for pid in map_batches(os.getpid, [(), ()], workers=2):\n"
        "        print(pid, flush=True)\n"
        "        time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and _is_running(worker):
        time.sleep(0.05)
    assert not _is_running(worker)


def _is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return ") Z " not in stat.read()  # ended, and nobody asked how
    except OSError:
        return not os.path.exists("/proc/self")
