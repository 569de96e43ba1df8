"""What changed, as git tells it, without letting the repository run anything."""

import os
import select
import subprocess

import pytest

from lessons_kb.errors import GitError
from lessons_kb.process import git as module
from lessons_kb.process.git import Repository, list_commits, list_files, read_diff
from tests.kit import commit, git


@pytest.fixture
def user(_own_home, monkeypatch):
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return _own_home


@pytest.fixture
def repo(tmp_path, user):
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    return folder


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def program(path, text):
    write(path, f"#!/bin/sh\n{text}\n").chmod(0o755)
    return str(path)


def branch(repo, **files):
    """Commit files onto a branch "side", and go back."""
    git(repo, "checkout", "-q", "-b", "side")
    commit(repo, **files)
    git(repo, "checkout", "-q", "main")


def test_the_working_tree_the_index_and_new_files_count(repo):
    write(repo / "staged.py", "staged\n")
    git(repo, "add", "staged.py")
    write(repo / "new.py", "new\n")
    diff = read_diff(str(repo))  # before the first commit everything is new
    assert (set(diff.files), set(diff.added)) == ({"staged.py", "new.py"}, {"staged", "new"})
    (repo / "new.py").unlink()
    old = dict.fromkeys(("staged.py", "changed.py", "gone.py", "same.py"), "old\n")
    commit(repo, **old, **{".gitignore": "*.log\n"})
    write(repo / "staged.py", "old\nstaged\n")
    git(repo, "add", "staged.py")
    write(repo / "changed.py", "changed\n")
    (repo / "gone.py").unlink()
    write(repo / "sub" / "new.py", "new\nlast")
    write(repo / "noise.log", "ignored\n")
    diff = read_diff(str(repo / "sub"))
    assert set(diff.files) == {"staged.py", "changed.py", "gone.py", "sub/new.py"}
    assert sorted(diff.added) == ["changed", "last", "new", "staged"]
    assert "-old" in diff.text
    assert "+++ b/sub/new.py" in diff.text
    assert not diff.truncated
    commit(repo)
    assert read_diff(str(repo)) == module.Diff(files=(), added=(), text="")


def test_a_revision_a_range_and_what_a_branch_brings(repo):
    commit(repo, **{"a.py": "base\n"})
    branch(repo, **{"side.py": "side\n"})
    commit(repo, **{"main.py": "main\n"})
    write(repo / "a.py", "base\nopen\n")
    write(repo / "untracked.py", "x\n")
    for revision, files in {
        "main...side": {"side.py"},
        "main..side": {"side.py", "main.py"},
        "HEAD": {"a.py"},
        "HEAD~1": {"a.py", "main.py"},
    }.items():
        assert set(read_diff(str(repo), revision).files) == files


def test_any_file_name_is_reported_unchanged(repo):
    names = ["-x.py", "back\\slash.py", 'quote".py', "tab\t.py", "with space.py", "한글/파일.py"]
    for name in names:
        write(repo / name, "one\n")
    assert sorted(read_diff(str(repo)).files) == names
    commit(repo)
    for name in names:
        write(repo / name, "two")
    diff = read_diff(str(repo))
    assert (sorted(diff.files), diff.added) == (names, ("two",) * len(names))


def test_an_added_line_may_look_like_a_header_and_a_huge_diff_is_cut_at_a_line(repo, monkeypatch):
    commit(repo, **{"a.py": "first\n"})
    tricky = ["++ b/fake.py", "@@ -1 +1 @@", "diff --git a/x b/x", "+plus", "", "CR\r"]
    write(repo / "a.py", "first\n" + "\n".join(tricky) + "\n")
    diff = read_diff(str(repo))
    assert diff.files == ("a.py",)
    assert list(diff.added) == [*tricky[:-1], "CR"]
    write(repo / "a.py", "first\n" + "line of text\n" * 2_000)
    monkeypatch.setattr(module, "MAX_BYTES", 5_000)
    diff = read_diff(str(repo))
    assert (diff.truncated, diff.files, set(diff.added)) == (True, ("a.py",), {"line of text"})
    assert len(diff.text) <= 5_000


