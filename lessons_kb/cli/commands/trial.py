"""`lessons trial`: let an agent do the same tasks with and without lessons, in pairs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from lessons_kb.agents.headless import find_task_command, own_environment
from lessons_kb.agents.table import AGENTS
from lessons_kb.cli.options import open_brain, read_file, split_list
from lessons_kb.cli.output import print_answer, say
from lessons_kb.collection.drafts import Drafts
from lessons_kb.errors import InputError, LessonsError
from lessons_kb.model import NOTE, as_data
from lessons_kb.process.git import Repository
from lessons_kb.process.run import interrupt_by_signals
from lessons_kb.report.page import build_trial_page
from lessons_kb.store.card_files import read_template
from lessons_kb.store.files import is_inside, write_export
from lessons_kb.store.journal import AFTER_IGNORED, ARMS, MOMENTS, WITHOUT
from lessons_kb.store.locations import CONFIG_NAME
from lessons_kb.store.locks import take_lock
from lessons_kb.store.private_files import make_private, write_private
from lessons_kb.store.scan import IGNORE_NAME
from lessons_kb.store.state_folder import state_dir
from lessons_kb.text.sanitize import counted, shell_word
from lessons_kb.trial.history import find_check, find_tasks
from lessons_kb.trial.runs import TrialPlan, find_dead, parse_budget, read_results, run_trial
from lessons_kb.trial.summary import show_summary, summarize
from lessons_kb.trial.tasks import Task, read_tasks, write_tasks

_HEADING = (
    "Tasks from this repository's past. Read each prompt: it may give the solution away, or omit",
    "what a user would say. Then run `lessons trial FILE --agent claude-code`.",
)


def trial(
    file: Annotated[str, Argument(metavar="TASKS", help="Tasks in TOML or JSON lines.")],
    agent: Annotated[
        str,
        Option(
            "--agent",
            metavar="COMMAND",
            help="Name of an agent, or a command with {prompt}.",
        ),
    ] = "",
    arms: Annotated[
        str, Option("--arms", metavar="LIST", help=f"Arms to compare: {', '.join(ARMS)}.")
    ] = ",".join(ARMS[:2]),
    runs: Annotated[
        int, Option("--runs", metavar="N", min=1, help="Runs of each task in each arm.")
    ] = 1,
    jobs: Annotated[int, Option("--jobs", metavar="N", min=1, help="Runs at the same time.")] = 1,
    budget: Annotated[
        str, Option("--budget", metavar="AMOUNT", help="Stop at $5, or at 300k tokens.")
    ] = "",
    seconds: Annotated[
        float, Option("--seconds", metavar="N", min=1, help="Time limit of each run.")
    ] = 900.0,
    out: Annotated[
        str, Option("--out", metavar="DIR", help="Folder for results; default: the state folder.")
    ] = "",
    resume: Annotated[bool, Option("--resume", help="Do only the runs without a result.")] = False,
    from_history: Annotated[
        int,
        Option(
            "--from-history",
            metavar="N",
            min=0,
            show_default=False,
            help="Write N tasks to TASKS, from past fixes.",
        ),
    ] = 0,
    check: Annotated[
        str,
        Option(
            "--check",
            metavar="COMMAND",
            help="With --from-history: command that runs the tests in {files}.",
        ),
    ] = "",
    setup: Annotated[
        str,
        Option(
            "--setup",
            metavar="COMMAND",
            help="With --from-history: command to run first in each folder.",
        ),
    ] = "",
) -> None:
    """Let an agent do the same tasks with and without lessons.

    Each run gets a folder with the files of the task's commit. Afterwards, the check of the task
    decides whether the result is right. Nothing in your repository is changed.

    Example: lessons trial tasks.toml --agent claude-code
    """
    if from_history:
        with interrupt_by_signals():
            _write_tasks(file, Repository(os.getcwd()).top, from_history, check, setup)
        return
    text = read_file(file)
    repository = Repository(os.getcwd()).top
    if not agent:
        raise InputError("--agent is missing; name one, such as claude-code, or give its command")
    chosen = split_list(arms)
    known = (*ARMS, *MOMENTS)
    if unknown := [arm for arm in chosen if arm not in known]:
        raise InputError(f"--arms: {unknown[0]!r} must be one of {', '.join(known)}")
    if WITHOUT not in chosen or len(set(chosen)) < 2:  # noqa: PLR2004 (a comparison)
        raise InputError(f"--arms: name {WITHOUT} and at least one other arm to compare with it")
    words = find_task_command(agent)
    _check_agent(agent, chosen)
    tasks = read_tasks(text, os.path.basename(file))
    brains = open_brain(for_trial=True)
    brains.refresh()
    inside = [brain for brain in brains.members if is_inside(brain.root, repository)]
    brain = inside[0] if inside else brains.members[0]
    documents = brain.read(lambda index: index.catalogue.all_cards())
    cards = [document.id for document in documents if document.kind != NOTE]
    if not cards:
        raise InputError(f"{brain.root} has no lessons; write one with `lessons add`")
    _check_lessons(tasks, cards, chosen)
    folder = out or os.path.join(state_dir(brain.root), "trials", Path(file).stem)
    folder = os.path.abspath(folder)
    make_private(folder)
    _check_folder(folder, text, resume=resume)
    names = (CONFIG_NAME, IGNORE_NAME, *cards)
    plan = TrialPlan(
        tasks=tasks,
        repository=repository,
        brain=brain.root,
        cards=[name for name in names if os.path.isfile(os.path.join(brain.root, name))],
        agent=words,
        folder=folder,
        environment=own_environment(),
        arms=chosen,
        runs=runs,
        jobs=jobs,
        seconds=seconds,
        budget=parse_budget(budget),
    )
    with take_lock(os.path.join(folder, "lock"), folder, seconds=0), interrupt_by_signals():
        for run in find_dead(folder, read_results(folder)):
            say(f"{run} was ended early; it runs again")
        try:
            end = run_trial(plan, say=say)
        except KeyboardInterrupt:
            end = "interrupted"
    results = read_results(folder)
    data = summarize(tasks, results, find_dead(folder, results))
    page = os.path.join(folder, "report.html")
    write_export(page, build_trial_page(data, template=read_template("trial.html")).split("\n"))
    places = (f"raw results: {folder}", f"page: {page}")
    print_answer({**data, "folder": folder, "page": page}, *show_summary(data), *places)
    if end:
        command = f"`lessons trial {shell_word(file)} … --resume`"
        raise InputError(f"{end}; {counted(len(results), 'run')} kept, continue with {command}")


def _check_agent(agent: str, arms: Sequence[str]) -> None:
    """Raise InputError if a named agent cannot go on after its turn, as an arm requires."""
    row = AGENTS.get(agent.split(maxsplit=1)[0])
    if AFTER_IGNORED in arms and row is not None and not row.goes_on_at:
        able = ", ".join(name for name, other in AGENTS.items() if other.goes_on_at)
        raise InputError(
            f"--arms: {AFTER_IGNORED} needs an agent that can go on after its turn: {able}"
        )


def _check_lessons(tasks: Sequence[Task], cards: Sequence[str], arms: Sequence[str]) -> None:
    """Raise InputError if an arm of one moment has a task without a card."""
    moments = [arm for arm in arms if arm in MOMENTS]
    for task in tasks:
        if moments and task.lesson not in cards:
            raise InputError(
                f"task {task.name}: the arm {moments[0]} gives one card; name it as lesson"
            )


def _check_folder(folder: str, text: str, *, resume: bool) -> None:
    """Raise InputError if the folder contains another trial, or this trial without ``resume``."""
    path = os.path.join(folder, "tasks")
    if not os.path.exists(path):
        write_private(path, text.encode())
    elif not resume:
        raise InputError(
            f"{folder} already contains a trial; continue it with --resume, or choose a folder "
            "with --out"
        )
    elif read_file(path) != text:
        raise InputError(f"the tasks differ from those in {folder}; choose a folder with --out")


def _write_tasks(file: str, repository: str, count: int, check: str, setup: str) -> None:
    if os.path.lexists(file):
        raise InputError(f"{file} already exists; name a new file for the tasks")
    learnt: dict[str, str] = {}
    with contextlib.suppress(LessonsError):  # without a brain there are no cards from fixes
        learnt = Drafts(open_brain()).learnt_from()
    check = check or find_check(repository)
    tasks, dropped = find_tasks(repository, count, check=check, setup=setup, learnt=learnt, say=say)
    if not tasks:
        raise InputError(
            f"no task: of {counted(len(dropped), 'fix', 'fixes')} tried, none has tests that fail "
            "before it and pass after it; read the reasons above, and try --setup and --check"
        )
    write_export(file, write_tasks(tasks, heading=_HEADING).splitlines())
    tried = counted(len(tasks) + len(dropped), "fix", "fixes")
    print_answer(
        {"file": file, "tasks": [task.name for task in tasks], "dropped": as_data(dropped)},
        f"{file}: {counted(len(tasks), 'task')} from {tried}; read the prompts, then "
        f"`lessons trial {shell_word(file)} --agent claude-code`",
    )
