"""An installation of its own for each test, so that its daemon is nobody else's."""

import json
import os
import pathlib
import shutil
import site
import subprocess
import sys
import venv

import pytest

import lessons_kb
from tests.kit import ROOT, copy_example, wait_until

PROMPT = "Add a Telegram command that runs a shell script on the server"


class Installation:
    """A virtual environment with a copy of the package, a home and a brain."""

    def __init__(self, folder):
        self.python = folder / "venv/bin/python"
        self.package = folder / "code/lessons_kb"
        self.brain = folder / "brain"
        self.environment = {
            "HOME": str(folder / "home"),
            "PATH": os.environ["PATH"],
            "LESSONS_BRAIN": str(self.brain),
            "LESSONS_HOOK_DEADLINE": "50",  # a busy machine may be slow; the answers count here
        }
        venv.create(folder / "venv", with_pip=False, symlinks=True)
        shutil.copytree(pathlib.Path(lessons_kb.__file__).parent, self.package)
        if not (self.package / "templates").is_dir():
            shutil.copytree(ROOT / "templates", self.package / "templates")
        packages = next((folder / "venv/lib").iterdir()) / "site-packages"
        lines = [str(self.package.parent), *site.getsitepackages(), *sys.path]
        (packages / "code.pth").write_text("\n".join(filter(None, lines)) + "\n")
        self.project = folder / "project"
        (folder / "home").mkdir()
        self.project.mkdir()
        copy_example(self.brain)

    def hook(self, event, client=None, **variables):
        client = client or self.package / "hook_client.py"
        done = subprocess.run(
            [self.python, "-I", "-S", client, "claude-code"],
            input=json.dumps(event),
            capture_output=True,
            text=True,
            env={**self.environment, **variables},
            cwd="/",
            timeout=60,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def start_hook(self, **variables):
        return subprocess.Popen(
            [self.python, "-I", "-S", self.package / "hook_client.py", "claude-code"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**self.environment, "LESSONS_DAEMON": "0", **variables},
            cwd="/",
        )

    def event(self, name, session):
        return {"session_id": session, "hook_event_name": name, "cwd": str(self.project)}

    def prompt(self, session, **variables):
        event = {**self.event("UserPromptSubmit", session), "prompt": PROMPT}
        return self.hook(event, **variables)

    def lessons(self, *words):
        return self.run(*words).stdout

    def run(self, *words, code=0):
        return self.run_python("-m", "lessons_kb.cli.main", *words, code=code)

    def run_python(self, *words, code=0):
        command = [self.python, "-I", *words]
        done = subprocess.run(
            command, capture_output=True, text=True, env=self.environment, cwd="/"
        )
        assert done.returncode == code, done.stderr
        return done

    def status(self):
        return json.loads(self.lessons("daemon", "status", "--json"))

    def pids(self):
        """Every daemon of this installation, by the table of processes."""
        found = subprocess.run(
            ["pgrep", "-f", f"^{self.python} -I -m lessons_kb.service.daemon"],
            capture_output=True,
            text=True,
        )
        return [int(line) for line in found.stdout.split()]

    def settle(self):
        """Wait until no process answers an event any more: a client leaves before it ends."""
        pattern = f"^{self.python} .*(hook_client|lessons_kb.service.fallback)"
        command = ["pgrep", "-f", pattern]
        wait_until(lambda: not subprocess.run(command, capture_output=True).stdout)

    def start(self):
        self.prompt("the first")
        return wait_until(self.status)


@pytest.fixture
def installation(tmp_path):
    made = Installation(tmp_path)
    yield made
    for pid in made.pids():
        os.kill(pid, 9)
