"""Committing onto a branch: nobody's work is touched, nobody's commit is lost."""

import os
import subprocess
import threading

import pytest

from lessons_kb.errors import GitError, InputError
from lessons_kb.process.git import Author, Branch

RITA = Author(name="Rita Kim", email="rita@example.org")


def git(top, *words):
    command = ["git", "-c", "user.name=Owner", "-c", "user.email=owner@example.org", *words]
    return subprocess.run(command, cwd=top, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def clone(tmp_path):
    top = tmp_path / "clone"
    top.mkdir()
    git(top, "init", "-q", "-b", "main")
    (top / "a.md").write_text("a\n")
    (top / "b.md").write_text("b\n")
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "Begin")
    return top


def put(branch, path="cards/new.md", data=b"new\n"):
    return branch.commit(lambda _start: {path: data}, message=f"Add {path}", author=RITA)


def test_a_branch_begins_at_head_and_grows(clone):
    branch = Branch(str(clone), "review")
    assert (branch.tip(), branch.find_unmerged("")) == ("", [])
    first = put(branch)
    second = put(branch, "cards/ü, odd.md")
    assert branch.tip() == second
    assert git(clone, "log", "--format=%H %s %an %ae", "review", "--not", "main").splitlines() == [
        f"{second} Add cards/ü, odd.md Rita Kim rita@example.org",
        f"{first} Add cards/new.md Rita Kim rita@example.org",
    ]
    assert git(clone, "show", "review:cards/new.md") == "new\n"
    assert git(clone, "show", "review:a.md") == "a\n"
    assert branch.find_unmerged("cards/") == ["cards/new.md", "cards/ü, odd.md"]
    assert branch.find_unmerged("other/") == []


def test_whoever_works_in_the_clone_is_not_disturbed(clone):
    (clone / "a.md").write_text("staged\n")
    git(clone, "add", "a.md")
    (clone / "b.md").write_text("changed\n")
    (clone / "new.md").write_text("untracked\n")
    index = (clone / ".git" / "index").read_bytes()
    before = git(clone, "status", "--porcelain")
    branch = Branch(str(clone), "review")
    put(branch, "new.md", b"mine\n")
    put(branch, "a.md", b"mine\n")
    assert git(clone, "status", "--porcelain") == before
    assert (clone / ".git" / "index").read_bytes() == index
    assert (clone / "new.md").read_text() == "untracked\n"
    assert git(clone, "show", "review:b.md") == "b\n", "what is not committed stays out"
    assert git(clone, "symbolic-ref", "HEAD") == "refs/heads/main\n"


def test_a_commit_made_meanwhile_comes_first(clone):
    branch = Branch(str(clone), "review")
    put(branch, "cards/one.md")
    seen = []

    def change(start):
        if not seen:
            put(Branch(str(clone), "review"), "cards/other.md")
        seen.append(start)
        return {"cards/two.md": b"two\n"}

    branch.commit(change, message="Add two", author=RITA)
    assert len(seen) == 2
    names = git(clone, "ls-tree", "-r", "--name-only", "review", "cards/").split()
    assert names == ["cards/one.md", "cards/other.md", "cards/two.md"]
    assert git(clone, "rev-list", "--count", "main..review") == "3\n"


@pytest.mark.slow
def test_many_at_once_lose_nothing(clone):
    def work(who):
        branch = Branch(str(clone), "review")
        for number in range(3):
            put(branch, f"cards/{who}-{number}.md")

    threads = [threading.Thread(target=work, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(git(clone, "ls-tree", "-r", "--name-only", "review", "cards/").split()) == 12
    assert git(clone, "rev-list", "--count", "main..review") == "12\n"
    assert git(clone, "rev-list", "--merges", "main..review") == ""


def test_what_is_merged_begins_anew(clone):
    branch = Branch(str(clone), "review")
    put(branch)
    git(clone, "merge", "-q", "--no-ff", "-m", "Merge", "review")
    (clone / "c.md").write_text("c\n")
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", "Go on")
    assert branch.find_unmerged("") == []
    put(branch, "cards/second.md")
    assert git(clone, "show", "review:c.md") == "c\n", "it stands on what HEAD has become"
    assert branch.find_unmerged("") == ["cards/second.md"]


def test_what_was_taken_over_by_its_content_waits_no_more(clone):
    branch = Branch(str(clone), "review")
    put(branch)
    git(clone, "merge", "-q", "--squash", "review")
    git(clone, "commit", "-q", "-m", "Squash")
    assert branch.find_unmerged("") == []


def test_where_the_branch_is_shown(clone, tmp_path):
    assert Branch(str(clone), "main").is_checked_out()
    assert not Branch(str(clone), "review").is_checked_out()
    put(Branch(str(clone), "review"))
    git(clone, "worktree", "add", "-q", str(tmp_path / "other"), "review")
    with pytest.raises(InputError, match="another work tree"):
        Branch(str(clone), "review").is_checked_out()
    assert Branch(str(tmp_path / "other"), "review").is_checked_out()


def test_a_mode_is_kept_and_a_link_is_no_file(clone):
    (clone / "run.md").write_text("x\n")
    (clone / "run.md").chmod(0o755)
    os.symlink("a.md", clone / "link.md")
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", "More")
    branch = Branch(str(clone), "review")
    put(branch, "run.md", b"y\n")
    assert git(clone, "ls-tree", "review", "run.md").startswith("100755")
    assert branch.read(branch.tip(), "run.md") == b"y\n"
    assert branch.read(branch.tip(), "none.md") is None
    assert branch.find_entry(branch.tip(), "cards") is None


@pytest.mark.parametrize("name", ["", "-x", "a..b", "a b", "x.lock", "refs/", "a~1", "a\nb"])
def test_no_name_of_a_branch(clone, name):
    with pytest.raises(InputError, match="no name of a branch"):
        Branch(str(clone), name)


def test_where_there_is_nothing_to_commit_to(tmp_path):
    with pytest.raises(GitError, match="not in a git repository"):
        Branch(str(tmp_path), "review")
    git(tmp_path, "init", "-q")
    with pytest.raises(GitError, match="has no commit yet"):
        put(Branch(str(tmp_path), "review"))


def test_no_program_of_the_repository_is_run(clone):
    mark = clone.parent / "ran"
    for hook in ("reference-transaction", "pre-commit", "post-commit"):
        path = clone / ".git" / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch {mark}\n")
        path.chmod(0o755)
    git(clone, "config", "filter.x.clean", f"touch {mark}; cat")
    (clone / ".gitattributes").write_text("*.md filter=x\n")
    branch = Branch(str(clone), "main")
    put(branch)
    assert branch.is_clean("a.md")
    assert not mark.exists()
