"""Summarise the results of a trial by task and arm, with paired comparisons in words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any

from lessons_kb.ledger.statistics import Comparison, compare
from lessons_kb.model import AVOIDED, CORRECTED, KNOWN_OUTCOMES, OPENED, as_data
from lessons_kb.store.journal import ARMS, GIVEN, WITH, WITHOUT
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
    results = [result for result in results if result.task in names and result.arm in ARMS]
    arms = list(dict.fromkeys(one.arm for one in results))
    own = {task.name for task in tasks if task.own}
    good = [one for one in results if one.outcome != FAULT]
    groups = {"": [one for one in good if one.task not in own]}
    if own:
        groups["on the fix that the lesson came from"] = [one for one in good if one.task in own]
    rows: dict[str, dict[str, list[str]]] = {task.name: {arm: [] for arm in arms} for task in tasks}
    lessons: dict[str, set[str]] = {task.name: set() for task in tasks}
    for one in results:
        rows[one.task][one.arm].append(one.outcome)
        lessons[one.task] |= {given["id"] for given in one.lessons}
    return {
        "arms": {arm: _measure([one for one in good if one.arm == arm]) for arm in arms},
        "tasks": [
            {"task": task.name, "lesson": task.lesson, "arms": rows[task.name]}
            | {"lessons": sorted(lessons[task.name])}
            for task in tasks
        ],
        "comparisons": [
            {"of": group, "first": WITHOUT, "second": arm} | _describe(compare_arms(of, arm), arm)
            for group, of in groups.items()
            for arm in arms
            if WITHOUT in arms and arm != WITHOUT
        ],
        "lessons": count_lessons(good),
        "faults": [{"run": one.key, "why": one.note} for one in results if one.outcome == FAULT],
        "died": list(dead),
        "results": [as_data(one) for one in results],
    }


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
        "right": sum(one.outcome == RIGHT for one in results),
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
    one = comparison
    if not one.pairs:
        return "nothing to compare yet"
    with_, without = one.both_right + one.repaired, one.both_right + one.broken
    what = "lessons" if arm == WITH else f"the arm {arm}"
    shares = f"{with_} of {one.pairs} right with {what}, {without} of {one.pairs} without"
    changed = f"{one.repaired} repaired, {one.broken} broken"
    low, high = (f"{100 * bound:+.0f}" for bound in one.interval)
    interval = f"difference {100 * one.difference:+.0f} points, 95 % interval {low} to {high}"
    if one.settled:
        verdict = "this is more than chance" if one.difference > 0 else "lessons do harm here"
        return f"{shares}: {changed}; {interval}, p = {one.p:.2g}: {verdict}"
    more = max(one.needed - one.pairs, 1)
    return (
        f"{shares}: {changed}; {interval}: too few to tell, "
        f"about {counted(one.needed, 'pair')} are needed ({more:,} more)"
    )


_FORMS = {"seconds": "{:.0f} s", "tokens": "{:,.0f} tokens", "dollars": "${:.2f}"}


def show_summary(data: dict[str, Any]) -> list[str]:
    """Return a trial's figures as lines of text: tasks, arms, lessons, comparisons and faults."""
    arms = list(data["arms"])
    lines = []
    for row in data["tasks"]:
        cells = (f"{arm} {row['arms'][arm].count(RIGHT)}/{len(row['arms'][arm])}" for arm in arms)
        given = f"  ({', '.join(row['lessons'])})" if row["lessons"] else ""
        lines.append(f"{row['task']}: {', '.join(cells)}{given}")
    lines.append("")
    for arm, one in data["arms"].items():
        known = [f"{one['right']} of {counted(one['runs'], 'run')} right"]
        known += [form.format(one[key]) for key, form in _FORMS.items() if one[key] is not None]
        lines.append(f"{arm}: {', '.join(known)}, {one['lessons'] or 0:.1f} lessons a run")
    lines += ["", *(f"{one['lesson']}: {one['says']}." for one in data["lessons"]), ""]
    for one in data["comparisons"]:
        head = f"{one['second']} against {one['first']}"
        lines.append(f"{head}{', ' + one['of'] if one['of'] else ''}: {one['says']}.")
    lines += [f"fault: {' '.join(map(str, one['run']))}: {one['why']}" for one in data["faults"]]
    lines += [
        f"died: {run}; it counts for nothing, and --resume repeats it" for run in data["died"]
    ]
    return lines
