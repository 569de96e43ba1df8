"""Run a program of the user's own that reads one text and writes another."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile

from lessons_kb.errors import InputError
from lessons_kb.process.process_tree import KILL, signal_session, start_session

MAX_OUTPUT = 1_000_000
"""Bytes; more is an error."""


def run_filter(command: str, text: str, *, seconds: float) -> str:
    """Return what a command line prints when it is given ``text`` on stdin.

    No shell is asked. Raises InputError, one line, when it cannot be started, fails, prints too
    much or is not done after ``seconds``: then all that it started is ended.
    """
    try:
        words = shlex.split(command, posix=os.name != "nt")
    except ValueError as error:
        raise InputError(f"{command!r} is not a command line: {error}; fix its quotes") from None
    if not words:
        raise InputError("the command line is empty; name a program")
    name = words[0]
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as printed:
        given.write(text.encode("utf-8", "replace"))
        given.seek(0)
        try:
            child = start_session(words, stdin=given, stdout=printed, stderr=subprocess.DEVNULL)
        except OSError as error:
            raise InputError(f"{name}: {error.strerror or error}; check its path") from None
        try:
            code = child.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise InputError(
                f"{name}: not done after {seconds:g} s; allow more in check.seconds"
            ) from None
        finally:
            signal_session(child.pid, KILL)
            child.wait()
        if code:
            raise InputError(f"{name}: exit code {code}; run it by hand to see why")
        printed.seek(0)
        output = printed.read(MAX_OUTPUT + 1)
    if len(output) > MAX_OUTPUT:
        raise InputError(f"{name}: more than {MAX_OUTPUT:,} bytes of output; print JSON alone")
    return output.decode("utf-8", "replace")
