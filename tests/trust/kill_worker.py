"""Do one thing again and again in a child, and kill the child: ``kill_worker.py ROOT``.

Reads ``WHAT SHARE`` lines; for each a child is forked that does WHAT in a loop. It is killed when
it has done it once and SHARE of that time again has gone by; a negative share is that many seconds
from its very beginning. Answers how often the child said that it was done.
"""

import os
import signal
import sys
import time

from lessons_kb import Brain
from lessons_kb.agents.install import Entries, Request, install, uninstall
from lessons_kb.model import Event


def bump(brain, _root, _number):
    brain.bump("telegram-allowlist", task="A task")


def create(brain, _root, number):
    brain.create(f"Mistake number {number} of {os.getpid()}", on_duplicate="new")


def edit(brain, _root, number):
    brain.cards.set_status(("ignored", "active")[number % 2], "telegram-allowlist")


def index(brain, root, number):
    for name in range(8):
        with open(f"{root}/lessons/animal{name}.md", "w", encoding="utf-8") as file:
            file.write(f"# Mind animal{name} now{number}\n\n- Look at animal{name}\n")
    brain.refresh(rebuild=number % 3 == 0)


def journal(brain, _root, number):
    name = f"{os.getpid()}-{number}"
    brain.journal.record(Event(kind="prompt", session="s", id=name, text=name * 50))
    brain.journal.count("lessons/telegram-allowlist.md", "addressed")


def install_or_not(_brain, root, number):
    entries = Entries(hook="/opt/lessons-hook", server="/opt/lessons")
    request = Request(agent="claude-code", project=root, entries=entries)
    (install if number % 2 == 0 else uninstall)(request)


WORK = {one.__name__: one for one in (bump, create, edit, index, journal)}
WORK["install"] = install_or_not


def work(what, root, said):
    with Brain.open(root) as brain:
        number = 0
        while True:
            os.write(said, b".")
            WORK[what](brain, root, number)
            os.write(said, b"x")
            number += 1


def main():
    root = sys.argv[1]
    for line in sys.stdin:
        what, share = line.split()
        heard, said = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(heard)
            try:
                work(what, root, said)
            except BaseException as error:
                print(f"failed: {type(error).__name__}: {error}", flush=True)
            finally:
                os._exit(1)
        os.close(said)
        told = os.read(heard, 1)
        began = time.monotonic()
        if float(share) < 0:
            time.sleep(-float(share))
        else:
            while b"x" not in told and (part := os.read(heard, 1)):
                told += part
            time.sleep(float(share) * (time.monotonic() - began))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        while part := os.read(heard, 65536):
            told += part
        os.close(heard)
        print(told.count(b"x"), flush=True)


if __name__ == "__main__":
    main()
