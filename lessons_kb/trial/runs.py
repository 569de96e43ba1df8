"""Run tasks with an agent, once in each arm, in folders of their own; keep what came of it.

A run's folder holds the files of the task's commit and no history: an agent that looks around finds
neither the fix nor, in the arm without lessons, a card. State, brain and results lie elsewhere.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import secrets
import shlex
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from lessons_kb.brain.discovery import ENVIRONMENT
from lessons_kb.errors import InputError, LessonsError
from lessons_kb.hook_client import DEADLINE_VARIABLE
from lessons_kb.model import as_data
from lessons_kb.process.git import Repository, ask_git, read_diff, run_git
from lessons_kb.process.run import run_bounded
from lessons_kb.store.files import write_unsynced
from lessons_kb.store.scan import SUFFIXES
from lessons_kb.store.trial_record import (
    ARMS,
    PLACEBO,
    TRIAL_VARIABLE,
    WITHOUT,
    append_result,
    count_events,
    read_injected,
    read_output,
    read_rows,
    write_arm,
)
from lessons_kb.store.user_state import STATE_HOME_VARIABLE, make_private
from lessons_kb.text.redact import redact
from lessons_kb.text.sanitize import clean_line, counted, shorten
from lessons_kb.trial.placebo import make_placebo
from lessons_kb.trial.tasks import Task

RIGHT, WRONG, FAULT = "right", "wrong", "fault"
"""Outcomes: the check passed, it did not, or the run says nothing of the lessons."""
PROMPT = "{prompt}"
SETUP_SECONDS = CHECK_SECONDS = 1_200.0
_NOT_STARTED = (126, 127)
_OWN = (ENVIRONMENT, "LESSONS_SESSION")
_ENDED = "the agent did nothing and ended with"
_TAIL = 160
_BUDGET = re.compile(r"(\$)?(\d+(?:\.\d+)?)([kKmM])?")
_TIMES = {"": 1, "k": 1_000, "m": 1_000_000}


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """The most that a trial may use; 0 is no limit."""

    dollars: float = 0.0
    tokens: float = 0.0


def parse_budget(text: str) -> Budget:
    """Return ``$5`` as dollars, ``300k`` or ``2M`` as tokens. Raises InputError."""
    match = _BUDGET.fullmatch(text.strip())
    if not match or (match[1] and match[3]):
        raise InputError(f"--budget must be dollars or tokens, such as $5 or 300k, not {text!r}")
    amount = float(match[2]) * _TIMES[(match[3] or "").lower()]
    return Budget(dollars=amount) if match[1] else Budget(tokens=amount)


def split_command(command: str) -> list[str]:
    """Return the words of a command line. Raises InputError."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"{command!r} is not a command line: {error}; fix its quotes") from None
    if not words:
        raise InputError("the command line is empty; name a program")
    return words


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """What came of one run."""

    task: str
    arm: str
    run: int
    outcome: str
    note: str = ""
    """Why it is a fault; the last line of a check that failed."""
    seconds: float = 0.0
    """Of the agent alone."""
    tokens: int | None = None
    """As far as the agent prints them, and ``dollars`` too."""
    dollars: float | None = None
    hooks: int = 0
    """Events of the agent that reached our hooks."""
    lessons: tuple[Mapping[str, str], ...] = ()
    """Cards that were given, each with its ``id`` and ``how``."""
    session: str = ""
    """The agent's own id of it, by which its transcript is found; "" where it prints none."""

    @property
    def key(self) -> tuple[str, str, int]:
        """Which run it was: task, arm, number."""
        return self.task, self.arm, self.run


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialPlan:
    """A trial: what is run, where from, and where its results are kept."""

    tasks: Sequence[Task]
    repository: str
    """Its top folder."""
    brain: str
    """Root of the brain that is tried."""
    cards: Sequence[str]
    """Files of the brain, relative to it; settings among them."""
    agent: str
    """Command line; {prompt} stands for the prompt, which else is given on stdin."""
    folder: str
    environment: Mapping[str, str]
    """Of the agent and of what tasks run."""
    arms: Sequence[str] = ARMS
    runs: int = 1
    jobs: int = 1
    seconds: float = 900.0
    """Deadline of the agent, for each run."""
    budget: Budget = field(default_factory=Budget)


def read_results(folder: str) -> list[Result]:
    """Return the results kept in a trial's folder; of a run that was repeated the last."""
    rows = read_rows(folder)
    found = [Result(**{**row, "lessons": tuple(row["lessons"])}) for row in rows]
    return list({one.key: one for one in found}.values())


