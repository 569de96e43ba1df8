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
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import cycle
from typing import Any

from lessons_kb.brain.discovery import ENVIRONMENT
from lessons_kb.data import read_lines
from lessons_kb.errors import InputError, LessonsError
from lessons_kb.hook_client import DEADLINE_VARIABLE
from lessons_kb.model import as_data
from lessons_kb.process.git import Repository, ask_git, read_diff, run_git
from lessons_kb.process.run import run_bounded
from lessons_kb.store.files import write_unsynced
from lessons_kb.store.journal import (
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
from lessons_kb.store.locations import STATE_HOME_VARIABLE
from lessons_kb.store.private_files import make_private
from lessons_kb.store.scan import SUFFIXES
from lessons_kb.text.redact import redact
from lessons_kb.text.sanitize import clean_line, counted, shorten
from lessons_kb.trial.tasks import Task

RIGHT, WRONG, FAULT = "right", "wrong", "fault"
"""Outcomes: the check passed, it did not, or the run says nothing of the lessons."""
PROMPT = "{prompt}"
"""Stands in the agent's words for what it is asked."""
SETUP_SECONDS = CHECK_SECONDS = 1_200.0
_NOT_STARTED = (126, 127)
_ENDED = "the agent did nothing and ended with"
_TAIL = 160
_BUDGET = re.compile(r"(\$?)(\d+(?:\.\d+)?)([kKmM]?)")
_TIMES = {"": 1, "k": 1_000, "m": 1_000_000}
_USED = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""Tokens that add up: Codex and Qwen Code name others besides, which are part of these."""


def parse_budget(text: str) -> tuple[str, float]:
    """Return what is limited to how much: ``$5`` dollars, ``300k`` or ``2M`` tokens; "" to none.

    Raises InputError.
    """
    match = _BUDGET.fullmatch(text.strip() or "0")
    if not match:
        raise InputError(f"--budget must be dollars or tokens, such as $5 or 300k, not {text!r}")
    amount = float(match[2]) * _TIMES[match[3].lower()]
    return "dollars" if match[1] else "tokens", amount


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
    """Cards that were given or opened, each with its ``id``, ``how`` and ``outcome``."""
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
    agent: Sequence[str]
    """The words of its command; without PROMPT among them it is given that on stdin."""
    folder: str
    environment: Mapping[str, str]
    """Of the agent and of what tasks run."""
    budget: tuple[str, float]
    """The most dollars or tokens; 0 is no limit."""
    arms: Sequence[str] = ARMS
    runs: int = 1
    jobs: int = 1
    seconds: float = 900.0
    """Deadline of the agent, for each run."""


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
    if not find_no_network():
        say("this system lets nobody take the network away: checks run with it")
    plan = replace(plan, tasks=[_pin_commits(task, plan.repository) for task in plan.tasks])
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
        result = Result(task=task.name, arm=arm, run=number, outcome=FAULT)
        try:
            result = run_once(plan, task, result, stop=stop)
        except LessonsError as error:
            result = replace(result, note=str(error))
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


def _pin_commits(task: Task, repository: str) -> Task:
    """Return a task with hashes for what names its commits, which may mean others tomorrow."""
    found = []
    for commit in (task.commit, task.check_from):
        names = ("rev-parse", "--quiet", "--verify", "--end-of-options", f"{commit}^{{commit}}")
        found.append(run_git(repository, *names).output.decode().strip())
        if commit and not found[-1]:
            raise InputError(f"task {task.name}: {commit!r} is no commit of {repository}; name one")
    return replace(task, commit=found[0], check_from=found[1])


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
    what, limit = plan.budget
    known = [spent for one in done if (spent := getattr(one, what)) is not None]
    if limit and not known:
        return f"the agent does not print {what}, so the budget cannot be watched; leave it out"
    # An agent that was ended told nothing: it counts as the dearest of the others.
    if limit and sum(known) + max(known) * (len(done) - len(known)) >= limit:
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


def run_once(plan: TrialPlan, task: Task, result: Result, *, stop: threading.Event) -> Result:
    """Do a task in the arm of ``result``, check it, and keep what was printed and changed."""
    kept = os.path.join(plan.folder, "runs", _name(*result.key))
    make_private(kept)
    with _make_place(plan, task, result.arm) as (work, environment):

        def run(
            what: str, command: Sequence[str], seconds: float, text: str = ""
        ) -> tuple[int | None, str]:
            output = os.path.join(kept, f"{what}.txt")
            start = partial(run_bounded, cwd=work, env=environment, output=output, stop=stop)
            code = start(command, text=text, seconds=seconds)
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
        state, cards = environment[STATE_HOME_VARIABLE], _place_cards(plan.cards, result.arm)
        injected = read_injected(state)
        result = replace(
            result,
            seconds=seconds,
            tokens=tokens,
            dollars=dollars,
            session=session,
            hooks=count_events(state),
            lessons=tuple({**one, "id": cards.get(one["id"], one["id"])} for one in injected),
        )
        diff = read_diff(work, "HEAD").text
        write_unsynced(os.path.join(kept, "diff.patch"), redact(diff).encode("utf-8", "replace"))
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
            **{name: v for name, v in plan.environment.items() if name != ENVIRONMENT},
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


_ADVICE = read_lines("placebo_advice.txt")
_LINE = re.compile(r"^([\s>#*+\-\d.]*(?:\[[ xX]\]\s*)?)(.*)$")
_TITLE = re.compile(r"^title:.*$", re.MULTILINE)
_HEADER = re.compile(r"\A(---\r?\n.*?^---\r?\n)(.*)\Z", re.MULTILINE | re.DOTALL)


def make_placebo(card: str) -> str:
    """Return a card's text with general advice for its title and its words; headings stay.

    It comes at the same moments, in the same form and length, and says nothing in particular: that
    shows what mere text in front of an agent does, more care or less attention to the task.
    ``symptoms``, ``paths`` and the like stay too: they decide when it comes.
    """
    match = _HEADER.match(card)
    header, body = match.groups() if match else ("", card)
    if title := _TITLE.search(header):
        words = len(title[0].split()) - 1
        header = header.replace(title[0], f'title: "{_advise(words, 0)}"', 1)
    turn = cycle(range(3))
    lines = []
    for line in body.splitlines():
        mark, text = _LINE.match(line).groups()  # type: ignore[union-attr]
        heading = mark.lstrip().startswith("#")
        lines.append(line if heading or not text else mark + _advise(len(text.split()), next(turn)))
    return header + "\n".join(lines) + "\n"


def _advise(words: int, turn: int) -> str:
    """Return advice of about so many words; of those that fit well, one by turns."""
    sentences = sorted(_ADVICE, key=lambda one: abs(len(one.split()) - words))
    text = sentences[turn]
    while words - len(text.split()) >= len(_ADVICE[0].split()):
        text += f". {_advise(words - len(text.split()), turn)}"
    return text


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


_UNSHARE = ("unshare", "--net", "--map-root-user")


@cache
def find_no_network() -> tuple[str, ...]:
    """Return what starts a command without network, () where the platform cannot."""
    with contextlib.suppress(OSError), tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "output")
        if run_bounded([*_UNSHARE, "true"], cwd=folder, output=output, seconds=5.0) == 0:
            return _UNSHARE
    return ()


def check_command(task: Task) -> list[str]:
    """Return how a task's check is run: without network, where the platform can."""
    return [*find_no_network(), *shell(task.check)]


def last_line(printed: str) -> str:
    """Return the end of what was printed, fit for one line."""
    lines = [line for line in printed.splitlines() if line.strip()]
    return shorten(clean_line(lines[-1]), _TAIL) if lines else "it printed nothing"


def read_usage(printed: str) -> tuple[int | None, float | None, str]:
    """Return tokens, dollars and session id from the JSON that agents print; None where untold.

    Shapes: the result of Claude Code, Qwen Code and Cursor; events of Codex and of opencode, a
    turn or step each; Gemini's statistics.
    """
    tokens: list[int] = []
    dollars: list[float] = []
    session = ""
    for found in _read_objects(printed):
        usage, step = _find_object(found, "usage"), _find_object(found, "part")
        if usage:
            names = ("total_tokens",) if "total_tokens" in usage else _USED
            used = _add_up({name: usage.get(name) for name in names})
            tokens = [used] if found.get("type") == "result" else [*tokens, used]
        elif "tokens" in step:
            tokens.append(_add_up(step["tokens"]))
        elif models := _find_object(found, "stats", "models"):
            totals = (_find_object(models, name, "tokens").get("total") for name in models)
            tokens = [_add_up(one) for one in totals]
        cost = found.get("total_cost_usd", step.get("cost"))
        dollars += [float(cost)] if isinstance(cost, (int, float)) else []
        named = found.get("session_id") or found.get("thread_id") or found.get("sessionID")
        session = named if isinstance(named, str) else session
    return sum(tokens) if tokens else None, sum(dollars) if dollars else None, session


def _find_object(found: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """Return the object that keys lead to, an empty one where there is none."""
    for key in keys:
        inner = found.get(key)
        found = inner if isinstance(inner, dict) else {}
    return found


def _add_up(tokens: object) -> int:
    """Return the sum of the numbers in an object of tokens; its total says them once more."""
    if isinstance(tokens, dict):
        return sum(_add_up(one) for key, one in tokens.items() if key != "total")
    return tokens if isinstance(tokens, int) else 0


def _read_objects(printed: str) -> Iterator[dict[str, Any]]:
    """Yield the objects that a text is, or is a list of, or those of its lines."""
    for text in (printed, *printed.splitlines()):
        with contextlib.suppress(ValueError, RecursionError):
            found = json.loads(text)
            listed = found if isinstance(found, list) else [found]
            yield from (one for one in listed if isinstance(one, dict))
            if text is printed:
                return
