"""Summarise the results of a trial by task and arm, with paired comparisons in words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from lessons_kb.ledger.statistics import Comparison, compare
from lessons_kb.model import AVOIDED, CORRECTED, KNOWN_OUTCOMES, OPENED, as_data
from lessons_kb.store.journal import ARMS, GIVEN, MOMENTS, WITH, WITHOUT
from lessons_kb.text.sanitize import counted
from lessons_kb.trial.runs import FAULT, RIGHT, Result
from lessons_kb.trial.tasks import Task


def compare_arms(results: Sequence[Result], arm: str) -> Comparison:
    """Compare an arm with the arm without lessons. Only runs without a fault in both arms count."""
    right = {result.key: result.outcome == RIGHT for result in results if result.outcome != FAULT}
    pairs = []
    for (task, first, run), without in right.items():
        second = right.get((task, arm, run))
        if first == WITHOUT and second is not None:
            pairs.append((without, second))
    return compare(pairs)


def summarize(
    tasks: Sequence[Task], results: Sequence[Result], dead: Sequence[str]
) -> dict[str, Any]:
    """Return all figures of a trial as JSON data. Results of other tasks are ignored.

    ``dead`` are the names of runs that were killed.
    """
    names = {task.name for task in tasks}
    known = (*ARMS, *MOMENTS)
    results = [result for result in results if result.task in names and result.arm in known]
    arms = list(dict.fromkeys(result.arm for result in results))
    own = {task.name for task in tasks if task.own}
    valid = [result for result in results if result.outcome != FAULT]
    groups = {"": [result for result in valid if result.task not in own]}
    if own:
        on_own = [result for result in valid if result.task in own]
        groups["on the fix that the lesson came from"] = on_own
    faults = [result for result in results if result.outcome == FAULT]
    return {
        "arms": {arm: _measure([run for run in valid if run.arm == arm]) for arm in arms},
        "tasks": _list_tasks(tasks, results, arms),
        "comparisons": _compare_all(groups, arms),
        "lessons": count_lessons(valid),
        "faults": [{"run": result.key, "why": result.note} for result in faults],
        "died": list(dead),
        "results": [as_data(result) for result in results],
    }


def _list_tasks(
    tasks: Sequence[Task], results: Sequence[Result], arms: Sequence[str]
) -> list[dict[str, Any]]:
    """Return each task with the outcomes of its runs in each arm, and the lessons they got."""
    rows = []
    for task in tasks:
        outcomes: dict[str, list[str]] = {arm: [] for arm in arms}
        lessons: set[str] = set()
        for result in results:
            if result.task == task.name:
                outcomes[result.arm].append(result.outcome)
                lessons |= {lesson["id"] for lesson in result.lessons}
        rows.append(
            {
                "task": task.name,
                "lesson": task.lesson,
                "arms": outcomes,
                "lessons": sorted(lessons),
            }
        )
    return rows


def _compare_all(
    groups: Mapping[str, Sequence[Result]], arms: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the comparison of each arm with the arm without lessons, for each group of results."""
    if WITHOUT not in arms:
        return []
    rows = []
    for group, results in groups.items():
        for arm in arms:
            if arm != WITHOUT:
                comparison = _describe(compare_arms(results, arm), arm)
                rows.append({"of": group, "first": WITHOUT, "second": arm, **comparison})
    return rows


def count_lessons(results: Iterable[Result]) -> list[dict[str, Any]]:
    """Return, for each lesson, the numbers of runs in which it was given and opened, and the
    outcomes.
    """
    runs: dict[str, Counter[str]] = defaultdict(Counter)
    for result in results:
        for card in result.lessons:
            runs[card["id"]].update({*card["how"].split(","), card.get("outcome", "")})
    rows = []
    for name, seen in sorted(runs.items()):
        counts = {word: seen[word] for word in (GIVEN, OPENED, *KNOWN_OUTCOMES)}
        obeyed = seen[AVOIDED] + seen[CORRECTED]
        settled = sum(seen[outcome] for outcome in KNOWN_OUTCOMES)
        obedience = "no run shows whether it was obeyed"
        if settled:
            obedience = f"obeyed in {obeyed} of {settled} that show it"
        says = f"given in {counted(seen[GIVEN], 'run')}, opened in {seen[OPENED]}, {obedience}"
        rows.append({"lesson": name, **counts, "says": says})
    return rows


