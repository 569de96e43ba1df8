"""The GitHub Action drafts lessons after a merge, and proposes them in a pull request."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.kit import commit, git, write
from tests.sessions import card

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
REPORT = '<testsuite><testcase classname="test_cart" name="test_total">{}</testcase></testsuite>'
FAILURE = '<failure message="AssertionError: assert 3 == 4">E assert 3 == 4</failure>'
COMMENT = {
    "id": 51,
    "path": "pay.py",
    "pull_request_url": "https://api.example.org/repos/a/b/pulls/3",
    "diff_hunk": "@@ -0,0 +1,2 @@\n+def pay():\n+    charge()",
    "created_at": "2026-10-02T10:00:00Z",
    "user": {"login": "reviewer"},
    "body": "A retry must not run without a key, because the card is billed twice.",
}
HOSTILE = "$(touch pwned) `touch pwned` '; touch pwned; ' \" ::error::pwned\n::warning::pwned\n"
PROPOSED = "refs/heads/lessons/draft-3"
GH = '''#!{python}
"""Answers the calls of GitHub's API that the action makes, on a bare repository."""
import json, os, subprocess, sys

path, method, query, fields = "", "GET", "", []
words = iter(sys.argv[2:])
for word in words:
    if word == "--method":
        method = next(words)
    elif word == "--jq":
        query = next(words)
    elif word in ("--raw-field", "--field"):
        name, _, value = next(words).partition("=")
        if word == "--field" and value.startswith("@"):
            value = open(value[1:], encoding="utf-8").read()
        fields.append((name, value))
    elif not word.startswith("--"):
        path = word.removeprefix("repos/a/b/")
single = dict(fields)
with open(os.environ["RECORD"], "a", encoding="utf-8") as record:
    record.write(json.dumps([method, path, fields]) + "\\n")

def git(*arguments, data=""):
    done = subprocess.run(
        ["git", "-C", os.environ["ORIGIN"], *arguments], input=data, capture_output=True,
        text=True, check=True,
    )
    return done.stdout.strip()

def refuse(status):
    sys.exit(f"gh: HTTP {{status}}")

allowed = os.environ.get("ALLOWED", "contents pulls").split()
if path.startswith("git/") and method != "GET" and "contents" not in allowed:
    refuse(403)
if path.startswith("pulls") and "pulls" not in allowed:
    refuse(403)
if path == "graphql":
    print("github-actions[bot]")
    sys.exit()
if path == "issues/3/comments":
    sys.exit()
if path == "pulls/3/comments":
    print(open(os.environ["COMMENTS"], encoding="utf-8").read())
    sys.exit()
if path == "pulls":
    answer = {{"html_url": "https://example.org/a/b/pull/4"}}
elif path.startswith("git/commits/"):
    answer = {{"tree": {{"sha": git("rev-parse", path[12:] + "^{{tree}}")}}}}
elif path == "git/trees":
    git("read-tree", single["base_tree"])
    for number in range(1, len(fields), 4):
        entry = dict(fields[number : number + 4])
        blob = git("hash-object", "-w", "--stdin", data=entry["tree[][content]"])
        place = f"{{entry['tree[][mode]']}},{{blob}},{{entry['tree[][path]']}}"
        git("update-index", "--add", "--cacheinfo", place)
    answer = {{"sha": git("write-tree")}}
elif path == "git/commits":
    identity = ["-c", "user.name=bot", "-c", "user.email=bot@example.org"]
    made = ["commit-tree", single["tree"], "-p", single["parents[]"], "-m", single["message"]]
    answer = {{"sha": git(*identity, *made)}}
elif path == "git/refs":
    if git("for-each-ref", single["ref"]):
        refuse(422)
    git("update-ref", single["ref"], single["sha"])
    answer = {{}}
elif method == "DELETE":
    git("update-ref", "-d", path.removeprefix("git/"))
    answer = {{}}
else:
    refuse(404)
for key in filter(None, query.split(".")):
    answer = answer[key]
