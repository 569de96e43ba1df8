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

pytestmark = pytest.mark.skipif(os.name == "nt", reason="forks and SIGKILL are POSIX")

WORKER = pathlib.Path(__file__).with_name("kill_worker.py")


@pytest.fixture
def kill(root):
    """Return what does one thing again and again until it is killed, and how often it was done."""
    chance = random.Random(11)
    done = []
    with subprocess.Popen(
        [sys.executable, str(WORKER), str(root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True, bufsize=1
    ) as worker:  # fmt: skip
        assert worker.stdin is not None
        assert worker.stdout is not None

        def kill(what):
            early = chance.random() < 0.25
            share = -0.1 * chance.random() if early else 2 * chance.random()
            worker.stdin.write(f"{what} {share:.4f}\n")
            said = worker.stdout.readline().strip()
            assert said.isdigit(), said
            done.append(int(said))
            return done[-1]

        yield kill
        assert sum(done) >= len(done) // 2, "killed before anything was done"
        worker.stdin.close()


def header(data):
    """Return the count, and the card without the lines that a bump may change."""
    count = int(re.search(r"(?m)^occurrences: (\d+)", data)[1])
    rest = re.sub(r"(?m)^(?:occurrences|last-seen|examples):.*\n(?:  ?- .*\n)*", "", data)
    return count, rest


@pytest.mark.slow
@pytest.mark.amounts(2, 50)
def test_bump(root, telegram, kill, amount, figure):
    count, rest = header(telegram.read_text())
    for _ in range(amount):
        done = kill("bump")
        now, same = header(telegram.read_text())
        assert now in (count + done, count + done + 1)
        assert same == rest
        count = Brain.open(root).bump("telegram-allowlist")[0].occurrences
        assert count == now + 1
    figure("kill -9 at a random moment", f"bump: {amount} kills, old or new each time")


@pytest.mark.slow
@pytest.mark.amounts(2, 50)
def test_create(root, kill, amount, figure):
    made = 0
    for _ in range(amount):
        made += kill("create")
        names = sorted(path.name for path in (root / "lessons").glob("*.md"))
        assert made <= len(names) <= made + 1
        made = len(names)
        for name in names:
            text = (root / "lessons" / name).read_text()
            assert text.startswith("---\n")
            assert text.endswith("\n")
            assert "## Prevention Checklist" in text
        with Brain.open(root) as brain:
            assert len(brain.cards.all()) == made
    figure("kill -9 at a random moment", f"create: {amount} kills, {made} cards, each whole")


@pytest.mark.slow
@pytest.mark.amounts(2, 50)
def test_edit(root, telegram, kill, amount, figure):
    first = telegram.read_text()
    with Brain.open(root) as brain:
        brain.cards.set_status("ignored", "telegram-allowlist")
        ignored = telegram.read_text()
        brain.cards.set_status("active", "telegram-allowlist")
    active = telegram.read_text()
    assert active.replace("status: active\n", "") == first
    for _ in range(amount):
        kill("edit")
        assert telegram.read_text() in (ignored, active)
        with Brain.open(root) as brain:
            assert brain.cards.set_status("active", "telegram-allowlist")[0].status == "active"
    figure("kill -9 at a random moment", f"edit: {amount} kills, one of two texts each time")


@pytest.mark.slow
@pytest.mark.amounts(2, 50)
def test_index(root, kill, amount, figure):
    for _ in range(amount):
        kill("index")
        with Brain.open(root) as brain:
            for path in sorted((root / "lessons").glob("*.md")):
                text = path.read_text()
                if "Look" not in text:  # the worker itself was killed while it wrote this file
                    continue
                words = " ".join(re.findall(r"animal\d+|now\d+", text)[:2])
                assert brain.search(words)[0].card.title == f"Mind {words}"
    figure("kill -9 at a random moment", f"index: {amount} kills, the next search right each time")


@pytest.mark.slow
@pytest.mark.amounts(2, 50)
def test_journal(root, kill, amount, figure):
    noted = finished = 0
    for _ in range(amount):
        done = kill("journal")
        noted += done
        finished += done
        with Brain.open(root) as brain:
            events = brain.journal.events(session="s")
            counted = sum(times for *_rest, times in brain.journal.counts())
        assert noted <= len(events) <= noted + 1
        assert finished <= counted <= len(events)
        assert all(event.text == event.id * 50 for event in events)
        noted = len(events)
    figure(
        "kill -9 at a random moment", f"journal: {amount} kills, {noted} events, none lost or torn"
    )


SETTINGS = '{\n  // mine\n  "model": "opus",\n  "hooks": {"Stop": [{"hooks": []}]},\n}\n'


@pytest.mark.slow
@pytest.mark.amounts(2, 50)
def test_install(root, kill, amount, figure):
    home = pathlib.Path.home()
    settings, state = home / ".claude/settings.json", home / ".claude.json"
    settings.parent.mkdir()
    settings.write_text(SETTINGS)
    state.write_text('{"projects": {}}')
    entries = Entries(hook="/opt/lessons-hook", server="/opt/lessons")
    request = Request(agent="claude-code", project=str(root), entries=entries)
    for _ in range(amount):
        kill("install")
        seen = settings.read_text()
        assert seen.endswith("}\n")
        assert seen == SETTINGS or ("// mine" in seen and "/opt/lessons-hook" in seen)
        uninstall(request)
        assert settings.read_text() == SETTINGS
        assert state.read_text() == '{"projects": {}}'
    figure("kill -9 at a random moment", f"install: {amount} kills, uninstall gave each byte back")
