"""What tests of every room share: files, git, hooks and what this process opens and starts."""

import contextlib
import json
import os
import subprocess
import sys
import textwrap

from lessons_kb.brain.brain import Workspace
from lessons_kb.brain.init import make_brain, trust_brain
from lessons_kb.service.hook_event import answer_event
from lessons_kb.store.user_state import read_troubles, state_dir

__all__ = ["Workspace", "answer_event", "make_brain", "read_troubles", "state_dir", "trust_brain"]


def write(folder, name, text):
    """Write a file and the folders above it; return its path."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def git(folder, *words, when=""):
    """Run git as somebody, at a time of ISO 8601 or now; return what it prints."""
    who = {"NAME": "Ada", "EMAIL": "ada@example.org", **({"DATE": when} if when else {})}
    roles = {f"GIT_{role}_{k}": v for role in ("AUTHOR", "COMMITTER") for k, v in who.items()}
    command = ["git", "-c", "protocol.file.allow=always", *words]
    environment = {**os.environ, **roles}
    done = subprocess.run(
        command, cwd=folder, env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout


def commit(folder, subject="change", when="", **files):
    """Write files and commit all that there is, in a repository of its own; return the commit."""
    for name, text in files.items():
        write(folder, name, text)
    if not (folder / ".git").exists():
        git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", subject, when=when)
    return git(folder, "rev-parse", "HEAD").strip()


def read_output(printed):
    """Return what an agent reads: the object, and under "progress" the messages in front of it."""
    objects = [json.loads(line) for line in printed.splitlines() if line.strip()]
    shown = [one["message"] for one in objects if one.get("type") == "progress"]
    outputs = [one for one in objects if one.get("type") != "progress"]
    assert len(outputs) <= 1
    return {**(outputs[0] if outputs else {}), **({"progress": "\n".join(shown)} if shown else {})}


def answer(agent, event, environment=None, **how):
    """Answer one hook event in this process: the output as a dictionary, {} for silence."""
    data = event if isinstance(event, (bytes, str)) else json.dumps(event)
    return read_output(answer_event(agent, data, environment or {}, **how)[0])


def context(output):
    """Return what an output tells the model."""
    return output.get("hookSpecificOutput", {}).get("additionalContext", "")


_watching = []


def _see(event, arguments):
    if event in ("open", "os.listdir", "os.scandir", "subprocess.Popen"):
        for seen in _watching:
            seen.append((event, str(arguments[1 if event == "subprocess.Popen" else 0])))


@contextlib.contextmanager
def watched():
    """Collect the files that this process opens and the programs that it starts."""
    if not hasattr(_see, "added"):
        sys.addaudithook(_see)
        _see.added = True
    seen = []
    _watching.append(seen)
    try:
        yield seen
    finally:
        _watching.remove(seen)
