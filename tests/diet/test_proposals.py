"""Conditions that an agent states: what counts of an answer, and what becomes of the rule."""

import json

import pytest

from lessons_kb.diet.condition import BROAD, GONE
from lessons_kb.diet.project_files import Project
from lessons_kb.diet.proposals import NO_PROGRAM, NOT_QUOTED, may_have_condition, read_proposal
from lessons_kb.diet.read_condition import ANY_TASK, find_condition
from lessons_kb.importers.rules_file import read_rules
from tests import kit
from tests.diet.conftest import cards_of

FILES = ("src/pay.ts", "src/tax.ts", "docs/a.md", *(f"lib/{number}.ts" for number in range(20)))
RULE = "- Whenever money is handled, count in cents and in any task be brief\n"
MONEY = "Whenever money is handled"


def read(answer):
    (rule,) = read_rules(RULE, name="AGENTS.md").rules
    return read_proposal(rule, answer, Project(files=FILES))


def test_an_answer_becomes_a_condition_with_its_files_and_commands():
    condition, problem = read(
        {"condition": MONEY, "paths": ["src/*.ts"], "commands": ["npm publish"]}
    )
    assert problem == ""
    assert condition.said == MONEY
    assert condition.globs == ("src/*.ts",)
    assert set(condition.files) == {"src/pay.ts", "src/tax.ts"}
    assert "npm publish" in condition.commands


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({}, ""),
        ({"condition": ""}, ""),
        ({"condition": MONEY, "paths": [], "commands": []}, ""),
        ({"condition": "Whenever amounts are handled", "paths": ["src/*.ts"]}, NOT_QUOTED),
        ({"condition": "Whenever", "paths": ["src/*.ts"]}, NOT_QUOTED),
        ({"condition": "in any task", "paths": ["src/*.ts"]}, ANY_TASK),
        ({"condition": MONEY, "paths": ["bank/**"]}, GONE),
        ({"condition": MONEY, "paths": ["**/*.ts"]}, BROAD),
        ({"condition": MONEY, "commands": ["count the money"]}, NO_PROGRAM),
        ({"condition": MONEY, "paths": "src/pay.ts"}, ""),
        ({"condition": ["x"], "paths": [3]}, NOT_QUOTED),
    ],
)
def test_an_answer_that_does_not_fit_the_rule_or_the_project_counts_for_nothing(answer, problem):
    assert read(answer) == (None, problem)


def test_a_path_in_the_rule_is_added_to_the_paths_of_an_answer():
    text = f"- {MONEY}, leave `docs/` alone\n"
    (rule,) = read_rules(text, name="AGENTS.md").rules
    answer = {"condition": MONEY, "paths": ["src/*.ts"]}
    condition, _problem = read_proposal(rule, answer, Project(files=FILES))
    assert condition.globs == ("src/*.ts", "docs/**")
    assert "docs/a.md" in condition.files


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        (MONEY + ", count in cents", True),
        ("Payments go through `Bank`", True),
        ("ALWAYS count in cents when money is handled", False),
        ("Be brief", False),
        ("Before finishing any task, run the checks", False),
    ],
)
def test_an_agent_is_asked_about_rules_that_may_have_a_condition(text, asked):
    (rule,) = read_rules(f"- {text}\n", name="AGENTS.md").rules
    condition, reason = find_condition(rule, Project(files=FILES))
    assert condition is None
    assert may_have_condition(rule, reason) is asked


@pytest.mark.slow
def test_a_rule_moves_if_it_arrives_at_what_an_agent_says_and_stays_if_not(project, diet, writer):
    kit.write(
        project,
        "AGENTS.md",
        "# Guide\n\n- Whenever money is handled, count in cents, never in a fraction of a euro, "
        "and round once, at the very end of the whole calculation, half up, as the bank does it\n"
        "- Whoever talks to the bank keeps a log of every call and of every answer for a year\n",
    )
    answer = {"condition": MONEY, "paths": ["src/pay.ts"], "commands": []}
    answer |= {"symptoms": [], "tags": []}
    shown = diet("--show-prompt").out
    assert "rule-1" in shown
    assert "Whoever talks to the bank" in shown
    assert "no rule to move" in diet("--apply", "--yes").err
    done = diet("--apply", "--yes", "--with", writer(f"print({json.dumps(answer)!r})"))
    assert "1 card written" in done.err
    assert "arrives at an edit of src/pay.ts" in done.out
    (card,) = cards_of(project)
    assert "src/pay.ts" in card
    assert "count in cents" in card
    assert "Whoever talks to the bank" in (project / "AGENTS.md").read_text()
    diet("--undo")
    assert "Whenever money is handled" in (project / "AGENTS.md").read_text()
