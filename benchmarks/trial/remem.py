"""remem's coding bench with our lessons: prepare runs, score them, print the table.

    python -m benchmarks remem prepare CLONE OUT [--arms A,B] [--cards FOLDER]
    python -m benchmarks remem history CLONE FOLDER
    python -m benchmarks remem score OUT [CODE …]
    python -m benchmarks remem

``CLONE`` is a clone of github.com/majiayu000/remem. ``prepare`` writes a folder for each task, arm
and run, and ``OUT/INDEX.json`` with the folders in random order; arms can be added later. An agent
reads ``PROMPT.md`` in its folder. ``history`` makes the cards of the arms with a history from the
bench's raw events; requests to a language model wait in ``FOLDER/with``. ``score`` adds one line
for each run to ``remem.jsonl``. A run that is scored is neither prepared nor scored again;
``--results FILE`` begins a series of its own.

The plan of the trial and what came of it are in ``REMEM.md`` beside this file.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import report
from benchmarks.data import DataError, write_rows
from benchmarks.trial import folders, propose, remem_bench, remem_cards
from benchmarks.trial.folders import STATES, Context, Place
from benchmarks.trial.remem_cards import ARMS, GOLD, NONE, PLACEBO, ArmCard
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
from lessons_kb.text.token_estimate import estimate_tokens
from lessons_kb.trial.runs import RIGHT, WRONG

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence
    from typing import Any

    from benchmarks.trial.remem_bench import Bench, BenchTask

RESULTS = Path(__file__).with_name("remem.jsonl")
RUNS = 2
_FIRST_ARMS = (NONE, PLACEBO, GOLD)
_OFFER = re.compile(r"\[LESSON_OFFER\].*?\[/LESSON_OFFER\]", re.DOTALL)
_MOMENTS = {"UserPromptSubmit": "prompt", "PreToolUse": "edit", "PostToolUse": "after"}
NOT_GIVEN = "none"
_PROMPT = """\
You work on the repository in this folder. Nothing outside of this folder belongs to it, so do not
look elsewhere. Read files and run the tests as you like (`python3 -m unittest`); files are changed
with `./propose` and in no other way:

    ./propose PATH            the whole new content of the file on stdin; PATH may be new
    ./propose PATH --patch    a unified diff of this one file on stdin
    ./propose PATH --delete

The work is done when the change is made. Nobody is there to answer a question.

Here is what you see when your session begins and the user's prompt comes in.
{start}
User: {prompt}
{context}"""


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Prepare, score, make the cards of a history, or print the table."""
    what, *words = options.words or ["table"]
    results = Path(options.results) if options.results else RESULTS
    if what == "prepare" and len(words) == 2:
        fixture = remem_bench.read_fixture(Path(words[0]))
        arms = tuple(filter(None, options.arms.split(","))) or _FIRST_ARMS
        tasks = set(filter(None, options.tasks.split(",")))
        kept = Path(options.cards).resolve() if options.cards else None
        count = prepare(
            fixture,
            Path(words[1]).resolve(),
            arms,
            tasks=tasks,
            kept=kept,
            seed=options.seed,
            results=results,
        )
        report.tell(f"{count} folders in {words[1]}/INDEX.json")
        return {"prepared": count}
    if what == "history" and len(words) == 2:
        return _make_history(Path(words[0]), Path(words[1]).resolve())
    if what == "score" and words:
        count = score(Path(words[0]).resolve(), words[1:], results)
        report.tell(f"{count} runs scored; {len(read_results(results))} in all")
        return {"scored": count}
    if what == "table" and not words:
        lines, figures = describe(read_results(results))
        print("\n".join(lines))
        return figures
    message = "give `prepare CLONE OUT`, `history CLONE FOLDER`, `score OUT [CODE …]`, or nothing"
    raise DataError(message)


def prepare(
    fixture: Mapping[str, Any],
    out: Path,
    arms: Sequence[str],
    *,
    tasks: set[str] | None = None,
    kept: Path | None = None,
    seed: int = 1,
    results: Path = RESULTS,
) -> int:
    """Write a folder for each task, arm and run that has none yet; return how many are prepared."""
    unknown = [arm for arm in arms if arm not in ARMS]
    if unknown:
        message = f"there is no arm {unknown[0]}; the arms are {', '.join(ARMS)}"
        raise DataError(message)
    bench = remem_bench.parse_fixture(fixture)
    states = out.with_name(f"{out.name}{STATES}")
    tool = folders.compile_tool(states)
    runs = read_key(states).get("runs", {})
    scored = {RunName(row["task"], row["arm"], row["run"]) for row in read_results(results)}
    for arm in arms:
        cards = remem_cards.make_arm_cards(arm, bench, kept)
        for task in bench.tasks:
            if tasks and task.id not in tasks:
                continue
            for number in range(1, RUNS + 1):
                name = RunName(task.id, arm, number)
                code = name.find_code(seed)
                if name in scored or code in runs:
                    continue
                place = Place(out / code, states / code, states / code / "memory-demo")
                _write_run(place, tool, bench, task, cards)
                own = [card.name for card in cards if card.task == task.id]
                runs[code] = {**name._asdict(), "cards": own}
                write_key(states, {"fixture": fixture, "runs": runs})
    pending = [code for code, entry in runs.items() if name_run(entry) not in scored]
    return write_index(out, pending)


