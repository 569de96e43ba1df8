"""A trial of when a fact is given: prepare runs, score them, print the table.

    python -m benchmarks moment prepare OUT [--arms A,B] [--tasks A,B]
    python -m benchmarks moment repository OUT
    python -m benchmarks moment score OUT [CODE …] [--model NAME]
    python -m benchmarks moment

``prepare`` writes a folder for each task, arm and run, and ``OUT/INDEX.json`` with the folders in
random order. An agent reads ``PROMPT.md`` in its folder. ``score`` adds one line for each run that
was ended by ``./done`` to ``moment.jsonl``. A run that is scored is neither prepared nor scored
again; ``--results FILE`` begins a series of its own. ``repository`` writes ``OUT/project`` and
``OUT/tasks.toml``, with which `lessons trial` runs the same tasks with an agent of your own.

The plan of the trial and its results are in ``MOMENT.md`` beside this file.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import tempfile
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks import report
from benchmarks.data import DataError, write_rows
from benchmarks.trial import folders, moment_tasks, propose
from benchmarks.trial.folders import STATES, Place
from benchmarks.trial.series import (
    RunName,
    clopper_pearson,
    name_run,
    read_key,
    read_results,
    show_interval,
    write_index,
    write_key,
)
from lessons_kb.ledger.statistics import compare
from lessons_kb.process.git import ask_git
from lessons_kb.store.journal import (
    AFTER_IGNORED,
    AT_CALL,
    AT_PROMPT,
    AT_START,
    MOMENTS,
    TRIAL_VARIABLE,
    WITHOUT,
    write_arm,
)
from lessons_kb.store.locations import STATE_HOME_VARIABLE
from lessons_kb.text.token_estimate import estimate_tokens
from lessons_kb.trial.runs import RIGHT, WRONG

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence
    from typing import Any

    from benchmarks.trial.moment_tasks import MomentTask

RESULTS = Path(__file__).with_name("moment.jsonl")
ARMS = (WITHOUT, *MOMENTS)
RUNS = 2
_MOMENT_OF = {
    "SessionStart": AT_START,
    "UserPromptSubmit": AT_PROMPT,
    "PreToolUse": AT_CALL,
    "PostToolUse": AT_CALL,
    "PostToolUseFailure": AT_CALL,
    "Stop": AFTER_IGNORED,
}
_PROMPT = """\
You work on the repository in this folder. Nothing outside of this folder belongs to it, so do not
look elsewhere. Read its files as you like. Change files with `./propose`, run commands with `./run`
(also tests and scripts), and do neither in any other way:

    ./propose PATH            the whole new content of the file on stdin; PATH may be new
    ./propose PATH --patch    a unified diff of this one file on stdin
    ./propose PATH --delete
    ./run 'COMMAND'           a shell command, in this folder
    ./done 'SUMMARY'          ends your turn; SUMMARY is your closing message to the user

The work is over when `./done` says that your turn has ended. Nobody is there to answer a question.

Here is what you see when your session begins and the user's prompt comes in.
{start}
User: {prompt}
{context}"""


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Prepare, score, or print the table."""
    what, *words = options.words or ["table"]
    results = Path(options.results) if options.results else RESULTS
    if what == "prepare" and len(words) == 1:
        arms = tuple(filter(None, options.arms.split(","))) or ARMS
        names = set(filter(None, options.tasks.split(",")))
        out = Path(words[0]).resolve()
        count = prepare(out, arms, names=names, seed=options.seed, results=results)
        report.tell(f"{count} folders in {words[0]}/INDEX.json")
        return {"prepared": count}
    if what == "repository" and len(words) == 1:
        moment_tasks.make_repository(Path(words[0]).resolve())
        report.tell(f"{words[0]}/project and {words[0]}/tasks.toml")
        return {"tasks": len(moment_tasks.read_tasks())}
    if what == "score" and words:
        out = Path(words[0]).resolve()
        count = score(out, words[1:], model=options.model, results=results)
        report.tell(f"{count} runs scored; {len(read_results(results))} in all")
        return {"scored": count}
    if what == "table" and not words:
        lines, figures = describe(read_results(results))
        print("\n".join(lines))
        return figures
    message = "give `prepare OUT`, `repository OUT`, `score OUT [CODE …]`, or nothing"
    raise DataError(message)


