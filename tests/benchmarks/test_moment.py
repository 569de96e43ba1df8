"""The trial of moments: its material, its scoring and table, and the arrival of the card."""

import json
import re
import subprocess
import sys
from collections import Counter

import pytest

from benchmarks.trial import moment, moment_tasks, propose
from benchmarks.trial.series import RunName
from lessons_kb.store.journal import write_arm
from tests.kit import Claude, git, make_brain, write
from tests.trial.test_trial import HOOK

TASKS = {task.name: task for task in moment_tasks.read_tasks()}
MODEL = "some-model"


def test_there_are_two_tasks_of_each_kind():
    assert len(TASKS) == 12
    assert set(Counter(task.kind for task in TASKS.values()).values()) == {2}
    assert len({task.kind for task in TASKS.values()}) == 6


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_the_check_tells_the_right_solution_from_the_trap(name, tmp_path):
    task, passed = TASKS[name], {}
    for what, steps in (("nothing", ()), ("right", task.right), ("trap", task.trap)):
        folder = tmp_path / what
        moment_tasks.copy_files(task, folder)
        commands = []
        for step in steps:
            if step.run:
                commands.append(step.run)
                subprocess.run(["sh", "-c", step.run], cwd=folder, check=True, capture_output=True)
            else:
                file = folder / step.path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(moment_tasks.edit(step, file.read_text() if step.old else ""))
        passed[what] = moment_tasks.run_check(task, folder, commands)[0]
    assert passed == {"nothing": False, "right": True, "trap": False}


def make_row(task, arm, run, outcome, kind="api", **more):
    fixed = {"model": MODEL, "tokens": 0, "given": []}
    return {"task": task, "arm": arm, "run": run, "kind": kind, "outcome": outcome, **fixed, **more}


ROWS = [
    make_row("a", "without", 1, "wrong"),
    make_row("a", "without", 2, "right"),
    make_row("b", "without", 1, "wrong", "command"),
    make_row("b", "without", 2, "wrong", "command"),
    make_row("a", "call", 1, "right", given=["call"], tokens=100),
    make_row("a", "call", 2, "wrong"),
    make_row("b", "call", 1, "right", "command", given=["call"], tokens=100),
    make_row("b", "call", 2, "right", "command", given=["call"], tokens=200),
]


def test_the_table_compares_arms_in_pairs():
    lines, figures = moment.describe(ROWS)
    call, without = figures["arms"]["call"], figures["arms"]["without"]
    assert (call["right"], call["runs"], call["both"], call["tasks"]) == (3, 4, 1, 2)
    assert (call["reversible"], call["reversible_runs"]) == (1, 2)
    assert (call["given"], call["tokens"]) == (3, 100)
    assert (without["right"], without["both"], without["given"]) == (1, 0, 0)
    (pair,) = figures["pairs"]
    assert (pair["first"], pair["second"]) == ("without", "call")
    assert (pair["repaired"], pair["broken"], pair["p"]) == (3, 1, 0.625)
    assert figures["kinds"] == {"api": ["1/2", "1/2"], "command": ["0/2", "2/2"]}
    assert "19% to 99%" in "\n".join(lines)
    assert "models" not in figures
    rows = [*ROWS, make_row("c", "call", 1, "right", model="other")]
    assert moment.describe(rows)[1]["models"] == {MODEL: ["1/4", "3/4"], "other": ["0/0", "1/1"]}


def test_a_table_without_results_points_to_the_plan():
    assert moment.describe([]) == (["no results yet; MOMENT.md says what will be run"], {})


def test_the_moments_of_a_card_are_read_from_the_answers():
    calls = [
        {"event": "SessionStart", "answer": {}},
        {"path": "a.py", "delete": False},
        {"event": "PreToolUse", "answer": {"permissionDecisionReason": "(lessons/a.md)"}},
        {"event": "PostToolUse", "answer": {"additionalContext": "lessons/a.md"}},
        {"event": "Stop", "answer": {"goOn": "lessons/a.md"}},
    ]
    assert moment.find_moments(calls, "lessons/a.md") == ["call", "after"]
    assert moment.find_moments(calls, "lessons/b.md") == []


