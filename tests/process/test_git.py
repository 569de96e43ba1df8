import os
import select
import subprocess

import pytest

from lessons_kb.errors import GitError
from lessons_kb.process import git as module
from lessons_kb.process.git import list_commits, list_files, read_diff, read_head


@pytest.fixture(autouse=True)
def user(tmp_path_factory, monkeypatch):
    home = tmp_path_factory.mktemp("home")
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Somebody")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "somebody@example.org")
    return home


@pytest.fixture
def repo(tmp_path):
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    return folder


def git(folder, *arguments):
    return subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())


def commit(folder, message="one"):
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)


def test_the_working_tree_the_index_and_new_files_count(repo):
    for name in ("staged.py", "changed.py", "gone.py", "same.py"):
        write(repo / name, "old\n")
    write(repo / ".gitignore", "*.log\n")
    commit(repo)
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


def test_nothing_changed_is_an_empty_diff(repo):
    commit(repo)
    assert read_diff(str(repo)) == module.Diff(files=(), added=(), text="")


def test_before_the_first_commit_everything_is_new(repo):
    write(repo / "staged.py", "staged\n")
    git(repo, "add", "staged.py")
    write(repo / "new.py", "new\n")
    diff = read_diff(str(repo))
    assert set(diff.files) == {"staged.py", "new.py"}
    assert set(diff.added) == {"staged", "new"}


def test_a_revision_a_range_and_what_a_branch_brings(repo):
    write(repo / "a.py", "base\n")
    commit(repo)
    git(repo, "checkout", "-q", "-b", "side")
    write(repo / "side.py", "side\n")
    commit(repo)
    git(repo, "checkout", "-q", "main")
    write(repo / "main.py", "main\n")
    commit(repo)
    write(repo / "a.py", "base\nopen\n")
    write(repo / "untracked.py", "x\n")
    assert set(read_diff(str(repo), "main...side").files) == {"side.py"}
    assert set(read_diff(str(repo), "main..side").files) == {"side.py", "main.py"}
    assert read_diff(str(repo), "HEAD").files == ("a.py",)
    assert set(read_diff(str(repo), "HEAD~1").files) == {"a.py", "main.py"}


def test_a_rename_names_both_files_and_adds_only_what_is_new(repo):
    write(repo / "old.py", "".join(f"line {n}\n" for n in range(20)))
    commit(repo)
    git(repo, "mv", "old.py", "new.py")
    with open(repo / "new.py", "a", encoding="utf-8") as file:
        file.write("added\n")
    diff = read_diff(str(repo))
    assert diff.files == ("old.py", "new.py")
    assert diff.added == ("added",)


@pytest.mark.parametrize(
    "name", ["with space.py", 'quote".py', "back\\slash.py", "한글/파일.py", "tab\t.py", "-x.py"]
)
def test_any_name_comes_through(repo, name):
    write(repo / name, "one\n")
    assert read_diff(str(repo)).files == (name,)
    commit(repo)
    write(repo / name, "two\n")
    diff = read_diff(str(repo))
    assert diff.files == (name,)
    assert diff.added == ("two",)


def test_an_added_line_may_look_like_a_header(repo):
    write(repo / "a.py", "first\n")
    commit(repo)
    tricky = ["++ b/fake.py", "@@ -1 +1 @@", "diff --git a/x b/x", "+plus", "", "CR\r"]
    write(repo / "a.py", "first\n" + "\n".join(tricky) + "\n")
    diff = read_diff(str(repo))
    assert diff.files == ("a.py",)
    assert list(diff.added) == [*tricky[:-1], "CR"]


def test_a_file_without_a_last_newline(repo):
    write(repo / "a.py", "one")
    commit(repo)
    write(repo / "a.py", "two")
    assert read_diff(str(repo)).added == ("two",)