def prepare(
    out: Path,
    arms: Sequence[str] = ARMS,
    *,
    names: set[str] | None = None,
    seed: int = 1,
    results: Path = RESULTS,
) -> int:
    """Write a folder for each task, arm and run that has none yet. Return how many wait."""
    unknown = [arm for arm in arms if arm not in ARMS]
    if unknown:
        message = f"there is no arm {unknown[0]}; the arms are {', '.join(ARMS)}"
        raise DataError(message)
    states = out.with_name(f"{out.name}{STATES}")
    tool = folders.compile_tool(states)
    runs = read_key(states).get("runs", {})
    scored = {name_run(row) for row in read_results(results)}
    tasks = [task for task in moment_tasks.read_tasks() if not names or task.name in names]
    for task in tasks:
        for arm in arms:
            for number in range(1, RUNS + 1):
                name = RunName(task.name, arm, number)
                code = name.find_code(seed)
                if name in scored or code in runs:
                    continue
                _write_run(_find_place(out, code), tool, task, arm)
                runs[code] = name._asdict()
                write_key(states, {"runs": runs})
    return write_index(out, [code for code, run in runs.items() if name_run(run) not in scored])


def _find_place(out: Path, code: str) -> Place:
    state = out.with_name(f"{out.name}{STATES}") / code
    return Place(out / code, state, state / "project")


def _write_run(place: Place, tool: str, task: MomentTask, arm: str) -> None:
    folders.clear_place(place)
    Path(f"{place.state}{propose.PACKED}").unlink(missing_ok=True)
    setup = folders.make_setup(place, hooks=True)
    setup["environment"]["LESSONS_SEMANTIC"] = "0"  # nothing is searched
    moment_tasks.copy_files(task, place.folder)
    _open_project(place, task, setup["environment"])
    token = secrets.token_hex(16)
    setup["environment"][TRIAL_VARIABLE] = token
    write_arm(setup["environment"][STATE_HOME_VARIABLE], token, arm)
    context = folders.open_session(setup, task.prompt)
    given = (bool(context.start), bool(context.prompt))
    if given != (arm == AT_START, arm == AT_PROMPT):
        message = f"{place.folder}: the session of {arm} begins with {context!r}"
        raise RuntimeError(message)
    folders.write_folder(
        place,
        setup,
        tool,
        text=_PROMPT,
        prompt=task.prompt,
        context=context,
        tools=folders.ALL_TOOLS,
    )
    propose.pack(str(place.state))


def _open_project(place: Place, task: MomentTask, environment: Mapping[str, str]) -> None:
    """Write the repository in which the hooks run, with a trusted brain of one card."""
    project = place.project
    moment_tasks.copy_files(task, project)
    ask_git(str(project), "init", "-q")
    ask_git(str(project), "add", "-A")
    ask_git(str(project), *moment_tasks.AS_TRIAL, "commit", "-q", "-m", "Start")
    folders.run_lessons(project, environment, "init", str(project))
    (project / task.card_name).write_text(task.card, "utf-8")
    folders.run_lessons(project, environment, "trust", str(project))
    folders.run_lessons(project, environment, "index")


def score(out: Path, codes: Sequence[str] = (), *, model: str = "", results: Path = RESULTS) -> int:
    """Score the runs that were ended by ``./done``, or exactly the named runs.

    A named run is over, even if the agent did not end it. Returns the number of new results.
    """
    key = read_key(out.with_name(f"{out.name}{STATES}"))
    tasks = {task.name: task for task in moment_tasks.read_tasks()}
    rows = read_results(results)
    scored = {name_run(row) for row in rows}
    count = 0
    for code, entry in key["runs"].items():
        name = name_run(entry)
        if name in scored or (codes and code not in codes):
            continue
        place = _find_place(out, code)
        with propose.unpacked(str(place.state)):
            calls = folders.read_calls(place.state)
            if not codes and not any("done" in call for call in calls):
                continue
            row = _score_run(place, calls, tasks[name.task])
        rows.append({**name._asdict(), "model": model, **row})
        rows.sort(key=name_run)
        write_rows(results, rows)
        count += 1
    return count


def _score_run(
    place: Place, calls: Sequence[Mapping[str, Any]], task: MomentTask
) -> dict[str, Any]:
    commands = [call["command"] for call in calls if "command" in call and not call["refused"]]
    outside = {path for call in calls for path in call.get("outside", ())}
    with tempfile.TemporaryDirectory() as name:
        parent = Path(name)
        moment_tasks.copy_files(task, parent / "a")
        folders.copy_work(place.folder, parent / "b")
        diff = folders.make_diff(parent, "a", "b")
        outside.update(folders.find_outside(place, parent / "b"))
        passed, _note = moment_tasks.run_check(task, parent / "b", commands)
    answers = [call["answer"] for call in calls if "answer" in call]
    hashed = hashlib.sha256(json.dumps([calls, diff]).encode()).hexdigest()
    return {
        "kind": task.kind,
        "outcome": RIGHT if passed else WRONG,
        "tokens": sum(estimate_tokens(propose.read_text(answer)) for answer in answers),
        "given": find_moments(calls, task.card_name),
        "proposals": sum("path" in call for call in calls),
        "commands": len(commands),
        "refused": sum(answer.get("permissionDecision") == "deny" for answer in answers),
        "done": sum("done" in call for call in calls),
        "outside": len(outside),
        "sha256": hashed,
    }


