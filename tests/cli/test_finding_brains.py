"""SPEC §2 from a user's seat: which brain holds in a folder, and what to type where none does.

Real repositories; each message names a command, and a test types it.
"""

import json
import os
import pathlib
import re
import shlex

import pytest

from lessons_kb.store.locations import user_brain
from lessons_kb.store.trust import trust
from tests.kit import TELEGRAM, answer_event, commit, git

PROMPT = "Add a Telegram command that restarts the service through a shell script"
SAID = "require an allowlist"
ADVICE = re.compile(r"`(lessons (?:init|trust) [^`]+)`")


@pytest.fixture
def run(lessons, monkeypatch):
    """Return all that a command says: ``run(folder, *arguments, NAME=value)``."""

    def run(folder, *arguments, **variables):
        with monkeypatch.context() as go:
            go.chdir(folder)
            for name, value in variables.items():
                go.setenv(name, value)
            done = lessons(*arguments)
        return done.out + done.err

    return run


def prompted(folder, session="s", **variables):
    """Return what the agent and its user get for a prompt."""
    event = {"hook_event_name": "UserPromptSubmit", "session_id": session, "prompt": PROMPT}
    data = json.dumps(event | {"cwd": str(folder)})
    return answer_event("claude-code", data, os.environ | variables, cwd=str(folder))[0]


def type_advice(run, said, folder):
    """Run the command that a message names, word for word, in another folder's shell."""
    found = ADVICE.search(said)
    assert found, said
    run(folder, *shlex.split(found[1])[1:])


def write_card(folder, name="lessons/telegram.md"):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(TELEGRAM)
    return folder


@pytest.fixture
def repo(tmp_path, run):
    """A repository with a committed brain in ``docs/brain`` that this user has made."""
    folder = tmp_path / "repo"
    (folder / "src/deep").mkdir(parents=True)
    (folder / "src/deep/code.py").write_text("")
    git(folder, "init", "-q")
    run(folder, "init", "docs/brain")
    write_card(folder / "docs/brain")
    commit(folder)
    return folder


# A brain below the top of its repository


@pytest.mark.slow
@pytest.mark.parametrize("place", [".", "src/deep", "docs", "work tree", "renamed", "submodule"])
def test_a_brain_that_init_made_below_holds_everywhere_in_its_repository(
    repo, tmp_path, place, run
):
    where = repo / place
    if place == "work tree":
        where = tmp_path / "other/src"
        git(repo, "worktree", "add", "-q", str(tmp_path / "other"))
    elif place == "renamed":
        where = repo.rename(tmp_path / "renamed") / "src"
    elif place == "submodule":
        outer = tmp_path / "outer"
        outer.mkdir()
        git(outer, "init", "-q")
        git(outer, "submodule", "add", "-q", str(repo), "inner")
        assert SAID not in run(outer, "list")
        assert "outer/inner" not in prompted(outer, "outer")  # a repository of its own
        where = outer / "inner/src"
        type_advice(run, run(where, "list"), tmp_path)
    assert SAID in run(where, "list")
    assert "/docs/brain" in run(where, "doctor")
    assert SAID in prompted(where)
    assert "lessons/telegram.md" in run(where, "bump", "telegram")


@pytest.mark.slow
def test_the_nearest_brain_comes_first_and_nothing_is_found_twice(repo, run):
    for name in ("packages/web", "."):
        run(repo, "init", name)
        run(repo, "trust", name)  # its cards below were there before
        brains = re.findall(r"✓ brain: (\S+)", run(repo / "packages/web", "doctor"))
        if name == ".":  # it lists what lies below it that is trusted
            assert brains == [str(repo / "packages/web"), str(repo)]
        else:
            assert brains == [str(repo / "packages/web"), str(repo / "docs/brain")]
    assert run(repo, "list").count(SAID) == 1


