"""One card, three places, one wording: an agent's hook, a commit hook, continuous integration."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from lessons_kb import Brain
from tests.kit import commit, git, write
from tests.sessions import card

ROOT = Path(__file__).resolve().parents[2]
CARD = card(
    "A stranger's input ran in a shell", "Pass a list of arguments", severity="high", gate="ask",
    detect=r"""[{regex: 'shell\s*=\s*True', files: ["*.py"]}]""",
)  # fmt: skip
LINE = "run(cmd, shell=True)"
WORDING = f"`{LINE}` — “A stranger's input ran in a shell” (lessons/shell.md)"
GH = """#!/usr/bin/env bash
echo "$*" >> "$RECORD"
case "$*" in
    *graphql*) echo "github-actions[bot]" ;;
    *--paginate*)
        [ -z "$FORBIDDEN" ] || { echo "gh: Resource not accessible by integration" >&2; exit 1; }
        [ -z "$FOREIGN" ] || echo "5 eve"
        [ ! -e "$RECORD.there" ] || echo "7 github-actions[bot]"
        [ -z "$MANY" ] || for ((number = 100; number < 20000; number++)); do
            echo "$number github-actions[bot]"
        done ;;
    *POST*) touch "$RECORD.there" ;;
esac
"""


@pytest.fixture
def shop(project):
    git(project, "init", "-q")
    write(project, "lessons/shell.md", CARD)
    write(project, "run.py", "cmd = 1\n")
    commit(project, "first")
    write(project, "run.py", f"cmd = 1\n{LINE}\n")
    commit(project, "second")
    with Brain.open(project, directory=project) as brain:
        brain.refresh()
    return project


def run(script, shop, tmp_path, **variables):
    programs = tmp_path / "bin"
    programs.mkdir(exist_ok=True)
    (programs / "gh").write_text(GH)
    (programs / "gh").chmod(0o755)
    (programs / "lessons").write_text(
        f'#!/bin/sh\nexec {sys.executable} -m lessons_kb.cli.entry "$@"\n'
    )
    (programs / "lessons").chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", **variables}
    environment |= {"RECORD": str(tmp_path / "gh.txt"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        # As GitHub runs `shell: bash`.
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=shop,
        env=environment,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def act(shop, tmp_path):
    """Run the steps of the GitHub Action, its installation left out."""
    steps = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    names = {"RUNNER_TEMP": str(tmp_path), "GITHUB_OUTPUT": str(tmp_path / "output")}
    names |= {"GITHUB_REPOSITORY": "a/b", "NUMBER": "3", "COMMENT": "true", "BASE": "HEAD^"}

    def act(**more):
        return run(
            steps[1]["run"], shop, tmp_path, **{**names, "BRAIN": ".", "FAIL_ON": "error", **more}
        )

    return act


@pytest.mark.slow
def test_a_hook_a_commit_hook_and_continuous_integration_say_the_same(
    shop, act, lessons, monkeypatch, claude
):
    monkeypatch.chdir(shop)
    said = claude.call("Pre", "Write", {"file_path": str(shop / "new.py"), "content": f"{LINE}\n"})
    reason = said["hookSpecificOutput"]["permissionDecisionReason"]
    assert f"`{LINE}`" in reason
    assert WORDING.partition(" — ")[2] in reason
    code, told, _error = act()
    assert code == 1
    assert told == f"::error file=run.py,title=lessons%3A lessons/shell.md,line=2::{WORDING}\n"
    git(shop, "reset", "-q", "--soft", "HEAD^")  # as a commit hook sees it
    hook = next(
        one for one in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
        if one["id"] == "lessons-detect"
    )  # fmt: skip
    done = lessons(*hook["entry"].split()[1:])
    assert (done.code, done.out) == (1, f"run.py:2:10: {WORDING}\n")


@pytest.mark.slow
def test_the_comment_is_updated_and_not_repeated(shop, act, tmp_path):
    record = tmp_path / "gh.txt"
    assert act(FAIL_ON="never")[0] == 0
    assert act(FAIL_ON="never")[0] == 0
    calls = [call for call in record.read_text().split("api ")[1:] if "graphql" not in call]
    asked, posted, asked_again, patched = calls
    assert "--jq" in asked
    assert posted.startswith("--method POST repos/a/b/issues/3/comments")
    assert WORDING in posted
    assert "--jq" in asked_again
    assert patched.startswith("--method PATCH repos/a/b/issues/comments/7")
    record.unlink()
    act(FAIL_ON="never", BASE="HEAD")
    assert "No mistake that a lesson describes is in this change." in record.read_text()
    assert '"ruleId": "lessons/shell.md"' not in (tmp_path / "lessons.sarif").read_text()


@pytest.mark.slow
def test_a_token_that_may_not_read_comments_hides_no_annotation(act, tmp_path):
    code, told, _error = act(FORBIDDEN="1")
    annotations = [line for line in told.splitlines() if line.startswith("::error")]
    assert (code, len(annotations)) == (1, 1)
    assert "::notice::" in told
    record = (tmp_path / "gh.txt").read_text()
    assert "POST" not in record
    assert "PATCH" not in record


@pytest.mark.slow
def test_a_comment_of_somebody_else_is_never_edited(act, tmp_path):
    record = tmp_path / "gh.txt"
    assert act(FAIL_ON="never", FOREIGN="1")[0] == 0
    assert "--method POST" in record.read_text()
    record.unlink()
    assert act(FAIL_ON="never", FOREIGN="1")[0] == 0
    assert "comments/7" in record.read_text()
    assert "comments/5" not in record.read_text()


@pytest.mark.slow
def test_many_comments_do_not_end_the_step(act, tmp_path):
    code, told, error = act(MANY="1")
    assert (code, "::error" in told) == (1, True), error
    assert "comments/100 " in (tmp_path / "gh.txt").read_text()


@pytest.mark.slow
def test_the_action_installs_the_version_that_it_belongs_to(shop, tmp_path):
    steps = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "python").write_text('#!/bin/sh\nfor word; do last=$word; done; echo "$last"\n')
    (folder / "python").chmod(0o755)
    for package, installed in (
        ("", f"{ROOT}[ast]"),
        ("lessons-kb[ast]==1.0", "lessons-kb[ast]==1.0"),
    ):
        names = {"PACKAGE": package, "GITHUB_ACTION_PATH": str(ROOT)}
        code, told, error = run(steps[0]["run"], shop, tmp_path, **names)
        assert (code, told) == (0, f"{installed}\n"), error


@pytest.mark.slow
def test_the_template_for_gitlab_finds_the_same(shop, tmp_path):
    job = yaml.safe_load((ROOT / "templates" / "ci" / "gitlab.yml").read_text())["lessons"]
    variables = {**job["variables"], "CI_MERGE_REQUEST_DIFF_BASE_SHA": "HEAD^"}
    code, told, error = run("\n".join(job["script"][1:]), shop, tmp_path, **variables)
    assert (code, told) == (1, f"run.py:2:10: {WORDING}\n"), error
    assert '"ruleId": "lessons/shell.md"' in (shop / "lessons.sarif").read_text()