def find_moments(calls: Sequence[Mapping[str, Any]], card: str) -> list[str]:
    """Return the moments at which a text that names the card was given, each once."""
    moments: list[str] = []
    for call in calls:
        if "event" not in call or card not in propose.read_text(call["answer"]):
            continue
        moment = _MOMENT_OF[call["event"]]
        if moment not in moments:
            moments.append(moment)
    return moments


class Pair(NamedTuple):
    """Two arms, compared in pairs of the same task and run."""

    first: str
    second: str
    repaired: int
    broken: int
    low: float
    """The lower end of Newcombe's interval of the difference of the two shares."""
    high: float
    p: float
    """The p-value of the exact McNemar test."""


def describe(rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], dict[str, Any]]:
    """Return the tables of the arms, of the pairs of arms and of the kinds, and the figures."""
    arms = [arm for arm in ARMS if any(row["arm"] == arm for row in rows)]
    if not arms:
        return ["no results yet; MOMENT.md says what will be run"], {}
    figures: dict[str, Any] = {"arms": {arm: _summarise(rows, arm) for arm in arms}}
    headers = ("arm", "right", "95 %", "both runs", "reversible", "95 %", "given", "tokens")
    cells = [(arm, *_show(figures["arms"][arm])) for arm in arms]
    lines = [report.format_table(headers, cells), ""]
    pairs = [_compare(rows, first, second) for first, second in combinations(arms, 2)]
    figures["pairs"] = [pair._asdict() for pair in pairs]
    pair_cells = [
        (
            f"{pair.second} against {pair.first}",
            f"+{pair.repaired} -{pair.broken}",
            f"{100 * pair.low:+.0f} to {100 * pair.high:+.0f}",
            f"{pair.p:.2g}",
        )
        for pair in pairs
    ]
    lines += [report.format_table(("pair", "runs", "points, 95 %", "p"), pair_cells), ""]
    kinds = sorted({row["kind"] for row in rows})
    by_kind = []
    for kind in kinds:
        of_kind = [row for row in rows if row["kind"] == kind]
        by_kind.append((kind, *(_count_right(of_kind, arm) for arm in arms)))
    lines.append(report.format_table(("kind", *arms), by_kind))
    figures["kinds"] = {kind: counts for kind, *counts in by_kind}
    models = sorted({row["model"] for row in rows})
    if len(models) > 1:
        by_model = []
        for model in models:
            of_model = [row for row in rows if row["model"] == model]
            by_model.append((model, *(_count_right(of_model, arm) for arm in arms)))
        lines += ["", report.format_table(("model", *arms), by_model)]
        figures["models"] = {model: counts for model, *counts in by_model}
    return lines, figures


def _summarise(rows: Sequence[Mapping[str, Any]], arm: str) -> dict[str, Any]:
    own = [row for row in rows if row["arm"] == arm]
    reversible = [row for row in own if row["kind"] != moment_tasks.IRREVERSIBLE]
    right, right_reversible = (
        sum(row["outcome"] == RIGHT for row in some) for some in (own, reversible)
    )
    by_task: dict[str, list[bool]] = {}
    for row in own:
        by_task.setdefault(row["task"], []).append(row["outcome"] == RIGHT)
    return {
        "runs": len(own),
        "right": right,
        "interval": clopper_pearson(right, len(own)),
        "tasks": len(by_task),
        "both": sum(len(passed) == RUNS and all(passed) for passed in by_task.values()),
        "reversible": right_reversible,
        "reversible_runs": len(reversible),
        "reversible_interval": clopper_pearson(right_reversible, len(reversible)),
        "given": sum(bool(row["given"]) for row in own),
        "tokens": sum(row["tokens"] for row in own) / len(own),
    }


def _show(figures: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        f"{figures['right']}/{figures['runs']}",
        show_interval(figures["interval"]),
        f"{figures['both']}/{figures['tasks']}",
        f"{figures['reversible']}/{figures['reversible_runs']}",
        show_interval(figures["reversible_interval"]),
        f"{figures['given']}/{figures['runs']}",
        f"{figures['tokens']:.0f}",
    )


def _compare(rows: Sequence[Mapping[str, Any]], first: str, second: str) -> Pair:
    right = {name_run(row): row["outcome"] == RIGHT for row in rows}
    pairs = []
    for name, passed in right.items():
        other = right.get(RunName(name.task, second, name.run))
        if name.arm == first and other is not None:
            pairs.append((passed, other))
    compared = compare(pairs)
    low, high = compared.interval
    return Pair(first, second, compared.repaired, compared.broken, low, high, compared.p)


def _count_right(rows: Sequence[Mapping[str, Any]], arm: str) -> str:
    own = [row for row in rows if row["arm"] == arm]
    return f"{sum(row['outcome'] == RIGHT for row in own)}/{len(own)}"
