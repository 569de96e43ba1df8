"""Write rules for agents without hooks, for `export rules` and `install --skill`."""

from __future__ import annotations

import os

import typer

from lessons_kb.cli.declare import check_choice
from lessons_kb.cli.options import find_project
from lessons_kb.cli.output import print_answer
from lessons_kb.cli.shared_brains import open_shared_brains
from lessons_kb.collection.rule_export import FORMS, RuleExport, plan_rules
from lessons_kb.model import as_data
from lessons_kb.store.foreign_settings import replace_settings_file
from lessons_kb.text.sanitize import counted, visible

BUDGET = 4_000
"""In tokens, for about twenty lessons."""


def export_rules(agent: str, budget: int, *, check: bool) -> None:
    """Write the rules for an agent, or compare them with the files."""
    check_choice("--for", agent, tuple(FORMS))
    brains = open_shared_brains()
    brains.refresh()
    project = find_project()
    plan = plan_rules(brains, agent, project, budget=budget)
    changes = [change for change in plan.changes if not change.is_current]
    if not check:
        for change in changes:
            path = os.path.join(project, change.path)
            replace_settings_file(path, change.after, expected=change.before)
    word = "not up to date" if check else "written"
    lines = [
        visible(f"{change.path}: {word if change.after is not None else 'not needed any more'}")
        for change in changes
    ]
    rows = [{"path": change.path, "current": change.is_current} for change in plan.changes]
    print_answer(as_data(rows), *lines, _summarize(plan, budget))
    if check and changes:
        raise typer.Exit(1)


def _summarize(plan: RuleExport, budget: int) -> str:
    """Return the number of cards that became rules, and the cards that did not fit."""
    text = f"{counted(plan.cards, 'card')} as rules, within {budget:,} tokens"
    if plan.left_out:
        text += f"; {len(plan.left_out)} left out, first {plan.left_out[0]}"
    return text
