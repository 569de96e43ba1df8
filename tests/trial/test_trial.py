"""`lessons trial` with a scripted agent, which makes a mistake unless it is told of it."""

import contextlib
import html
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import tomllib

import pytest

import lessons_kb
from lessons_kb.agents.table import AGENTS
from lessons_kb.trial.runs import find_no_network
from lessons_kb.trial.usage import read_usage
from tests.kit import commit, git, write

AGENT = """\
import json, os, pathlib, subprocess, sys, time
hook = {hook!r}
prompt = sys.argv[1]
pathlib.Path({log!r}).open("a").write(f"{{os.getpid()}} {{os.getcwd()}}\\n")
for name in ("SessionStart", "UserPromptSubmit"):
    event = {{
        "session_id": "one", "hook_event_name": name, "cwd": os.getcwd(),
        "transcript_path": "", "prompt": prompt, "source": "startup",
    }}
    done = subprocess.run([sys.executable, "-I", "-S", hook, "claude-code"],
                          input=json.dumps(event), capture_output=True, text=True)
if "hang" in prompt:
    time.sleep(60)
told = "idempotency key" in done.stdout
looked = pathlib.Path("lessons").is_dir()
files = sorted(map(str, pathlib.Path("lessons").glob("*")))
if told or "easy" in prompt:
    pathlib.Path("pay.py").write_text("send(key=1)\\n")
else:
    pathlib.Path("pay.py").write_text("send()\\n")
print(json.dumps({{"type": "result", "session_id": "one", "total_cost_usd": 0.5,
                  "usage": {{"input_tokens": 90, "output_tokens": 10}}, "told": told,
                  "looked": looked, "files": files}}))
"""
HOOK = str(pathlib.Path(lessons_kb.__file__).parent / "hook_client.py")
CARD = """\
---
type: lesson
title: Retried payments without an idempotency key
symptoms: [retry a failed payment, a customer was charged twice]
created: 2026-01-01
---

## Root Cause

The gateway takes each request without an idempotency key for a new charge.

## Prevention Checklist

- [ ] Send the same idempotency key on every retry of a payment
"""
TASKS = """
[[task]]
name = "retry"
prompt = "retry a failed payment when the gateway times out"
commit = "HEAD"
check = "grep -q key pay.py"

[[task]]
name = "easy"
prompt = "easy: the currency is lost when prices are summed up"
commit = "HEAD"
check = "grep -q key pay.py"

[[task]]
name = "hopeless"
prompt = "write the numbers of invoices without gaps"
commit = "HEAD"
check = "grep -q key pay.py"
"""


@pytest.fixture
def shop(tmp_path, monkeypatch, lessons):
    root = tmp_path / "shop"
    write(root, "lessons/idempotency.md", CARD)
    commit(root, **{"pay.py": "pass\n", "lessons.toml": ""})
    monkeypatch.chdir(root)
    assert lessons("trust", ".").code == 0
    return root


@pytest.fixture
def agent(tmp_path):
    script = tmp_path / "agent.py"
    script.write_text(AGENT.format(hook=HOOK, log=str(tmp_path / "seen")))
    return f"{sys.executable} {script} {{prompt}}"


@pytest.fixture
def trial(lessons, shop, agent, tmp_path):
    """Run a trial: ``trial(tasks, *options)``."""

    def run(tasks, *options, agent=agent):
        (tmp_path / "tasks.toml").write_text(tasks)
        out = ("--out", tmp_path / "out")
        return lessons("--json", "trial", tmp_path / "tasks.toml", "--agent", agent, *out, *options)

    run.agent = agent
    run.again = (tmp_path / "tasks.toml", "--agent", agent, "--out", tmp_path / "out", "--resume")
    return run