def _write_run(
    place: Place, tool: str, bench: Bench, task: BenchTask, cards: Sequence[ArmCard]
) -> None:
    folders.clear_place(place)
    Path(f"{place.state}{propose.PACKED}").unlink(missing_ok=True)
    setup = folders.make_setup(place, hooks=bool(cards))
    remem_bench.write_files(bench.files, place.folder)
    context = Context()
    if cards:
        environment = remem_cards.open_project(bench, place.state, place.project)
        lessons = place.project / "lessons"
        lessons.mkdir(exist_ok=True)
        for card in cards:
            (lessons / card.name).write_text(card.text, "utf-8")
        # The brain is not new: its index and its vectors are there.
        folders.run_lessons(place.project, environment, "index")
        context = folders.open_session(setup, task.prompt)
        if "[LESSON_TITLES]" not in context.start:
            message = f"{place.folder}: the session starts with {context.start!r}"
            raise RuntimeError(message)
        for card in cards:  # the session can open each title that it was shown
            propose.bring_card(setup, f"lessons/{card.name}")
    else:
        remem_bench.write_files(bench.files, place.project)
    folders.write_folder(place, setup, tool, text=_PROMPT, prompt=task.prompt, context=context)
    propose.pack(str(place.state))


def _make_history(clone: Path, kept: Path) -> dict[str, Any]:
    bench = remem_bench.parse_fixture(remem_bench.read_fixture(clone))
    figures: dict[str, Any] = {}
    for arm in (remem_cards.HISTORY, remem_cards.ASKED):
        made = remem_cards.make_history_cards(bench, kept, arm)
        by_task = {task: len(drafts) for task, drafts in made.drafts.items()}
        with_cards = {card.task for card in made.cards}
        read = f"`lessons mine` read {made.sessions} sessions and listed {made.candidates} mistakes"
        print(f"{arm}: {read}; {sum(by_task.values())} drafts:")
        for task, count in by_task.items():
            print(f"  {task}: {count}{' and a card' if task in with_cards else ''}")
        for folder in made.open_requests:
            print(f"  waits for an answer: {folder}")
        figures[arm] = {
            "sessions": made.sessions,
            "candidates": made.candidates,
            "drafts": by_task,
            "waiting": len(made.open_requests),
            "cards": len(made.cards),
        }
    return figures


def score(out: Path, codes: Sequence[str] = (), results: Path = RESULTS) -> int:
    """Score the runs in which something was proposed, or exactly the named runs.

    A named run is over, even if nothing was proposed in it. Returns the number of new results.
    """
    states = out.with_name(f"{out.name}{STATES}")
    key = read_key(states)
    bench = remem_bench.parse_fixture(key["fixture"])
    tasks = {task.id: task for task in bench.tasks}
    rows = read_results(results)
    scored = {name_run(row) for row in rows}
    count = 0
    for code, entry in key["runs"].items():
        name = name_run(entry)
        if name in scored or (codes and code not in codes):
            continue
        place = Place(out / code, states / code, states / code / "memory-demo")
        with propose.unpacked(str(place.state)):
            calls = folders.read_calls(place.state)
            if not codes and not any("path" in call for call in calls):
                continue
            row = _score_run(place, calls, bench, tasks[name.task], entry["cards"])
        rows.append({**name._asdict(), **row})
        rows.sort(key=name_run)
        write_rows(results, rows)
        count += 1
    return count


def _score_run(
    place: Place,
    calls: Sequence[Mapping[str, Any]],
    bench: Bench,
    task: BenchTask,
    cards: Sequence[str],
) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        parent = Path(name)
        remem_bench.write_files(bench.files, parent / "a")
        folders.copy_work(place.folder, parent / "b")
        diff = folders.make_diff(parent, "a", "b")
        outside = folders.find_outside(place, parent / "b")
        result = remem_bench.score_work(task, bench.files, parent / "b", diff)
    hashed = hashlib.sha256(json.dumps([calls, diff]).encode()).hexdigest()
    answers = [call["answer"] for call in calls if "answer" in call]
    return {
        "kind": task.kind,
        "outcome": RIGHT if result.right else WRONG,
        **result._asdict(),
        "stale": task.kind in remem_bench.STALE_KINDS and not (result.tests and result.clean),
        "tokens": sum(estimate_tokens(_read_text(answer)) for answer in answers),
        "given": find_moment(calls, cards),
        "proposals": sum("path" in call for call in calls),
        "refused": sum(answer.get("permissionDecision") == "deny" for answer in answers),
        "outside": len(outside),
        "sha256": hashed,
    }


