"""Run tasks with an agent in each arm, each run in a folder of its own, and store the results.

A run's folder has the files of the task's commit without history, so that an agent can find neither
the fix nor, in the arm without lessons, a card. State, brain and results are stored elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import secrets
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from functools import cache
from typing import Any, NamedTuple

from lessons_kb.brain.discovery import ENVIRONMENT
from lessons_kb.errors import InputError, LessonsError
from lessons_kb.hook_client import DEADLINE_VARIABLE
from lessons_kb.model import as_data
from lessons_kb.process.git import ask_git, read_diff, run_git
from lessons_kb.process.marks import can_find_marked
from lessons_kb.process.run import run_bounded
from lessons_kb.store.files import shown, write_unsynced
from lessons_kb.store.journal import (
    ARMS,
    MOMENTS,
    TRIAL_VARIABLE,
    WITHOUT,
    append_result,
    count_events,
    read_injected,
    read_output,
    read_rows,
    write_arm,
)
from lessons_kb.store.locations import STATE_HOME_VARIABLE
from lessons_kb.store.private_files import make_private
from lessons_kb.store.scan import SUFFIXES
from lessons_kb.text.redact import redact
from lessons_kb.text.sanitize import clean_line, counted, shorten
from lessons_kb.trial.place import (
    bring_cards,
    bring_check,
    check_out,
    close_dead_place,
    close_place,
    open_place,
    place_cards,
    require_check_files,
)
from lessons_kb.trial.tasks import Task, check_texts, is_sendable
from lessons_kb.trial.usage import is_amount, read_usage
from lessons_kb.values import frozen, replace

RIGHT, WRONG, FAULT = "right", "wrong", "fault"
"""Outcomes: the check passed, the check failed, or the run is invalid for another reason."""
PROMPT = "{prompt}"
"""The placeholder for the prompt in the agent's command."""
SETUP_SECONDS = CHECK_SECONDS = 1_200.0
_NOT_STARTED = (126, 127)
_ENDED = "the agent did nothing and ended with"
_TAIL = 160
_BUDGET = re.compile(r"(\$?)(\d+(?:\.\d+)?)([kKmM]?)")
_TIMES = {"": 1, "k": 1_000, "m": 1_000_000}
_RUNS = "runs"
"""The folder of a trial that contains a folder for each run."""


def parse_budget(text: str) -> tuple[str, float]:
    """Parse a budget such as ``$5`` (dollars), ``300k`` or ``2M`` (tokens), or "" (no limit).

    Return the unit, ``dollars`` or ``tokens``, and the amount. Raises InputError.
    """
    match = _BUDGET.fullmatch(text.strip() or "0")
    if not match:
        raise InputError(f"--budget must be dollars or tokens, such as $5 or 300k, not {text!r}")
    amount = float(match[2]) * _TIMES[match[3].lower()]
    return "dollars" if match[1] else "tokens", amount


@frozen
class Result:
    """The result of one run."""

    task: str
    arm: str
    run: int
    outcome: str
    note: str = ""
    """The reason of a fault, or the last line of a check that failed."""
    seconds: float = 0.0
    """The run time of the agent alone."""
    tokens: int | None = None
    """The amount that the run used, or None if the agent does not print it."""
    dollars: float | None = None
    """The amount that the run used, or None if the agent does not print it."""
    hooks: int = 0
    """The number of events of the agent that reached our hooks."""
    lessons: tuple[Mapping[str, str], ...] = ()
    """The cards that were given or opened, each with its ``id``, ``how`` and ``outcome``."""
    session: str = ""
    """The agent's session id, by which its transcript is found, or "" if the agent does not print
    one.
    """

    @property
    def key(self) -> tuple[str, str, int]:
        """The task, the arm and the number of the run."""
        return self.task, self.arm, self.run


@frozen
class TrialPlan:
    """The tasks, the brain, the agent and the folder of a trial."""

    tasks: Sequence[Task]
    repository: str
    """The top folder of the repository."""
    brain: str
    """The root of the brain that is tested."""
    cards: Sequence[str]
    """The brain's files, relative to its root, including its settings."""
    agent: Sequence[str]
    """The words of the agent's command. Without PROMPT in it, the prompt is passed on stdin."""
    folder: str
    """The folder of the results."""
    environment: Mapping[str, str]
    """The environment of the agent and of the tasks' commands."""
    budget: tuple[str, float]
    """The unit (``dollars`` or ``tokens``) and the limit, where 0 means no limit."""
    arms: Sequence[str] = ARMS
    runs: int = 1
    jobs: int = 1
    seconds: float = 900.0
    """The deadline of the agent in each run."""