@pytest.mark.slow
@pytest.mark.parametrize("command", [("list",), ("preflight", PROMPT), ("doctor",), ("add", "x")])
def test_a_cloned_brain_below_is_named_until_the_advice_is_typed(repo, tmp_path, command, run):
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(repo), str(clone))
    result = run(clone / "src", *command)
    assert f"lessons trust {clone}/docs/brain" in result
    told = prompted(clone)
    assert SAID not in told
    assert f"lessons trust {clone}/docs/brain" in told
    assert prompted(clone).strip() == ""  # one line a session
    type_advice(run, result, tmp_path)
    assert SAID in prompted(clone)
    assert SAID in run(clone / "src", "list")
    run(clone / "src", "trust", "--revoke")
    assert SAID not in prompted(clone, "later")
    run(clone / "src", "trust")
    assert SAID in prompted(clone, "latest")


@pytest.fixture
def cloned(repo, tmp_path):
    """A clone of the repository, whose brain is in a folder of it and not trusted yet."""
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(repo), str(clone))
    return clone


@pytest.mark.parametrize("place", [".", "src/deep"])
def test_trust_alone_takes_the_only_brain_of_the_project(cloned, run, place):
    where = cloned / place
    (shown,) = json.loads(run(where, "--json"))["attention"]
    brain = "docs/brain" if place == "." else f"{cloned}/docs/brain"
    assert shown["text"].endswith("/clone/docs/brain is not trusted yet")
    assert shown["command"] == f"lessons trust {brain}"
    assert run(where, "trust").startswith(f"{cloned}/docs/brain is now trusted, with 1 card:\n")
    assert SAID in run(where, "list")


def test_trust_alone_does_not_choose_between_brains(cloned, run):
    write_card(cloned / "docs/other")
    (cloned / "docs/other/lessons.toml").write_text("")
    result = run(cloned, "trust")
    assert "2 brains, docs/brain and docs/other; name one" in result
    assert "now trusted" not in result


@pytest.mark.parametrize(
    "command", [("add", "x"), ("add", "x", "--draft"), ("create", "x"), ("import", "notes.md")]
)
def test_no_card_is_written_to_the_user_brain_in_place_of_an_untrusted_brain(
    cloned, tmp_path, run, command
):
    run(tmp_path, "init", "--user")
    (cloned / "notes.md").write_text("# Lessons\n\n- Always send the key on a retry\n")
    own = user_brain()
    result = run(cloned, *command)
    assert result.startswith("lessons: nothing was written: the brain in ")
    assert f"`lessons trust {cloned}/docs/brain`" in result
    assert not list(pathlib.Path(own).rglob("*.md"))
    chosen = run(cloned, "--brain", own, "create", "x y z", "--no-edit")
    assert "lessons/x-y-z.md" in chosen
    assert "nothing was written" in run(write_untrusted(tmp_path / "top"), *command)
    run(cloned, "trust")
    assert "nothing was written" not in run(cloned, "create", "Paid twice", "--no-edit")


def write_untrusted(folder):
    """Write a brain that is not trusted and has its own folder at the top."""
    write_card(folder)
    (folder / "lessons.toml").write_text("")
    (folder / "notes.md").write_text("# Lessons\n\n- Always send the key on a retry\n")
    return folder


def test_what_took_the_place_of_a_brain_below_is_not_trusted(repo, tmp_path, run):
    write_card(tmp_path / "elsewhere")
    (repo / "docs/brain").rename(tmp_path / "away")
    (repo / "docs/brain").symlink_to(tmp_path / "elsewhere")
    assert SAID not in prompted(repo)
    assert SAID not in run(repo, "list")


def test_several_brains_below_are_counted(tmp_path, run):
    project = tmp_path / "project"
    project.mkdir()
    for name, more in (("a", ""), ("b", " (and 1 other brain)"), ("c", " (and 2 other brains)")):
        run(project, "init", f"docs/{name}")
        write_card(project / "docs" / name)
        assert f"{project}/docs/a{more} " in " ".join(run(project, "list").split())