def find_dead(folder: str, done: Sequence[Result]) -> list[str]:
    """List runs that began and have no result: they, or the whole trial, were killed."""
    ended = {_name(*one.key) for one in done}
    with contextlib.suppress(OSError):
        return sorted(set(os.listdir(os.path.join(folder, "runs"))) - ended)
    return []


def run_trial(plan: TrialPlan, *, say: Callable[[str], None]) -> str:
    """Run what has no result yet; return why it stopped before the end, "" at the end.

    Arms come in random order within each task. Faults are tried again by the next call. ``say`` is
    told each result in one line. Raises InputError where no run can work: the agent is not found,
    or it never called a hook of ours.
    """
    make_private(plan.folder)
    plan = replace(plan, tasks=[_resolve(task, plan.repository) for task in plan.tasks])
    done = [one for one in read_results(plan.folder) if one.outcome != FAULT]
    used = {one.key for one in done}
    order = random.Random(plan.folder)  # noqa: S311 (an order that a resumed trial finds again)
    todo = []
    for number in range(1, plan.runs + 1):
        for task in plan.tasks:
            shuffled = [(task, arm, number) for arm in plan.arms]
            order.shuffle(shuffled)
            todo += [one for one in shuffled if (one[0].name, *one[1:]) not in used]
    stop, lock, end = threading.Event(), threading.Lock(), [""]

    def work(task: Task, arm: str, number: int) -> None:
        if stop.is_set():
            return
        result = run_once(plan, task, arm, number, stop=stop)
        if stop.is_set() and result.outcome == FAULT:
            return
        with lock:
            append_result(plan.folder, as_data(result))
            done.append(result)
            say(show_result(result, of=len(plan.tasks) * plan.runs * len(plan.arms), at=len(done)))
            if reason := _find_end(plan, done):
                end[0] = end[0] or reason
                stop.set()

    with ThreadPoolExecutor(plan.jobs) as pool:
        futures = [pool.submit(work, *one) for one in todo]
        try:
            for future in futures:
                future.result()
        finally:
            stop.set()  # where one failed, or somebody pressed Ctrl-C, the others end too
    return end[0]


def _resolve(task: Task, repository: str) -> Task:
    """Return a task with hashes for what names its commits, which may mean others tomorrow."""

    def find(commit: str) -> str:
        names = ("rev-parse", "--quiet", "--verify", "--end-of-options", f"{commit}^{{commit}}")
        found = run_git(repository, *names).output.decode().strip()
        if commit and not found:
            raise InputError(f"task {task.name}: {commit!r} is no commit of {repository}; name one")
        return found

    return replace(task, commit=find(task.commit), check_from=find(task.check_from))


def _find_end(plan: TrialPlan, done: Sequence[Result]) -> str:
    """Return why no further run makes sense."""
    last = done[-1]
    worked = [one for one in done if one.outcome != FAULT]
    if not worked:
        return last.note if last.note.startswith(_ENDED) else ""
    if not any(one.hooks for one in worked):
        return (
            "the agent called no hook of ours, so no arm differs; connect it with "
            "`lessons install AGENT --user`, or have the command load our hooks"
        )
    for what, limit in (("dollars", plan.budget.dollars), ("tokens", plan.budget.tokens)):
        spent = [getattr(one, what) for one in done]
        if limit and None in spent:
            return f"the agent does not print {what}, so the budget cannot be watched; leave it out"
        if limit and sum(spent) >= limit:
            amount = f"${limit:g}" if what == "dollars" else f"{limit:,.0f} tokens"
            return f"the budget of {amount} is used up"
    return ""


def show_result(result: Result, *, of: int, at: int) -> str:
    """Return a result in one line."""
    lessons = f", {counted(len(result.lessons), 'lesson')}" if result.arm != WITHOUT else ""
    note = f": {result.note}" if result.note else ""
    where = f"[{at}/{of}] {result.task} {result.arm} {result.run}"
    return f"{where}: {result.outcome}, {result.seconds:.0f} s{lessons}{note}"


def _name(task: str, arm: str, run: int) -> str:
    return f"{task}.{arm}.{run}"


def run_once(
    plan: TrialPlan, task: Task, arm: str, number: int, *, stop: threading.Event
) -> Result:
    """Do a task in one arm, check it, and keep what was printed and changed."""
    kept = os.path.join(plan.folder, "runs", _name(task.name, arm, number))
    make_private(kept)
    result = Result(task=task.name, arm=arm, run=number, outcome=FAULT)
    try:
        with _make_place(plan, task, arm) as (work, environment):
            return _run(plan, task, result, kept, work, environment, stop)
    except LessonsError as error:
        return replace(result, note=str(error))


