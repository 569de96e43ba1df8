"""Committing onto a branch: nobody's work is touched, nobody's commit is lost."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from lessons_kb.errors import GitError, InputError
from lessons_kb.process.git import Author, Branch
from tests.kit import commit, git

RITA = Author(name="Rita Kim", email="rita@example.org")


@pytest.fixture
def clone(tmp_path):
    top = tmp_path / "clone"
    commit(top, **{"a.md": "a\n", "b.md": "b\n"})
    return top


@pytest.fixture
def branch(clone):
    return Branch(str(clone), "review")


def put(branch, path="cards/new.md", data=b"new\n"):
    return branch.commit(lambda _start: {path: data}, message=f"Add {path}", author=RITA)


def cards(clone):
    return git(clone, "ls-tree", "-r", "--name-only", "review", "cards/").split()


def test_a_branch_begins_at_head_and_grows(clone, branch):
    assert (branch.tip(), branch.find_unmerged("")) == ("", [])
    first = put(branch)
    second = put(branch, "cards/ü, odd.md")
    assert branch.tip() == second
    assert git(clone, "log", "--format=%H %s %an %ae", "review", "--not", "main").splitlines() == [
        f"{second} Add cards/ü, odd.md Rita Kim rita@example.org",
        f"{first} Add cards/new.md Rita Kim rita@example.org",
    ]
    assert git(clone, "show", "review:cards/new.md", "review:a.md") == "new\na\n"
    assert branch.find_unmerged("cards/") == ["cards/new.md", "cards/ü, odd.md"]
    assert branch.find_unmerged("other/") == []


def test_a_commit_does_not_disturb_work_in_the_clone(clone, branch):
    (clone / "a.md").write_text("staged\n")
    git(clone, "add", "a.md")
    (clone / "b.md").write_text("changed\n")
    (clone / "new.md").write_text("untracked\n")

    def look():
        index = (clone / ".git" / "index").read_bytes()
        return index, git(clone, "status", "--porcelain"), (clone / "new.md").read_text()

    before = look()
    put(branch, "new.md", b"mine\n")
    put(branch, "a.md", b"mine\n")
    assert look() == before
    assert git(clone, "show", "review:b.md") == "b\n", "what is not committed stays out"
    assert git(clone, "symbolic-ref", "HEAD") == "refs/heads/main\n"


def test_a_concurrent_commit_becomes_the_parent(clone, branch):
    put(branch, "cards/one.md")
    seen = []

    def change(start):
        if not seen:
            put(Branch(str(clone), "review"), "cards/other.md")
        seen.append(start)
        return {"cards/two.md": b"two\n"}

    branch.commit(change, message="Add two", author=RITA)
    assert len(seen) == 2
    assert cards(clone) == ["cards/one.md", "cards/other.md", "cards/two.md"]
    assert git(clone, "rev-list", "--count", "main..review") == "3\n"


@pytest.mark.slow
def test_concurrent_commits_lose_nothing(clone):
    def work(who):
        branch = Branch(str(clone), "review")
        for number in range(3):
            put(branch, f"cards/{who}-{number}.md")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert len(cards(clone)) == 12
    assert git(clone, "rev-list", "--count", "--no-merges", "main..review") == "12\n"


def test_a_merged_branch_starts_again_at_head(clone, branch):
    put(branch)
    git(clone, "merge", "-q", "--no-ff", "-m", "Merge", "review")
    commit(clone, **{"c.md": "c\n"})
    assert branch.find_unmerged("") == []
    put(branch, "cards/second.md")
    assert git(clone, "show", "review:c.md") == "c\n", "it stands on what HEAD has become"
    assert branch.find_unmerged("") == ["cards/second.md"]
    git(clone, "merge", "-q", "--squash", "review")
    git(clone, "commit", "-q", "-m", "Squash")
    assert branch.find_unmerged("") == [], "what was taken over by its content waits no more"


def test_the_work_tree_with_the_branch_is_found(clone, branch, tmp_path):
    assert Branch(str(clone), "main").is_checked_out()
    assert not branch.is_checked_out()
    put(branch)
    git(clone, "worktree", "add", "-q", str(tmp_path / "other"), "review")
    with pytest.raises(InputError, match="another work tree"):
        branch.is_checked_out()
    assert Branch(str(tmp_path / "other"), "review").is_checked_out()


def test_a_file_mode_is_preserved_and_a_link_is_not_a_file(clone, branch):
    (clone / "run.md").write_text("x\n")
    (clone / "run.md").chmod(0o755)
    os.symlink("a.md", clone / "link.md")
    commit(clone)
    put(branch, "run.md", b"y\n")
    assert git(clone, "ls-tree", "review", "run.md").startswith("100755")
    assert branch.read(branch.tip(), "run.md") == b"y\n"
    assert branch.read(branch.tip(), "none.md") is None
    assert branch.find_entry(branch.tip(), "cards") is None


def test_a_commit_without_a_repository_is_an_error(tmp_path, clone):
    for name in ("", "-x", "a..b", "a b", "x.lock", "refs/", "a~1", "a\nb"):
        with pytest.raises(InputError, match="not a valid branch name"):
            Branch(str(clone), name)
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