@pytest.mark.slow
def test_rates_are_those_of_the_agent(trial, shop, tmp_path, lessons):
    done = trial(TASKS, "--runs", "2", "--jobs", "2")
    assert done.code == 0, done.err
    data = json.loads(done.out)
    arms = {arm: (one["right"], one["runs"]) for arm, one in data["arms"].items()}
    assert arms == {"without": (2, 6), "with": (4, 6)}
    assert (data["arms"]["with"]["tokens"], data["arms"]["with"]["dollars"]) == (100, 0.5)
    (compared,) = data["comparisons"]
    shown = ("both_right", "repaired", "broken", "both_wrong")
    assert [compared[name] for name in shown] == [2, 2, 0, 2]
    assert "4 of 6 right with lessons, 2 of 6 without" in compared["says"]
    assert "too few to tell" in compared["says"]
    rows = {row["task"]: row["lessons"] for row in data["tasks"]}
    assert (rows["retry"], rows["hopeless"]) == (["lessons/idempotency.md"], [])
    assert data["faults"] == data["died"] == []
    places = (tmp_path / "seen").read_text().split()[1::2]
    assert len(set(places)) == 12
    assert not any(pathlib.Path(place).exists() for place in places)
    assert git(shop, "status", "--porcelain") == ""
    assert json.loads(lessons("stats", "--json").out)["injections"] == 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert html.escape(compared["says"]) in page
    assert page.count('class="wrong"') == 6
    assert "lessons/idempotency.md" in page
    runs = tmp_path / "out" / "runs"
    assert "+send(key=1)" in (runs / "retry.with.1" / "diff.patch").read_text()
    for arm in ("with", "without"):
        printed = json.loads((runs / f"retry.{arm}.1" / "agent.txt").read_text())
        assert printed["looked"] is (arm == "with")
    again = trial(TASKS)  # a second trial needs a word
    assert (again.code, "--resume" in again.err) == (2, True)
    assert trial(TASKS, "--resume").code == 0
    other = trial(TASKS.replace("gaps", "holes"), "--resume")
    assert (other.code, "tasks differ" in other.err) == (2, True)


AT_WORK = """
def tell(**event):
    event = {{"session_id": "one", "cwd": os.getcwd(), "transcript_path": "", **event}}
    subprocess.run([sys.executable, "-I", "-S", hook, "claude-code"], input=json.dumps(event),
                   capture_output=True, text=True)
card = os.path.abspath("lessons/idempotency.md")
tell(hook_event_name="PostToolUse", tool_name="Read", tool_use_id="1",
     tool_input={{"file_path": card}}, tool_response={{}})
tell(hook_event_name="PostToolUse", tool_name="Write", tool_use_id="2", tool_response={{}},
     tool_input={{"file_path": os.path.abspath("pay.py"), "content": "send(key=1)"}})
tell(hook_event_name="Stop")
"""


@pytest.mark.slow
def test_the_report_names_lessons_opened_and_obeyed_one_by_one(trial, shop, tmp_path, lessons):
    detected = CARD.replace(
        "created:", "detect: [{regex: 'send\\\\(\\\\)', files: ['*.py']}]\ncreated:"
    )
    commit(shop, **{"lessons/idempotency.md": detected})
    script = tmp_path / "agent.py"
    script.write_text((AGENT + AT_WORK).format(hook=HOOK, log=str(tmp_path / "seen")))
    task = TASKS.partition('[[task]]\nname = "easy"')[0]
    data = json.loads(trial(task).out)
    (found,) = data["lessons"]
    assert {key: found[key] for key in ("lesson", "given", "opened", "avoided", "left")} == {
        "lesson": "lessons/idempotency.md", "given": 1, "opened": 1, "avoided": 1, "left": 0,
    }  # fmt: skip
    said = "given in 1 run, opened in 1, obeyed in 1 of 1 that show it"
    assert found["says"] == said
    assert f"lessons/idempotency.md: {said}." in (tmp_path / "out" / "report.html").read_text()
    shown = lessons("trial", *trial.again)  # of which nothing is left to be run
    assert f"lessons/idempotency.md: {said}." in shown.out
    assert f"raw results: {tmp_path / 'out'}" in shown.out


@pytest.mark.slow
def test_a_placebo_comes_like_the_lesson_and_does_not_tell(trial, tmp_path):
    data = json.loads(trial(TASKS, "--arms", "without,placebo").out)
    rows = {row["task"]: row for row in data["tasks"]}
    assert rows["retry"]["lessons"] == ["lessons/idempotency.md"]
    assert rows["retry"]["arms"]["placebo"] == ["wrong"]
    assert data["comparisons"][0]["difference"] == 0
    printed = json.loads((tmp_path / "out/runs/retry.placebo.1/agent.txt").read_text())
    (name,) = printed["files"]
    assert "advice" in name  # a card's own name tells its topic


