import pytest

from benchmarks import house
from benchmarks.ours import private_state


def test_calls_files_and_moves_of_the_package_are_counted():
    from lessons_kb.text.sanitize import counted

    output, calls, moves = house.trace(lambda: counted(2, "card") + str(sorted([2, 1])))
    assert output == "2 cards[1, 2]"
    assert house.count(calls, moves) == {
        "calls": 1,
        "functions": 1,
        "files": 1,
        "rooms": 1,
        "moves between files": 1,
    }
    assert [house.name_of(code) for code in calls] == ["text/sanitize.py counted"]


@pytest.mark.slow
def test_a_warm_prompt_is_traced_to_its_lesson(tmp_path):
    with private_state(tmp_path):
        figures = house.count(*house.trace_prompt(tmp_path / "brain"))
    assert 1 < figures["rooms"] < figures["files"] < figures["functions"] < figures["calls"]
