"""What a run has cost, where an agent prints what cannot be right."""

import pytest

from lessons_kb.trial.runs import Result, find_end
from lessons_kb.trial.usage import read_usage


@pytest.mark.parametrize(
    "cost", ["NaN", "Infinity", "-Infinity", "-0.5", "1e999", "1" + "0" * 400, "true"]
)
def test_an_impossible_cost_is_unknown(cost):
    _tokens, dollars, _session = read_usage(f'{{"total_cost_usd": {cost}}}')
    assert dollars is None


@pytest.mark.parametrize("cost", ["NaN", "-3"])
def test_one_step_without_a_cost_makes_the_sum_unknown(cost):
    steps = '{"part": {"cost": 0.5}}\n{"part": {"cost": %s}}\n'
    assert read_usage(steps % cost)[1] is None
    assert read_usage(steps % "0.25")[1] == 0.75


@pytest.mark.parametrize("tokens", ["NaN", "-9", "1e400"])
def test_impossible_token_counts_are_unknown(tokens):
    assert read_usage(f'{{"usage": {{"input_tokens": {tokens}}}}}')[0] is None


def test_deeply_nested_output_has_an_unknown_cost():
    tokens = '{"part": {"tokens": ' + '{"a": ' * 900 + "1" + "}" * 902
    assert read_usage(tokens) == (None, None, "")


@pytest.mark.parametrize("cost", ["NaN", "-Infinity", "-100"])
def test_an_impossible_cost_does_not_use_up_the_budget(cost):
    """Three runs of 2 dollars and one of an unknown price exceed a budget of 5."""
    costs = [2.0, 2.0, read_usage(f'{{"total_cost_usd": {cost}}}')[1]]
    done = [
        Result(task="one", arm="with", run=number, outcome="right", dollars=dollars, hooks=1)
        for number, dollars in enumerate(costs)
    ]
    assert find_end(("dollars", 5.0), done) == "the budget of $5 is used up"
    assert "cannot be watched" in find_end(("dollars", 5.0), done[2:])