def read_results(folder: str) -> list[Result]:
    """Return the results in a trial's folder. For a repeated run, the last result is returned.

    A line that is not a result of this version becomes a fault of its run.
    """
    results = {}
    for number, row in read_rows(folder):
        result: Result | None
        try:
            result = _read_result(row)
        except InputError as error:
            result = _name_fault(row, f"results.jsonl:{number}: {error}")
        if result:
            results[result.key] = result
    return list(results.values())


def _read_result(row: Mapping[str, Any]) -> Result:
    """Return a row of the results file as a result. Raises InputError."""
    known = {field.name: field.type for field in fields(Result)}
    for key, value in row.items():
        if key not in known:
            raise InputError(f"{key!r} is unknown; another version wrote it")
        if not _FITS[str(known[key])](value):
            raise InputError(f"{key} cannot be {value!r}")
    try:
        result = Result(**{**row, "lessons": tuple(row.get("lessons", ()))})
    except TypeError:
        raise InputError("not a whole result") from None
    if result.outcome not in (RIGHT, WRONG, FAULT):
        raise InputError(f"outcome cannot be {result.outcome!r}")
    return result


def _name_fault(row: Mapping[str, Any], note: str) -> Result | None:
    """Return the run of an invalid row as a fault, or None if the row does not name a run."""
    task, arm, run = row.get("task"), row.get("arm"), row.get("run")
    if isinstance(task, str) and isinstance(arm, str) and isinstance(run, int):
        return Result(task=task, arm=arm, run=run, outcome=FAULT, note=note)
    return None


def _are_lessons(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_lesson, value))


def _is_lesson(value: object) -> bool:
    if not isinstance(value, dict) or not value.keys() >= {"id", "how"}:
        return False
    return all(isinstance(text, str) for text in value.values())


_FITS: Mapping[str, Callable[[object], bool]] = {
    "str": lambda value: isinstance(value, str),
    "int": lambda value: type(value) is int,
    "float": is_amount,
    "int | None": lambda value: value is None or is_amount(value),
    "float | None": lambda value: value is None or is_amount(value),
    "tuple[Mapping[str, str], ...]": _are_lessons,
}
"""Mapping from the type of a result's field to the function that checks a JSON value."""


def find_dead(folder: str, done: Sequence[Result]) -> list[str]:
    """Return the names of runs that began and have no result, because they were killed."""
    ended = {_name(*result.key) for result in done}
    return [name for name in _list_runs(folder) if name not in ended]


def _list_runs(folder: str) -> list[str]:
    """Return the names of the runs that have begun, sorted."""
    with contextlib.suppress(OSError):
        return sorted(os.listdir(os.path.join(folder, _RUNS)))
    return []


def run_trial(plan: TrialPlan, *, say: Callable[[str], None]) -> str:
    """Run all runs without a result. Return why the trial stopped early, or "" if it is complete.

    The arms of each task run in random order. Faults are repeated by the next call. ``say`` is
    called with one line for each result. Raises InputError if a task names a commit that does not
    exist.
    """
    make_private(plan.folder)
    for name in _list_runs(plan.folder):
        _report_remaining(close_dead_place(os.path.join(plan.folder, _RUNS, name)), say)
    if not can_find_marked():
        say(
            "this system does not show which processes belong to a run; end those that leave its "
            "session, or outlive a killed trial, yourself"
        )
    if not find_no_network():
        say("this system cannot block network access: checks run with it")
    plan = replace(plan, tasks=[_pin_commits(task, plan.repository) for task in plan.tasks])
    done = [result for result in read_results(plan.folder) if result.outcome != FAULT]
    used = {result.key for result in done}
    order = random.Random(plan.folder)  # noqa: S311 (an order that a resumed trial finds again)
    todo = []
    for number in range(1, plan.runs + 1):
        for task in plan.tasks:
            arms = list(plan.arms)
            order.shuffle(arms)
            todo += [(task, arm, number) for arm in arms if (task.name, arm, number) not in used]
    stop = threading.Event()
    lock = threading.Lock()
    reasons: list[str] = []
    """The reasons for the end of the trial before all runs are done, in their order."""

    def work(task: Task, arm: str, number: int) -> None:
        if stop.is_set():
            return
        result = Result(task=task.name, arm=arm, run=number, outcome=FAULT)
        try:
            result = run_once(plan, task, result, stop=stop, say=say)
        except (LessonsError, OSError, ValueError) as error:  # only this run has failed
            result = replace(result, note=clean_line(str(error)))
        if stop.is_set() and result.outcome == FAULT:
            return
        with lock:
            append_result(plan.folder, as_data(result))
            done.append(result)
            say(show_result(result, of=len(plan.tasks) * plan.runs * len(plan.arms), at=len(done)))
            reason = find_end(plan.budget, done)
            if reason:
                reasons.append(reason)
                stop.set()

    with ThreadPoolExecutor(plan.jobs) as pool:
        try:
            futures = [pool.submit(work, *run) for run in todo]
            for future in futures:
                future.result()
        finally:
            stop.set()  # after an error or Ctrl-C, the other runs end as well
    return reasons[0] if reasons else ""