def test_a_brain_below_a_folder_without_git_is_named(tmp_path, run):
    project = tmp_path / "project"
    project.mkdir()
    run(project, "init", "docs/brain")
    write_card(project / "docs/brain")
    for said in (run(project, "list"), json.loads(prompted(project))["systemMessage"]):
        assert f"--brain {project}/docs/brain" in said
    entry = re.search(r'write (brain = "[^"]+") into (\S+)', said)
    assert entry
    pathlib.Path(entry[2]).write_text(entry[1])
    assert SAID in run(project, "list")
    assert SAID in prompted(project)


@pytest.mark.slow
@pytest.mark.parametrize("outer", [False, True])
def test_an_entry_at_the_top_names_the_brain(repo, tmp_path, run, *, outer):
    if outer:
        run(tmp_path, "init")
    (repo / "lessons.toml").write_text('brain = "docs/brain"\n')
    commit(repo)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(repo), str(clone))
    for folder in (clone, clone / "src"):
        assert "lessons trust" in prompted(folder, f"before {folder}")
    run(clone, "trust")
    for folder in (clone, clone / "src", clone / "docs/brain"):
        assert SAID in prompted(folder, f"after {folder}")
        assert "clone: not trusted" not in run(folder, "list")
    assert SAID in run(tmp_path, "--brain", str(clone), "list")


@pytest.mark.slow
@pytest.mark.parametrize("value", ["docs/brian", "../elsewhere", "/", "."])
def test_an_entry_that_names_no_folder_below_is_an_error_with_its_line(repo, tmp_path, value, run):
    write_card(tmp_path / "elsewhere")
    (repo / "lessons.toml").write_text(f'# top\nbrain = "{value}"\n')
    expected = f"lessons.toml:2: brain must be a folder below the one with this file, not '{value}'"
    assert expected in run(repo, "trust")
    trust(str(repo))  # what cannot be used now may have been usable by another version
    assert expected in run(repo, "list")
    told = prompted(repo)
    assert "lessons.toml:2: brain must be a folder below" in told


# What LESSONS_BRAIN names


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cards", "relative", "in a brain", "in a repository in one"])
def test_the_trust_that_a_named_folder_asks_for_is_enough(tmp_path, kind, run):
    project = tmp_path / "project"
    named = project / "cards"
    project.mkdir()
    git(project, "init", "-q")
    if kind.startswith("in a"):
        (project / "lessons.toml").write_text("")
    if kind == "in a repository in one":
        named = project / "vendor/x/cards"
        (project / "vendor/x").mkdir(parents=True)
        git(project / "vendor/x", "init", "-q")
    write_card(named, "telegram.md")
    variable = "cards" if kind == "relative" else str(named)
    told = prompted(project, LESSONS_BRAIN=variable)
    assert SAID not in told
    assert "LESSONS_BRAIN names" in told
    type_advice(run, told, tmp_path)
    again = prompted(project, "again", LESSONS_BRAIN=variable)
    assert SAID in again
    assert f"lessons trust {named}" not in again
    assert SAID in run(project, "list", LESSONS_BRAIN=variable)


@pytest.mark.slow
@pytest.mark.parametrize("other", [False, True])
def test_a_missing_folder_is_told_once_a_session_and_can_be_made(tmp_path, run, *, other):
    if other:
        run(tmp_path, "init")
        write_card(tmp_path)
        inside = prompted(tmp_path, "inside", LESSONS_BRAIN=str(tmp_path / "lessons"))
        assert (SAID in inside, "lessons trust" in inside) == (True, False)
    gone = str(tmp_path / "no such")
    missing = f"LESSONS_BRAIN names {gone}, which does not exist"
    told = prompted(tmp_path, LESSONS_BRAIN=gone)
    assert (missing in told, SAID in told) == (True, other)
    assert "LESSONS_BRAIN" not in prompted(tmp_path, LESSONS_BRAIN=gone)
    for command in ("list", "doctor"):
        assert missing in run(tmp_path, command, LESSONS_BRAIN=gone)
    type_advice(run, told, tmp_path)
    write_card(tmp_path / "no such")
    answer = prompted(tmp_path, "later", LESSONS_BRAIN=gone)
    assert (SAID in answer, "LESSONS_BRAIN" in answer) == (True, False)