def _read_text(answer: Mapping[str, str]) -> str:
    parts = (answer.get("additionalContext", ""), answer.get("permissionDecisionReason", ""))
    return "\n".join(filter(None, parts))


def find_moment(calls: Sequence[Mapping[str, Any]], cards: Sequence[str]) -> str:
    """Return when a card of the task's own history was first given.

    A title alone does not count, nor does an offer, which only names the file of a card.
    """
    own = {f"lessons/{card}" for card in cards}
    for call in calls:
        moment = _MOMENTS.get(call.get("event", ""))
        if moment is None:
            continue
        text = _OFFER.sub("", _read_text(call["answer"]))
        if own.intersection(propose.NAMED.findall(text)):
            return moment
    return NOT_GIVEN


def describe(rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], dict[str, Any]]:
    """Return the table of the arms, the table of the kinds, and the same as figures."""
    arms = [arm for arm in ARMS if any(row["arm"] == arm for row in rows)]
    if not arms:
        return ["no results yet; REMEM.md says what will be run"], {}
    right = {name_run(row): row["outcome"] == RIGHT for row in rows}
    figures = {arm: _summarise(arm, rows, right) for arm in arms}
    head = ("arm", "right", "95 %", "both runs", "tests pass", "both", "hurt", "stale", "tokens")
    headers = (*head, "at prompt", "before edit", "against none")
    cells = [(arm, *_show(figures[arm])) for arm in arms]
    lines = [report.format_table(headers, cells), ""]
    kinds = sorted({row["kind"] for row in rows})
    by_kind = [
        (kind, *(_count_right([row for row in rows if (row["kind"], row["arm"]) == (kind, arm)])
                 for arm in arms))
        for kind in kinds
    ]  # fmt: skip
    lines.append(report.format_table(("kind", *arms), by_kind))
    return lines, {"arms": figures, "kinds": {kind: counts for kind, *counts in by_kind}}


def _summarise(
    arm: str, rows: Sequence[Mapping[str, Any]], right: Mapping[RunName, bool]
) -> dict[str, Any]:
    own = [row for row in rows if row["arm"] == arm]
    runs = {name: passed for name, passed in right.items() if name.arm == arm}
    tasks = sorted({name.task for name in runs})
    passing = Counter(row["task"] for row in own if row["tests"])

    def all_right(task: str, of: str) -> bool:
        passed = [right.get(RunName(task, of, number)) for number in range(1, RUNS + 1)]
        return all(passed)

    hurt = sum(not passed and all_right(name.task, NONE) for name, passed in runs.items())
    stale_runs = [row for row in own if row["kind"] in remem_bench.STALE_KINDS]
    base = {name: right.get(RunName(name.task, NONE, name.run)) for name in runs}
    compared = compare((other, runs[name]) for name, other in base.items() if other is not None)
    passed = sum(runs.values())
    return {
        "runs": len(runs),
        "right": passed,
        "interval": clopper_pearson(passed, len(runs)),
        "tests": sum(row["tests"] for row in own),
        "tasks": len(tasks),
        "both": sum(all_right(task, arm) for task in tasks),
        "both_tests": sum(passing[task] == RUNS for task in tasks),
        "hurt": hurt,
        "hurt_interval": clopper_pearson(hurt, len(runs)),
        "stale": sum(row["stale"] for row in stale_runs),
        "stale_runs": len(stale_runs),
        "stale_interval": clopper_pearson(sum(row["stale"] for row in stale_runs), len(stale_runs)),
        "tokens": sum(row["tokens"] for row in own) / len(own),
        "at_prompt": sum(row["given"] == "prompt" for row in own),
        "before_edit": sum(row["given"] == "edit" for row in own),
        "repaired": compared.repaired,
        "broken": compared.broken,
        "p": compared.p,
    }


def _show(figures: Mapping[str, Any]) -> tuple[str, ...]:
    of = figures["runs"]
    return (
        f"{figures['right']}/{of}",
        show_interval(figures["interval"]),
        f"{figures['both']}/{figures['tasks']}",
        f"{figures['tests']}/{of}",
        f"{figures['both_tests']}/{figures['tasks']}",
        f"{figures['hurt']} ({show_interval(figures['hurt_interval'])})",
        f"{figures['stale']}/{figures['stale_runs']} ({show_interval(figures['stale_interval'])})",
        f"{figures['tokens']:.0f}",
        str(figures["at_prompt"]),
        str(figures["before_edit"]),
        f"+{figures['repaired']} -{figures['broken']}, p {figures['p']:.2g}",
    )


def _count_right(rows: Sequence[Mapping[str, Any]]) -> str:
    return f"{sum(row['outcome'] == RIGHT for row in rows)}/{len(rows)}"