def _pin_commits(task: Task, repository: str) -> Task:
    """Replace the names of a task's commits by hashes, because a name may change its meaning."""
    hashes = []
    for commit in (task.commit, task.check_from):
        words = ("rev-parse", "--quiet", "--verify", "--end-of-options", f"{commit}^{{commit}}")
        pinned = run_git(repository, *words).output.decode().strip() if is_sendable(commit) else ""
        if commit and not pinned:
            raise InputError(
                f"task {task.name}: {commit!r} is not a commit of {repository}; name one"
            )
        hashes.append(pinned)
    pinned_task = replace(task, commit=hashes[0], check_from=hashes[1])
    require_check_files(repository, pinned_task)
    return pinned_task


def find_end(budget: tuple[str, float], done: Sequence[Result]) -> str:
    """Return why no further run makes sense, or "" if the trial can continue."""
    last = done[-1]
    valid = [result for result in done if result.outcome != FAULT]
    if not valid:
        return last.note if last.note.startswith(_ENDED) else ""
    if not any(result.hooks for result in valid):
        return (
            "the agent called no hook of ours, so no arm differs; connect it with "
            "`lessons install AGENT --scope user`, or have the command load our hooks"
        )
    unit, limit = budget
    if not limit:
        return ""
    costs = [getattr(result, unit) for result in done]
    printed = [cost for cost in costs if cost is not None]
    if not printed:
        return f"the agent does not print {unit}, so the budget cannot be watched; leave it out"
    # An agent that was ended has not printed its cost. The highest cost of the others is assumed.
    if sum(printed) + max(printed) * (len(done) - len(printed)) >= limit:
        amount = f"${limit:g}" if unit == "dollars" else f"{limit:,.0f} tokens"
        return f"the budget of {amount} is used up"
    return ""


def show_result(result: Result, *, of: int, at: int) -> str:
    """Return a result as one line of text."""
    lessons = f", {counted(len(result.lessons), 'lesson')}" if result.arm != WITHOUT else ""
    note = f": {result.note}" if result.note else ""
    where = f"[{at}/{of}] {result.task} {result.arm} {result.run}"
    return f"{where}: {result.outcome}, {result.seconds:.0f} s{lessons}{note}"


def _name(task: str, arm: str, run: int) -> str:
    return f"{task}.{arm}.{run}"


def run_once(
    plan: TrialPlan,
    task: Task,
    result: Result,
    *,
    stop: threading.Event,
    say: Callable[[str], None],
) -> Result:
    """Run a task in the arm of ``result`` and check it. Store the output and the diff."""
    run_folder = os.path.join(plan.folder, _RUNS, _name(*result.key))
    make_private(run_folder)
    check_texts(task)
    with _make_place(plan, task, result.arm, run_folder, say) as place:
        work = place.work

        def run(
            name: str, command: Sequence[str], seconds: float, text: str = ""
        ) -> tuple[int | None, str]:
            output = os.path.join(run_folder, f"{name}.txt")
            code = run_bounded(
                command,
                cwd=work,
                env=place.environment,
                output=output,
                text=text,
                seconds=seconds,
                stop=stop,
                mark=place.mark,
            )
            printed = redact(read_output(output))
            write_unsynced(output, printed.encode("utf-8", "replace"))
            return code, printed

        if task.setup:
            code, printed = run("setup", shell(task.setup), SETUP_SECONDS)
            if code:
                return replace(result, note=f"setup failed with {code}: {last_line(printed)}")
        ask_git(work, "add", "-A", "-f")
        ask_git(work, *_AS, "commit", "-q", "--allow-empty", "-m", "start")
        given = "" if any(PROMPT in word for word in plan.agent) else task.prompt
        command = [word.replace(PROMPT, task.prompt) for word in plan.agent]
        began = time.monotonic()
        code, printed = run("agent", command, plan.seconds, given)
        seconds = round(time.monotonic() - began, 1)
        tokens, dollars, session = read_usage(printed)
        cards = place_cards(plan.cards, result.arm)
        injected = read_injected(place.state)
        result = replace(
            result,
            seconds=seconds,
            tokens=tokens,
            dollars=dollars,
            session=session,
            hooks=count_events(place.state),
            lessons=tuple(
                {**lesson, "id": cards.get(lesson["id"], lesson["id"])} for lesson in injected
            ),
        )
        diff = read_diff(work, "HEAD").text
        write_unsynced(
            os.path.join(run_folder, "diff.patch"), redact(diff).encode("utf-8", "replace")
        )
        if code is None:
            ended = f"the agent was ended after {plan.seconds:.0f} seconds; --seconds allows more"
            return replace(result, note=ended)
        if code in _NOT_STARTED or (code and not diff):
            return replace(result, note=f"{_ENDED} {code}: {last_line(printed)}")
        bring_check(plan.repository, task, work)
        code, printed = run("check", check_command(task), CHECK_SECONDS)
    if code is None:
        return replace(result, note=f"the check did not end within {CHECK_SECONDS:.0f} seconds")
    if code in _NOT_STARTED:
        return replace(result, note=f"the check cannot run: {last_line(printed)}")
    outcome, note = (WRONG, last_line(printed)) if code else (RIGHT, "")
    return replace(result, outcome=outcome, note=note)


