"""A session that began before an upgrade goes on: its client is that of the earlier build."""

import sys
from pathlib import Path

import pytest

from tests.kit import wait_until

LESSON = "Telegram remote execution must require an allowlist"
EARLIER = Path(__file__).with_name("earlier_hook_client.py")
"""The client of version 0.1.0, as it was."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="no Unix sockets on Windows"),
]


def test_an_earlier_client_is_answered_beside_a_daemon_of_today(installation):
    pid = installation.start()["pid"]
    wait_until(lambda: installation.prompt("warm") and (installation.status() or {})["answered"])
    today = installation.prompt("today")
    assert installation.prompt("earlier", client=EARLIER) == today
    assert LESSON in today
    again = installation.prompt("earlier")
    assert LESSON not in again, "both clients speak for one session, which has the lesson by now"
    assert installation.status()["pid"] == pid
