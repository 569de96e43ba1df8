"""Words in the code of a commit, which git prints in parts."""

import pytest

from lessons_kb.process import git_history
from lessons_kb.process.git_history import find_words
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
