"""The installed program's first moments."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from lessons_kb.cli import entry


def test_ctrl_c_before_anything_has_begun_is_no_traceback(monkeypatch):
    class Interrupted:
        def __getattr__(self, name):
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "lessons_kb.cli.main", Interrupted())
    monkeypatch.setattr(sys, "argv", ["lessons", "list"])
    with pytest.raises(SystemExit) as stopped:
        entry.main()
    assert stopped.value.code == 130


def ended(*lines: str) -> subprocess.CompletedProcess[str]:
    """Let a process run the entry with a command line that does only what is written here."""
    given = "\n".join(f"    {line}" for line in lines)
    code = (
        "import atexit, os, sys, threading, time, types\n"
        f"def main():\n{given}\n"
        "sys.modules['lessons_kb.cli.main'] = types.SimpleNamespace(main=main)\n"
        "from lessons_kb.cli.entry import main as entry\n"
        "entry()\n"
    )
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False
    )


@pytest.mark.parametrize(("raised", "code"), [("0", 0), ("None", 0), ("3", 3), ("True", 1)])
def test_the_exit_code_and_all_that_was_printed_arrive(raised, code):
    done = ended("print('x' * 300_000)", "print('said', file=sys.stderr)", f"sys.exit({raised})")
    assert (done.returncode, len(done.stdout), done.stderr) == (code, 300_001, "said\n")


def test_what_was_to_be_done_at_the_end_is_done():
    done = ended("atexit.register(print, 'goodbye')", "sys.exit(0)")
    assert (done.returncode, done.stdout) == (0, "goodbye\n")


def test_a_thread_is_waited_for():
    late = "threading.Thread(target=lambda: (time.sleep(0.3), print('late'))).start()"
    done = ended(late, "sys.exit(0)")
    assert (done.returncode, done.stdout) == (0, "late\n")


def test_a_process_that_has_answered_is_not_taken_apart():
    kept = "type('Kept', (), {'__del__': lambda _, write=os.write: write(1, b'apart')})()"
    done = ended("global kept", f"kept = {kept}", "sys.exit(4)")
    assert (done.returncode, done.stdout) == (4, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_an_answer_that_cannot_be_written_is_an_error():
    done = ended("sys.stdout = open('/dev/full', 'w')", "print('lost')", "sys.exit(0)")
    assert "No space left" in done.stderr