class Agent:
    """An agent that falls into the trap until a text names the card of its task."""

    def __init__(self, folder, task):
        self.folder, self.task = folder, task
        self.told = {"start": self._read_prompt()}

    def _read_prompt(self):
        return (self.folder / "PROMPT.md").read_text()

    @property
    def knows(self):
        return any(self.task.card_name in text for text in self.told.values())

    def use(self, moment_name, tool, *words, text=""):
        done = subprocess.run(
            [f"./{tool}", *words], cwd=self.folder, input=text, capture_output=True, text=True
        )
        self.told[moment_name] = self.told.get(moment_name, "") + done.stdout + done.stderr
        return done.returncode == 0

    def take(self, steps):
        """Take steps from the first state of each file; stop at a refusal."""
        for step in steps:
            if step.run:
                done = self.use("call", "run", step.run)
            else:
                original = self.task.folder / "files" / step.path
                before = original.read_text() if step.old else ""
                text = moment_tasks.edit(step, before)
                done = self.use("call", "propose", step.path, text=text)
            if not done:
                return False
        return True

    def restore(self):
        """Give files their first content where the trap changed them."""
        for step in self.task.trap:
            if step.path and step.old:
                original = self.task.folder / "files" / step.path
                self.use("restored", "propose", step.path, text=original.read_text())

    def work(self):
        if self.knows or not self.take(self.task.trap):
            self.take_right()
        self.use("after", "done", "It is done.")
        if self.task.card_name in self.told["after"]:
            self.take_right()
            self.use("end", "done", "Now it is done.")

    def take_right(self):
        self.restore()
        for _attempt in range(3):  # the gate refuses the first change
            if self.take(self.task.right):
                return


def play(tmp_path, task, arms):
    """Run an agent in each arm. Return the lines of the results by arm."""
    out, results = tmp_path / "out", tmp_path / "moment.jsonl"
    assert moment.prepare(out, arms, names={task.name}, results=results) == 2 * len(arms)
    codes = []
    for arm in arms:
        code = RunName(task.name, arm, 1).find_code(1)
        prompt = (out / code / "PROMPT.md").read_text()
        assert task.prompt in prompt
        assert (task.card_name in prompt) == (arm in ("start", "prompt"))
        assert "trial" not in prompt
        assert "check.py" not in prompt
        assert {path.name for path in out.glob(f"{code}/*")} >= {"propose", "run", "done"}
        Agent(out / code, task).work()
        codes.append(code)
    states = [path for path in out.with_name("out-state").iterdir() if path.is_dir()]
    assert states == [], "between the calls, no file has a card in clear"
    assert moment.score(out, model=MODEL, results=results) == len(arms)
    assert moment.score(out, model=MODEL, results=results) == 0
    first_line = task.card.partition("## Root Cause\n\n")[2][:30]
    assert first_line not in results.read_text()
    return {row["arm"]: row for row in moment.read_results(results)}


@pytest.mark.slow
def test_the_card_arrives_at_the_moment_of_each_arm_and_decides(tmp_path):
    rows = play(tmp_path, TASKS["closed-shops"], moment.ARMS)
    assert {arm: row["given"] for arm, row in rows.items()} == {
        "without": [], "start": ["start"], "prompt": ["prompt"], "call": ["call"], "after": ["after"],
    }  # fmt: skip
    outcomes = {arm: row["outcome"] for arm, row in rows.items()}
    assert outcomes == {arm: "wrong" if arm == "without" else "right" for arm in moment.ARMS}
    assert {arm: row["refused"] for arm, row in rows.items() if row["refused"]} == {"call": 1}
    assert {arm: row["done"] for arm, row in rows.items()} == {
        arm: 2 if arm == "after" else 1 for arm in moment.ARMS
    }
    assert {row["outside"] for row in rows.values()} == {0}
    assert rows["without"]["tokens"] == 0
    assert rows["start"]["tokens"] == rows["prompt"]["tokens"] > 40
    index = json.loads((tmp_path / "out" / "INDEX.json").read_text())
    assert len(index) == 10
    assert {tuple(entry) for entry in index} == {("dir",)}