def _run(
    plan: TrialPlan,
    task: Task,
    result: Result,
    kept: str,
    work: str,
    environment: Mapping[str, str],
    stop: threading.Event,
) -> Result:
    def run(
        what: str, command: Sequence[str], seconds: float, text: str = ""
    ) -> tuple[int | None, str, float]:
        output = os.path.join(kept, f"{what}.txt")
        began = time.monotonic()
        code = run_bounded(
            command, cwd=work, env=environment, output=output, text=text, seconds=seconds, stop=stop
        )
        printed = redact(read_output(output))
        write_unsynced(output, printed.encode("utf-8", "replace"))
        return code, printed, time.monotonic() - began

    if task.setup:
        code, printed, _seconds = run("setup", shell(task.setup), SETUP_SECONDS)
        if code:
            return replace(result, note=f"setup failed with {code}: {last_line(printed)}")
    ask_git(work, "add", "-A", "-f")
    ask_git(work, *_AS, "commit", "-q", "--allow-empty", "-m", "start")
    words = split_command(plan.agent)
    given = "" if any(PROMPT in word for word in words) else task.prompt
    command = [word.replace(PROMPT, task.prompt) for word in words]
    code, printed, seconds = run("agent", command, plan.seconds, given)
    tokens, dollars, session = read_usage(printed)
    state, cards = environment[STATE_HOME_VARIABLE], _place_cards(plan.cards, result.arm)
    injected = read_injected(state)
    result = replace(
        result,
        seconds=round(seconds, 1),
        tokens=tokens,
        dollars=dollars,
        session=session,
        hooks=count_events(state),
        lessons=tuple({**one, "id": cards.get(one["id"], one["id"])} for one in injected),
    )
    diff = read_diff(work, "HEAD").text
    write_unsynced(os.path.join(kept, "diff.patch"), redact(diff).encode("utf-8", "replace"))
    if code is None:
        return replace(result, note=f"ended after {plan.seconds:.0f} seconds without an end")
    if code in _NOT_STARTED or (code and not diff):
        return replace(result, note=f"{_ENDED} {code}: {last_line(printed)}")
    bring_check(plan.repository, task, work)
    code, printed, _seconds = run("check", [*_find_no_network(), *shell(task.check)], CHECK_SECONDS)
    if code is None:
        return replace(result, note=f"the check did not end within {CHECK_SECONDS:.0f} seconds")
    if code in _NOT_STARTED:
        return replace(result, note=f"the check cannot run: {last_line(printed)}")
    if code:
        return replace(result, outcome=WRONG, note=last_line(printed))
    return replace(result, outcome=RIGHT)


_AS = ("-c", "user.name=trial", "-c", "user.email=trial@localhost", "-c", "commit.gpgSign=false")