class _Run(NamedTuple):
    """The folders, the environment and the mark of a run."""

    work: str
    """The folder with the task's files."""
    state: str
    environment: Mapping[str, str]
    mark: str


_AS = ("-c", "user.name=trial", "-c", "user.email=trial@localhost", "-c", "commit.gpgSign=false")


@contextlib.contextmanager
def _make_place(
    plan: TrialPlan, task: Task, arm: str, run_folder: str, say: Callable[[str], None]
) -> Iterator[_Run]:
    """Prepare the folder and the environment of a run, and remove them afterwards."""
    place = open_place(run_folder)
    try:
        work = os.path.join(place.work, os.path.basename(plan.repository))
        os.mkdir(work)
        check_out(plan.repository, task.commit, work)
        inside = os.path.relpath(plan.brain, plan.repository)
        token = secrets.token_hex(16)
        environment = {
            **{name: v for name, v in plan.environment.items() if name != ENVIRONMENT},
            STATE_HOME_VARIABLE: place.state,
            TRIAL_VARIABLE: token,
            "LESSONS_DAEMON": "0",  # a daemon would outlive the run, and use its folder
            # Parallel runs are slow, and a late hook would look like the arm without lessons.
            DEADLINE_VARIABLE.decode(): "60",
        }
        write_arm(place.state, token, arm)
        top = work
        root = os.path.normpath(os.path.join(work, inside))
        if inside.split(os.sep)[0] == os.pardir:
            top = root = environment[ENVIRONMENT] = os.path.join(place.state, "brain")
            os.mkdir(root)
        # This precedes trust in the cards, because a brain below the top is found by its mark in
        # git.
        ask_git(work, "init", "-q")
        bring_cards(
            top=top,
            root=root,
            brain=plan.brain,
            cards=_choose_cards(plan.cards, task, arm),
            arm=arm,
            environment=environment,
        )
        yield _Run(work=work, state=place.state, environment=environment, mark=place.mark)
    finally:
        _report_remaining(close_place(run_folder, place), say)


def _choose_cards(cards: Sequence[str], task: Task, arm: str) -> list[str]:
    """Return the brain's files for a run. An arm of one moment has only the card of its task."""
    if arm not in MOMENTS:
        return list(cards)
    return [name for name in cards if name == task.lesson or not name.endswith(SUFFIXES)]


def _report_remaining(folders: Sequence[str], say: Callable[[str], None]) -> None:
    """Report each folder of a run that cannot be removed."""
    for folder in folders:
        say(f"{shown(folder)}: the folder of a run cannot be removed; delete it yourself")


def shell(command: str) -> list[str]:
    """Return the words that run a task's command line in a shell."""
    return ["cmd", "/c", command] if os.name == "nt" else ["sh", "-c", command]


_UNSHARE = ("unshare", "--net", "--map-root-user")


@cache
def find_no_network() -> tuple[str, ...]:
    """Return the command prefix that disables the network, or () if the platform has none."""
    with contextlib.suppress(OSError), tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "output")
        if run_bounded([*_UNSHARE, "true"], cwd=folder, output=output, seconds=5.0) == 0:
            return _UNSHARE
    return ()


def check_command(task: Task) -> list[str]:
    """Return the words that run a task's check, without network if the platform allows that."""
    return [*find_no_network(), *shell(task.check)]


def last_line(printed: str) -> str:
    """Return the last line of an output, shortened."""
    lines = [line for line in printed.splitlines() if line.strip()]
    return shorten(clean_line(lines[-1]), _TAIL) if lines else "it printed nothing"
