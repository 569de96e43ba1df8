"""What was done is evidence; what was read is none, nor is what was written into a brain."""

from dataclasses import replace

import pytest

from lessons_kb import Brain
from lessons_kb.model import Event
from lessons_kb.outcome.session_evidence import find_evidence

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
    ("event", "edits", "commands"),
    [
        ({"kind": "edit", "targets": ("a.py",), "output": "new = 2"}, [("a.py", "new = 2", "")], []),
        ({"kind": "create", "targets": ("a.py",), "output": "x = 1"}, [("a.py", "x = 1", "")], []),
        ({"kind": "remove", "targets": ("a.py",), "output": "gone"}, [("a.py", "", "")], []),
        ({"kind": "edit", "outcome": "invalid_arguments", "output": "x"}, [], []),
        ({"kind": "edit", "outcome": "permission_denied", "output": "x"}, [], []),
        ({"kind": "edit", "output": PATCH}, [("src/a.py", "new = 2", "old = 1")], []),
        ({"kind": "edit", "output": DIFF}, [("src/a.py", "new = 2", "old = 1")], []),
        ({"kind": "command", "text": "cat a.py", "output": "all of a.py"}, [], [("cat a.py", False)]),
        ({"kind": "test", "text": "pytest", "outcome": "exec_error", "output": "E"},
         [], [("pytest", True)]),
        ({"kind": "command", "text": "rm -r x", "outcome": "permission_denied"}, [], []),
        ({"kind": "command", "text": "sleep 9", "outcome": "cancelled"}, [], []),
        ({"kind": "edit", "targets": ("BRAIN/lessons/a.md",), "output": "x"}, [], []),
        ({"kind": "edit", "targets": ("BRAIN/lessons.toml",), "output": "x"}, [], []),
        ({"kind": "create", "targets": ("BRAIN/.lessons/drafts/a",), "output": "x"}, [], []),
        ({"kind": "edit", "targets": ("BRAIN/src/a.py",), "output": "x"},
         [("BRAIN/src/a.py", "x", "")], []),
        ({"kind": "edit", "targets": ("BRAIN-2/a.md",), "output": "x"},
         [("BRAIN-2/a.md", "x", "")], []),
    ],
)  # fmt: skip
def test_evidence_of_one_call(root, event, edits, commands):
    targets = tuple(t.replace("BRAIN", str(root)) for t in event.get("targets", ()))
    with Brain.open(root) as brain:
        done = Event(**event | {"targets": targets, "scope": str(root.parent / "elsewhere")})
        evidence = find_evidence([done], brain.members)
    named = [(path.replace("BRAIN", str(root)), text, before) for path, text, before in edits]
    assert [(edit.path, edit.text, edit.before) for edit in evidence.edits] == named
    assert [(command.line, command.failed) for command in evidence.commands] == commands


def test_a_hunk_has_all_lines_even_if_one_looks_like_a_header(root):
    patch, other = (
        text.replace("-old", "-- old").replace("+new", "++ new") for text in (DIFF, PATCH)
    )
    with Brain.open(root) as brain:
        for written in (patch, other):
            (edit,) = find_evidence([Event(kind="edit", output=written)], brain.members).edits
            assert (edit.path, edit.before) == ("src/a.py", "- old = 1")
            assert edit.numbers == ((2,) if written == patch else ())


def test_a_call_by_an_unknown_tool_may_have_done_anything(root):
    with Brain.open(root) as brain:
        for tool, complete in (("TodoWrite", True), ("mcp__shell__run", False)):
            done = [Event(kind="tool", tool=tool)]
            assert find_evidence(done, brain.members, complete=True).complete is complete


def test_a_command_that_writes_a_card_is_no_evidence(root):
    quote = Event(kind="command", id="1", scope=str(root), text="cat > lessons/a.md <<'E'\nReject")
    card = Event(kind="create", id="1", scope=str(root), targets=("lessons/a.md",))
    code = replace(card, targets=("lessons/a.md", "src/a.py"))
    with Brain.open(root) as brain:
        assert find_evidence([quote, card], brain.members).commands == ()
        (command,) = find_evidence([quote, code], brain.members).commands
        assert command.line == quote.text