def test_a_file_is_told_and_the_folder_that_is_named_instead_works(tmp_path, run):
    write_card(tmp_path / "cards", "telegram.md")
    file = tmp_path / "cards/telegram.md"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for session, said in (
        ("hook", prompted(elsewhere, LESSONS_BRAIN=str(file))),
        ("command", run(elsewhere, "list", LESSONS_BRAIN=str(file))),
    ):
        found = re.search(r"is not a folder; set it to one, such as ([^\s\"]+)", said)
        assert found
        assert SAID in prompted(elsewhere, session, LESSONS_BRAIN=found[1])
        assert SAID in run(elsewhere, "list", LESSONS_BRAIN=found[1])


# More cards than are indexed


@pytest.mark.slow
def test_cards_beyond_the_limit_are_told_and_the_new_one_is_found(tmp_path, run):
    run(tmp_path, "init")
    (tmp_path / "lessons.toml").write_text("[index]\nmax_files = 3\n")
    for n in range(2):
        card = f"---\ncreated: 2020-01-0{n + 1}\n---\n# Old {n}\n"
        (tmp_path / f"lessons/old{n}.md").write_text(card)
    write_card(tmp_path)
    expected = f"{tmp_path}: 1 file skipped: more than max_files = 3; raise index.max_files"
    assert "skipped" not in run(tmp_path, "list")
    title = "Zebra crossings were painted twice"
    (tmp_path / "notes.txt").write_text(f"## Lessons\n\n- {title}: compare their ids first\n")
    more = ("--why", "Two crews paint each crossing that the map shows twice")
    do = ("--do", "Compare the ids of `crossings.csv` before painting", "--symptom", "a zebra")
    for command in (
        ("import", "--yes", "notes.txt"),
        ("create", title, "--no-edit"),
        ("add", title, *more, *do, "--symptom", "paint a crossing"),
    ):
        assert expected in run(tmp_path, *command), command
        listed = run(tmp_path, "list")
        assert title in listed
        assert SAID in listed  # seen 5 times
        if command[0] != "add":
            run(tmp_path, "delete", "zebra", "--yes")
    for words in (("list",), ("preflight", PROMPT), ("show", "old0")):
        assert expected in run(tmp_path, *words), words
    answer = prompted(tmp_path)
    assert SAID in answer
    assert expected in answer
    assert expected not in prompted(tmp_path)
    (tmp_path / "lessons.toml").write_text("[index]\nmax_files = 4\n")
    assert "skipped" not in run(tmp_path, "list")


def test_a_brain_whose_settings_cannot_be_used_is_not_trusted(tmp_path, run):
    folder = write_card(tmp_path / "brain")
    (folder / "lessons.toml").touch()
    for name, text in (
        ("lessons.toml", '[check]\ncommand = "x"\n'),
        ("lessons.toml", "[hooks\n"),
        ("lessons.toml", "[hooks]\ndaemon = 7\n"),
        (".lessonsignore", "[a\n"),
    ):
        (folder / name).write_text(text)
        result = run(folder, "trust")
        assert f"lessons: {name}" in result
        assert "now trusted" not in result
        assert "not trusted" in run(folder, "list")
        (folder / name).write_text("")
        assert "now trusted" in run(folder, "trust")
        run(folder, "trust", "--revoke")


@pytest.mark.slow
@pytest.mark.parametrize("variable", ["LESSONS_STATE_HOME", "XDG_STATE_HOME"])
@pytest.mark.parametrize("place", [".", "docs/brain"])
def test_a_brain_whose_project_records_the_trust_is_not_trusted(tmp_path, run, variable, place):
    project = tmp_path / "project"
    brain = write_card(project / place)
    (brain / "lessons.toml").touch()
    commit(project)
    inside = {variable: str(project / "state")}
    for _ in range(2):
        result = run(project, "trust", place, **inside)
        assert "now trusted" not in result
        assert "set LESSONS_STATE_HOME to a folder outside" in result
    run(project, "trust", place)
    assert SAID in prompted(brain, "after")