def _measure(results: Sequence[Result]) -> dict[str, Any]:
    measured: dict[str, Any] = {
        "runs": len(results),
        "right": sum(result.outcome == RIGHT for result in results),
    }
    for name in ("seconds", "tokens", "dollars", "lessons"):
        values = [getattr(result, name) for result in results]
        amounts = [value for value in values if value is not None]
        if name == "lessons":
            amounts = [len(lessons) for lessons in amounts]
        measured[name] = round(fmean(amounts), 2) if amounts else None
    return measured


def _describe(comparison: Comparison, arm: str) -> dict[str, Any]:
    low, high = comparison.interval
    return {
        **as_data(comparison),
        "pairs": comparison.pairs,
        "difference": round(comparison.difference, 3),
        "interval": [round(low, 3), round(high, 3)],
        "p": round(comparison.p, 4),
        "says": say(comparison, arm),
    }


def say(comparison: Comparison, arm: str = WITH) -> str:
    """Describe a comparison with the arm without lessons in a sentence."""
    if not comparison.pairs:
        return "nothing to compare yet"
    pairs = comparison.pairs
    right_with = comparison.both_right + comparison.repaired
    right_without = comparison.both_right + comparison.broken
    name = "lessons" if arm == WITH else f"the arm {arm}"
    shares = f"{right_with} of {pairs} right with {name}, {right_without} of {pairs} without"
    changed = f"{comparison.repaired} repaired, {comparison.broken} broken"
    low, high = (f"{100 * bound:+.0f}" for bound in comparison.interval)
    points = 100 * comparison.difference
    interval = f"difference {points:+.0f} points, 95 % interval {low} to {high}"
    if comparison.settled:
        verdict = "this is more than chance" if points > 0 else "lessons do harm here"
        return f"{shares}: {changed}; {interval}, p = {comparison.p:.2g}: {verdict}"
    more = max(comparison.needed - pairs, 1)
    return (
        f"{shares}: {changed}; {interval}: too few to tell, "
        f"about {counted(comparison.needed, 'pair')} are needed ({more:,} more)"
    )


_FORMS = {"seconds": "{:.0f} s", "tokens": "{:,.0f} tokens", "dollars": "${:.2f}"}


def show_summary(data: dict[str, Any]) -> list[str]:
    """Return a trial's figures as lines of text: tasks, arms, lessons, comparisons and faults."""
    arms = list(data["arms"])
    lines = []
    for row in data["tasks"]:
        cells = (f"{arm} {row['arms'][arm].count(RIGHT)}/{len(row['arms'][arm])}" for arm in arms)
        lessons = f"  ({', '.join(row['lessons'])})" if row["lessons"] else ""
        lines.append(f"{row['task']}: {', '.join(cells)}{lessons}")
    lines.append("")
    for arm, measures in data["arms"].items():
        parts = [f"{measures['right']} of {counted(measures['runs'], 'run')} right"]
        for key, form in _FORMS.items():
            if measures[key] is not None:
                parts.append(form.format(measures[key]))
        lines.append(f"{arm}: {', '.join(parts)}, {measures['lessons'] or 0:.1f} lessons a run")
    lines += ["", *(f"{row['lesson']}: {row['says']}." for row in data["lessons"]), ""]
    for row in data["comparisons"]:
        group = f", {row['of']}" if row["of"] else ""
        lines.append(f"{row['second']} against {row['first']}{group}: {row['says']}.")
    lines += [f"fault: {' '.join(map(str, row['run']))}: {row['why']}" for row in data["faults"]]
    lines += [
        f"died: {run}; it counts for nothing, and --resume repeats it" for run in data["died"]
    ]
    return lines