print(answer)
'''


def read_action():
    return yaml.safe_load((ROOT / "action.yml").read_text())


def find_head(project):
    head = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=project, text=True)
    return head.strip()


def add_commit(project, day, subject, **files):
    commit(project, subject, f"2026-10-0{day}T10:00:00+00:00", **files)


@pytest.fixture
def origin(tmp_path):
    folder = tmp_path / "origin.git"
    git(tmp_path, "init", "-q", "--bare", str(folder))
    return folder


@pytest.fixture
def shop(project, origin):
    """The checkout after pull request 3, whose two commits were squashed into one."""
    git(project, "init", "-q", "-b", "main")
    git(project, "remote", "add", "origin", str(origin))
    add_commit(project, 1, "Begin", **{"cart.py": "def total(items):\n    return 3\n"})
    git(project, "checkout", "-q", "-b", "topic")
    add_commit(project, 1, "Pay", **{"pay.py": "def pay():\n    charge()\n"})
    paid = {"pay.py": "def pay():\n    charge(KEY)\n"}
    repaired = {"cart.py": "def total(items):\n    return sum(items)\n"}
    add_commit(project, 3, "Address the review", **paid, **repaired)
    git(project, "push", "-q", "origin", "topic:refs/pull/3/head")
    git(project, "checkout", "-q", "main")
    git(project, "branch", "-q", "-D", "topic")
    add_commit(project, 4, "fix: add up the items", **paid, **repaired)
    git(project, "push", "-q", "origin", "main")
    write(project, "red.xml", REPORT.format(FAILURE))
    write(project, "green.xml", REPORT.format(""))
    return project


@pytest.fixture
def run_step(shop, origin, tmp_path):
    """Run a step of the action in the checkout; return the process."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "gh").write_text(GH.format(python=sys.executable))
    entry = f'#!/bin/sh\nexec {sys.executable} -m lessons_kb.cli.entry "$@"\n'
    (programs / "lessons").write_text(entry)
    (programs / "python").write_text('#!/bin/sh\necho "$@"\n')
    for program in programs.iterdir():
        program.chmod(0o755)

    def run(step, comments=(), **variables):
        export = tmp_path / "export.json"
        export.write_text(json.dumps(comments))
        environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
        environment |= {"PYTHONPATH": str(ROOT), "RECORD": str(tmp_path / "calls.jsonl")}
        environment |= {"ORIGIN": str(origin), "COMMENTS": str(export)}
        environment |= {"RUNNER_TEMP": str(tmp_path), "GITHUB_REPOSITORY": "a/b"}
        environment |= {"GITHUB_EVENT_NAME": "pull_request"}
        return subprocess.run(
            # As GitHub runs `shell: bash`.
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=shop,
            env={**environment, **variables},
            capture_output=True,
            text=True,
        )

    return run


@pytest.fixture
def draft(run_step, shop):
    """Run the step that drafts; return its notices and the address of its pull request."""
    step = read_action()["runs"]["steps"][2]

    def run(comments=(), **variables):
        names = {"BRAIN": ".", "NUMBER": "3", "MERGED": "true", "TARGET": "main"}
        names |= {"HEAD_REPOSITORY": "a/b", "HEAD_BRANCH": "topic", "PARENT": find_head(shop)}
        names |= {"FAILED": "", "PASSED": "", "BEFORE": "HEAD^", "AFTER": "HEAD"}
        done = run_step(step, comments, **{**names, **variables})
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return run


@pytest.fixture
def proposed(origin):
    """Return the files that the proposed branch adds to main, by path."""

    def read():
        def ask(*arguments):
            return subprocess.check_output(["git", "-C", origin, *arguments], text=True)

        if not ask("for-each-ref", PROPOSED):
            return {}
        names = ask("diff", "--name-only", "main", PROPOSED).splitlines()
        return {name: ask("show", f"{PROPOSED}:{name}") for name in names}

    return read


def test_a_repaired_test_is_proposed_as_a_card(draft, proposed):
    assert draft(FAILED="red.xml", PASSED="green.xml") == ["https://example.org/a/b/pull/4"]
    ((path, text),) = proposed().items()
    assert path == "lessons/fix-add-up-the-items.md"
    assert "status: draft" in text
    assert "+    return sum(items)" in text


def test_a_comment_is_proposed_with_the_change_that_a_squashed_merge_hides(draft, proposed):
    praise = {**COMMENT, "id": 52, "body": "Nice work, thank you for the quick change."}
    draft([COMMENT, praise])
    ((_path, text),) = proposed().items()
    assert "A retry must not run without a key" in text
    assert "-    charge()\n+    charge(KEY)" in text
    assert "status: draft" in text


def test_a_comment_is_data(draft, proposed, shop, tmp_path):
    text = f"A retry must not run without a key, because {HOSTILE} is billed twice."
    told = draft([{**COMMENT, "body": text}])
    assert told == ["https://example.org/a/b/pull/4"]
    ((path, _text),) = proposed().items()
    assert path.startswith("lessons/")
    assert not list(tmp_path.rglob("pwned"))
    for call in (tmp_path / "calls.jsonl").read_text().splitlines():
        _method, _path, fields = json.loads(call)
        shown = [value for name, value in fields if name != "tree[][content]"]
        assert "touch pwned" not in " ".join(shown)


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"HEAD_REPOSITORY": "eve/b"}, "fork"),
        ({"HEAD_REPOSITORY": ""}, "fork"),
        ({"MERGED": "false"}, "merged"),
        ({"HEAD_BRANCH": "lessons/draft-2"}, "pull request with drafts"),
        ({"GITHUB_EVENT_NAME": "workflow_run"}, "not on workflow_run"),
    ],
)
def test_other_pull_requests_are_left_alone(draft, proposed, tmp_path, variables, said):
    (line,) = draft([COMMENT], FAILED="red.xml", PASSED="green.xml", **variables)
    assert line.startswith("::notice::")
    assert said in line
    assert proposed() == {}
    assert not (tmp_path / "calls.jsonl").exists()


@pytest.mark.parametrize(
    ("allowed", "said"),
    [("pulls", "contents: write"), ("contents", "pull-requests: write"), ("", "contents: write")],
)
def test_a_missing_permission_is_named_in_one_line(draft, proposed, allowed, said):
    (line,) = draft([COMMENT], FAILED="red.xml", PASSED="green.xml", ALLOWED=allowed)
    assert line.startswith("::notice::")
    assert said in line
    assert proposed() == {}


def test_nothing_to_draft_is_said_in_one_line(draft, proposed):
    for variables, said in (
        ({}, "there are no test reports and no review comments"),
        ({"FAILED": "green.xml", "PASSED": "green.xml"}, "no test that failed in green.xml"),
        ({"FAILED": "absent.xml", "PASSED": "green.xml"}, "absent.xml"),
    ):
        (line,) = draft(**variables)
        assert line.startswith("::notice::No lesson was drafted: ")
        assert said in line
    assert proposed() == {}


def test_a_second_run_keeps_the_first_proposal(draft, proposed, shop):
    draft(FAILED="red.xml", PASSED="green.xml")
    first = proposed()
    git(shop, "clean", "-fdq", "lessons")
    (line,) = draft(FAILED="red.xml", PASSED="green.xml")
    assert "it may exist already" in line
    assert proposed() == first


def test_a_push_needs_no_pull_request(draft, tmp_path):
    variables = {"NUMBER": "", "MERGED": "", "HEAD_REPOSITORY": "", "HEAD_BRANCH": ""}
    reports = {"FAILED": "red.xml", "PASSED": "green.xml"}
    told = draft(GITHUB_EVENT_NAME="push", **variables, **reports)
    assert told == ["https://example.org/a/b/pull/4"]
    assert "comments" not in (tmp_path / "calls.jsonl").read_text()


KEY_CARD = card(
    "A key stood in the code", "Read the key from the environment", severity="high",
    detect=r"""[{regex: 'charge\(KEY\)', files: ["*.py"]}]""",
)  # fmt: skip
EXPRESSION = re.compile(r"\$\{\{ (.+?) \}\}")


def evaluate(text, context):
    """Return a text with the values of its expressions, of the forms that the action uses.

    Like GitHub, the evaluation knows no input that the action does not declare. Unlike GitHub, it
    fails for a field that the event does not have.
    """

    def look_up(expression):
        value = context
        for name in expression.split("."):
            value = value[name]
        return value

    def replace(match):
        alternatives = map(look_up, match[1].split(" || "))
        value = next(filter(None, alternatives), "")
        return "true" if value is True else str(value)

    return EXPRESSION.sub(replace, text)


def is_run(step, context):
    condition = step.get("if", "${{ !cancelled() }}").removeprefix("${{ ").removesuffix(" }}")
    for term in condition.split(" && "):
        name, _, value = term.partition(" == ")
        if term != "!cancelled()" and evaluate(f"${{{{ {name} }}}}", context) != value.strip("'"):
            return False
    return True


@pytest.mark.parametrize("fail_on", ["error", "never"])
def test_the_whole_action_runs_on_the_event_of_a_merge(run_step, proposed, shop, tmp_path, fail_on):
    write(shop, "lessons/key.md", KEY_CARD)
    git(shop, "add", "lessons")
    git(shop, "commit", "-q", "--amend", "--no-edit")
    git(shop, "push", "-q", "--force", "origin", "main")
    base = subprocess.check_output(["git", "rev-parse", "HEAD^"], cwd=shop, text=True).strip()
    head = {"ref": "topic", "repo": {"full_name": "a/b"}}
    request = {"number": 3, "merged": True, "merge_commit_sha": find_head(shop), "head": head}
    request["base"] = {"ref": "main", "sha": base}
    github = {"event": {"action": "closed", "pull_request": request}, "token": "secret-token"}
    github |= {"sha": find_head(shop), "ref_name": "main"}
    action = read_action()
    given = {"draft": "true", "failed-report": "red.xml", "passed-report": "green.xml"}
    given["fail-on"] = fail_on
    assert given.keys() <= action["inputs"].keys()
    inputs = {
        name: given.get(name, evaluate(declared["default"], {"github": github}))
        for name, declared in action["inputs"].items()
    }
    context = {"github": github, "inputs": inputs}
    output = tmp_path / "output"
    codes = []
    for step in action["runs"]["steps"]:
        assert is_run(step, context)
        assert step["shell"] == "bash"
        names = {name: evaluate(value, context) for name, value in step["env"].items()}
        names |= {"GITHUB_ACTION_PATH": str(ROOT), "GITHUB_OUTPUT": str(output)}
        done = run_step(step, [COMMENT], **names)
        codes.append(done.returncode)
        assert "secret-token" not in done.stdout + done.stderr
    assert codes == [0, int(fail_on == "error"), 0], done.stderr
    assert done.stdout == "https://example.org/a/b/pull/4\n"
    fields = dict(line.split("=", 1) for line in output.read_text().splitlines())
    place = evaluate(action["outputs"]["sarif"]["value"], {"steps": {"find": {"outputs": fields}}})
    (result,) = json.loads(Path(place).read_text())["runs"][0]["results"]
    assert result["ruleId"] == "lessons/key.md"
    calls = [json.loads(line) for line in (tmp_path / "calls.jsonl").read_text().splitlines()]
    comments = [fields for method, path, fields in calls if path.startswith("issues/3")]
    assert "A key stood in the code" in str(comments)
    assert sorted(proposed()) == [
        "lessons/a-retry-must-not-run-without-a-key-because-the-card-is.md",
        "lessons/fix-add-up-the-items.md",
    ]


def test_the_action_drafts_only_where_it_is_asked_to():
    action = read_action()
    inputs = {"draft": action["inputs"]["draft"]["default"]}
    assert [is_run(step, {"inputs": inputs}) for step in action["runs"]["steps"]] == [
        True,
        True,
        False,
    ]
