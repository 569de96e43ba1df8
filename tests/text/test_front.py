from __future__ import annotations

from lessons_kb.text.analyzer import analyze
from lessons_kb.text.prompts import find_paths


def test_identifier_is_split_and_kept_whole():
    assert {"get", "user", "id", "getuserbyid"} <= set(analyze("getUserById"))


def test_path_of_a_stack_trace():
    assert find_paths('File "src/a.py", line 3') == ("src/a.py",)
