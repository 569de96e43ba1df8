"""What git refuses is told in git's own words, and never taken for something else."""

import os
import subprocess

import pytest

from tests.cli.test_mine import commit, project
from tests.kit import git, make_brain

__all__ = ["project"]

COMMANDS = ("doctor", "mine", "detect", "install git", "check --diff answer", "detect --history")
LIES = ("not in a git", "no commit yet", "git init", "index cannot be read", "0 months")


def break_config(git):
    (git / "config").write_text("[core\n")


def give_away(git):
    if os.geteuid():
        pytest.skip("only root gives a folder away")
    for path in (git.parent, git):
        os.chown(path, 65534, -1)


def break_head(git):
    (git / "HEAD").write_text("nothing\n")


def lose_objects(git):
    (git / "objects").rename(git / "gone")
    (git / "objects").mkdir()


def break_branch(git):
    (git / (git / "HEAD").read_text().removeprefix("ref:").strip()).write_text("zzz\n")


def make_newer(git):
    (git / "config").write_text("[core]\n\trepositoryformatversion = 99\n")


ALL = frozenset(COMMANDS)
NEEDS_HEAD = frozenset({"mine", "detect --history"})
BREAKS = {
    break_config: ("bad config line 1 in file .git/config", ALL),
    give_away: ("detected dubious ownership in repository", ALL),
    make_newer: ("Expected git repo version <= 1, found 99", ALL),
    break_head: ("not a git repository (or any ", ALL),
    lose_objects: ("bad object HEAD", NEEDS_HEAD),
    break_branch: ("your current branch appears to be broken", NEEDS_HEAD),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "command"),
    [(damage, command) for damage, (_, told) in BREAKS.items() for command in sorted(told)],
)
def test_what_git_refuses_is_said_in_its_words(project, lessons, damage, command):
    text = "---\ntitle: A\ndetect: [{regex: x}]\n---\n\n## Situation\n\nNothing.\n"
    commit(project, "one", **{"lessons/a.md": text})
    damage(project / ".git")
    done = lessons(*command.split())
    expected = done.out + done.err
    assert BREAKS[damage][0] in expected
    assert not [lie for lie in LIES if lie in expected]


def test_the_advice_on_another_users_repository_works(project, lessons):
    commit(project, "one", **{"lessons/a.md": "# A\n"})
    give_away(project / ".git")
    output = lessons("install", "git").err
    subprocess.run(output.rpartition("run `")[2].partition("`")[0], shell=True, check=True)
    assert lessons("install", "git").code == 0


def test_a_bare_repository_is_no_work_tree(tmp_path, monkeypatch, lessons):
    git(tmp_path, "init", "-q", "--bare")
    make_brain(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert "a bare repository" in lessons("mine").err
    monkeypatch.setenv("PATH", str(tmp_path))
    for command in ("mine", "install git", "check --diff answer"):
        assert "git is not installed" in lessons(*command.split()).err