@contextlib.contextmanager
def _make_place(plan: TrialPlan, task: Task, arm: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the folder of a run, and the environment of all that runs there."""
    place = tempfile.mkdtemp(prefix="work-")
    state = tempfile.mkdtemp(prefix="state-")
    try:
        work = os.path.join(place, os.path.basename(plan.repository))
        os.mkdir(work)
        check_out(plan.repository, task.commit, work)
        inside = os.path.relpath(plan.brain, plan.repository)
        token = secrets.token_hex(16)
        environment = {
            **{name: v for name, v in plan.environment.items() if name not in _OWN},
            STATE_HOME_VARIABLE: state,
            TRIAL_VARIABLE: token,
            "LESSONS_DAEMON": "0",  # one would outlive the run, and keep its folder
            DEADLINE_VARIABLE.decode(): "60",  # several at once: a late hook would look like no arm
        }
        write_arm(state, token, arm)
        root = os.path.normpath(os.path.join(work, inside))
        if inside.split(os.sep)[0] == os.pardir:
            root = environment[ENVIRONMENT] = os.path.join(state, "brain")
            os.mkdir(root)
        _bring_cards(plan, root, arm, environment)
        ask_git(work, "init", "-q")
        yield work, environment
    finally:
        shutil.rmtree(place, ignore_errors=True)
        shutil.rmtree(state, ignore_errors=True)


def check_out(repository: str, commit: str, work: str) -> None:
    """Write the files of a commit into an empty folder. Raises GitError."""
    whole = Repository(repository)
    with tempfile.TemporaryDirectory() as folder:
        index = os.path.join(folder, "index")
        whole.ask("read-tree", f"{commit}^{{tree}}", GIT_INDEX_FILE=index)
        command = (f"--work-tree={work}", "checkout-index", "--all", "--force")
        whole.ask(*whole.filters_off(), *command, GIT_INDEX_FILE=index)


def _bring_cards(plan: TrialPlan, root: str, arm: str, environment: Mapping[str, str]) -> None:
    """Exchange the cards of the commit for those of today, or for none in the arm without."""
    for path in plan.cards:
        full = os.path.join(root, path)
        with contextlib.suppress(OSError):  # not there, or a folder that holds others
            os.remove(full)
            os.rmdir(os.path.dirname(full))
    for place, path in _place_cards(plan.cards, arm).items():
        full = os.path.join(root, place)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        card = read_output(os.path.join(plan.brain, path))
        text = make_placebo(card) if arm == PLACEBO and path.endswith(SUFFIXES) else card
        write_unsynced(full, text.encode("utf-8", "replace"))
    if arm != WITHOUT:
        command = [sys.executable, "-P", "-m", "lessons_kb.cli.main", "trust", root]
        with tempfile.TemporaryDirectory() as folder:
            output = os.path.join(folder, "output")
            if run_bounded(command, cwd=root, env=environment, output=output, seconds=60.0):
                raise InputError(last_line(read_output(output)))


def _place_cards(cards: Sequence[str], arm: str) -> dict[str, str]:
    """Return place → card in an arm. A placebo's file has another name: its own tells the topic."""
    if arm != PLACEBO:
        return {path: path for path in cards if arm != WITHOUT}
    return {
        os.path.join(os.path.dirname(path), f"advice-{number:02}.md")
        if path.endswith(SUFFIXES)
        else path: path
        for number, path in enumerate(cards, 1)
    }


def bring_check(repository: str, task: Task, work: str) -> None:
    """Put the files of a task's check into the work; those not in their commit are removed."""
    for path in task.check_files:
        full = os.path.normpath(os.path.join(work, path))
        if not full.startswith(work + os.sep):
            raise InputError(f"check_files: {path!r} leads out of the repository")
        if ask_git(repository, "ls-tree", "-z", task.check_from, "--", path):
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "wb") as file:
                file.write(ask_git(repository, "cat-file", "blob", f"{task.check_from}:{path}"))
        else:
            with contextlib.suppress(FileNotFoundError):
                os.remove(full)


def shell(command: str) -> list[str]:
    """Return how a task's command line is run."""
    return ["cmd", "/c", command] if os.name == "nt" else ["sh", "-c", command]


_NO_NETWORK: list[tuple[str, ...]] = []
_UNSHARE = ("unshare", "--net", "--map-root-user")


def _find_no_network() -> tuple[str, ...]:
    """Return what starts a check without network, () where the platform cannot."""
    if not _NO_NETWORK:
        works = False
        with contextlib.suppress(OSError), tempfile.TemporaryDirectory() as folder:
            output = os.path.join(folder, "output")
            works = run_bounded([*_UNSHARE, "true"], cwd=folder, output=output, seconds=5.0) == 0
        _NO_NETWORK.append(_UNSHARE if works else ())
    return _NO_NETWORK[0]


def last_line(printed: str) -> str:
    """Return the end of what was printed, fit for one line."""
    lines = [line for line in printed.splitlines() if line.strip()]
    return shorten(clean_line(lines[-1]), _TAIL) if lines else "it printed nothing"


def read_usage(printed: str) -> tuple[int | None, float | None, str]:
    """Return tokens, dollars and session id from the JSON that agents print; None where untold.

    Shapes: Claude Code's result, Codex' events, Gemini's statistics.
    """
    tokens: int | None = None
    dollars: float | None = None
    session = ""
    for found in _read_objects(printed):
        usage = found.get("usage")
        if isinstance(usage, dict):
            numbers = [v for k, v in usage.items() if k.endswith("_tokens") and isinstance(v, int)]
            tokens = sum(numbers) if found.get("type") == "result" else (tokens or 0) + sum(numbers)
        models = (found.get("stats") or {}).get("models") if "stats" in found else None
        if isinstance(models, dict):
            totals = [(m.get("tokens") or {}).get("total", 0) for m in models.values()]
            tokens = sum(totals)
        cost = found.get("total_cost_usd")
        dollars = float(cost) if isinstance(cost, (int, float)) else dollars
        named = found.get("session_id") or found.get("thread_id")
        session = named if isinstance(named, str) else session
    return tokens, dollars, session


def _read_objects(printed: str) -> Iterator[dict[str, Any]]:
    for text in (printed, *printed.splitlines()):
        with contextlib.suppress(ValueError, RecursionError):
            found = json.loads(text)
            if isinstance(found, dict):
                yield found
                if text is printed:
                    return
