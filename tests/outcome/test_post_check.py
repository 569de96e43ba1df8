"""The outcome of a lesson in the steps of a session."""

import pytest

from lessons_kb.detect.matcher import Matcher
from lessons_kb.model import Event
from lessons_kb.outcome.post_check import Facts, judge_steps, read_steps
from lessons_kb.text.error_signature import error_signature

ALPHA, BETA = "KeyError: 'alpha'", "KeyError: 'beta'"
TEST = "tests/test_report.py::test_totals"
TEST_FAILED = f"FAILED {TEST} - AssertionError"


def judge_runs(runs, *, errors=(), tests=()):
    signatures = tuple(map(error_signature, errors))
    facts = Facts(matcher=Matcher([]), errors=signatures, tests=frozenset(tests))
    events = [
        Event(kind="command", text=command, outcome=outcome, output=output)
        for command, outcome, output in runs
    ]
    return judge_steps(facts, read_steps(events, []))


@pytest.mark.parametrize("command", ["make report", "pytest", "pytest -q"])
@pytest.mark.parametrize("errors", [(ALPHA, BETA), (BETA, ALPHA)], ids=["first", "second"])
def test_an_error_in_an_output_without_a_result_is_not_corrected_by_the_absence_of_another(
    command, errors
):
    assert judge_runs([(command, "unknown", ALPHA)], errors=errors) == ("left", "error")


@pytest.mark.parametrize("command", ["cat report.log", "pytest"])
@pytest.mark.parametrize("outcome", ["ok", "unknown"])
def test_a_failing_test_is_not_corrected_by_the_absence_of_an_error(command, outcome):
    runs = [(command, outcome, TEST_FAILED)]
    assert judge_runs(runs, errors=[ALPHA], tests=[TEST]) == ("left", "test")


@pytest.mark.parametrize("command", ["make report", "pytest -q"])
@pytest.mark.parametrize("outcome", ["ok", "unknown"])
def test_the_same_command_without_the_error_corrects_it(command, outcome):
    runs = [(command, "exec_error", ALPHA), (command, outcome, "done")]
    assert judge_runs(runs, errors=[ALPHA, BETA]) == ("corrected", "error")


def test_the_same_command_without_the_failing_test_corrects_it():
    runs = [("cat report.log", "ok", TEST_FAILED), ("cat report.log", "ok", "1 passed")]
    assert judge_runs(runs, tests=[TEST]) == ("corrected", "test")


@pytest.mark.parametrize("command", ["make other", "pytest tests/test_other.py"])
def test_another_command_corrects_nothing(command):
    runs = [("make report", "exec_error", ALPHA), (command, "ok", "done")]
    assert judge_runs(runs, errors=[ALPHA]) == ("left", "error")


def test_a_command_that_fails_again_without_the_error_corrects_nothing():
    runs = [("make report", "exec_error", ALPHA), ("make report", "exec_error", "no disk")]
    assert judge_runs(runs, errors=[ALPHA]) == ("left", "error")