@pytest.mark.slow
@pytest.mark.parametrize("arm", ["call", "after"])
@pytest.mark.parametrize("name", TASKS)
def test_the_trap_of_each_task_brings_its_card_at_the_call_and_at_the_end(
    name, arm, tmp_path, monkeypatch
):
    task, project = TASKS[name], tmp_path / "project"
    monkeypatch.setenv("LESSONS_STATE_HOME", str(tmp_path / "state"))
    moment_tasks.copy_files(task, project)
    make_brain(str(project))
    git(project, "init", "-q")
    write(project, task.card_name, task.card)
    write_arm(str(tmp_path / "state"), "0123", arm)
    environment = {"LESSONS_TRIAL": "0123"}
    session = Claude(project)
    session.say("SessionStart", environment, source="startup")
    session.say("UserPromptSubmit", environment, prompt=task.prompt, prompt_id="p1")
    refused = [take_step(session, environment, step) for step in task.trap]
    said = session.say("Stop", environment, last_assistant_message="It is done.")
    told = {"call": "".join(refused), "after": said.get("reason", "")}
    assert [moment_name for moment_name, text in told.items() if text] == [arm]
    assert task.card_name in told[arm]
    first_item = re.search(r"- \[ \] (.{20})", task.card)[1]
    assert first_item in told[arm]


def take_step(session, environment, step):
    """Play a step of a solution as an agent's call, and return why it is refused, or ""."""
    project, call = session.project, {"tool_use_id": f"toolu_{step.path}{step.run}"}
    if step.run:
        call |= {"tool_name": "Bash", "tool_input": {"command": step.run}}
    else:
        file = project / step.path
        old = file.read_text() if step.old else None
        new = moment_tasks.edit(step, old or "")
        call["tool_name"], call["tool_input"] = propose.describe(str(file), old, new)
    refused = session.say("PreToolUse", environment, **call).refused
    if step.run:
        subprocess.run(["sh", "-c", step.run], cwd=project, capture_output=True)
        response = {"stdout": "", "stderr": "", "interrupted": False}
    else:
        write(project, step.path, new)
        response = {"filePath": str(file)}
    session.say("PostToolUse", environment, **call, tool_response=response)
    return refused


@pytest.mark.slow
def test_the_repository_of_the_tasks_can_be_tried_with_an_own_agent(tmp_path, at):
    moment_tasks.make_repository(tmp_path)
    project, tasks = tmp_path / "project", tmp_path / "tasks.toml"
    head, *tables = tasks.read_text().split("[[task]]")
    assert len(tables) == 12
    tasks.write_text(f"{head}[[task]]{next(table for table in tables if 'closed-shops' in table)}")
    assert at(project, "trust").code == 0
    script = tmp_path / "agent.py"
    script.write_text(AGENT.format(hook=HOOK, solutions=read_solutions(TASKS["closed-shops"])))
    words = ("--agent", f"{sys.executable} {script}", "--arms", "without,prompt")
    done = at(project, "--json", "trial", tasks, *words, "--out", tmp_path / "results")
    assert done.code == 0, done.err
    assert json.loads(done.out)["tasks"][0]["arms"] == {"without": ["wrong"], "prompt": ["right"]}


AGENT = """\
import json, os, pathlib, subprocess, sys
event = {{"session_id": "one", "hook_event_name": "UserPromptSubmit", "cwd": os.getcwd(),
         "transcript_path": "", "prompt": sys.stdin.read()}}
done = subprocess.run([sys.executable, "-I", "-S", {hook!r}, "claude-code"],
                      input=json.dumps(event), capture_output=True, text=True)
path, right, trap = {solutions!r}
pathlib.Path(path).write_text(right if "dormant" in done.stdout else trap)
"""


def read_solutions(task):
    """Return the file that a task changes, as the right solution and as the trap leave it."""
    (right,), (trap,) = task.right, task.trap
    original = (task.folder / "files" / right.path).read_text()
    return right.path, moment_tasks.edit(right, original), moment_tasks.edit(trap, original)