def test_binary_files_are_listed_without_their_content(repo, tmp_path):
    write(tmp_path / "secret", "secret\n")
    files = {"binary": b"\0\1", "empty": "", "large": "x" * 300_000, "latin": b"caf\xe9\n"}
    for name, data in files.items():
        write(repo / name, data)
    os.symlink(tmp_path / "secret", repo / "link")
    os.mkfifo(repo / "fifo")
    diff = read_diff(str(repo))
    assert {*files, "link"} <= set(diff.files)
    assert diff.added == ("caf\ufffd",)
    assert "secret" not in diff.text.replace("b/secret", "")


def test_the_users_configuration_does_not_change_the_diff(repo, user):
    write(
        user / ".gitconfig",
        "[diff]\n noprefix = true\n mnemonicPrefix = true\n relative = true\n renames = copies\n"
        " wordRegex = .\n context = 0\n[color]\n ui = always\n diff = always\n"
        "[core]\n quotePath = true\n pager = false\n",
    )
    names = ("sub/파일.py", "b.py")
    commit(repo, **dict.fromkeys(names, "one\n"))
    for name in names:
        write(repo / name, "two\n")
    diff = read_diff(str(repo / "sub"))
    assert set(diff.files) == set(names)
    assert diff.added == ("two", "two")
    assert "+++ b/b.py" in diff.text


def test_renames_and_merge_conflicts_can_be_read(repo):
    text = "".join(f"line {n}\n" for n in range(20))
    commit(repo, **{"a.py": "base\n", "old.py": text})
    branch(repo, **{"a.py": "side\n"})
    commit(repo, **{"a.py": "main\n"})
    git(repo, "mv", "old.py", "new.py")
    write(repo / "new.py", f"{text}added\n")
    diff = read_diff(str(repo))
    assert (diff.files, diff.added) == (("old.py", "new.py"), ("added",))
    git(repo, "reset", "-q", "--hard")
    with pytest.raises(subprocess.CalledProcessError):
        git(repo, "merge", "-q", "side")
    diff = read_diff(str(repo))
    assert diff.files == ("a.py",)
    assert "side" in diff.added


def refusal(folder, *how, match=None):
    """Return the one line with which a diff is refused."""
    with pytest.raises(GitError, match=match) as error:
        read_diff(str(folder), *how)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_missing_repository_is_an_error(tmp_path, repo, monkeypatch):
    assert "not in a git repository" in refusal(tmp_path)
    assert "is not a folder" in refusal(tmp_path / "none")
    git(tmp_path, "init", "-q", "--bare", "bare.git")
    assert "bare repository" in refusal(tmp_path / "bare.git")
    monkeypatch.setenv("PATH", "")
    assert "git is not installed" in refusal(repo)


def test_an_invalid_revision_is_refused_and_never_passed_as_an_option(repo):
    commit(repo, **{"a.py": "one\n"})
    for revision in ("a.py", "nope", "a...b", "-", "", " ", "--no-index", "HEAD nope", "-O/x"):
        refusal(repo, revision)
    refusal(repo, "--output=pwned")
    assert not (repo / "pwned").exists()


@pytest.mark.slow
@pytest.mark.parametrize("read", [read_diff, Repository, list_files, list_commits])
def test_a_git_process_that_hangs_is_ended(repo, monkeypatch, tmp_path, read):
    os.mkfifo(tmp_path / "held")
    held = os.open(tmp_path / "held", os.O_RDONLY | os.O_NONBLOCK)
    program(tmp_path / "bin" / "git", f"exec 3> '{tmp_path}/held'\nsleep 600 &\nwait")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(module, "_SECONDS", {"rev-parse": 0.5})
    with pytest.raises(GitError, match="git rev-parse gave no answer"):
        read(str(repo))
    assert select.select([held], [], [], 60)[0]  # ended, and all it started: nobody holds it
    assert os.read(held, 1) == b""
    os.close(held)