@pytest.mark.slow
def test_a_brain_that_lies_elsewhere_has_the_same_arms(trial, shop, tmp_path, lessons):
    write(tmp_path / "cards", "lessons/idempotency.md", CARD)
    write(tmp_path / "cards", "lessons.toml", "")
    git(shop, "rm", "-rq", "lessons", "lessons.toml")
    commit(shop, "Move the cards")
    (tmp_path / "tasks.toml").write_text(TASKS)
    options = ("--arms", "without,with,placebo", "--out", tmp_path / "out", "--agent", trial.agent)
    named = ("--json", "--brain", tmp_path / "cards")
    data = json.loads(lessons(*named, "trial", tmp_path / "tasks.toml", *options).out)
    arms = {row["task"]: row["arms"] for row in data["tasks"]}["retry"]
    assert arms == {"without": ["wrong"], "with": ["right"], "placebo": ["wrong"]}


@pytest.mark.slow
def test_the_variable_alone_switches_nothing_off(shop, agent, tmp_path, monkeypatch):
    monkeypatch.setenv("LESSONS_TRIAL", "abc")
    words = agent.replace("{prompt}", "").split()
    done = subprocess.run(
        [*words, "retry a failed payment when the gateway times out"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["told"] is True


@pytest.mark.slow
def test_a_trial_goes_on_where_it_was_killed(shop, agent, tmp_path):
    tasks = tmp_path / "tasks.toml"
    tasks.write_text(TASKS.replace('"retry a', '"hang: retry a'))
    command = [sys.executable, "-m", "lessons_kb.cli.main", "--json", "trial", str(tasks)]
    command += ["--agent", agent, "--out", str(tmp_path / "out")]
    process = subprocess.Popen(command, cwd=shop, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while time.monotonic() < until and not (tmp_path / "seen").exists():
        time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    for pid in (tmp_path / "seen").read_text().split()[::2]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    again = subprocess.run(
        [*command, "--resume", "--seconds", "8"], cwd=shop, capture_output=True, text=True
    )
    assert re.search(r"retry\.\w+\.1 was ended early; it runs again", again.stderr)
    data = json.loads(again.stdout)
    assert {one["run"][0] for one in data["faults"]} == {"retry"}
    assert "ended after 8 seconds" in data["faults"][0]["why"]
    assert data["arms"]["with"]["runs"] == 2


@pytest.mark.slow
def test_a_budget_ends_it(trial):
    done = trial(TASKS, "--budget", "$1.2")
    assert done.code == 2
    assert "the budget of $1.2 is used up; 3 runs kept, continue with `lessons trial" in done.err
    assert len(json.loads(done.out)["results"]) == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("nosuchagent {prompt}", "nosuchagent is not on the PATH; install it"),
        (
            "sh -c 'echo no login; exit 3'",
            "the agent did nothing and ended with 3: no login",
        ),
        ("sh -c 'echo x > new'", "the agent called no hook of ours, so no arm differs; connect it"),
        ("'", "not a command line"),
    ],
)
def test_an_agent_that_cannot_work_is_named(trial, agent, said):
    done = trial(TASKS, agent=agent)
    assert done.code == 2
    assert said in done.err


@pytest.mark.slow
def test_a_check_without_its_tool_is_a_fault(trial):
    done = trial(TASKS.replace('"grep -q key pay.py"', '"nosuchtool pay.py"', 1))
    whys = [one["why"] for one in json.loads(done.out)["faults"]]
    assert len(whys) == 2
    assert all("the check cannot run: " in why and "nosuchtool" in why for why in whys)


def test_what_is_wrong_with_tasks_is_said(trial):
    for text, said in (
        ("", "no task; write [[task]]"),
        ('[[task]]\nprompt = "a"\ncheck = "b"\n', "task 1: commit is missing"),
        ('[[task]]\nprompt = "a"\ncommit = "b"\ncheck = 3\n', "check must be a str, not 3"),
        ("[[task]\n", "fix or remove the line"),
        ('[[task]]\npromt = "a"\n', "'promt' is unknown; use one of name, prompt"),
        (TASKS + TASKS, "tasks.toml: task 1 also has the name 'retry'; rename one"),
    ):
        done = trial(text)
        assert (done.code, said in done.err) == (2, True), said


def test_what_cannot_run_is_said_before_anything_runs(trial, tmp_path, monkeypatch):
    (tmp_path / "cursor").write_text("#!/bin/sh\n")
    (tmp_path / "cursor").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    tasks = TASKS.replace('"HEAD"', '"f00"')
    said = trial(tasks, agent="cursor").err
    assert "cursor has no command line for a task; give one with {prompt}" in said
    done = trial(tasks, "--resume")
    assert (done.code, "task retry: 'f00' is not a commit of " in done.err) == (2, True)
    assert not (tmp_path / "seen").exists()


def test_without_trust_nothing_runs(trial, shop, tmp_path, lessons, monkeypatch):
    write(tmp_path / "data" / "lessons-kb", "lessons/first.md", CARD)  # the user's own brain
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert lessons("trust", "--revoke", ".").code == 0
    done = trial(TASKS)
    assert (done.code, "nothing was run: " in done.err) == (2, True)
    assert f"`lessons trust {shop}`" in done.err
    assert not (tmp_path / "seen").exists()
    assert not (tmp_path / "out").exists()


def test_without_a_lesson_nothing_runs(trial, shop, tmp_path):
    git(shop, "rm", "-rqf", "lessons")
    done = trial(TASKS)
    assert (done.code, "has no lessons" in done.err) == (2, True)
    assert not (tmp_path / "seen").exists()
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_check_brings_its_files_only_afterwards(trial, shop, tmp_path):
    start = git(shop, "rev-parse", "HEAD").strip()
    fix = commit(shop, **{"tests/test_pay.sh": "grep -q key pay.py\n"})
    first = TASKS.partition('[[task]]\nname = "easy"')[0]
    task = first.replace("HEAD", start).replace("grep -q key pay.py", "sh tests/test_pay.sh")
    task += f'check_from = "{fix}"\ncheck_files = ["tests/test_pay.sh"]\n'
    data = json.loads(trial(task).out)
    assert data["tasks"][0]["arms"] == {"without": ["wrong"], "with": ["right"]}
    diff = (tmp_path / "out" / "runs" / "retry.with.1" / "diff.patch").read_text()
    assert "test_pay" not in diff


BODY = """
Two ways into the same endless loop:

- The reader never looked for the end of a file, which happens in
  its last line. Stop there by seeking to the end.
- A negative place landed past the end. It is now counted from the end
  (#12).

Fixes: #11
Reported-by: Ada

    >>> read("a")
    Killed

The loop on empty files is used by tests alone.
"""
TOLD = """\
Fix this: Endless loop at the end of a file.

Two ways into the same endless loop:

- The reader never looked for the end of a file, which happens in its last line.
- A negative place landed past the end.

    >>> read("a")
    Killed"""


@pytest.mark.slow
@pytest.mark.parametrize(("options", "cause"), [
    (["--check", "true {files}"], "pass at the parent, too; does `true {files}` run the tests in"),
    (["--check", "no-such-program {files}"], "do not even pass at the fix (sh: 1: no-such-program: not"),
    (["--check", "true", "--setup", "echo no net; false"], "setup fails: no net, at each of the"),
])  # fmt: skip
def test_the_search_for_tasks_ends_after_ten_fixes_of_the_same_cause(
    shop, lessons, tmp_path, options, cause
):
    for number in range(12):
        name = f"part{number}"
        commit(shop, f"Add {name}", **{f"{name}.py": "a = 1\n"})
        fixed = {f"{name}.py": "a = 2\n", f"tests/test_{name}.py": "pass\n"}
        commit(shop, f"Fix {name}: wrong result in the sum", **fixed)
    done = lessons("trial", tmp_path / "made.toml", "--from-history", "2", *options)
    *reasons, last = done.err.splitlines()
    assert (done.code, len(reasons)) == (2, 10)
    assert cause in last


@pytest.mark.slow
def test_tasks_are_made_from_fixes_and_their_tests(shop, lessons, trial, tmp_path):
    """The prompt made of a commit tells the mistake, and not the solution."""
    total = "def total({}):\n    return {}\n"
    commit(shop, "Add sum", **{"sums.py": total.format("a", 3)})
    test = "from sums import total\nassert total([1, 2]) == 3 and total([4]) == 4\n"
    fixed = {"sums.py": total.format("a", "sum(a)"), "tests/test_sums.py": test}
    subject = "fix(reader): Endless loop at the end of a file, closes #10"
    commit(shop, f"{subject}\n{BODY}", **fixed)
    nothing = {"sums.py": total.format("b", "sum(b)"), "tests/test_more.py": "pass\n"}
    commit(shop, "Fix nothing: wrong words", **nothing)
    file = tmp_path / "made.toml"
    check = "PYTHONPATH=. python3 {files}"
    done = lessons("trial", file, "--from-history", "5", "--check", check)
    assert done.code == 0, done.err
    assert "Fix nothing: wrong words: its tests pass at its parent" in done.err
    text = file.read_text()
    assert text.startswith("# Tasks from this repository's past.")
    assert [one["prompt"] for one in tomllib.loads(text)["task"]] == [TOLD]
    assert lessons("trial", file, "--from-history", "5").code == 2
    assert "1 task from 2 fixes" in done.out
    data = json.loads(trial(text).out)
    assert data["tasks"][0]["arms"]["with"] == ["wrong"]


@pytest.mark.slow
@pytest.mark.parametrize(("agent", "words"), [
    ("claude-code", ["-p", "--output-format", "json", "--permission-mode", "acceptEdits", "--", "PROMPT"]),
    ("codex --model small", ["exec", "--json", "-s", "workspace-write", "--model", "small", "--", "PROMPT"]),
    ("gemini -p {prompt}", ["-p", "PROMPT"]),
    ("gemini-cli", ["--prompt=PROMPT", "-o", "json", "--approval-mode", "auto_edit", "--skip-trust"]),
])  # fmt: skip
def test_an_agent_that_we_install_for_is_named_alone(trial, tmp_path, monkeypatch, agent, words):
    program = tmp_path / "bin" / re.sub("-c(ode|li)$", "", agent.split()[0])
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nfor one; do echo "$one"; done; exit 1\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    assert trial(TASKS, agent=agent).code == 2
    printed = next((tmp_path / "out" / "runs").glob("*/agent.txt")).read_text().splitlines()
    asked = re.findall(r'^prompt = "(.*)"', TASKS, re.MULTILINE)
    for prompt in asked:
        printed = [line.replace(prompt, "PROMPT") for line in printed]
    assert printed == words


CLAUDE = {
    "input_tokens": 3, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 100,
    "output_tokens": 7, "server_tool_use": {"web_search_requests": 1},
}  # fmt: skip
CODEX = {
    "input_tokens": 90, "cached_input_tokens": 80, "output_tokens": 10, "reasoning_output_tokens": 5
}  # fmt: skip
GEMINI = {"prompt": 90, "candidates": 10, "total": 110}
QWEN = {"input_tokens": 90, "cache_read_input_tokens": 80, "output_tokens": 10, "total_tokens": 100}
OPENCODE = {
    "total": 120,
    "input": 90,
    "output": 10,
    "reasoning": 5,
    "cache": {"read": 10, "write": 5},
}
USAGE = {
    "claude": (
        [{"type": "result", "session_id": "s", "total_cost_usd": 0.25, "usage": CLAUDE}],
        (130, 0.25, "s"),
    ),
    "codex": (
        [
            {"type": "thread.started", "thread_id": "s"},
            "Warning",
            {"type": "turn.completed", "usage": CODEX},
            {"type": "turn.completed", "usage": {"input_tokens": 45, "output_tokens": 5}},
        ],
        (150, None, "s"),
    ),
    "gemini": (
        [{"session_id": "s", "stats": {"models": {"a": {"tokens": GEMINI}, "b": {"tokens": {"total": 9}}}}}],
        (119, None, "s"),
    ),
    "qwen": (
        [[{"session_id": "s"}, {"message": {"usage": {}}}, {"type": "result", "usage": QWEN}]],
        (100, None, "s"),
    ),
    "opencode": (
        [
            {"sessionID": "s", "part": {"cost": 0.5, "tokens": OPENCODE}},
            {"sessionID": "s", "part": {"cost": 0.25, "tokens": {"input": 30}}},
        ],
        (150, 0.75, "s"),
    ),
    "hostile": (
        [
            {"usage": [1], "stats": "x", "part": {"tokens": {"input": "many", "cache": None}}},
            {"total_cost_usd": "free", "session_id": 7, "usage": {"input_tokens": "9"}},
        ],
        (0, None, ""),
    ),
    "nothing": (["done"], (None, None, "")),
}  # fmt: skip


@pytest.mark.parametrize("agent", USAGE)
def test_what_agents_print_of_tokens_and_price_is_read(agent):
    printed, used = USAGE[agent]
    assert read_usage("\n".join(map(json.dumps, printed))) == used


@pytest.mark.slow
def test_an_agent_that_was_ended_is_no_agent_without_a_price(trial):
    tasks = TASKS.replace('"write the', '"hang: write the')
    done = trial(tasks, "--seconds", "15", "--budget", "$100")
    assert done.code == 0, done.err
    faults = json.loads(done.out)["faults"]
    assert {one["run"][0] for one in faults} == {"hopeless"}
    assert faults[0]["why"] == "the agent was ended after 15 seconds; --seconds allows more"


@pytest.mark.slow
@pytest.mark.parametrize("works", [True, False])
def test_a_check_has_no_network_or_the_user_is_told(trial, tmp_path, monkeypatch, works):
    fake = tmp_path / "bin" / "unshare"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\n" + ('shift 2; NETWORK=no exec "$@"\n' if works else "exit 1\n"))
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
    find_no_network.cache_clear()
    check = 'check = "echo network $NETWORK; exit 1"'
    done = trial(re.sub("check = .*", check, TASKS))
    find_no_network.cache_clear()
    notes = {one["note"] for one in json.loads(done.out)["results"]}
    assert notes == {"network no" if works else "network"}
    assert ("checks run with it" in done.err) is not works


@pytest.mark.slow
def test_a_task_of_the_fix_that_a_lesson_was_learnt_from_is_reported_apart(
    shop, lessons, trial, tmp_path
):
    commit(shop, "Add pay", **{"pay.py": "def pay():\n    return send()\n"})
    test = "assert 'key' in open('pay.py').read()\n"
    body = "\n\nA customer was charged twice because the retry of a payment had no key.\n"
    fixed = {"pay.py": "def pay():\n    return send(key=1)\n", "tests/test_pay.py": test}
    commit(shop, "Fix retry a failed payment, which charged twice" + body, **fixed)
    assert lessons("mine", "--draft", "1").code == 0
    (draft,) = json.loads(lessons("review", "--list", "--json").out)
    git(shop, "rm", "-q", "lessons/idempotency.md")
    commit(shop, "Start over")
    pathlib.Path(draft["path"]).write_text(CARD)
    done = lessons("review", "--accept", draft["id"])
    assert done.code == 0, done.err
    file = tmp_path / "made.toml"
    lessons("trial", file, "--from-history", "1", "--check", "python3 {files}")
    text = file.read_text()
    assert f'lesson = "{done.out.strip()}"\n' in text
    assert "\nown = true\n" in text
    (compared,) = json.loads(trial(text).out)["comparisons"][1:]
    assert compared["of"] == "on the fix that the lesson came from"
    assert (compared["repaired"], compared["pairs"]) == (1, 1)


def test_the_page_names_the_command_of_each_agent():
    page = pathlib.Path("docs/trial.md").read_text()
    for agent in AGENTS.values():
        command = f"| `{agent.name}` | `{agent.program} {agent.task}` |"
        assert (command in page) is bool(agent.task), agent.name
