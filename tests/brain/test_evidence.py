"""What was done is evidence; what was read is none, nor is what was written into a brain."""

from __future__ import annotations

import pathlib
from dataclasses import replace
from typing import Any

import pytest

from lessons_kb import Brain
from lessons_kb.brain.evidence import find_evidence
from lessons_kb.model import Event

PATCH = """\
*** Begin Patch
*** Update File: src/a.py
@@ def f():
 around the change
-old = 1
+new = 2
*** End Patch"""
DIFF = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1,2 +1,2 @@\n around\n-old = 1\n+new = 2\n"


@pytest.mark.parametrize(
    ("event", "text"),
    [
        ({"kind": "edit", "targets": ("a.py",), "output": "new = 2"}, "a.py\n\nnew = 2"),
        ({"kind": "create", "targets": ("a.py",), "output": "x = 1\n"}, "a.py\n\nx = 1"),
        ({"kind": "remove", "targets": ("a.py",), "output": "removed"}, "a.py\n\nremoved"),
        ({"kind": "edit", "outcome": "invalid_arguments", "output": "x"}, None),
        ({"kind": "edit", "outcome": "permission_denied", "output": "x"}, None),
        ({"kind": "edit", "output": PATCH},
         "*** Begin Patch\n*** Update File: src/a.py\n-old = 1\n+new = 2\n*** End Patch"),
        ({"kind": "edit", "output": DIFF}, "--- a/src/a.py\n+++ b/src/a.py\n-old = 1\n+new = 2"),
        ({"kind": "command", "text": "cat a.py", "output": "all of a.py"}, "cat a.py"),
        ({"kind": "test", "text": "pytest", "outcome": "exec_error", "output": "E"}, "pytest"),
        ({"kind": "command", "text": "rm -r x", "outcome": "permission_denied"}, None),
        ({"kind": "command", "text": "sleep 9", "outcome": "cancelled"}, None),
        ({"kind": "edit", "targets": ("BRAIN/lessons/a.md",), "output": "x"}, None),
        ({"kind": "edit", "targets": ("BRAIN/lessons.toml",), "output": "x"}, None),
        ({"kind": "create", "targets": ("BRAIN/.lessons/drafts/a",), "output": "x"}, None),
        ({"kind": "edit", "targets": ("BRAIN/src/a.py",), "output": "x"}, "BRAIN/src/a.py\n\nx"),
        ({"kind": "edit", "targets": ("BRAIN-2/a.md",), "output": "x"}, "BRAIN-2/a.md\n\nx"),
    ],
)  # fmt: skip
def test_evidence_of_one_call(root: pathlib.Path, event: dict[str, Any], text: str | None) -> None:
    targets = tuple(t.replace("BRAIN", str(root)) for t in event.get("targets", ()))
    with Brain.open(root) as brain:
        done = Event(**event | {"targets": targets, "scope": str(root.parent / "elsewhere")})
        expected = [] if text is None else [text.replace("BRAIN", str(root))]
        assert find_evidence([done], brain.layers) == expected


def test_a_command_that_writes_a_card_is_no_evidence(root: pathlib.Path) -> None:
    quote = Event(kind="command", id="1", scope=str(root), text="cat > lessons/a.md <<'E'\nReject")
    card = Event(kind="create", id="1", scope=str(root), targets=("lessons/a.md",))
    code = replace(card, targets=("lessons/a.md", "src/a.py"))
    with Brain.open(root) as brain:
        assert find_evidence([quote, card], brain.layers) == []
        assert quote.text in find_evidence([quote, code], brain.layers)