@pytest.mark.parametrize("read", [read_diff, Repository, list_files, list_commits])
def test_a_git_process_that_a_signal_ends_is_an_error(repo, monkeypatch, tmp_path, read):
    program(tmp_path / "bin" / "git", "echo part; kill -9 $$")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(GitError, match="git rev-parse was ended by signal 9"):
        read(str(repo))


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["one", "all"])
def test_commits_whose_content_a_clone_lacks_are_left_out(repo, lost):
    for number in range(60):
        commit(repo, **{"a.py": f"{number}\n"})
    commits = list_commits(str(repo))
    for name in commits[10:11] if lost == "one" else commits:
        blob = git(repo, "rev-parse", f"{name}:a.py").strip()
        (repo / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    if lost == "all":
        with pytest.raises(GitError, match="fetch the whole history again"):
            list(module.read_patches(str(repo), commits))
        return
    read = {one.id: one for one in module.read_patches(str(repo), commits)}
    assert [name for name in commits if name not in read] == commits[9:11]
    assert b"+59" in read[commits[0]].patch
    assert read[commits[-1]].message.strip() == "change"


# A hostile repository: each case first proves that plain git would have run the program


class Trap:
    """A program that leaves a mark when it is run."""

    def __init__(self, folder):
        self.mark = folder / "pwned"
        text = f'echo "$*" >> "{self.mark}"\ncase "$*" in *nowhere*) exit 1; esac\ncat'
        self.program = program(folder / "evil", text)

    def springs(self, folder, *arguments):
        subprocess.run(["git", *arguments], cwd=folder, capture_output=True, timeout=20)
        sprung = self.mark.exists()
        self.mark.unlink(missing_ok=True)
        return sprung


@pytest.fixture
def trap(tmp_path):
    trap = Trap(tmp_path)
    yield trap
    assert not trap.mark.exists()


@pytest.fixture
def hostile(repo):
    commit(repo, **{"a.txt": "one\n", ".gitattributes": "* diff=x filter=x\n"})
    git(repo, "commit", "-q", "--allow-empty", "-m", "two")
    write(repo / "a.txt", "two\n")
    write(repo / "new.txt", "new\n")
    return repo


KEYS = ("diff.external", "diff.x.command", "diff.x.textconv", "filter.x.clean", "filter.x.process")


@pytest.mark.slow
@pytest.mark.parametrize(
    "lines",
    [
        *(f"config {key} EVIL" for key in (*KEYS, "core.fsmonitor")),
        "config --file .git/more filter.x.clean EVIL; config include.path more",
        "config extensions.worktreeConfig true; config --worktree filter.x.clean EVIL",
    ],
)
def test_no_program_of_the_configuration_runs(hostile, trap, lines):
    for line in lines.replace("EVIL", trap.program).split("; "):
        git(hostile, *line.split())
    assert trap.springs(hostile, "diff", "HEAD")
    for revision in (None, "HEAD", "HEAD~1", "HEAD~1..HEAD"):
        read_diff(str(hostile), revision)
    assert set(read_diff(str(hostile)).added) == {"two", "new"}


def test_a_filter_with_an_unusual_name_does_not_run(hostile, trap):
    for name in ("x.y", "X y", 'q"', "한"):
        git(hostile, "config", f"filter.{name}.clean", trap.program)
        quoted = name.replace('"', '\\"').replace(" ", "")
        write(hostile / ".gitattributes", f"a.txt filter={quoted}\n")
        read_diff(str(hostile))
    git(hostile, "config", "filter.=x.clean", trap.program)
    refusal(hostile, match="filter")


def test_the_users_own_filters_still_run(hostile, tmp_path, user):
    trap = Trap(tmp_path)
    write(user / ".gitconfig", f'[filter "x"]\n clean = {trap.program}\n')
    read_diff(str(hostile))
    assert trap.mark.exists()


def test_no_hook_runs(hostile, trap):
    program(hostile / ".git" / "hooks" / "post-index-change", trap.program)
    os.utime(hostile / ".gitattributes", (1, 1))
    assert trap.springs(hostile, "status")
    os.utime(hostile / ".gitattributes", (2, 2))
    read_diff(str(hostile))


def test_the_index_is_neither_written_nor_locked(hostile):
    """Else a commit that somebody makes at that moment would fail."""
    index = hostile / ".git" / "index"
    look = lambda: (index.read_bytes(), index.stat().st_ino, index.stat().st_mtime_ns)  # noqa: E731
    before = look()
    os.utime(hostile / ".gitattributes", (2, 2))
    write(hostile / ".git" / "index.lock", "")
    assert ".gitattributes" not in read_diff(str(hostile)).files
    assert look() == before


def test_the_index_of_a_git_hook_is_used(repo, monkeypatch):
    commit(repo, **{"a.py": "one\n"})
    write(repo / "b.py", "two\n")
    with monkeypatch.context() as other:
        other.setenv("GIT_INDEX_FILE", str(repo / ".git" / "other-index"))
        git(repo, "read-tree", "HEAD")
        git(repo, "add", "b.py")
        assert "\nindex 0000000.." in read_diff(str(repo)).text
    assert "diff --git a/b.py b/b.py\nnew file mode 100644\n--- " in read_diff(str(repo)).text


def test_submodules_are_not_entered(hostile, trap):
    git(hostile, "init", "-q", "sub")
    commit(hostile / "sub", x="one\n")
    git(hostile, "add", "sub")
    git(hostile, "commit", "-q", "-m", "sub")
    git(hostile / "sub", "config", "core.fsmonitor", trap.program)
    write(hostile / "sub" / "x", "two\n")
    assert trap.springs(hostile, "diff", "HEAD")
    read_diff(str(hostile))


def test_missing_objects_are_not_fetched(hostile, trap):
    blob = git(hostile, "rev-parse", "HEAD:a.txt").strip()
    (hostile / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    for key, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": "ssh://nowhere.invalid/x",
        "core.sshCommand": trap.program,
        "protocol.ssh.allow": "always",
    }.items():
        git(hostile, "config", key, value)
    assert trap.springs(hostile, "diff", "HEAD")
    refusal(hostile)


def test_a_work_tree_that_is_elsewhere_is_not_read(hostile, tmp_path):
    write(tmp_path / "elsewhere" / "secret.txt", "secret\n")
    git(hostile, "config", "core.worktree", str(tmp_path))
    refusal(hostile, match=r"core\.worktree")


def test_a_bare_repository_hidden_in_a_work_tree_is_ignored(repo, trap):
    git(repo, "init", "-q", "--bare", "hidden")
    for key, value in (("bare", "false"), ("worktree", "."), ("fsmonitor", trap.program)):
        git(repo / "hidden", "config", f"core.{key}", value)
    assert trap.springs(repo / "hidden", "status")
    refusal(repo / "hidden")


def test_files_can_be_excluded(repo):
    names = ("a.py", "b [x]*/c/d.md", "b [x]*/e.md", "b x/e.md", "b [x]*/e.py")
    commit(repo, **dict.fromkeys(names, "new\n"))
    for name in (*names, "b [x]*/untracked.md"):
        write(repo / name, "newer\n")
    inside, outside = str(repo / "b [x]*"), str(repo.parent / "elsewhere")
    left = read_diff(str(repo), without=[(inside, "**/*.md"), (outside, "**")])
    assert sorted(left.files) == ["a.py", "b [x]*/e.py", "b x/e.md"]
    assert left.added == ("newer",) * 3
    assert read_diff(str(repo), without=[(str(repo.parent), "**")]).files == ()
