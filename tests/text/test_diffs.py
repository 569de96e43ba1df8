"""Patches taken apart."""

import pytest

from lessons_kb.text.diffs import Hunk, parse_hunks

GIT = """diff --git a/src/run.py b/src/run.py
--- a/src/run.py
+++ b/src/run.py
@@ -3,3 +3,3 @@ def run():
 a
-b
+++ c
 d
\\ No newline at end of file
--- a/old.py
+++ /dev/null
@@ -1 +0,0 @@
-gone
"""
AGENTS = """*** Begin Patch
*** Update File: src/run.py
@@ def run():
 a
-b
+c
*** Add File: new.py
+d
*** End Patch
+no more
"""


@pytest.mark.parametrize(("text", "hunks"), [
    (GIT, [("src/run.py", 3, [(" ", "a"), ("-", "b"), ("+", "++ c"), (" ", "d")]), ("old.py", 0,
     [("-", "gone")])]),
    (AGENTS, [("src/run.py", 0, [(" ", "a"), ("-", "b"), ("+", "c")]), ("new.py", 0, [("+",
     "d")])]),
    ("@@\n-a\n+b", [("given.py", 0, [("-", "a"), ("+", "b")])]),
    ("+ no patch\n- at all", []),
    ("", []),
])  # fmt: skip
def test_a_patch_is_taken_apart(text, hunks):
    found = [(one.path, one.line, list(one.rows)) for one in parse_hunks(text, path="given.py")]
    assert found == hunks


def test_a_hunk_has_two_sides_and_numbers():
    hunk = Hunk(path="a", line=3, rows=((" ", "a"), ("-", "b"), ("+", "c"), ("+", "d")))
    assert (hunk.before, hunk.after) == ("a\nb\n", "a\nc\nd\n")
    assert list(hunk.added()) == [(4, "c"), (5, "d")]
