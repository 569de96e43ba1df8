"""Answer events in a fresh process, and print what was done inside a write transaction.

``python transaction_worker.py EVENTS``: a JSON list of [agent, payload]. Printed: how many
transactions the last of them entered, and what slept, touched a file, started a process or
imported a module while the journal was locked.
"""

import contextlib
import json
import os
import sys
import time

from lessons_kb.service.hook_event import answer_event
from lessons_kb.store.journal import Journal

FORBIDDEN = ("open", "os.", "subprocess.", "socket.", "shutil.", "glob.", "import", "time.sleep")
SILENT = ("stat", "lstat", "access", "readlink", "fsync", "getcwd")
"""Calls of ``os`` that the interpreter does not audit."""


class Law:
    def __init__(self):
        self.inside = False
        self.entered = 0
        self.broken: list[str] = []

    def see(self, event, arguments):
        if self.inside and event.startswith(FORBIDDEN):
            self.inside = False  # whatever is done to tell of it
            frames = []
            frame = sys._getframe(1)
            while frame is not None and len(frames) < 6:
                frames.append(f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}")
                frame = frame.f_back
            self.broken.append(f"{event} {arguments[:1]} {' < '.join(frames)}")
            self.inside = True

    def audited(self, name, call):
        def audited(*arguments, **options):
            self.see(name, arguments)
            return call(*arguments, **options)

        return audited


law = Law()
transaction = Journal.transaction


@contextlib.contextmanager
def watched(self):
    with transaction(self):
        outer, law.inside = law.inside, True
        law.entered += 1
        try:
            yield
        finally:
            law.inside = outer


def main():
    Journal.transaction = watched
    for name in SILENT:
        setattr(os, name, law.audited(f"os.{name}", getattr(os, name)))
    time.sleep = law.audited("time.sleep", time.sleep)
    sys.addaudithook(law.see)
    for agent, payload in json.loads(sys.argv[1]):
        law.entered = 0
        answer_event(agent, json.dumps(payload), {})
    print(json.dumps({"entered": law.entered, "broken": law.broken}))


main()