def test_files_that_are_no_text_are_named_without_their_bytes(repo, tmp_path):
    write(tmp_path / "secret", "secret\n")
    write(repo / "binary", b"\0\1")
    write(repo / "empty", "")
    write(repo / "large", "x" * 300_000)
    write(repo / "latin", "café\n".encode("latin-1"))
    os.symlink(tmp_path / "secret", repo / "link")
    os.mkfifo(repo / "fifo")
    diff = read_diff(str(repo))
    assert {"binary", "empty", "large", "latin", "link"} <= set(diff.files)
    assert diff.added == ("caf\ufffd",)
    assert "secret" not in diff.text.replace("b/secret", "")


def test_a_huge_diff_is_cut_at_a_line(repo, monkeypatch):
    write(repo / "a.py", "")
    commit(repo)
    write(repo / "a.py", "line of text\n" * 2_000)
    monkeypatch.setattr(module, "MAX_BYTES", 5_000)
    diff = read_diff(str(repo))
    assert diff.truncated
    assert diff.files == ("a.py",)
    assert len(diff.text) <= 5_000
    assert set(diff.added) == {"line of text"}


def test_the_users_own_habits_do_not_show(repo, user):
    write(
        user / ".gitconfig",
        "[diff]\n noprefix = true\n mnemonicPrefix = true\n relative = true\n renames = copies\n"
        " wordRegex = .\n context = 0\n[color]\n ui = always\n diff = always\n"
        "[core]\n quotePath = true\n pager = false\n",
    )
    write(repo / "sub" / "파일.py", "one\n")
    write(repo / "b.py", "one\n")
    commit(repo)
    write(repo / "sub" / "파일.py", "two\n")
    write(repo / "b.py", "two\n")
    diff = read_diff(str(repo / "sub"))
    assert set(diff.files) == {"sub/파일.py", "b.py"}
    assert diff.added == ("two", "two")
    assert "+++ b/b.py" in diff.text


def test_a_merge_conflict_is_no_obstacle(repo):
    write(repo / "a.py", "base\n")
    commit(repo)
    git(repo, "checkout", "-q", "-b", "side")
    write(repo / "a.py", "side\n")
    commit(repo)
    git(repo, "checkout", "-q", "main")
    write(repo / "a.py", "main\n")
    commit(repo)
    subprocess.run(["git", "merge", "-q", "side"], cwd=repo, capture_output=True)
    diff = read_diff(str(repo))
    assert diff.files == ("a.py",)
    assert "side" in diff.added


# Refusals


