"""`kill -9` at a random moment of anything that writes: old or new, and the next command works."""

import os
import pathlib
import random
import re
import subprocess
import sys

import pytest

from lessons_kb import Brain
from lessons_kb.agents.install import Entries, Request, uninstall

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="forks and SIGKILL are POSIX"),
]

WORKER = pathlib.Path(__file__).with_name("kill_worker.py")
KILLS = 50


@pytest.fixture
def kills(root, figure):
    """Do one thing again and again until it is killed; yield how often it was done, each time."""
    chance = random.Random(11)
    with subprocess.Popen(
        [sys.executable, str(WORKER), str(root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True, bufsize=1
    ) as worker:  # fmt: skip

        def kills(what, seen):
            done = []
            for _ in range(KILLS):
                early = chance.random() < 0.25
                share = -0.1 * chance.random() if early else 2 * chance.random()
                worker.stdin.write(f"{what} {share:.4f}\n")
                said = worker.stdout.readline().strip()
                assert said.isdigit(), said
                done.append(int(said))
                yield done[-1]
            assert sum(done) >= len(done) // 2, "killed before anything was done"
            figure("kill -9 at a random moment", f"{what}: {KILLS} kills, {seen}")

        yield kills
        worker.stdin.close()


def header(data):
    """Return the count, and the card without the lines that a bump may change."""
    count = int(re.search(r"(?m)^occurrences: (\d+)", data)[1])
    rest = re.sub(r"(?m)^(?:occurrences|last-seen|examples):.*\n(?:  ?- .*\n)*", "", data)
    return count, rest


def test_bump(root, telegram, kills):
    count, rest = header(telegram.read_text())
    for done in kills("bump", "old or new each time"):
        now, same = header(telegram.read_text())
        assert now in (count + done, count + done + 1)
        assert same == rest
        with Brain.open(root) as brain:
            count = brain.bump("telegram-allowlist")[0].occurrences
        assert count == now + 1


def test_create(root, kills):
    made = 0
    for done in kills("create", "each card whole"):
        texts = [path.read_text() for path in (root / "lessons").glob("*.md")]
        assert made + done <= len(texts) <= made + done + 1
        made = len(texts)
        assert all(text.startswith("---\n") and text.endswith("\n") for text in texts)
        assert all("## Prevention Checklist" in text for text in texts)
        with Brain.open(root) as brain:
            assert len(brain.cards.all()) == made


def test_edit(root, telegram, kills):
    first = telegram.read_text()
    with Brain.open(root) as brain:
        brain.cards.set_status("ignored", "telegram-allowlist")
        ignored = telegram.read_text()
        brain.cards.set_status("active", "telegram-allowlist")
    active = telegram.read_text()
    assert active.replace("status: active\n", "") == first
    for _ in kills("edit", "one of two texts each time"):
        assert telegram.read_text() in (ignored, active)
        with Brain.open(root) as brain:
            assert brain.cards.set_status("active", "telegram-allowlist")[0].status == "active"


def test_index(root, kills):
    for _ in kills("index", "the next search right each time"):
        with Brain.open(root) as brain:
            for path in sorted((root / "lessons").glob("*.md")):
                text = path.read_text()
                if "Look" not in text:  # the worker itself was killed while it wrote this file
                    continue
                words = " ".join(re.findall(r"animal\d+|now\d+", text)[:2])
                assert brain.search(words)[0].card.title == f"Mind {words}"


def test_journal(root, kills):
    noted = finished = 0
    for done in kills("journal", "no event lost or torn"):
        noted += done
        finished += done
        with Brain.open(root) as brain:
            events = brain.journal.events(session="s")
            counted = sum(times for *_rest, times in brain.journal.counts())
        assert noted <= len(events) <= noted + 1
        assert finished <= counted <= len(events)
        assert all(event.text == event.id * 50 for event in events)
        noted = len(events)


SETTINGS = '{\n  // mine\n  "model": "opus",\n  "hooks": {"Stop": [{"hooks": []}]},\n}\n'


def test_install(root, kills):
    home = pathlib.Path.home()
    settings, state = home / ".claude/settings.json", home / ".claude.json"
    settings.parent.mkdir()
    settings.write_text(SETTINGS)
    state.write_text('{"projects": {}}')
    entries = Entries(hook="/opt/lessons-hook", server="/opt/lessons")
    request = Request(agent="claude-code", project=str(root), entries=entries)
    for _ in kills("install", "uninstall gave each byte back"):
        seen = settings.read_text()
        assert seen.endswith("}\n")
        assert seen == SETTINGS or ("// mine" in seen and "/opt/lessons-hook" in seen)
        uninstall(request)
        assert settings.read_text() == SETTINGS
        assert state.read_text() == '{"projects": {}}'
