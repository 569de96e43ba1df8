"""A project with a brain, open in an editor that asks as ours does."""

import pathlib
from types import SimpleNamespace

import pytest
from lsprotocol.types import Range

from lessons_kb.service.lsp.documents import Documents, Files, Text, path_of
from lessons_kb.store import trust
from tests.kit import OpenBrains

SHELL = """\
---
type: lesson
title: A file name pasted into a shell=True command
applies-to: [shell, security]
paths: ["src/*.py"]
severity: high
occurrences: 3
last-seen: 2026-08-27
symptoms:
  - call ffmpeg on what the user uploaded
detect:
  - regex: 'shell=True'
    files: ["*.py"]
  - command: 'rm -rf /'
---

## Root Cause

The shell parses the finished string.

## Prevention Checklist

- [ ] Pass the command as a list
- [ ] Test with a quote in the name
"""
OTHER = """\
# Money kept in floats

See [the shell](a-file-name-pasted-into-a-shell-true-command.md) and [[a-file-name-pasted-into-a-shell-true-command]].

## Prevention Checklist

- Use decimals
"""
CODE = 'import subprocess\n# 😀 한글\nsubprocess.run("😀", shell=True)\n'
SHELL_ID = "lessons/a-file-name-pasted-into-a-shell-true-command.md"


class Editor:
    """What is open in an editor, and what our capabilities answer to it."""

    def __init__(self, root):
        self.root = root
        self.documents = Documents()
        self.told: list[str] = []
        self.workspace = OpenBrains(str(root), watched=False)
        self.files = Files(self.workspace, self.documents, tell=self.told.append)
        self.files.folders = (str(root),)
        self.files.renames_files = True

    def open(self, name, text=None):
        """Open a file as it is, or as it will be."""
        path = self.root / name
        text = path.read_text("utf-8") if text is None else text
        self.documents.open(path.as_uri(), 1, text)
        document = self.documents.get(path.as_uri())
        assert document is not None
        return document

    def at(self, document, words, inside=0):
        """Return the position of some words in a document, or a place inside of them."""
        return document.text.position_at(document.text.whole.index(words) + inside)

    def ask(self, work, document, at, **more):
        """Ask about a position, or whatever else the request says."""
        where = Range(start=at, end=at)
        params = SimpleNamespace(**{"position": at, "range": where, **more})
        return work(self.files, document, params)


def apply(text, edits):
    """Return a text with edits made as a client makes them: all places are of the old text."""
    made = Text(text)
    for edit in sorted(
        edits, key=lambda one: (one.range.start.line, one.range.start.character), reverse=True
    ):
        made = made.replace(edit.range, edit.new_text)
    return made.whole


def changed(root, edit):
    """Return name → new text of the files that a workspace edit changes, and what it renames."""
    found = {}
    for one in edit.document_changes:
        if hasattr(one, "old_uri"):
            old, new = (
                str(pathlib.Path(path_of(uri)).relative_to(root))
                for uri in (one.old_uri, one.new_uri)
            )
            found[f"{old} -> {new}"] = ""
        else:
            path = pathlib.Path(path_of(one.text_document.uri))
            found[str(path.relative_to(root))] = apply(path.read_bytes().decode(), one.edits)
    return found


@pytest.fixture
def project(tmp_path):
    root = tmp_path.resolve() / "shop"
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (root / "lessons").mkdir()
    (root / "src").mkdir()
    (root / SHELL_ID).write_text(SHELL)
    (root / "lessons" / "money-kept-in-floats.md").write_text(OTHER)
    (root / "src" / "run.py").write_text(CODE)
    (root / "lessons.toml").write_text("")
    trust.trust(str(root))
    return root


@pytest.fixture
def editor(project):
    made = Editor(project)
    yield made
    made.workspace.close()