def one_line(error):
    text = str(error.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize(
    ("folder", "words"), [("", "not in a git repository"), ("none", "is not a folder")]
)
def test_outside_a_repository(tmp_path, folder, words):
    with pytest.raises(GitError, match=words) as error:
        read_diff(str(tmp_path / folder))
    one_line(error)


def test_without_git(repo, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(GitError, match="git is not installed"):
        read_diff(str(repo))


@pytest.mark.parametrize(
    "revision",
    ["a.py", "nope", "a...b", "-", "", " ", "--output=pwned", "--no-index", "HEAD nope", "-O/x"],
)
def test_what_is_no_revision_is_refused_and_never_an_option(repo, revision):
    write(repo / "a.py", "one\n")
    commit(repo)
    with pytest.raises(GitError) as error:
        read_diff(str(repo), revision)
    one_line(error)
    assert not (repo / "pwned").exists()


def test_a_bare_repository(tmp_path):
    git(tmp_path, "init", "-q", "--bare", "bare.git")
    with pytest.raises(GitError) as error:
        read_diff(str(tmp_path / "bare.git"))
    one_line(error)


@pytest.mark.parametrize("read", [read_diff, read_head, list_files, list_commits])
def test_git_that_never_ends_is_ended(repo, monkeypatch, tmp_path, read):
    fake = tmp_path / "bin" / "git"
    os.mkfifo(tmp_path / "held")
    held = os.open(tmp_path / "held", os.O_RDONLY | os.O_NONBLOCK)
    write(fake, f"#!/bin/sh\nexec 3> '{tmp_path}/held'\nsleep 600 &\nwait\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(module, "_SECONDS", {"rev-parse": 0.5})
    with pytest.raises(GitError, match="git rev-parse gave no answer"):
        read(str(repo))
    assert select.select([held], [], [], 60)[0]  # ended, and all it started: nobody holds it
    assert os.read(held, 1) == b""
    os.close(held)


# A hostile repository: each case first proves that plain git would have run the program


class Trap:
    """A program that leaves a mark when it is run."""

    def __init__(self, folder):
        self.mark = folder / "pwned"
        self.program = str(folder / "evil")
        write(
            folder / "evil",
            f'#!/bin/sh\necho "$*" >> "{self.mark}"\ncase "$*" in *nowhere*) exit 1; esac\ncat\n',
        )
        (folder / "evil").chmod(0o755)

    def springs(self, folder, *arguments):
        subprocess.run(["git", *arguments], cwd=folder, capture_output=True, timeout=20)
        sprung = self.mark.exists()
        self.mark.unlink(missing_ok=True)
        return sprung


@pytest.fixture
def trap(tmp_path):
    return Trap(tmp_path)


@pytest.fixture
def hostile(repo):
    write(repo / "a.txt", "one\n")
    write(repo / ".gitattributes", "* diff=x filter=x\n")
    commit(repo)
    commit(repo, "two")
    write(repo / "a.txt", "two\n")
    write(repo / "new.txt", "new\n")
    return repo


@pytest.mark.parametrize("key", [
    "diff.external", "diff.x.command", "diff.x.textconv", "filter.x.clean", "filter.x.process",
    "core.fsmonitor",
])  # fmt: skip
def test_no_program_of_the_configuration_runs(hostile, trap, key):
    git(hostile, "config", key, trap.program)
    assert trap.springs(hostile, "diff", "HEAD")
    for revision in (None, "HEAD", "HEAD~1", "HEAD~1..HEAD"):
        read_diff(str(hostile), revision)
        assert not trap.mark.exists()
    assert set(read_diff(str(hostile)).added) == {"two", "new"}


def test_nor_one_from_a_file_that_is_included_or_of_one_worktree(hostile, trap):
    write(hostile / ".git" / "more", f'[filter "x"]\n clean = {trap.program}\n')
    git(hostile, "config", "include.path", "more")
    assert trap.springs(hostile, "diff", "HEAD")
    read_diff(str(hostile))
    git(hostile, "config", "--unset", "include.path")
    git(hostile, "config", "extensions.worktreeConfig", "true")
    git(hostile, "config", "--worktree", "filter.x.clean", trap.program)
    assert trap.springs(hostile, "diff", "HEAD")
    read_diff(str(hostile))
    assert not trap.mark.exists()


@pytest.mark.parametrize("name", ["x.y", "X y", 'q"', "=x", "한"])
def test_nor_a_filter_with_a_strange_name(hostile, trap, name):
    git(hostile, "config", f"filter.{name}.clean", trap.program)
    quoted = name.replace('"', '\\"')
    write(hostile / ".gitattributes", f"a.txt filter={quoted.replace(' ', '')}\n")
    try:
        read_diff(str(hostile))
    except GitError as error:
        assert "=" in name
        one = str(error)
        assert "filter" in one
    assert not trap.mark.exists()


def test_the_users_own_filters_still_run(hostile, trap, user):
    write(user / ".gitconfig", f'[filter "x"]\n clean = {trap.program}\n')
    read_diff(str(hostile))
    assert trap.mark.exists()


def test_no_hook_runs(hostile, trap):
    hook = hostile / ".git" / "hooks" / "post-index-change"
    write(hook, f"#!/bin/sh\n{trap.program}\n")
    hook.chmod(0o755)
    os.utime(hostile / ".gitattributes", (1, 1))
    assert trap.springs(hostile, "status")
    os.utime(hostile / ".gitattributes", (2, 2))
    read_diff(str(hostile))
    assert not trap.mark.exists()


def test_the_index_is_neither_written_nor_locked(hostile):
    """Else a commit that somebody makes at that moment would fail."""
    index = hostile / ".git" / "index"
    before = (index.read_bytes(), index.stat().st_ino, index.stat().st_mtime_ns)
    os.utime(hostile / ".gitattributes", (2, 2))
    write(hostile / ".git" / "index.lock", "")
    diff = read_diff(str(hostile))
    assert (index.read_bytes(), index.stat().st_ino, index.stat().st_mtime_ns) == before
    assert ".gitattributes" not in diff.files


def test_the_index_a_hook_is_given_counts(repo, monkeypatch):
    write(repo / "a.py", "one\n")
    commit(repo)
    write(repo / "b.py", "two\n")
    monkeypatch.setenv("GIT_INDEX_FILE", str(repo / ".git" / "other-index"))
    git(repo, "read-tree", "HEAD")
    git(repo, "add", "b.py")
    monkeypatch.delenv("GIT_INDEX_FILE")
    assert "diff --git a/b.py b/b.py\nnew file mode 100644\n--- " in read_diff(str(repo)).text
    monkeypatch.setenv("GIT_INDEX_FILE", str(repo / ".git" / "other-index"))
    assert "\nindex 0000000.." in read_diff(str(repo)).text


def test_submodules_are_not_entered(hostile, trap):
    git(hostile, "init", "-q", "sub")
    write(hostile / "sub" / "x", "one\n")
    commit(hostile / "sub")
    git(hostile, "add", "sub")
    git(hostile, "commit", "-q", "-m", "sub")
    git(hostile / "sub", "config", "core.fsmonitor", trap.program)
    write(hostile / "sub" / "x", "two\n")
    assert trap.springs(hostile, "diff", "HEAD")
    read_diff(str(hostile))
    assert not trap.mark.exists()


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
    with pytest.raises(GitError) as error:
        read_diff(str(hostile))
    one_line(error)
    assert not trap.mark.exists()


def test_a_work_tree_that_is_elsewhere_is_not_read(hostile, tmp_path):
    write(tmp_path / "elsewhere" / "secret.txt", "secret\n")
    git(hostile, "config", "core.worktree", str(tmp_path))
    with pytest.raises(GitError, match=r"core\.worktree") as error:
        read_diff(str(hostile))
    one_line(error)


def test_a_bare_repository_hidden_in_a_work_tree_is_not_believed(repo, trap):
    git(repo, "init", "-q", "--bare", "hidden")
    git(repo / "hidden", "config", "core.bare", "false")
    git(repo / "hidden", "config", "core.worktree", ".")
    git(repo / "hidden", "config", "core.fsmonitor", trap.program)
    assert trap.springs(repo / "hidden", "status")
    with pytest.raises(GitError):
        read_diff(str(repo / "hidden"))
    assert not trap.mark.exists()


def test_files_that_are_left_out(repo):
    for name in ("a.py", "b [x]*/c/d.md", "b [x]*/e.md", "b x/e.md", "b [x]*/e.py"):
        write(repo / name, b"new\n")
    commit(repo)
    for name in ("a.py", "b [x]*/c/d.md", "b [x]*/e.md", "b x/e.md", "b [x]*/e.py"):
        write(repo / name, b"newer\n")
    write(repo / "b [x]*" / "untracked.md", b"newest\n")
    inside, outside = str(repo / "b [x]*"), str(repo.parent / "elsewhere")
    left = read_diff(str(repo), without=[(inside, "**/*.md"), (outside, "**")])
    assert sorted(left.files) == ["a.py", "b [x]*/e.py", "b x/e.md"]
    assert left.added == ("newer",) * 3
    assert read_diff(str(repo), without=[(str(repo.parent), "**")]).files == ()
