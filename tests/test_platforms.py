"""Systems that offer less than Linux: what can be said of macOS and Windows without them.

A fresh process loses what only Linux, or only POSIX, has; the everyday commands must still work,
by the other way that each of them has.
"""

import pytest

from tests.kit import run_python

POORER = """
import ctypes, os, signal, sys
import filelock, subprocess, watchdog.observers  # they have their own ways on each system
filelock.FileLock = filelock.SoftFileLock  # the one of POSIX would not work any more

for module in ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"):
    sys.modules[module] = None
for name in (
    "O_CLOEXEC", "O_DIRECTORY", "O_NOCTTY", "O_NOFOLLOW", "O_NONBLOCK", "fchown",
    "geteuid", "getuid", "getxattr", "killpg", "listxattr", "pidfd_open", "setxattr",
):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGHUP", "SIGURG", "SIGWINCH"):
    delattr(signal, name)

def no_library(*_arguments, **_options):
    raise OSError("no such library")

ctypes.CDLL = no_library
"""

WALK = """
import json, os, pathlib
from lessons_kb import Brain
from lessons_kb.collection.doctor import check_health
from lessons_kb.brain.make_brain import make_brain
from lessons_kb.errors import DuplicateCard

make_brain("shop")
card = pathlib.Path("shop/lessons/refund-worker-pays-twice.md")
with Brain.open("shop") as brain:
    brain.create("Refund worker pays twice")
    try:
        brain.create("Refund worker pays twice")
    except DuplicateCard:
        pass
    head = card.read_text("utf-8").partition("## ")[0]
    card.write_text(f"{head}## Prevention Checklist\\n\\n- [ ] Send one key per order\\n", "utf-8")
    before = card.read_bytes()
    for _ in range(3):
        brain.bump("refund-worker")
    assert brain.cards.get("refund-worker").occurrences == 4
    assert card.read_bytes() != before
    brain.cards.delete("refund-worker")
    assert not card.exists()
    brain.cards.restore("refund-worker")
    assert card.exists()
    block = brain.preflight("Why does the refund worker pay twice?")
    assert "Refund worker pays twice" in block.text, block
    assert [line for line in check_health(brain, ".") if line.level == "error"] == []

from lessons_kb.service.hook_event import answer_event

event = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": os.getcwd()}
event["prompt"] = "Why does the refund worker pay twice?"
output, _ = answer_event("claude-code", json.dumps(event), {"LESSONS_BRAIN": "shop"})
assert "Refund worker pays twice" in output, output
"""


@pytest.mark.slow
@pytest.mark.parametrize("poorer", ["", POORER], ids=["here", "without what only Linux has"])
def test_the_walk_works(tmp_path, poorer):
    done = run_python(poorer + WALK, cwd=tmp_path, LESSONS_BRAIN=str(tmp_path / "shop"))
    assert done.code == 0, done.err
