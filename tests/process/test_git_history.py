"""Words in the code of a commit, which git prints in parts."""

import time

import pytest

from lessons_kb.process import git, git_history
from lessons_kb.process.git_history import find_words, read_objects
from tests.kit import commit


@pytest.mark.parametrize("chunk", [1, 100, 1 << 20])
@pytest.mark.parametrize("few_words", [0, 1_000])
def test_words_are_found_in_any_part_of_the_output(tmp_path, monkeypatch, chunk, few_words):
    monkeypatch.setattr(git_history, "_CHUNK", chunk)
    monkeypatch.setattr(git_history, "_FEW_WORDS", few_words)
    lines = "".join(f"first{number} = call(last{number})\n" for number in range(9_000))
    commit(tmp_path, "code", **{"code.py": f"{lines}end_without_a_line_end"})
    present = ["first0", "last0", "call", "first8999", "last8999", "end_without_a_line_end"]
    present += [f"{word}{number}" for word in ("first", "last") for number in range(40, 9_000, 700)]
    answers = find_words(str(tmp_path), "HEAD", [*present, "first", "las", "last9000"], [])
    assert answers == {
        **dict.fromkeys(present, True),
        "first": False,
        "las": False,
        "last9000": False,
    }


def test_no_word_is_found_in_a_commit_without_lines(tmp_path):
    commit(tmp_path, "empty", **{"empty.py": ""})
    assert find_words(str(tmp_path), "HEAD", ["word"], []) == {"word": False}


def test_objects_are_read_in_order_with_nothing_for_those_that_are_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(git_history, "_OBJECTS", 2)
    monkeypatch.setattr(git_history, "_MOST_BYTES", 100)
    large = "large\n" * 100
    commit(tmp_path, "code", **{"a.py": "first\n", "b.py": "", "large.py": large, "z.py": "last"})
    names = [b"HEAD:a.py", b"HEAD:gone.py", b"HEAD:b.py", b"HEAD:large.py", b"HEAD:z.py"]
    assert list(read_objects(str(tmp_path), names)) == [b"first\n", b"", b"", b"", b"last"]


def test_a_slow_caller_gets_all_objects(tmp_path, monkeypatch):
    monkeypatch.setattr(git, "_USUAL_SECONDS", 0.2)
    commit(tmp_path, "code", **{"a.py": "first\n", "z.py": "last"})
    found = []
    for content in read_objects(str(tmp_path), [b"HEAD:a.py", b"HEAD:z.py"]):
        time.sleep(0.2)
        found.append(content)
    assert found == [b"first\n", b"last"]
