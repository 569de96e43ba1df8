"""What a call is about to write, by the arguments of each agent's tools."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.detect.matcher import Change
from lessons_kb.guards.parse_call import find_changes, find_documents

OLD_NEW = [("a.py", "old", "new")]


@pytest.mark.parametrize(("arguments", "changes"), [
    ({"file_path": "/p/a.py", "old_string": "old", "new_string": "new"}, OLD_NEW),
    ({"path": "a.py", "old_str": "old", "new_str": "new", "command": "str_replace"}, OLD_NEW),
    ('{"file_path": "a.py", "old_string": "old", "new_string": "new"}', OLD_NEW),
    ({"file_path": "a.py", "content": "new"}, [("a.py", "", "new")]),
    ({"file_path": "a.py", "edits": [{"old_string": "old", "new_string": "new"}, {"old_string":
     "x", "new_string": "y"}]}, [*OLD_NEW, ("a.py", "x", "y")]),
    ({"replacements": [{"filePath": "a.py", "oldString": "old", "newString": "new"}, {"filePath":
     "b.py", "oldString": "x", "newString": "y"}]}, [*OLD_NEW, ("b.py", "x", "y")]),
    ({"file_path": "a.py", "old_string": "old", "new_string": ""}, []),
    ({"content": "new"}, []),
    ({}, []),
    ("no json", []),
])  # fmt: skip
def test_arguments_of_edit_tools(arguments, changes):
    found = find_changes(arguments, scope="/p")
    assert [(c.path, c.before, c.after) for c in found] == changes


PATCH = """*** Begin Patch
*** Update File: a.py
*** Move to: b.py
@@ def f():
 one
-two
+TWO
@@
+three
*** Add File: c.py
+four
+five
*** Delete File: d.py
*** End Patch
"""


def test_patches():
    assert find_changes({"patch": PATCH}) == [
        Change(path="b.py", before="one\ntwo\n", after="one\nTWO\n", line=0),
        Change(path="b.py", after="three\n", line=0),
        Change(path="c.py", after="four\nfive\n", line=0),
    ]


@pytest.mark.parametrize(("command", "changes"), [
    ("cat > a.py <<'EOF'\nx = 1\ny = 2\nEOF\nls", [("a.py", "x = 1\ny = 2\n")]),
    ("cd src && tee -a a.py <<EOF\nx\nEOF", [("src/a.py", "x\n")]),
    ("cat <<A > a.py\nx\nA\ncat <<B > b.py\ny\nB", [("a.py", "x\n"), ("b.py", "y\n")]),
    ("psql db <<EOF\nDROP TABLE a;\nEOF", []),
])  # fmt: skip
def test_here_documents(command, changes):
    assert [(c.path, c.after) for c in find_documents(command)] == changes


@pytest.mark.slow
@given(st.recursive(st.text() | st.none(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)))
def test_any_arguments_are_read(arguments):
    find_changes({"edits": arguments, "input": arguments})


@given(st.text())
def test_any_text_is_read_as_a_patch_and_a_command(text):
    find_changes({"input": f"*** Update File: a\n{text}"})
    find_documents(f"cat > a <<EOF\n{text}")
